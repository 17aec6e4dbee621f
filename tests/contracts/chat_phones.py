"""A person's phone, for each channel: what the contract of chats does and looks at, whatever app it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from orchestrator.agents.user_fields import CHANNELS
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.telegram.accounts import rows as accounts
from orchestrator.channels.telegram.accounts.rows import BotStatus
from orchestrator.channels.telegram.channel import TelegramChannel
from orchestrator.core.models import Event
from tests.support.app_fixture import AppFixture, run_app
from tests.support.bot_api import BotApi
from tests.support.loopback_channel import LoopbackApp, LoopbackChannel

ADA, EVE = 1001, 6666
"""The operator's number, and a stranger's."""
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Shown:
    """A message of the bot's, as it stands."""

    number: int
    text: str
    buttons: tuple[str, ...]
    files: tuple[bytes, ...]


class Phone(Protocol):
    """What people do, and what they see."""

    install: AppFixture
    source: str
    """What a turn from here says of where it came from."""

    @property
    def outbox(self) -> Outbox:
        """Where the install's messages for the channel go."""

    def says(self, text: str, *, person: int = ADA, reply_to: int | None = None) -> None:
        """Somebody writes to the bot in private."""

    def sends_file(self, name: str, content: bytes, caption: str) -> None:
        """Ada sends a file."""

    def presses(self, message: int, label: str) -> str:
        """Ada presses a button, perhaps one that an old screen still shows; the words that pop up."""

    def shown(self, person: int = ADA) -> list[Shown]:
        """The bot's messages in a private chat."""

    def edits(self) -> int:
        """How often messages were changed."""

    def set_offline(self, *, is_offline: bool) -> None:
        """The app can't be reached, or can be again."""

    def lose_next_answer(self) -> None:
        """The next message arrives, and the bot hears nothing of that."""

    def flood(self, seconds: int) -> None:
        """The bot has to be silent for so long."""

    def sent_at(self) -> list[float]:
        """When the bot tried to send, in seconds that only grow."""

    def restart(self) -> None:
        """The channel is stopped, and another begins with the same rows."""


