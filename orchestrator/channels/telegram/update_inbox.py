"""A bot's updates as the core's events, on disk before Telegram is told that they arrived, with where to go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.telegram.accounts import rows
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_filter import sort_update, update_number
from orchestrator.core.models import User


@dataclass(frozen=True, slots=True)
class KeptUpdates:
    """What became of a batch."""

    next_update: int
    """Where the bot's updates go on."""
    chats: tuple[int, ...]
    """Of those that it was from, the ones where something waits."""


class UpdateInbox:
    """Where the updates of all bots go. Every method may be called from any thread."""

    def __init__(
        self,
        store: ChannelStore,
        inbox: Inbox,
        *,
        users: Callable[[str, int], User | None],
        groups_enabled: Callable[[str, int], bool],
        count: Callable[[int], None] = lambda _updates: None,
    ) -> None:
        """``users`` knows who may use an agent, by numeric Telegram id, ``groups_enabled`` which groups an agent hears;
        ``count`` hears how many updates came."""
        self._store = store
        self._inbox = inbox
        self._users = users
        self._groups_enabled = groups_enabled
        self._count = count

    def save_updates(self, agent: str, me: BotIdentity, updates: Sequence[object]) -> KeptUpdates:
        """Of a batch what counts is on disk when this returns, and so is where to go on; again changes nothing.

        Raises Unavailable when the disk refuses; then nothing is kept and Telegram must not be told otherwise.
        """
        found = [
            item
            for update in updates
            if (
                item := sort_update(
                    update,
                    agent=agent,
                    me=me,
                    users=partial(self._users, agent),
                    groups_enabled=lambda chat: self._groups_enabled(agent, chat),
                )
            )
            is not None
        ]
        numbers = [number for update in updates if (number := update_number(update)) is not None]
        with self._store.writing() as db:
            chats = self._inbox.save_events(found)
            if numbers:
                rows.set_next_update(db.sql, agent, me.bot, numbers[-1] + 1)
            next_update = numbers[-1] + 1 if numbers else rows.next_update(db.sql, agent, me.bot)
        self._count(len(numbers))
        return KeptUpdates(next_update, chats)

    def next_update(self, agent: str, bot: int) -> int:
        """Where the bot's updates go on; 0 at the very beginning."""
        with self._store.reading() as db:
            return rows.next_update(db.sql, agent, bot)
