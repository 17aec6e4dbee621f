"""Undo offers: the answer of a turn that changed files gets a button that takes that back, once it is known.

An answer is often there before its turn's last point of time is taken. So the button comes after it, once for each
turn, in one transaction with its row; where the answer has not gone out by then, it goes with the button. In groups
there is none: which files changed is nobody's business there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from orchestrator.channels.chat import turn_reply_rows as rows
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.commands_undo import OFFER
from orchestrator.channels.chat.message import MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.channels.chat.undo_text import offer_label
from orchestrator.core.models import Turn
from orchestrator.turns.queue import Turns

_LATEST_S = 3600.0
"""What was answered longer ago is left alone."""


class UndoOffers:
    """Puts the buttons there. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        outbox: Outbox,
        buttons: Buttons,
        turns: Turns,
        place_of: Callable[[Turn], TurnPlace | None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``place_of`` says where a turn's answer belongs."""
        self._store = store
        self._outbox = outbox
        self._buttons = buttons
        self._turns = turns
        self._place_of = place_of
        self._now = now

    def post_due(self) -> None:
        """Every answer that is owed a button has it."""
        traits = self._store.traits
        if not (traits.can_edit and traits.has_buttons):
            return
        with self._store.reading() as db:
            owed = rows.told_with_changes(db, OFFER, self._now() - _LATEST_S)
        for number, changed in owed:
            turn = self._turns.get(number)
            place = self._place_of(turn)
            if place is not None and place.is_private:
                self._add_button(turn, place, changed)

    def _add_button(self, turn: Turn, place: TurnPlace, changed: int) -> None:
        ref = self._find_last_ref(turn)
        body = self._outbox.body_of(ref)
        if body is None or body.buttons:
            return
        with self._store.writing() as db:
            if not rows.is_owed_offer(db, OFFER, turn.id):
                return  # another thread was faster
            data = self._buttons.make_button(place.agent, ref, place.chat, OFFER, str(turn.id))
            self._outbox.amend_message(ref, replace(body, buttons=((MessageButton(offer_label(changed), data),),)))

    def _find_last_ref(self, turn: Turn) -> str:
        """The last message of the turn's answer."""
        refs = (f"turn:{turn.id}:{n}" for n in count(1))
        last = next(refs)
        for ref in refs:
            if self._outbox.status_of(ref) is None:
                return last
            last = ref
        return last
