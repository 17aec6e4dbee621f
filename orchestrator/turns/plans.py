"""Plans: the list of what an agent is about to do in a turn. It is changed item by item, so that nothing is lost by
writing it again, and whoever watches the turn sees it at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event
from orchestrator.turns import plan_rows as rows
from orchestrator.turns.plan_rows import PlanItem

MOST_ITEMS = 20
MOST_CHARS = 200
"""Of an item, and of its note."""


class Plans:
    """The plans of all turns. What changes one runs in its caller's transaction."""

    def __init__(self, store: Store, broker: Broker) -> None:
        self._store = store
        self._broker = broker

    def list_items(self, turn: int) -> list[PlanItem]:
        """The plan of a turn, in order; empty where it has none."""
        with self._store.reading() as db:
            return rows.list_items(db, turn)

    def set_items(self, db: sqlite3.Connection, key: CubicleKey, turn: int, texts: Sequence[str]) -> list[PlanItem]:
        """This is the plan. What was in it before, word for word, keeps how it stands. Raises TooMany."""
        known = {item.text: item for item in rows.list_items(db, turn)}
        items = [
            PlanItem(n, text, text in known and known[text].is_done, known[text].note if text in known else "")
            for n, text in enumerate(dict.fromkeys(texts), 1)
        ]
        return self._write(db, key, turn, items)

    def add_item(self, db: sqlite3.Connection, key: CubicleKey, turn: int, text: str) -> list[PlanItem]:
        """One more at the end. Raises TooMany, and BadInput for one that is there already."""
        items = rows.list_items(db, turn)
        if any(item.text == text for item in items):
            raise BadInput("PLAN: that is in the plan already.")
        return self._write(db, key, turn, [*items, PlanItem(len(items) + 1, text, is_done=False, note="")])

    def check_item(self, db: sqlite3.Connection, key: CubicleKey, turn: int, n: int) -> list[PlanItem]:
        """The item of this number is done; again is fine. Raises NotFound."""
        items = rows.list_items(db, turn)
        found = _get_item(items, n)
        return self._write(db, key, turn, [replace(item, is_done=True) if item is found else item for item in items])

    def note_item(self, db: sqlite3.Connection, key: CubicleKey, turn: int, n: int, note: str) -> list[PlanItem]:
        """Something is said about the item of this number, instead of what was. Raises NotFound."""
        items = rows.list_items(db, turn)
        found = _get_item(items, n)
        return self._write(db, key, turn, [replace(item, note=note) if item is found else item for item in items])

    def drop_item(self, db: sqlite3.Connection, key: CubicleKey, turn: int, n: int) -> list[PlanItem]:
        """The item of this number is not to be done; those after it move up. Raises NotFound."""
        items = rows.list_items(db, turn)
        found = _get_item(items, n)
        kept = [item for item in items if item is not found]
        return self._write(db, key, turn, [replace(item, n=place) for place, item in enumerate(kept, 1)])

    def _write(self, db: sqlite3.Connection, key: CubicleKey, turn: int, items: list[PlanItem]) -> list[PlanItem]:
        if len(items) > MOST_ITEMS:
            raise TooMany(f"A plan has at most {MOST_ITEMS} items. Drop some, or say several as one.")
        rows.replace_items(db, turn, items)
        body = {"turn": turn, "plan": plan_json(items)}
        self._store.after_commit(lambda: self._broker.publish(Event("plan", key, body)))
        return items


def plan_json(items: Sequence[PlanItem]) -> list[dict[str, Any]]:
    """As the API and programs show it."""
    return [{"n": item.n, "text": item.text, "is_done": item.is_done, "note": item.note} for item in items]


def _get_item(items: Sequence[PlanItem], n: int) -> PlanItem:
    found = next((item for item in items if item.n == n), None)
    if found is None:
        raise NotFound(f"The plan has no item {n}. `hermit plan show` lists it." if items else "There is no plan yet.")
    return found
