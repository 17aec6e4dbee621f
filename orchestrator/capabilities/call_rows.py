"""Rows of calls: what agents asked the host to do, each once under an id of its own, and what came of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.core.models import CubicleKey

WAITING, DONE, FAILED = "waiting", "done", "failed"
_OF_A_PANEL = "substr(calls.id, 1, length(calls.turn) + 1) = calls.turn || '.'"
"""A panel action's id begins with its turn's. Nobody waits for one: its turn goes on."""


@dataclass(frozen=True, slots=True)
class CapabilityCall:
    """One call as it stands."""

    id: str
    cubicle: CubicleKey
    turn: int | None
    name: str
    sha256: str
    """Of what was asked, so that an id can't be used for something else."""
    status: str
    """``list_waiting_spans``, ``done`` or ``failed``."""
    text: str
    result: dict[str, Any]
    waits_for: str
    at: float
    ended_at: float | None


def insert_call(db: sqlite3.Connection, call: CapabilityCall, cost: int) -> None:
    """Write a call down with what came of it so far."""
    db.execute(
        "INSERT INTO calls (agent, user, id, turn, name, sha256, status, text, result, waits_for, cost, at, ended_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call.cubicle.agent,
            call.cubicle.user,
            call.id,
            call.turn,
            call.name,
            call.sha256,
            call.status,
            call.text,
            json.dumps(call.result, ensure_ascii=False),
            call.waits_for,
            cost,
            call.at,
            call.ended_at,
        ),
    )


def get_call(db: sqlite3.Connection, key: CubicleKey, call: str) -> CapabilityCall | None:
    """This cubicle's call of that id."""
    row = db.execute(
        "SELECT * FROM calls WHERE agent = ? AND user = ? AND id = ?", (key.agent, key.user, call)
    ).fetchone()
    return None if row is None else _call(row)


def sum_spent(db: sqlite3.Connection, key: CubicleKey, since: float) -> int:
    """Units of the allowance that this cubicle has used since then."""
    row = db.execute(
        "SELECT COALESCE(SUM(cost), 0) FROM calls WHERE agent = ? AND user = ? AND at > ?", (key.agent, key.user, since)
    ).fetchone()
    return int(row[0])


def is_awaited(db: sqlite3.Connection, waits_for: str) -> bool:
    """A command of a turn under way waits for this."""
    row = db.execute(
        "SELECT 1 FROM calls JOIN turns ON turns.id = calls.turn WHERE calls.waits_for = ? "  # noqa: S608 - constant
        f"AND calls.status = 'waiting' AND turns.status IN ('running', 'waiting_approval') AND NOT {_OF_A_PANEL}",
        (waits_for,),
    ).fetchone()
    return row is not None


def finish_calls(
    db: sqlite3.Connection, waits_for: str, status: str, *, text: str, result: Mapping[str, Any], now: float
) -> list[CubicleKey]:
    """End every call that waits for this; the cubicles whose calls they were."""
    rows = db.execute(
        "UPDATE calls SET status = ?, text = ?, result = ?, ended_at = ? WHERE waits_for = ? AND status = 'waiting' "
        "RETURNING agent, user",
        (status, text, json.dumps(dict(result), ensure_ascii=False), now, waits_for),
    ).fetchall()
    return [CubicleKey(str(row["agent"]), int(row["user"])) for row in rows]


def list_waiting_spans(db: sqlite3.Connection, turn: int) -> list[tuple[float, float | None]]:
    """From when to when commands of this turn waited for a person; None while they still do."""
    rows = db.execute(
        f"SELECT at, ended_at FROM calls WHERE turn = ? AND waits_for != '' AND NOT {_OF_A_PANEL} ORDER BY at",  # noqa: S608 - constant
        (turn,),
    )
    return [(float(row["at"]), row["ended_at"]) for row in rows]


def list_waiting_for(db: sqlite3.Connection, beginning: str) -> list[str]:
    """What calls wait for that begins with this."""
    rows = db.execute(
        "SELECT DISTINCT waits_for FROM calls WHERE status = 'waiting' AND substr(waits_for, 1, ?) = ?",
        (len(beginning), beginning),
    )
    return [str(row["waits_for"]) for row in rows]


def list_waiting_turns(db: sqlite3.Connection, waits_for: str) -> list[int | None]:
    """The turns whose calls wait for this; None for one that was made while no turn was under way."""
    rows = db.execute("SELECT DISTINCT turn FROM calls WHERE status = 'waiting' AND waits_for = ?", (waits_for,))
    return [row["turn"] for row in rows]


def list_waiting_calls(db: sqlite3.Connection, name: str) -> list[CapabilityCall]:
    """The calls of this name that wait, oldest first."""
    rows = db.execute("SELECT * FROM calls WHERE status = 'waiting' AND name = ? ORDER BY at", (name,))
    return [_call(row) for row in rows]


def delete_old_calls(db: sqlite3.Connection, before: float) -> None:
    """Calls that ended before then go; nobody asks for them any more, and the audit log has them."""
    db.execute("DELETE FROM calls WHERE ended_at < ?", (before,))


def _call(row: sqlite3.Row) -> CapabilityCall:
    fields = {name: row[name] for name in row.keys() if name not in ("agent", "user", "result", "cost")}  # noqa: SIM118 - a Row iterates over values
    key = CubicleKey(str(row["agent"]), int(row["user"]))
    return CapabilityCall(**fields, cubicle=key, result=json.loads(row["result"]))
