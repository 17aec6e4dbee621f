"""The status messages that are up, on disk: posted as messages like everything else, so that they keep their place
among the chat's other messages and can be found and taken down after any crash. Blocks: for threads that may wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.channels.chat import turn_reply_rows as rows
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.turn_reply_rows import ShownStatus, TurnPlace
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Turn
from orchestrator.turns.queue import Turns


@dataclass(frozen=True, slots=True)
class StatusRemoval:
    """What has to be done to take a status message down."""

    message: int | None
    """Delete this one; None: there is none in the chat."""
    is_under_way: bool = False
    """It is being sent at this moment, so look again."""
    is_old: bool = False
    """The app deletes it no more, for that it is too old."""


def ref_of(turn: int) -> str:
    """The ref of a turn's status message."""
    return f"status:{turn}"


class ProgressRowsView:
    """What progress knows and writes."""

    def __init__(
        self, store: ChannelStore, outbox: Outbox, turns: Turns, *, wall: Callable[[], float] = time.time
    ) -> None:
        """``wall`` is the time that rows carry."""
        self._store = store
        self._outbox = outbox
        self._turns = turns
        self._wall = wall

    def place_of(self, turn: int) -> TurnPlace | None:
        """Where the turn was asked for."""
        with self._store.reading() as db:
            return rows.place_of(db, turn)

    def get_turn(self, turn: int) -> Turn | None:
        """The turn as it stands; None when there is none any more."""
        try:
            return self._turns.get(turn)
        except NotFound:
            return None

    def under_way(self) -> list[int]:
        """The turns from this channel that a crab works on."""
        with self._store.reading() as db:
            return rows.under_way(db)

    def list_shown(self) -> list[ShownStatus]:
        """Every status message that may be in a chat."""
        with self._store.reading() as db:
            return rows.list_statuses(db)

    def put_up(self, turn: int, place: TurnPlace, body: MessageBody) -> bool:
        """The status message goes out; again is fine. False for a turn that has ended: its answer may be out."""
        with self._store.writing() as db:
            if not rows.insert_status(db, turn, place.agent, place.chat):
                return False
            self._outbox.post_message(Message(place.agent, place.chat, ref_of(turn), body))
        return True

    def message_of(self, turn: int) -> int | None:
        """The number of the turn's status message; None while it has none."""
        with self._store.reading() as db:
            known = rows.status_of(db, turn)
            stored = rows.get_message(db, ref_of(turn))
        if known is None:
            return None
        if known.message or stored is None or stored[1] is None:
            return known.message or None
        with self._store.writing() as db:
            rows.set_message(db, turn, stored[1])
        return stored[1]

    def take_down(self, turn: int) -> StatusRemoval:
        """A status message that was not sent yet is withdrawn; else this says what is left to do."""
        message = self.message_of(turn)
        if message is not None:
            return StatusRemoval(message, is_old=self._is_old(turn))
        self._outbox.withdraw_message(ref_of(turn))
        with self._store.reading() as db:
            stored = rows.get_message(db, ref_of(turn))
        if stored is None or stored[0] == "failed":
            return StatusRemoval(None)
        return StatusRemoval(self.message_of(turn), is_under_way=stored[0] != "sent")

    def _is_old(self, turn: int) -> bool:
        found = self.get_turn(turn)
        return found is not None and self._wall() - found.created_at > self._store.traits.deletable_s

    def forget_message(self, turn: int) -> None:
        """The status message is gone, or nothing can be done about it."""
        with self._store.writing() as db:
            rows.delete_status(db, turn)
