"""``chat``: one turn, or a conversation. At a terminal it has line editing, history and Markdown
(``talk``); elsewhere it is plain lines. Approvals and questions are asked in place.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from orchestrator.cli.approvals import describe_request, exact_lines
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.context import Context
from orchestrator.cli.deliveries import show_delivered
from orchestrator.cli.event_stream import EventStream, LivePrinter
from orchestrator.cli.follow import Follower
from orchestrator.cli.help import add_help
from orchestrator.cli.questions import question_lines
from orchestrator.cli.upload import upload_file
from orchestrator.core.text import one_line, terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    chat = commands.add_parser("chat", help="send TEXT to an agent and print its reply; without TEXT, a conversation")
    chat.add_argument("agent", metavar="AGENT")
    chat.add_argument("text", metavar="TEXT", nargs="?")
    chat.add_argument(
        "--file", metavar="PATH", type=Path, action="append", default=[], help="send a file along; may be repeated"
    )
    chat.add_argument(
        "--conversation",
        metavar="ID",
        type=int,
        help="which one, by its number in './hermit conversations AGENT list'; the first if left out",
    )
    chat.set_defaults(run=run)
    add_help(
        chat,
        "Say TEXT and print the reply, or talk as long as you like. Approvals are asked in place.\n"
        "At a terminal several agents have tabs, a dropped file goes along, and /help lists the commands;\n"
        "a pipe gets the replies alone.",
        "chat crab",
        'chat crab "What is in in/?"',
        'chat crab --file report.pdf "Sum it up."',
        "chat crab --conversation 7",
        'chat crab "List three names for a boat." > names.txt',
        more="The exit code is 0 when the last turn was done.",
    )


def run(context: Context, options: argparse.Namespace) -> int:
    """One turn or many; the exit code is 0 when the last one was done."""
    is_one = options.text is not None or bool(options.file)
    if not is_one and _is_full_terminal(context):
        with context.client as client:
            _check_there(client, options)
        # By its name: what draws a terminal takes a while to load, and nobody else needs it.
        talk = import_module("orchestrator.cli.talk.conversation")
        return int(talk.run_conversation(context, options.agent, options.conversation))
    with context.client as client, client.open_events() if sys.stdout.isatty() else nullcontext() as news:
        if is_one:
            files = [upload_file(client, options.agent, file)["path"] for file in options.file]
            return _say(client, news, options.agent, options.text or "", files, conversation=options.conversation)
        _check_there(client, options)
        return _converse(client, news, options.agent, options.conversation)


def _is_full_terminal(context: Context) -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty() and context.environment.get("TERM") != "dumb"


def _check_there(client: ApiClient, options: argparse.Namespace) -> None:
    """An unknown agent, or conversation, is said before the first line is typed."""
    client.get(agent_path(options.agent, "/history"), limit=1, conversation=options.conversation)


def _converse(client: ApiClient, news: EventStream | None, agent: str, conversation: int | None) -> int:
    if sys.stdin.isatty():
        print(f"You are talking to {agent}. Ctrl-C stops a running turn, Ctrl-D leaves.", file=sys.stderr)
    code = 0
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "")
        except (EOFError, KeyboardInterrupt):
            return code
        if line.strip():
            code = _say(client, news, agent, line, conversation=conversation)


def _say(
    client: ApiClient,
    news: EventStream | None,
    agent: str,
    text: str,
    files: Sequence[str] = (),
    *,
    conversation: int | None,
) -> int:
    body = {"text": text, "files": list(files), "wait": False, "conversation": conversation}
    turn = client.post(agent_path(agent, "/messages"), body)["turn"]
    growing = LivePrinter(sys.stdout, sys.stderr)
    try:
        ended = Follower(client, turn, news, _Lines(growing)).until_the_end()
    except KeyboardInterrupt:
        growing.end_line()
        client.post(f"/turns/{turn}/stop")
        print("Stopped.", file=sys.stderr)
        return 130
    if ended["status"] == "done":
        growing.finish_reply(ended["reply"] or "")
        show_delivered(client, agent, turn)
        return 0
    if ended["reply"]:
        growing.finish_reply(ended["reply"])
    growing.end_line()
    print(f"hermit: {terminal_safe(ended['error'] or 'The turn was stopped.')}", file=sys.stderr)
    return 1


class _Lines:
    """A turn in plain lines: words on standard output, all else beside it. Where nobody sits, nobody is asked."""

    def __init__(self, growing: LivePrinter) -> None:
        self._growing = growing
        self._failed: set[str] = set()

    def write_text(self, text: str) -> None:
        """As it grows."""
        self._growing.write_text(text)

    def show_output(self, n: int, text: str) -> None:
        """The first few lines."""
        self._growing.print_output(n, text)

    def show_command(self, step: Mapping[str, Any]) -> None:
        """On a line of its own, below the thought that led to it."""
        self._growing.complete_thought(step["thought"])
        print(f"  $ {one_line(step['command'], 100)}", file=sys.stderr)

    def ask_approval(self, approval: Mapping[str, Any]) -> Literal["approve", "deny"] | None:
        """Asked in place; anything but a yes is a no."""
        self._growing.end_line()
        lines = ["", f"{terminal_safe(approval['reason'])} {describe_request(approval)}:", "", *exact_lines(approval)]
        print("\n".join(lines), file=sys.stderr)
        number = approval["id"]
        if not sys.stdin.isatty():
            print(f"\nWaiting: ./hermit approve {number}  or  ./hermit deny {number}", file=sys.stderr)
            return None
        ask = "Run it? [y/N] " if approval["step"] is not None else "Agree to it? [y/N] "
        print(f"\n{ask}", end="", file=sys.stderr, flush=True)
        return "approve" if sys.stdin.readline().strip().lower() in ("y", "yes") else "deny"

    def ask_question(self, question: Mapping[str, Any]) -> str | None:
        """Asked in place; an empty line is for later."""
        self._growing.end_line()
        if question["id"] not in self._failed:
            print("\n".join(["", f"{question['agent']} asks:", *question_lines(question)]), file=sys.stderr)
        self._failed.add(question["id"])
        if not sys.stdin.isatty():
            print(f"\nWaiting: ./hermit answer {question['id']} TEXT", file=sys.stderr)
            return None
        print("\nYour answer: ", end="", file=sys.stderr, flush=True)
        said = sys.stdin.readline()
        if said.strip():
            return said
        print(f"Later, then: ./hermit answer {question['id']} TEXT", file=sys.stderr)
        return None

    def show_note(self, text: str) -> None:
        """Beside the conversation."""
        self._growing.end_line()
        print(terminal_safe(text), file=sys.stderr)
