"""Facts: noted by an agent or a person, listed, and forgotten. Each belongs to one agent and one person.

It owns the caps and the rule that the same text is one fact, the older one. What follows from a change (news, a new
snapshot, a vector) hangs on the hook ``fact_changed``, and may get lost: the rows are the truth.
"""

from __future__ import annotations

import sqlite3
import time
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any

from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.rows import AGENT, Fact
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, TooLarge, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, Event
from orchestrator.core.text import one_line

__all__ = ["AGENT", "Fact", "Facts", "as_json"]

MAX_CHARS = 2_000
MAX_FACTS = 5_000
"""Of one cubicle."""


class Facts:
    """What every agent remembers."""

    def __init__(
        self,
        store: Store,
        broker: Broker,
        hooks: Hooks,
        *,
        max_facts: int = MAX_FACTS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._broker = broker
        self._hooks = hooks
        self._max_facts = max_facts
        self._now = now

    def add_fact(self, key: CubicleKey, text: str, *, by: str, turn: int | None = None) -> Fact:
        """A person notes a fact; what is noted already stays as it is. Raises BadInput, TooLarge or TooMany."""
        with self._store.writing() as db:
            return self.note_fact(db, key, text, by=by, turn=turn)[0]

    def note_fact(
        self, db: sqlite3.Connection, key: CubicleKey, text: str, *, by: str, turn: int | None
    ) -> tuple[Fact, bool]:
        """The fact, and whether it is new, within a transaction. Raises as ``add``."""
        text = check_text(text)
        known = rows.find_same(db, key, text)
        if known is not None:
            return known, False
        if rows.count_facts(db, key) >= self._max_facts:
            raise TooMany(f"There are {self._max_facts:,} memories already, which is the most. Delete some first.")
        now = self._now()
        fact = Fact(rows.insert_fact(db, key, text, by=by, turn=turn, now=now), key, text, by, turn, now)
        self._write_audit(
            db, "memory.add", f"Remembered by {'the agent' if by == AGENT else by}: {one_line(text, 160)}", fact, turn
        )
        self._store.after_commit(partial(self._publish_change, fact, "added"))
        return fact, True

    def remove_fact(self, key: CubicleKey, fact: int, *, by: str = AGENT, turn: int | None = None) -> Fact:
        """The fact is forgotten; raises NotFound when this cubicle has none of that number."""
        with self._store.writing() as db:
            return self.delete_fact(db, key, fact, by=by, turn=turn)

    def delete_fact(self, db: sqlite3.Connection, key: CubicleKey, fact: int, *, by: str, turn: int | None) -> Fact:
        """The same within a transaction."""
        gone = rows.get_fact(db, key, fact)
        if gone is None:
            raise NotFound(f"There is no memory {fact}.")
        rows.delete_fact(db, key, fact)
        self._write_audit(db, "memory.delete", f"Forgotten by {by}: {one_line(gone.text, 160)}", gone, turn)
        self._store.after_commit(partial(self._publish_change, gone, "deleted"))
        return gone

    def _publish_change(self, fact: Fact, change: str) -> None:
        self._broker.publish(Event("memory", fact.cubicle, {"id": fact.id, "change": change}))
        self._hooks.fact_changed.fire(fact.cubicle)

    def get_fact(self, key: CubicleKey, fact: int) -> Fact:
        """The fact of this number; raises NotFound when it is none of this cubicle's."""
        with self._store.reading() as db:
            found = rows.get_fact(db, key, fact)
        if found is None:
            raise NotFound(f"There is no memory {fact}.")
        return found

    def list_facts(self, key: CubicleKey, *, before: int | None = None, limit: int = 50) -> list[Fact]:
        """The newest facts of a cubicle, newest first; ``before`` is an id to page on from."""
        with self._store.reading() as db:
            return rows.list_facts(db, key, before=before, limit=limit)

    def _write_audit(self, db: sqlite3.Connection, kind: str, text: str, fact: Fact, turn: int | None) -> None:
        key = fact.cubicle
        audit_rows.insert_record(
            db, kind, text, now=self._now(), agent=key.agent, user=key.user, turn=turn, detail={"memory": fact.id}
        )


def check_text(text: str) -> str:
    """The text as it is kept; raises BadInput or TooLarge."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise BadInput("text: write what is to be remembered.")
    if len(text) > MAX_CHARS:
        raise TooLarge(f"text: a memory has {MAX_CHARS:,} characters at most, and this has {len(text):,}. Split it.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        raise BadInput("text: it holds a control character or half a character. Leave that out.")
    return text


def as_json(fact: Fact) -> dict[str, Any]:
    """A fact as surfaces show it."""
    return {"id": fact.id, "text": fact.text, "by": fact.by, "turn": fact.turn, "at": fact.at}
