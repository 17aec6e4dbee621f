"""A shop for tests of what is commanded on Telegram: a whole install without crabs, a counter, and two people."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.channels.chat.command_context import CommandContext
from orchestrator.channels.chat.commands import Commands
from orchestrator.channels.chat.message import Message
from orchestrator.core.models import Approval, CubicleKey, User
from tests.support.app_fixture import AppFixture, run_app
from tests.support.chat_fakes import telegram_store
from tests.support.chat_fixture import ADA, BOB, DANGEROUS, ChatFixture


@dataclass
class CommandsFixture:
    """A whole install with a counter, and people who send commands."""

    install: AppFixture
    counter: ChatFixture
    commands: Commands
    ada: User
    bob: User

    @property
    def key(self) -> CubicleKey:
        """Ada's cubicle."""
        return CubicleKey("crab", self.ada.id)

    def messages(self, text: str, *, by: int = ADA, chat: int | None = None) -> list[Message]:
        """Say it; the answer is posted."""
        user = self.ada if by == ADA else self.bob
        messages = self.commands.run_command(self.counter.message(text, by=by, chat=chat), user)
        for message in messages:
            assert self.counter.outbox.post_message(message)
        return messages

    def says(self, text: str, *, by: int = ADA, chat: int | None = None) -> str:
        """Say it; all words of the answer."""
        return "\n\n".join(message.body.rich.text for message in self.messages(text, by=by, chat=chat))

    def makes(self, path: str, content: bytes = b"hello", *, key: CubicleKey | None = None, at: float = 0.0) -> None:
        """The agent leaves a file in its workspace."""
        place = self.install.services.settings.home / "workspaces" / "crab" / str((key or self.key).user) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if at:
            os.utime(place, (at, at))

    def waits(self, *prompts: str, user: User | None = None) -> list[int]:
        """Messages that nobody works on yet."""
        key = CubicleKey("crab", (user or self.ada).id)
        return [self.install.services.turns.submit(key, text, source="telegram").id for text in prompts]

    def works(self, user: User | None = None) -> None:
        """A crab takes the first of what waits."""
        assert self.install.services.turns.take_next(CubicleKey("crab", (user or self.ada).id), "boot", 20)

    def wants(self, command: str = DANGEROUS, user: User | None = None) -> Approval:
        """The agent asks whether it may."""
        key = CubicleKey("crab", (user or self.ada).id)
        self.waits("tidy up", user=user)
        turn = self.install.services.turns.take_next(key, "boot", 20)
        assert turn is not None
        self.install.steps.start_step(key, turn.id, 1, thought="", command=command, approval=None)
        return self.install.steps.ask_person(key, turn.id, 1)


@contextmanager
def commands_fixture(tmp_path: Path) -> Iterator[CommandsFixture]:
    """An install without crabs; ada and bob use Telegram."""
    with run_app(tmp_path / "home", crabs=False) as install:
        services, store = install.services, install.app._store
        ada = services.users.update_user(
            services.users.get_operator().id, {"telegram_id": ADA, "time_zone": "Europe/Vienna"}
        )
        bob = services.users.add({"name": "bob", "telegram_id": BOB})
        made = ChatFixture(store, services.users, services.approvals, services.turns, install.steps, tmp_path)
        made.opens(ADA)
        commands = Commands(
            CommandContext(
                services,
                telegram_store(store),
                made.buttons,
                made.asking,
                made.cards,
                made.groups,
                made.temp_files,
                made.zones,
                made.choices,
                lambda: {bot.agent: f"@{bot.username}" for bot in services.bots.list_bots()},
                now=made.now,
            )
        )
        made.handlers |= commands.handlers
        made.callbacks = made.fresh_presses()
        yield CommandsFixture(install, made, commands, ada, bob)
