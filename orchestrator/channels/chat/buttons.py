"""Buttons: opaque ids under our messages, each bound to an agent, a message, a person, a deed and an end.

What a button means is a row here, never a word in it, and the row is written before anybody sees the button. Data that
was not made here, or comes from anywhere but where it was put, stands for nothing.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence

from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat.button_rows import PressedButton, TakenButton
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.events import ButtonPress

LASTING = ("file", "conversation", "conversations older", "undo offer")
"""Kinds that may be pressed again: what they do can be done twice."""
FOREVER_S = 60 * 24 * 3600.0
"""Long enough for a button that nothing else ends."""
_ID = re.compile(r"[A-Za-z0-9_-]{32}")
_KEPT_S = 7 * 24 * 3600.0


class Buttons:
    """All buttons of all bots. May be used from any thread."""

    def __init__(self, store: ChannelStore, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    def make_button(
        self, agent: str, ref: str, person: int, kind: str, subject: str, *, expires_at: float | None = None
    ) -> str:
        """A new button for the message ``ref``, to be pressed by this person (or an operator): its data."""
        button = secrets.token_urlsafe(24)
        with self._store.writing() as db:
            rows.insert_button(
                db,
                button,
                agent=agent,
                ref=ref,
                person=person,
                kind=kind,
                subject=subject,
                expires_at=self._now() + FOREVER_S if expires_at is None else expires_at,
            )
        return button

    def take_press(self, press: ButtonPress, *, is_operator: bool) -> TakenButton | None:
        """What was pressed, now used up (but for lasting kinds); None for anything that does not fit in every way."""
        if not _ID.fullmatch(press.data):
            return None
        with self._store.writing() as db:
            return rows.take_button(db, _pressed(press, is_operator=is_operator), self._now(), lasting=LASTING)

    def is_early(self, press: ButtonPress, *, is_operator: bool) -> bool:
        """The button is good, and was pressed before the app told us its message's number."""
        if not _ID.fullmatch(press.data):
            return False
        with self._store.reading() as db:
            return rows.is_early(db, _pressed(press, is_operator=is_operator), self._now())

    def give_back(self, taken: TakenButton) -> None:
        """Nothing came of it: it may be pressed again."""
        with self._store.writing() as db:
            rows.give_back(db, taken.id)

    def retire_buttons(self, ref: str, *, kinds: Sequence[str] = ()) -> int:
        """The message's buttons (of these kinds, or all) do nothing any more; how many that were."""
        with self._store.writing() as db:
            return rows.retire_buttons(db, ref, self._now(), kinds=kinds)

    def forget_old(self) -> None:
        """What has been too old for a while is forgotten."""
        with self._store.writing() as db:
            rows.delete_old(db, self._now() - _KEPT_S)


def _pressed(press: ButtonPress, *, is_operator: bool) -> PressedButton:
    return PressedButton(press.data, press.agent, press.place.chat, press.message, press.sender.id, is_operator)
