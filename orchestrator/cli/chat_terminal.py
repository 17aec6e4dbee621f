"""``chat`` at a terminal: line editing with history, answers drawn as Markdown, approvals by a single key.

Loaded by ``chat`` at a terminal alone. Everything that an agent wrote is made safe before it is drawn, and a key that
was pressed before a question could be read answers nothing.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import HTML
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.cli.approvals import describe_request, exact_lines
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.context import Context
from orchestrator.cli.deliveries import show_delivered
from orchestrator.cli.event_stream import EventStream
from orchestrator.cli.follow import ENDED, Follower
from orchestrator.cli.questions import question_lines
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.text import one_line, terminal_safe

_MOST_LINES = 20
"""Of what is to be approved, before one asks for all of it."""
_MOST_OUTPUT = 12
_TOO_SOON_S = 0.5
"""Nobody has read a younger question: a key was meant for what stood there before."""
_LOOK_S = 1.0
"""How often one looks whether somebody has decided elsewhere."""
_HISTORY_BYTES = 500_000
_COMMANDS = {
    "/help": "this list",
    "/files": "what is in the agent's out/ folder",
    "/stop": "stop what the agent is doing for you, also from elsewhere",
    "/new": "begin another conversation; this one stays",
    "/clear": "the agent forgets this conversation",
    "/quit": "leave, as Ctrl-D does",
}
_COMMAND = re.compile(r"/[a-z]+\s*")


def run_conversation(
    context: Context, client: ApiClient, news: EventStream, agent: str, conversation: int | None
) -> int:
    """A conversation until the person leaves; the exit code is 0 when its last turn was done."""
    return _Talk(context, client, news, agent, conversation).run()


class _Talk:
    """One person, one agent, one terminal."""

    def __init__(
        self, context: Context, client: ApiClient, news: EventStream, agent: str, conversation: int | None
    ) -> None:
        self._client = client
        self._news = news
        self._agent = agent
        self._conversation = conversation
        self._console = Console(highlight=False, soft_wrap=False, no_color=not context.paint.is_on)
        self._prompt: PromptSession[str] = PromptSession(
            history=FileHistory(str(_history(context.home.path / "logs" / "chat-history"))),
            completer=WordCompleter(list(_COMMANDS), sentence=True),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_keys(),
            prompt_continuation="  ",
            placeholder=HTML("<ansibrightblack>Message {}, or /help</ansibrightblack>").format(agent),
        )
        self._deeds: dict[str, Callable[[], bool]] = {
            "/help": self._show_help,
            "/files": self._list_files,
            "/stop": self._stop_turn,
            "/new": self._begin_another,
            "/clear": self._clear_history,
            "/quit": lambda: False,
        }

    def run(self) -> int:
        """Read, send, show, until Ctrl-D or /quit."""
        code = 0
        while True:
            try:
                text = self._prompt.prompt("› ").strip()
            except KeyboardInterrupt:  # what was typed is thrown away, as in a shell
                continue
            except EOFError:
                return code
            if not text:
                continue
            try:
                if _COMMAND.fullmatch(text):
                    if not self._deeds.get(text, self._show_unknown)():
                        return code
                else:
                    code = self._send_message(text)
            except KeyboardInterrupt:
                self._console.print()
            except OrchestratorError as error:
                code = 1
                self._console.print(Text(terminal_safe(error.message), style="red"))

    def _send_message(self, text: str) -> int:
        turn = self._client.post(agent_path(self._agent, "/messages"), self._message(text))["turn"]
        display = _Screen(self._console, self._client)
        try:
            with display.shown():
                ended = Follower(self._client, turn, self._news, display).until_the_end()
        except KeyboardInterrupt:
            self._client.post(f"/turns/{turn}/stop")
            self._console.print(Text("Stopped.", style="yellow"))
            return 130
        if ended["status"] != "done":
            self._console.print(Text(terminal_safe(ended["error"] or "The turn was stopped."), style="red"))
            return 1
        self._console.print(Markdown(terminal_safe(ended["reply"] or ""), hyperlinks=False))
        show_delivered(self._client, self._agent, turn)
        self._console.print()
        return 0

    # --- commands; False ends the conversation ---------------------------------------------------------------------

    def _show_unknown(self) -> bool:
        self._console.print(Text("There is no such command.", style="red"))
        return self._show_help()

    def _show_help(self) -> bool:
        for name, text in _COMMANDS.items():
            self._console.print(Text.assemble("  ", (f"{name:8}", "bold"), text))
        self._console.print(Text("  Alt+Enter or \\ at the end of a line begins a new one.", style="dim"))
        self._console.print(Text("  Ctrl-C stops a running turn, Ctrl-D leaves.", style="dim"))
        return True

    def _list_files(self) -> bool:
        entries = self._client.get(agent_path(self._agent, "/files/out"), limit=200)["entries"]
        for entry in entries:
            measure = format_size(entry["size"]) if entry["kind"] == "file" else "folder"
            self._console.print(Text.assemble(f"  {one_line(entry['name'], 100)}  ", (measure, "dim")))
        if not entries:
            self._console.print(Text("  Nothing is in out/ yet.", style="dim"))
        return True

    def _stop_turn(self) -> bool:
        turns = self._client.get(agent_path(self._agent, "/history"), limit=50, conversation=self._conversation)[
            "turns"
        ]
        open_turns = [turn["turn"] for turn in turns if turn["status"] not in ENDED]
        for turn in open_turns:
            self._client.post(f"/turns/{turn}/stop")
        self._console.print(Text("Stopped." if open_turns else "Nothing is running.", style="yellow"))
        return True

    def _message(self, text: str) -> dict[str, Any]:
        return {"text": text, "wait": False, "conversation": self._conversation}

    def _begin_another(self) -> bool:
        self._conversation = self._client.post(agent_path(self._agent, "/conversations"))["id"]
        self._console.print(Text(f"This is conversation {self._conversation}.", style="green"))
        return True

    def _clear_history(self) -> bool:
        self._console.print("The agent forgets this conversation; the audit log keeps it. Clear it? (y/n) ", end="")
        key = _key("yn")
        self._console.print(key or "")
        if key == "y":
            self._client.delete(agent_path(self._agent, "/history"), conversation=self._conversation)
            self._console.print(Text("The conversation is cleared.", style="green"))
        return True


class _Screen:
    """A turn on a terminal: what is being written stands at the bottom and is gone when it is whole."""

    def __init__(self, console: Console, client: ApiClient) -> None:
        self._console = console
        self._client = client
        self._live: Live | None = None
        self._printed: dict[int, int] = {}
        """How many lines of each command's output are shown."""
        self._failed: set[str] = set()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Whatever happens, the bottom is put in order."""
        self._begin_block("")
        try:
            yield
        finally:
            self._end_block()

    def write_text(self, text: str) -> None:
        """Its last lines, as plain text: Markdown that is only half there would jump."""
        self._begin_block(terminal_safe(text))

    def show_output(self, n: int, text: str) -> None:
        """Whole lines, the first few of each command."""
        lines = terminal_safe(text).split("\n")[:-1]
        shown = self._printed.get(n, 0)
        if shown <= _MOST_OUTPUT < len(lines):
            lines = [*lines[:_MOST_OUTPUT], "…"]
        for line in lines[shown : _MOST_OUTPUT + 1]:
            self._console.print(Text(f"    {line}", style="dim"))
        self._printed[n] = max(shown, len(lines))

    def show_command(self, step: Mapping[str, Any]) -> None:
        """Below the thought that led to it."""
        self._end_block()
        if thought := terminal_safe(step["thought"]).strip():
            self._console.print(Text(thought, style="italic"))
        self._console.print(Text.assemble(("  $ ", "green"), (one_line(step["command"], 300), "bold")))
        self._begin_block("")

    def ask_approval(self, approval: Mapping[str, Any]) -> Literal["approve", "deny"] | None:
        """By a single key; what was not shown whole is shown before a yes counts."""
        self._end_block()
        lines = exact_lines(approval)
        rest = lines[_MOST_LINES:]
        self._console.print(
            Text(f"\n{terminal_safe(approval['reason'])} {describe_request(approval)}:\n", style="bold yellow")
        )
        self._console.print(Text("\n".join(lines[:_MOST_LINES])))
        ask = "Run it?" if approval["step"] is not None else "Agree to it?"
        while True:
            more = f", v shows {len(rest):,} more lines" if rest else ""
            self._console.print(Text(f"\n{ask} (y/n{more}) ", style="bold"), end="")
            key = _key("ynv" if rest else "yn", lambda: self._is_decided(approval["id"]))
            self._console.print(key or "")
            if key == "n":
                break
            if rest and key is not None:
                self._console.print(Text("\n".join(rest)))
                rest = []
                continue
            break
        self._begin_block("")
        if key is None:
            self._console.print(Text("It was decided elsewhere.", style="dim"))
        return None if key is None else "approve" if key == "y" else "deny"

    def ask_question(self, question: Mapping[str, Any]) -> str | None:
        """Typed on a line; an empty one is for later."""
        self._end_block()
        if question["id"] not in self._failed:
            self._console.print(Text(f"\n{one_line(question['agent'])} asks:", style="bold yellow"))
            self._console.print(Text("\n".join(question_lines(question))))
        self._failed.add(question["id"])
        try:
            said = PromptSession[str]().prompt("Your answer: ")
        except EOFError:
            said = ""
        if not said.strip():
            self.show_note(f"Later, then: ./hermit answer {question['id']} TEXT")
        self._begin_block("")
        return said if said.strip() else None

    def show_note(self, text: str) -> None:
        """Beside the conversation."""
        self._console.print(Text(terminal_safe(text), style="dim"))

    def _begin_block(self, text: str) -> None:
        tail = Text("\n".join(text.splitlines()[-max(3, self._console.height - 6) :]) or "…", style="dim")
        if self._live is None:
            self._live = Live(tail, console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(tail, refresh=True)

    def _end_block(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _is_decided(self, approval: str) -> bool:
        pending = self._client.get("/approvals", status="pending")["approvals"]
        return all(other["id"] != approval for other in pending)


def _key(keys: str, is_over: Callable[[], bool] = lambda: False) -> str | None:
    """The first of these keys that is pressed from now on; None once it is over. Others are not heard."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    heard_from = time.monotonic() + _TOO_SOON_S
    look_at = time.monotonic() + _LOOK_S
    try:
        tty.setcbreak(terminal)
        while True:
            if select.select([terminal], [], [], 0.1)[0]:
                pressed = os.read(terminal, 64).decode("ascii", "replace").lower()
                # Several bytes at once are a paste, or a key such as an arrow; Enter after a letter is a habit.
                if time.monotonic() >= heard_from and (key := pressed.rstrip("\r\n")) in tuple(keys):
                    return key
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_S
                if is_over():
                    return None
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _keys() -> KeyBindings:
    """Enter sends; Alt+Enter, or Enter after a backslash, begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _history(path: Path) -> Path:
    """The file of what was typed before: for nobody else to read, and only so long."""
    path.touch(mode=0o600)
    if path.stat().st_size > _HISTORY_BYTES:
        _, _, kept = path.read_bytes()[-_HISTORY_BYTES // 2 :].partition(b"\n\n")
        path.write_bytes(kept)
    return path
