"""The deeds: each changes the plan of the turn under way, and prints it as it is then."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.plan.capability import (
    ADD,
    DONE,
    DROP,
    NOTE,
    SET,
    SHOW,
    PlanAdd,
    PlanNote,
    PlanPick,
    PlanSet,
    PlanShow,
)
from orchestrator.core.errors import Conflict
from orchestrator.turns import plan_rows
from orchestrator.turns.plan_rows import PlanItem
from orchestrator.turns.plans import Plans, plan_json


class PlanDeeds:
    """What agents ask of their plans."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {
            SET.name: self._set,
            ADD.name: self._add,
            DONE.name: self._check,
            NOTE.name: self._note,
            DROP.name: self._drop,
            SHOW.name: self._show,
        }

    def _set(self, db: sqlite3.Connection, caller: Caller, asked: PlanSet) -> Outcome:
        return _tell(self._plans.set_items(db, caller.key, _turn_of(caller), asked.items))

    def _add(self, db: sqlite3.Connection, caller: Caller, asked: PlanAdd) -> Outcome:
        return _tell(self._plans.add_item(db, caller.key, _turn_of(caller), asked.text))

    def _check(self, db: sqlite3.Connection, caller: Caller, asked: PlanPick) -> Outcome:
        return _tell(self._plans.check_item(db, caller.key, _turn_of(caller), asked.id))

    def _note(self, db: sqlite3.Connection, caller: Caller, asked: PlanNote) -> Outcome:
        return _tell(self._plans.note_item(db, caller.key, _turn_of(caller), asked.id, asked.text))

    def _drop(self, db: sqlite3.Connection, caller: Caller, asked: PlanPick) -> Outcome:
        return _tell(self._plans.drop_item(db, caller.key, _turn_of(caller), asked.id))

    def _show(self, db: sqlite3.Connection, caller: Caller, _asked: PlanShow) -> Outcome:
        return _tell(plan_rows.list_items(db, _turn_of(caller)))


def _turn_of(caller: Caller) -> int:
    if caller.turn is None:
        raise Conflict("No turn is under way. A plan is of the message that you work on.")
    return caller.turn


def _tell(items: Sequence[PlanItem]) -> Outcome:
    lines = [
        f"{item.n}. [{'x' if item.is_done else ' '}] {item.text}{f' ({item.note})' if item.note else ''}"
        for item in items
    ]
    return Outcome("\n".join(lines) or "There is no plan.", {"plan": plan_json(items)})
