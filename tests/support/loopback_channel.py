"""A second chat app, in memory: what an adapter has to bring, in one file. The app (``LoopbackApp``) is the network and
outlives the channel; ``LoopbackChannel`` is the bot of agent ``crab`` there."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from orchestrator.channels.chat.adapter import ChannelTraits
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.events import (
    ButtonPress,
    ChatPlace,
    IncomingEvent,
    IncomingFile,
    IncomingMessage,
    Sender,
    StrangerMessage,
)
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.rich_text import RichText, plain_text
from orchestrator.channels.chat.runner import ChatRunner
from orchestrator.channels.chat.send_errors import FloodWait, NoSuchMessage, Unreachable
from orchestrator.core.db.database import Store
from orchestrator.services import Services

TRAITS = ChannelTraits(
    name="loopback",
    label="Loopback",
    upload_bytes=1_000_000,
    upload_limit="1 MB",
    download_bytes=1_000_000,
    download_limit="1 MB",
    message_units=1_000,
    has_drafts=False,
)
AGENT, BOT = "crab", 1


@dataclass
class Posted:
    """A message as it stands in a chat."""

    number: int
    text: str
    is_bots: bool
    buttons: dict[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, bytes], ...] = ()


class LoopbackApp:
    """The chats of everybody, and how the network is."""

    def __init__(self) -> None:
        self.chats: dict[int, list[Posted]] = {}
        self.uploads: dict[str, bytes] = {}
        self.toasts: dict[str, str] = {}
        self.edits: list[str] = []
        self.sends: list[float] = []
        self.is_offline = False
        self.loses_next = False
        self.flood_until = 0.0
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()  # protects the chats

    def post(self, chat: int, text: str, *, is_bots: bool, body: MessageBody | None = None) -> int:
        """A message is there."""
        made = Posted(next(self.numbers), text, is_bots)
        if body is not None:
            made.buttons = {button.text: button.data or button.url for row in body.buttons for button in row}
            made.files = tuple((file.name, file.path.read_bytes()) for file in body.files)
        with self.lock:
            self.chats.setdefault(chat, []).append(made)
        return made.number

    def find(self, chat: int, number: int) -> Posted:
        """A message that is there; raises NoSuchMessage."""
        with self.lock:
            for message in self.chats.get(chat, []):
                if message.number == number:
                    return message
        raise NoSuchMessage


class LoopbackAdapter:
    """The bot's connection."""

    def __init__(self, app: LoopbackApp) -> None:
        self._app = app
        self.answer_count = 0

    async def wait_answered(self, since: int) -> None:
        """Nobody tells here when the network is back: it is tried again soon."""
        await asyncio.sleep(0.1)

    async def send_message(self, chat: int, body: MessageBody) -> list[int]:
        """One message, with all of its files."""
        self._reach()
        self._app.sends.append(time.monotonic())
        if (left := self._app.flood_until - time.monotonic()) > 0:
            raise FloodWait(left)
        number = self._app.post(chat, body.rich.text, is_bots=True, body=body)
        if self._app.loses_next:
            self._app.loses_next = False
            raise Unreachable("the answer was lost", may_have_arrived=True)
        return [number]

    async def find_sent(self, chat: int, body: MessageBody, *, after: int, known: Collection[int] = ()) -> int | None:
        """The app can be asked what it has."""
        self._reach()
        found = [one.number for one in self._app.chats.get(chat, []) if one.is_bots and one.text == body.rich.text]
        return next((number for number in found if number > after and number not in known), None)

    async def edit_message(self, chat: int, message: int, body: MessageBody) -> None:
        """It says something else."""
        self._reach()
        found = self._app.find(chat, message)
        found.text = body.rich.text
        found.buttons = {button.text: button.data or button.url for row in body.buttons for button in row}
        self._app.edits.append(body.rich.text)

    async def delete_message(self, chat: int, message: int) -> None:
        """It is gone."""
        self._reach()
        with self._app.lock:
            self._app.chats[chat] = [one for one in self._app.chats.get(chat, []) if one.number != message]

    async def send_typing(self, chat: int, thread: int | None) -> None:
        """Nobody sees it here."""
        self._reach()

    async def send_draft(self, chat: int, draft_id: int, rich: RichText, thread: int | None = None) -> None:
        """There are no drafts here."""
        raise NotImplementedError

    async def answer_press(self, query: str, text: str = "", *, alert: bool = False) -> None:
        """Whoever pressed sees it."""
        self._reach()
        self._app.toasts[query] = text

    async def download_file(self, file_id: str, sink: IO[bytes], max_bytes: int) -> int:
        """A file that somebody sent."""
        self._reach()
        return sink.write(self._app.uploads[file_id][:max_bytes])

    def _reach(self) -> None:
        if self._app.is_offline:
            raise Unreachable("offline", may_have_arrived=False)
        self.answer_count += 1


