"""What came in from Telegram and was not handled yet, on disk before Telegram is told that it arrived.

An update is sorted first, so what a stranger wrote never gets here; of what is kept, the words go once they had their
effect. Nothing is handled here.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from orchestrator.channels.chat import inbox_rows as rows
from orchestrator.channels.chat.events import (
    ButtonPress,
    ChatPlace,
    IncomingEvent,
    IncomingFile,
    IncomingMessage,
    MembershipChange,
    Sender,
    StrangerMessage,
)
from orchestrator.channels.telegram.update_filter import sort, update_number
from orchestrator.channels.telegram.update_parser import BotAccount
from orchestrator.nouns import User
from orchestrator.store.database import Store

logger = logging.getLogger(__name__)

Lane = Literal["talk", "presses"]
"""What is handled in order, each for itself: an answer to a question must not wait for a long upload before it."""
LANES: tuple[Lane, ...] = ("talk", "presses")

_KINDS: dict[str, type[IncomingEvent]] = {
    "message": IncomingMessage, "press": ButtonPress, "membership": MembershipChange, "stranger": StrangerMessage,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _KINDS.items()}
_OF_LANE: dict[Lane, tuple[str, ...]] = {"talk": ("message", "membership", "stranger"), "presses": ("press",)}
_KEPT_FOR_S = 30 * 24 * 3600.0
"""How long the number of a handled update is known: Telegram repeats for a day, an edit may come for two."""


@dataclass(frozen=True, slots=True)
class KeptUpdates:
    """What became of a batch."""

    next_update: int
    """Where the bot's updates go on."""
    chats: tuple[int, ...]
    """Of those that it was from, the ones where something waits."""


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """Something that waits to be handled."""

    item: IncomingEvent
    received_at: float


class Inbox:
    """Everything that came in, of all bots. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        *,
        people: Callable[[int], User | None],
        groups_enabled: Callable[[str, int], bool],
        now: Callable[[], float] = time.time,
        count: Callable[[int], None] = lambda _updates: None,
    ) -> None:
        """``people`` knows who is allowed, by numeric Telegram id; ``groups_enabled`` which groups an agent hears."""
        self._store = store
        self._people = people
        self._groups_enabled = groups_enabled
        self._now = now
        self._count = count

    def keep(self, agent: str, me: BotAccount, updates: Sequence[object]) -> KeptUpdates:
        """Of a batch what counts is on disk when this returns, and so is where to go on; again changes nothing.

        Raises Unavailable when the disk refuses; then nothing is kept and Telegram must not be told otherwise.
        """
        found = [item for update in updates if (item := self._sorted(agent, me, update)) is not None]
        numbers = [number for update in updates if (number := update_number(update)) is not None]
        with self._store.writing() as db:
            for item in found:
                if (
                    isinstance(item, StrangerMessage)
                    and not item.six_digits
                    and rows.is_waiting(db, agent, chat_of(item))
                ):
                    continue  # one word of theirs is as good as a thousand
                rows.add(db, self._row(item))
                if isinstance(item, IncomingMessage):
                    rows.note_message(db, agent, item.place.chat, item.message, self._now())
            if numbers:
                rows.set_next_update(db, agent, me.bot, numbers[-1] + 1)
            next_update = numbers[-1] + 1 if numbers else rows.next_update(db, agent, me.bot)
            chats = tuple(chat for chat in {chat_of(item): None for item in found} if rows.is_waiting(db, agent, chat))
        self._count(len(numbers))
        return KeptUpdates(next_update, chats)

    def next_update(self, agent: str, bot: int) -> int:
        """Where the bot's updates go on; 0 at the very beginning."""
        with self._store.reading() as db:
            return rows.next_update(db, agent, bot)

    def waiting_chats(self) -> list[tuple[str, int]]:
        """The agents and chats where something waits, for a start."""
        with self._store.reading() as db:
            return rows.waiting_chats(db)

    def first(self, agent: str, chat: int, lane: Lane) -> WaitingEvent | None:
        """What is to be handled next in this chat."""
        while True:
            with self._store.reading() as db:
                row = rows.first(db, agent, chat, kinds=_OF_LANE[lane])
            if row is None:
                return None
            try:
                return WaitingEvent(_unpacked(row.body), row.received_at)
            except (ValueError, KeyError, TypeError):
                logger.exception("update %s for %s can't be read any more, it is dropped", row.update_id, agent)
                with self._store.writing() as db:
                    rows.handled(db, row.bot, row.update_id, self._now())

    def album(self, part: IncomingMessage) -> list[WaitingEvent]:
        """The parts of this part's album that are here."""
        with self._store.reading() as db:
            found = rows.of_album(db, part.agent, part.place.chat, part.album)
        waiting = [WaitingEvent(_unpacked(row.body), row.received_at) for row in found]
        return [one for one in waiting if isinstance(one.item, IncomingMessage) and one.item.is_edit == part.is_edit]

    def origin_of(self, message: IncomingMessage) -> str | None:
        """Under which origin this message, before it was edited, became a turn."""
        with self._store.reading() as db:
            return rows.origin_of(db, message.agent, message.place.chat, message.message)

    def done(self, *items: IncomingEvent) -> None:
        """These had their effect, in the same transaction where the caller has one open."""
        with self._store.writing() as db:
            for item in items:
                if isinstance(item, StrangerMessage):
                    rows.forget(db, item.bot, item.update)
                else:
                    rows.handled(db, item.bot, item.update, self._now())

    def tidy(self) -> int:
        """Forget what was handled long ago; returns how much that was."""
        with self._store.writing() as db:
            return rows.forget_handled(db, self._now() - _KEPT_FOR_S)

    def _sorted(self, agent: str, me: BotAccount, update: object) -> IncomingEvent | None:
        return sort(
            update,
            agent=agent,
            me=me,
            people=self._people,
            groups_enabled=lambda chat: self._groups_enabled(agent, chat),
        )

    def _row(self, item: IncomingEvent) -> rows.InboxRow:
        is_prompt = isinstance(item, IncomingMessage) and not (item.command or item.is_edit or item.is_loose)
        place = None if isinstance(item, StrangerMessage) else item.place
        return rows.InboxRow(
            bot=item.bot,
            update_id=item.update,
            agent=item.agent,
            chat=chat_of(item),
            thread=place.thread if place else None,
            person=item.sender.id,
            # Of what people sent: a pressed one is ours, and perhaps one that is still looked for.
            message=item.message if isinstance(item, IncomingMessage) else None,
            album=item.album if isinstance(item, IncomingMessage) else "",
            origin=item.origin if is_prompt and isinstance(item, IncomingMessage) else None,
            body=json.dumps({"kind": _NAMES[type(item)], **asdict(item)}),
            received_at=self._now(),
        )


def chat_of(item: IncomingEvent) -> int:
    """Where it belongs; a stranger's private chat has the number of the stranger."""
    return item.sender.id if isinstance(item, StrangerMessage) else item.place.chat


def _unpacked(body: str) -> IncomingEvent:
    """What :meth:`Inbox.keep` wrote; raises ValueError, KeyError or TypeError for anything else."""
    fields: dict[str, Any] = json.loads(body)
    kind = _KINDS[fields.pop("kind")]
    fields["sender"] = Sender(**fields["sender"])
    if "place" in fields:
        fields["place"] = ChatPlace(**fields["place"])
    if "files" in fields:
        fields["files"] = tuple(IncomingFile(**file) for file in fields["files"])
    return kind(**fields)
