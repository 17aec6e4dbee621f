"""What came in from a channel and was not handled yet, on disk before the app is told that it arrived.

An adapter sorts first, so what a stranger wrote never gets here; of what is kept, the words go once they had their
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
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.events import (
    ButtonPress,
    ChatPlace,
    IncomingEvent,
    IncomingFile,
    IncomingMessage,
    MembershipChange,
    Sender,
    StrangerMessage,
    turn_origin,
)

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
"""How long the number of a handled update is known: apps repeat for a day, an edit may come for two."""


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """Something that waits to be handled."""

    item: IncomingEvent
    received_at: float


class Inbox:
    """Everything that came in, of all bots. Every method may be called from any thread."""

    def __init__(self, store: ChannelStore, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    def save_events(self, events: Sequence[IncomingEvent]) -> tuple[int, ...]:
        """What happened to one agent's bot is on disk when this returns, or when the transaction is over that is open;
        again changes nothing. Returns the chats of these where something waits.

        Raises Unavailable when the disk refuses; then nothing is kept and the app must not be told otherwise.
        """
        with self._store.writing() as db:
            for item in events:
                chat = chat_of(item)
                if isinstance(item, StrangerMessage) and not item.six_digits and rows.is_waiting(db, item.agent, chat):
                    continue  # one word of theirs is as good as a thousand
                rows.insert_update(db, self._row_of(item))
                if isinstance(item, IncomingMessage):
                    rows.note_message(db, item.agent, item.place.chat, item.message, self._now())
            places = {(item.agent, chat_of(item)): None for item in events}
            return tuple(chat for agent, chat in places if rows.is_waiting(db, agent, chat))

    def waiting_chats(self) -> list[tuple[str, int]]:
        """The agents and chats where something waits, for a start."""
        with self._store.reading() as db:
            return rows.waiting_chats(db)

    def first_waiting(self, agent: str, chat: int, lane: Lane) -> WaitingEvent | None:
        """What is to be handled next in this chat."""
        while True:
            with self._store.reading() as db:
                row = rows.get_first(db, agent, chat, kinds=_OF_LANE[lane])
            if row is None:
                return None
            try:
                return WaitingEvent(_unpacked(row.body), row.received_at)
            except (ValueError, KeyError, TypeError):
                logger.exception("update %s for %s can't be read any more, it is dropped", row.update_id, agent)
                with self._store.writing() as db:
                    rows.mark_handled(db, row.bot, row.update_id, self._now())

    def album_parts(self, part: IncomingMessage) -> list[WaitingEvent]:
        """The parts of this part's album that are here."""
        with self._store.reading() as db:
            found = rows.of_album(db, part.agent, part.place.chat, part.album)
        waiting = [WaitingEvent(_unpacked(row.body), row.received_at) for row in found]
        return [one for one in waiting if isinstance(one.item, IncomingMessage) and one.item.is_edit == part.is_edit]

    def origin_of(self, message: IncomingMessage) -> str | None:
        """Under which origin this message, before it was edited, became a turn."""
        with self._store.reading() as db:
            return rows.origin_of(db, message.agent, message.place.chat, message.message)

    def mark_done(self, *items: IncomingEvent) -> None:
        """These had their effect, in the same transaction where the caller has one open."""
        with self._store.writing() as db:
            for item in items:
                if isinstance(item, StrangerMessage):
                    rows.delete_update(db, item.bot, item.update)
                else:
                    rows.mark_handled(db, item.bot, item.update, self._now())

    def forget_old(self) -> int:
        """Forget what was handled long ago; returns how much that was."""
        with self._store.writing() as db:
            return rows.forget_handled(db, self._now() - _KEPT_FOR_S)

    def _row_of(self, item: IncomingEvent) -> rows.InboxRow:
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
            origin=turn_origin(self._store.channel, item) if is_prompt and isinstance(item, IncomingMessage) else None,
            body=json.dumps({"kind": _NAMES[type(item)], **asdict(item)}),
            received_at=self._now(),
        )


def chat_of(item: IncomingEvent) -> int:
    """Where it belongs; a stranger's private chat has the number of the stranger."""
    return item.sender.id if isinstance(item, StrangerMessage) else item.place.chat


def _unpacked(body: str) -> IncomingEvent:
    """What :meth:`Inbox.save_events` wrote; raises ValueError, KeyError or TypeError for anything else."""
    fields: dict[str, Any] = json.loads(body)
    kind = _KINDS[fields.pop("kind")]
    fields["sender"] = Sender(**fields["sender"])
    if "place" in fields:
        fields["place"] = ChatPlace(**fields["place"])
    if "files" in fields:
        fields["files"] = tuple(IncomingFile(**file) for file in fields["files"])
    return kind(**fields)