class LoopbackChannel:
    """The channel: one bot, linked from the beginning."""

    def __init__(self, services: Services, store: Store, app: LoopbackApp, *, folder: Path) -> None:
        self._app = app
        self._adapter = LoopbackAdapter(app)
        self._is_open = False
        self._seen: dict[tuple[int, str], str] = {}
        """What buttons held: a phone may show an old one for a while."""
        self.runner = ChatRunner(services, ChannelStore(store, TRAITS, services.agents.called), self, folder=folder)

    # --- what the core asks ------------------------------------------------------------------------------------

    @property
    def running_agents(self) -> Sequence[str]:
        """Whose bots run."""
        return (AGENT,) if self._is_open else ()

    def adapter_of(self, agent: str) -> LoopbackAdapter | None:
        """The connection."""
        return self._adapter if self._is_open and agent == AGENT else None

    def render_markdown(self, markdown: str) -> RichText:
        """As it is written."""
        return plain_text(markdown)

    def is_linked(self, agent: str) -> bool:
        """Always."""
        return agent == AGENT

    def take_code(self, agent: str, person: int, six_digits: str) -> bool:
        """There are no codes."""
        return False

    def bot_names(self) -> dict[str, str]:
        """What people call the bots, by agent."""
        return {agent: f"@{agent}" for agent in self.running_agents}

    def how_to_link(self, agent: str) -> str:
        """Never said."""
        return ""

    def note_trouble(self, agent: str, error: Exception) -> None:
        """It goes on by itself."""

    async def sync_bots(self) -> list[str]:
        """The one bot runs."""
        opened = [] if self._is_open else [AGENT]
        self._is_open = True
        return opened

    async def update_bots(self) -> None:
        """There is nothing else to do."""

    async def close(self) -> None:
        """It does not."""
        self._is_open = False

    # --- what people do ----------------------------------------------------------------------------------------

    def says(self, person: int, text: str, *, name: str = "Ada", answers: int | None = None, file: str = "") -> None:
        """A person writes in private, perhaps with a file that is uploaded already."""
        place, sender = ChatPlace(person, is_private=True), Sender(person, name)
        number = self._app.post(person, text, is_bots=False)
        command, _, argument = text.removeprefix("/").partition(" ") if text.startswith("/") else ("", "", "")
        files = (IncomingFile(file, file, "document", len(self._app.uploads[file])),) if file else ()
        event: IncomingEvent = IncomingMessage(
            AGENT, BOT, number, place, sender, number, text, files=files, command=command, argument=argument,
            answers=answers,
        )  # fmt: skip
        if self.runner.parts.find_person(AGENT, person) is None:
            event = StrangerMessage(AGENT, BOT, number, sender)
        self._keep(event)

    def presses(self, person: int, message: int, label: str, *, wait_for: Callable[[Callable[[], bool]], None]) -> str:
        """A person presses a button that is, or was, under a message; what they see."""
        number = next(self._app.numbers)
        data = self._seen.setdefault((message, label), self._app.find(person, message).buttons.get(label, ""))
        place = ChatPlace(person, is_private=True)
        self._keep(ButtonPress(AGENT, BOT, number, str(number), place, message, Sender(person, "Ada"), data))
        wait_for(lambda: str(number) in self._app.toasts)
        return self._app.toasts[str(number)]

    def _keep(self, event: IncomingEvent) -> None:
        chats = self.runner.parts.inbox.save_events([event])

        async def hear() -> None:
            self.runner.parts.inbound.notify(AGENT, chats)

        self.runner.run_in_loop(hear(), 10.0)
