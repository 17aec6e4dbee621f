"""``chat`` at a terminal, from the first line to Ctrl+D: what is typed becomes messages and commands, what is asked is
answered by a key, and the parts do their work around one event loop.

Loaded by ``chat`` at a terminal alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.asking import WHY, Asking
from orchestrator.cli.talk.cards import Card, KeyGuard
from orchestrator.cli.talk.deeds import Deed, Deeds
from orchestrator.cli.talk.desk import Desk
from orchestrator.cli.talk.dropped import MOST_FILES, read_dropped
from orchestrator.cli.talk.keys import make_bindings
from orchestrator.cli.talk.screen import ChatScreen
from orchestrator.cli.talk.slash import SlashCompleter, find_command, read_line, say_unknown
from orchestrator.cli.talk.tabs import Tab, Tabs
from orchestrator.cli.talk.watch import Watch
from orchestrator.core.text import one_line
from orchestrator.files.attachments import split_prompt

_TICK_S, _IDLE_S = 0.05, 0.2
"""How often one looks whether a card hears keys, and whether there is one."""
_HISTORY_BYTES = 500_000


def run_conversation(context: Context, agent: str, conversation: int | None) -> int:
    """A conversation until the person leaves; the exit code is 0 when its last turn was done."""
    return asyncio.run(_Conversation(context, agent, conversation).run())


class _Conversation:
    """One person at one terminal."""

    def __init__(self, context: Context, agent: str, conversation: int | None) -> None:
        self._desk = Desk(context, Tabs(Tab(agent, conversation)))
        self._asking = Asking(self._desk)
        self._watch = Watch(self._desk, when_asked=self._asking.look)
        self._asking.watch = self._watch
        self._deeds = Deeds(self._desk, self._watch, self._asking)
        tabs = self._desk.tabs
        listed = {name: self._listed(name, lambda: tabs.current) for name in ("switch", "get")}
        listed["agent"] = lambda: self._desk.agents
        self._screen = ChatScreen(
            self._desk,
            keys=make_bindings(self),
            completer=SlashCompleter(listed),
            seconds=self._watch.seconds_of,
            history=self._open_history,
        )
        self._answered: Card | None = None
        """The card for which words are typed."""
        self._own: dict[str, Deed] = {
            "agent": self._open_agent,
            "close": self._close_tab,
            "edit": self._edit_last,
            "quit": self._quit,
        }

    async def run(self) -> int:
        """Until the person leaves."""
        desk = self._desk
        me, agents = await desk.call(lambda client: (client.get("/me"), client.get("/agents")["agents"]))
        desk.me = me["id"]
        desk.agents = [(one["name"], one["role"]) for one in agents]
        await self._watch.open_conversation(desk.tabs.current)
        self._screen.print_first()
        self._screen.app.key_processor.before_key_press += lambda _: self._note_key()
        for work in (self._print_news(), self._tick(), self._watch.follow_news(), self._watch.look_now_and_then()):
            desk.begin(self._keep_going(work))
        self._screen.show_tab()
        try:
            await self._screen.app.run_async(handle_sigint=False)
        except EOFError:  # the terminal is gone
            pass
        finally:
            self._watch.close()
            await desk.close()
        self._say_goodbye()
        return desk.tabs.current.code

    def _say_goodbye(self) -> None:
        busy = [tab.agent for tab in self._desk.tabs.all if tab.open_stories]
        if busy:
            print(f"{', '.join(busy)} {'goes' if len(busy) == 1 else 'go'} on without you; the dashboard shows it.")

    async def _keep_going(self, work: Awaitable[None]) -> None:
        """Without any of these the screen would stand still, so a fault in one ends the chat, and says so."""
        try:
            await work
        except Exception as error:
            self._screen.app.exit(exception=error)
            raise

    # --- what goes on by itself ------------------------------------------------------------------------------------

    async def _print_news(self) -> None:
        while True:
            await self._desk.changed.wait()
            self._desk.changed.clear()
            self._screen.print_pieces()
            self._screen.show_tab()

    async def _tick(self) -> None:
        """Cards hear keys once they could be read; a key counts once it stayed alone."""
        while True:
            await asyncio.sleep(_TICK_S if self._desk.tabs.current.cards else _IDLE_S)
            tab = self._desk.tabs.current
            if self._answered is not None and self._answered is not self._card:
                self._stop_answering()  # it was answered elsewhere: these words are for nothing else
            if not tab.cards:
                continue
            card, now = tab.cards[0], time.monotonic()
            if card.guard is None:
                if card.is_printed:
                    card.guard = KeyGuard(now)
                continue
            if not card.guard.is_armed:
                if self._screen.app.layout.is_searching:
                    card.guard.note_key(now)
                if card.guard.arm(now):
                    self._open_card(card)
            elif (key := card.guard.take(now)) is not None:
                self._act_on_card(tab, card, key)

    def _note_key(self) -> None:
        card = self._card
        if card is not None and card.guard is not None and not card.guard.is_armed:
            card.guard.note_key(time.monotonic())

    @property
    def _card(self) -> Card | None:
        cards = self._desk.tabs.current.cards
        return cards[0] if cards else None

    def _open_card(self, card: Card) -> None:
        if card.line:
            self._start_answering(card)
        self._desk.changed.set()

    def _act_on_card(self, tab: Tab, card: Card, key: str) -> None:
        if card.rest and key in ("y", "a", "v"):  # what nobody has seen is shown before a yes counts
            self._desk.tell(tab, pieces.plain_lines(card.rest))
            card.rest = []
            card.keys.pop("v", None)
            card.guard = None
        elif key == "d":
            self._start_answering(card)
        else:
            self._desk.begin(card.act(key), tab)
        self._desk.changed.set()

    def _start_answering(self, card: Card) -> None:
        self._screen.answer.reset()
        self._answered = card
        self._screen.is_answering = True

    def _stop_answering(self) -> None:
        self._answered = None
        self._screen.is_answering = False
        self._desk.changed.set()

    # --- what keys ask for -----------------------------------------------------------------------------------------

    def is_asking(self) -> bool:
        """A card hears keys."""
        card = self._card
        return card is not None and card.guard is not None and card.guard.is_armed and not self._screen.is_answering

    def is_answering(self) -> bool:
        """A card is answered in words."""
        return self._screen.is_answering

    def press_card(self, key: str) -> None:
        """A key for the card."""
        card = self._card
        if card is not None and card.guard is not None:
            card.guard.press(key.lower(), tuple(card.keys), time.monotonic())

    def send_line(self) -> None:
        """A command is done, anything else is sent; with files alone an empty line is a message too."""
        tab, buffer = self._desk.tabs.current, self._screen.buffer
        text = buffer.text.strip()
        if not text and not tab.files:
            return
        buffer.reset(append_to_history=bool(text))
        if text.startswith("//") and read_line(text[1:]) is not None:  # a message that looks like a command
            self._desk.begin(self._deeds.send_message(tab, text[1:]), tab)
        elif (line := read_line(text)) is not None:
            command = find_command(line.name)
            if command is None:
                self._desk.tell(tab, pieces.trouble(say_unknown(line.name)))
                return
            deed = self._own.get(command.name) or self._deeds.by_name[command.name]
            self._desk.begin(deed(tab, line.rest), tab)
        elif dropped := read_dropped(text):  # typed by a terminal that doesn't say that it pastes
            tab.files = [*tab.files, *dropped][:MOST_FILES]
            self._desk.changed.set()
        else:
            self._desk.begin(self._deeds.send_message(tab, text), tab)

    def send_answer(self) -> None:
        """The words that were typed answer the card; none are for later."""
        tab, card, said = self._desk.tabs.current, self._answered, self._screen.answer.text.strip()
        if card is None or card is not self._card:
            self._stop_answering()
        elif not said:
            self.go_back()
        else:
            self._stop_answering()
            self._desk.begin(card.act(said if card.line else f"{WHY}{said}"), tab)

    def paste(self, text: str) -> None:
        """Files that were dropped go along; other pastes are typed, and send nothing."""
        tab = self._desk.tabs.current
        files = read_dropped(text)
        if files and len(tab.files) + len(files) <= MOST_FILES:
            tab.files += files
        else:
            self._screen.buffer.insert_text(text)
        self._desk.changed.set()

    def edit_line(self) -> None:
        """What was typed goes to an editor, and comes back."""
        self._screen.edit_line()

    def go_back(self) -> None:
        """Words go back to keys, a card to later, an edited message to what it was; then it stops the agent."""
        tab, card = self._desk.tabs.current, self._card
        if self._screen.is_answering:
            is_question = card is not None and bool(card.line)
            self._stop_answering()
            if card is not None and is_question:
                self._asking.park(tab, card)
            elif card is not None:
                card.guard = KeyGuard(time.monotonic())
        elif card is not None and self.is_asking():
            self._asking.park(tab, card)
        elif tab.editing is not None:
            tab.editing = None
            self._screen.buffer.reset()
        elif tab.open_stories:
            self._desk.begin(self._deeds.stop_turns(tab), tab)
        self._desk.changed.set()

    def stop(self) -> None:
        """The agent stops; where none works, what was typed is thrown away."""
        tab = self._desk.tabs.current
        if tab.open_stories:
            self._desk.begin(self._deeds.stop_turns(tab), tab)
        elif self._screen.is_answering or self.is_asking():
            self.go_back()
        else:
            tab.editing = None
            self._screen.buffer.reset()
        self._desk.changed.set()

    def leave(self) -> None:
        """The chat ends; what agents do goes on."""
        with suppress(Exception):  # the library knows no other way to ask whether it has ended already
            self._screen.app.exit()

    def go_to_tab(self, number: int | None) -> None:
        """Another tab, or the next."""
        tabs = self._desk.tabs
        if number is None:
            self._show_tab(tabs.neighbour(1))
        elif number <= len(tabs.all):
            self._show_tab(tabs.all[number - 1])

    def drop_file(self) -> bool:
        """The last file does not go along after all."""
        tab = self._desk.tabs.current
        if not tab.files:
            return False
        tab.files.pop()
        self._desk.changed.set()
        return True

    # --- commands of the screen ------------------------------------------------------------------------------------

    def _show_tab(self, tab: Tab) -> None:
        tabs = self._desk.tabs
        if tab is tabs.current:
            return
        self._stop_answering()
        tabs.current = tab
        tab.unprinted.insert(0, pieces.rule_of(tab.called, tab.name))
        for card in tab.cards:  # it has to be read again before a key counts
            card.guard, card.is_printed = None, False
        self._desk.begin(self._watch.mark_seen(tab))
        self._desk.changed.set()

    async def _open_agent(self, tab: Tab, name: str) -> None:
        if not name:
            await self._deeds.by_name["agents"](tab, "")
            return
        known = self._desk.tabs.find(name)
        if known is None:
            await self._desk.call(lambda client: client.get(agent_path(name)))  # raises for one that isn't there
            known = Tab(name, None)
            self._desk.tabs.add(known)
            self._show_tab(known)
            await self._watch.open_conversation(known)
        self._show_tab(known)

    async def _close_tab(self, tab: Tab, _: str) -> None:
        if len(self._desk.tabs.all) == 1:
            self.leave()
            return
        self._show_tab(self._desk.tabs.neighbour(-1))
        self._desk.tabs.remove(tab)
        self._screen.forget_tab(tab)

    async def _edit_last(self, tab: Tab, __: str) -> None:
        if tab.last_turn is None:
            self._desk.tell(tab, pieces.note("Nothing was said in this conversation yet."))
            return
        tab.editing = int(tab.last_turn["turn"])
        words, _ = split_prompt(tab.last_turn["prompt"])  # its files come along by themselves
        self._screen.buffer.text = words
        self._screen.buffer.cursor_position = len(words)

    async def _quit(self, _: Tab, __: str) -> None:
        self.leave()

    # --- what is kept ----------------------------------------------------------------------------------------------

    def _listed(self, name: str, current: Callable[[], Tab]) -> Callable[[], list[tuple[str, str]]]:
        return lambda: current().listed.get(name, [])

    def _open_history(self, agent: str) -> FileHistory:
        folder = self._desk.context.home.path / "logs"
        return FileHistory(str(_trim_history(folder / f"chat-history-{one_line(agent, 40).replace('/', '_')}")))


def _trim_history(path: Path) -> Path:
    """The file of what was typed before: for nobody else to read, and only so long."""
    path.touch(mode=0o600)
    if path.stat().st_size > _HISTORY_BYTES:
        _, _, kept = path.read_bytes()[-_HISTORY_BYTES // 2 :].partition(b"\n\n")
        path.write_bytes(kept)
    return path
