"""Notices: what the program itself says to a person, such as that an agent put something into the calendar, with
buttons for what they may do about it. The row is the truth; surfaces show it and bring back a press.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from orchestrator.agents import access_rows
from orchestrator.approvals import notification_rows as rows
from orchestrator.approvals.notification_rows import Notice, Offer
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event, Role, User

Deed = Callable[[sqlite3.Connection, Notice, User], str]
"""Does what a button says, within the transaction that is given, and says the outcome in a sentence. Raises NotFound or
Conflict, and then nothing has changed."""

_TAKEN = "That was already done: {}"


class Notifications:
    """All notices of the program."""

    def __init__(self, store: Store, broker: Broker, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._broker = broker
        self._now = now
        self._deeds: dict[str, Deed] = {}

    def on_button(self, do: str, deed: Deed) -> None:
        """From now on buttons named ``do`` do this."""
        self._deeds[do] = deed

    def post(
        self,
        key: CubicleKey,
        kind: str,
        text: str,
        *,
        turn: int | None = None,
        conversation: int | None = None,
        subject: str = "",
        detail: Mapping[str, Any] | None = None,
        offers: Sequence[Offer] = (),
    ) -> Notice:
        """Write a notice down; may be part of a larger transaction. Surfaces show it once that is committed. Without a
        conversation it belongs to that of the turn."""
        now = self._now()
        with self._store.writing() as db:
            number = rows.insert_notification(
                db,
                key,
                turn=turn,
                conversation=conversation,
                at=now,
                kind=kind,
                text=text,
                subject=subject,
                detail=dict(detail or {}),
                offers=offers,
            )
            found = rows.get_notification(db, number)
            assert found is not None  # noqa: S101 - it was written just now
            self._store.after_commit(partial(self._show, found))
        return found

    def get(self, notice: int) -> Notice:
        """The notice with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_notification(db, notice)
        if found is None:
            raise NotFound("There is no such notice.")
        return found

    def is_flooded(self, key: CubicleKey, kind: str, *, most: int, within_s: float) -> bool:
        """There were so many of a kind within this time that a person would stop reading them."""
        with self._store.reading() as db:
            at = rows.get_nth_newest_time(db, key, kind, most)
        return at is not None and at > self._now() - within_s

    def list_recent(self, key: CubicleKey, *, before: int | None = None, limit: int = 50) -> list[Notice]:
        """The newest notices of a cubicle, oldest first."""
        with self._store.reading() as db:
            return rows.list_of_cubicle(db, key, before=before, limit=limit)

    def of_turn(self, key: CubicleKey, turn: int) -> list[Notice]:
        """What was said about a turn, in order."""
        with self._store.reading() as db:
            return rows.list_of_turn(db, key, turn)

    def list_outside_turns(self, key: CubicleKey, *, since: float, until: float, limit: int = 100) -> list[Notice]:
        """The newest notices from ``since`` on and before ``until`` that are about no turn, oldest first."""
        with self._store.reading() as db:
            return rows.list_without_turn(db, key, since=since, until=until, limit=limit)

    def press_button(self, notice: int, do: str, *, by: User, surface: str) -> Notice:
        """A person presses a button: it is done once. Raises NotFound, BadInput, or Conflict when it was dealt with."""
        found = self.get(notice)
        with self._store.reading() as db:
            is_theirs = found.cubicle.user == by.id and not access_rows.is_closed(db, found.cubicle)
        if by.role is not Role.OPERATOR and not is_theirs:
            raise NotFound("There is no such notice.")
        if do not in {offer.do for offer in found.offers}:
            raise BadInput("do: this notice has no such button.")
        now = self._now()
        with self._store.writing() as db:
            latest = rows.get_notification(db, notice)
            if latest is None or latest.settled_at is not None:
                raise Conflict(_TAKEN.format("" if latest is None else latest.outcome))
            outcome = self._deeds[do](db, found, by)
            rows.settle_notification(db, notice, outcome, now)
            key = found.cubicle
            audit_rows.insert_record(
                db,
                f"notice.{do}",
                f"{outcome} By {by.name} ({surface}).",
                now=now,
                agent=key.agent,
                user=key.user,
                turn=found.turn,
                detail={"notice": notice, "subject": found.subject},
            )
        settled = self.get(notice)
        self._show(settled)
        return settled

    def settle_buttons(
        self, kind: str, subject: str, outcome: str, *, but: int | None = None, offering: str | None = None
    ) -> None:
        """What these notices offered (all ``but`` one, or those with this button) is no longer to be had, such as when
        an entry was deleted."""
        with self._store.writing() as db:
            standing = [
                notice
                for notice in rows.list_open(db, kind, subject)
                if notice.id != but and (offering is None or offering in {offer.do for offer in notice.offers})
            ]
            for notice in standing:
                rows.settle_notification(db, notice.id, outcome, self._now())
                self._store.after_commit(partial(self._show_again, notice.id))

    def _show_again(self, notice: int) -> None:
        self._show(self.get(notice))

    def _show(self, notice: Notice) -> None:
        self._broker.publish(Event("notice", notice.cubicle, as_json(notice)))


def as_json(notice: Notice) -> dict[str, Any]:
    """The notice as surfaces show it."""
    return {
        "id": notice.id,
        "agent": notice.cubicle.agent,
        "user": notice.cubicle.user,
        "turn": notice.turn,
        "conversation": notice.conversation,
        "at": notice.at,
        "kind": notice.kind,
        "text": notice.text,
        "offers": [] if notice.settled_at else [{"label": o.label, "do": o.do} for o in notice.offers],
        "outcome": notice.outcome,
    }