def wait_for(holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> None:
    """Until it holds."""
    deadline = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("it didn't come to hold")
        time.sleep(0.03)


class TelegramPhone:
    """Telegram: a Bot API server on loopback and the real client."""

    source = "telegram"

    def __init__(self, install: AppFixture, api: BotApi, token: str, folder: Path) -> None:
        self.install, self._api, self._token, self._folder = install, api, token, folder
        self._people = {ADA: api.person(ADA), EVE: api.person(EVE, "Eve")}
        self._buttons: dict[tuple[int, str], tuple[Any, str]] = {}
        self.channel = install.app._telegram

    @property
    def outbox(self) -> Outbox:
        """As the channel has it now."""
        return self.channel._runner.parts.outbox

    def says(self, text: str, *, person: int = ADA, reply_to: int | None = None) -> None:
        """Somebody writes."""
        found = [one for one in self._messages(person) if one["message_id"] == reply_to]
        self._people[person].says(self._token, text, reply_to=found[0] if found else None)

    def sends_file(self, name: str, content: bytes, caption: str) -> None:
        """As a document."""
        self._people[ADA].sends_document(self._token, name, content, caption=caption)

    def presses(self, message: int, label: str) -> str:
        """The button, or the data that it had."""
        pressed, data = self._buttons[message, label]
        query = self._people[ADA].presses(pressed, data=data)
        wait_for(lambda: self._api.answer_to(query))
        return str((self._api.answer_to(query) or {}).get("text", ""))

    def shown(self, person: int = ADA) -> list[Shown]:
        """Those of the bot, as they stand."""
        return [self._as_shown(one) for one in self._messages(person) if one["from"]["is_bot"]]

    def edits(self) -> int:
        """Calls that changed a text."""
        return len(self._api.calls("editMessageText"))

    def set_offline(self, *, is_offline: bool) -> None:
        """Connections are cut."""
        if is_offline:
            self._api.offline()
        else:
            self._api.online()

    def lose_next_answer(self) -> None:
        """Carried out, and the connection reset."""
        self._api.fail_next("sendMessage", after=True)

    def flood(self, seconds: int) -> None:
        """429."""
        self._api.fail_next("sendMessage", retry_after=seconds)

    def sent_at(self) -> list[float]:
        """Calls of ``sendMessage``."""
        return [call.at for call in self._api.calls("sendMessage")]

    def restart(self) -> None:
        """The old one has stopped when the new one begins."""
        self.channel.stop()
        services = self.install.services
        self.channel = TelegramChannel(services, services.bots, self.install.app._store, folder=self._folder)
        self.channel.start()

    def _messages(self, person: int) -> list[Any]:
        return self._api.messages(self._people[person], bot=self._token)

    def _as_shown(self, message: Any) -> Shown:
        rows = message.get("reply_markup", {}).get("inline_keyboard", [])
        buttons = {button["text"]: button.get("callback_data", "") for row in rows for button in row}
        self._buttons |= {(message["message_id"], label): (message, data) for label, data in buttons.items()}
        files = (self._api.bytes_of(message["document"]["file_id"]),) if "document" in message else ()
        text = str(message.get("text", message.get("caption", "")))
        return Shown(message["message_id"], text, tuple(buttons), files)


class LoopbackPhone:
    """The app in memory."""

    source = "loopback"

    def __init__(self, install: AppFixture, app: LoopbackApp, folder: Path) -> None:
        self.install, self._app, self._folder = install, app, folder
        self.channel = self._opened()

    @property
    def outbox(self) -> Outbox:
        """As the channel has it now."""
        return self.channel.runner.parts.outbox

    def says(self, text: str, *, person: int = ADA, reply_to: int | None = None) -> None:
        """Somebody writes."""
        self.channel.says(person, text, name="Ada" if person == ADA else "Eve", answers=reply_to)

    def sends_file(self, name: str, content: bytes, caption: str) -> None:
        """Uploaded, then said."""
        self._app.uploads[name] = content
        self.channel.says(ADA, caption, file=name)

    def presses(self, message: int, label: str) -> str:
        """The button, or what an old screen shows."""
        return self.channel.presses(ADA, message, label, wait_for=wait_for)

    def shown(self, person: int = ADA) -> list[Shown]:
        """Those of the bot, as they stand."""
        with self._app.lock:
            return [
                Shown(one.number, one.text, tuple(one.buttons), tuple(content for _, content in one.files))
                for one in self._app.chats.get(person, [])
                if one.is_bots
            ]

    def edits(self) -> int:
        """Every one."""
        return len(self._app.edits)

    def set_offline(self, *, is_offline: bool) -> None:
        """Nothing goes through."""
        self._app.is_offline = is_offline

    def lose_next_answer(self) -> None:
        """It arrives all the same."""
        self._app.loses_next = True

    def flood(self, seconds: int) -> None:
        """From now on."""
        self._app.flood_until = time.monotonic() + seconds

    def sent_at(self) -> list[float]:
        """Every try."""
        return list(self._app.sends)

    def restart(self) -> None:
        """The old one has stopped when the new one begins."""
        self.close()
        self.channel = self._opened()

    def close(self) -> None:
        """Nothing runs."""
        self.channel.runner.stop()

    def _opened(self) -> LoopbackChannel:
        channel = LoopbackChannel(self.install.services, self.install.app._store, self._app, folder=self._folder)
        self.install.app._deliveries.add_carrier(channel.runner.parts.carrier)
        channel.runner.start()
        wait_for(lambda: channel.running_agents)
        return channel


@contextmanager
def telegram(folder: Path) -> Iterator[Phone]:
    """Ada's bot is linked, and its chat open."""
    with BotApi() as api:
        token = api.bot("Crab")
        with run_app(folder / "home", environment={"HERMIT_TELEGRAM_API_URL": api.url}) as install:
            services = install.services
            services.users.update_user(
                services.users.get_operator().id, {"telegram_id": ADA, "time_zone": "Europe/Vienna"}
            )
            state = services.bots.set_up("crab", token)
            with install.app._store.writing() as db:
                accounts.put_bot(db, replace(state, state=BotStatus.PAIRED, paired_at=1.0, paired_person=ADA))
            services.broker.publish(Event("bot", None, {"agent": "crab"}))
            phone = TelegramPhone(install, api, token, folder / "home" / "telegram")
            phone.says("/start")
            wait_for(phone.shown)
            try:
                yield phone
            finally:
                phone.channel.stop()


@contextmanager
def loopback(folder: Path) -> Iterator[Phone]:
    """The same in the app of one file."""
    with run_app(folder / "home") as install:
        users = install.services.users
        users._channels = {**CHANNELS, "loopback": "Loopback"}
        users.update_user(users.get_operator().id, {"loopback_id": ADA, "time_zone": "Europe/Vienna"})
        phone = LoopbackPhone(install, LoopbackApp(), folder / "loopback")
        phone.says("/start")
        wait_for(phone.shown)
        try:
            yield phone
        finally:
            phone.close()


PHONES = {"telegram": telegram, "loopback": loopback}
