"""Rows of turns and of the steps within them. Every transition names the status it starts from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.models import CALENDAR, Conversation, CubicleKey, Ruling, Step, Turn, TurnStatus
from orchestrator.turns import conversation_rows
from orchestrator.turns.titles import make_title

_TURN = """
    SELECT turns.*, COALESCE(spent.tokens, 0) AS tokens, COALESCE(spent.cost_micro, 0) AS cost_micro
    FROM turns LEFT JOIN (
        SELECT turn, SUM(COALESCE(prompt_tokens, 0) + COALESCE(completion_tokens, 0)) AS tokens,
            SUM(CASE WHEN state IN ('settled', 'kept') THEN cost_micro ELSE 0 END) AS cost_micro
        FROM spending WHERE turn = :turn GROUP BY turn
    ) AS spent ON spent.turn = turns.id
"""
_OPEN = "('queued', 'running', 'waiting_approval')"
_QUEUE = f"FROM turns INDEXED BY turns_open WHERE status IN {_OPEN} AND status = 'queued' AND agent = ? AND user = ?"
"""Left to itself, SQLite takes the index of the cubicle's turns, and reads all that it ever had. Words as the index of
open turns has them make it read those few rows alone."""


@dataclass(frozen=True, slots=True)
class TurnClaim:
    """What the host remembers of a running turn beside what people see."""

    turn: int
    boot: str | None
    """Which crab process holds it."""
    stop_asked: bool


def insert_turn(
    db: sqlite3.Connection,
    conversation: Conversation,
    *,
    source: str,
    prompt: str,
    origin: str | None,
    now: float,
    parent: int | None = None,
) -> int:
    """Queue a turn, which the conversation goes on with. With an ``origin`` that was seen before, nothing is added and
    the older turn's id comes back.

    Args:
        db: a transaction.
        conversation: where the turn belongs.
        source: the surface that it comes from.
        prompt: the message.
        origin: what makes a repeated message the same one, where there is such a thing.
        now: in seconds since the epoch.
        parent: the turn that it follows.
    """
    key = conversation.cubicle
    row = db.execute(
        "INSERT INTO turns (agent, user, conversation, parent, source, origin, prompt, status, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (origin) DO NOTHING RETURNING id",
        (key.agent, key.user, conversation.id, parent, source, origin, prompt, TurnStatus.QUEUED, now),
    ).fetchone()
    if row is None:
        return int(db.execute("SELECT id FROM turns WHERE origin = ?", (origin,)).fetchone()["id"])
    turn, used_at = int(row["id"]), None if source == CALENDAR else now
    conversation_rows.add_turn(db, conversation.id, turn, title=make_title(prompt), used_at=used_at)
    return turn


def get_turn(db: sqlite3.Connection, turn: int) -> Turn | None:
    """The turn with this id, its tokens and cost summed."""
    row = db.execute(f"{_TURN} WHERE turns.id = :turn", {"turn": turn}).fetchone()
    return None if row is None else make_turn(row)


def get_turn_by_origin(db: sqlite3.Connection, origin: str) -> Turn | None:
    """The turn that this origin made."""
    row = db.execute("SELECT id FROM turns WHERE origin = ?", (origin,)).fetchone()
    return None if row is None else get_turn(db, int(row["id"]))


def set_prompt(db: sqlite3.Connection, origin: str, prompt: str) -> Turn | None:
    """The turn of this origin, with another prompt; None when no such turn is queued, or it asks just that."""
    row = db.execute(
        "UPDATE turns SET prompt = ? WHERE origin = ? AND status = 'queued' AND prompt != ? RETURNING id",
        (prompt, origin, prompt),
    ).fetchone()
    return None if row is None else get_turn(db, int(row["id"]))


def delete_queued(db: sqlite3.Connection, turn: int) -> bool:
    """A queued turn is no part of the conversation; False when it is no longer queued."""
    return db.execute("UPDATE turns SET forgotten = 1 WHERE id = ? AND status = 'queued'", (turn,)).rowcount == 1


def erase_turn(db: sqlite3.Connection, turn: int, now: float) -> bool:
    """A turn that has ended is no part of the conversation, and nothing that was said and printed in it is left; False
    when it has not ended, or is gone already. An answer that was not posted yet will not be."""
    erased = db.execute(
        "UPDATE turns SET forgotten = 1, prompt = '', reply = NULL, error = NULL, written = NULL, "  # noqa: S608
        f"apps = '[]', told_at = COALESCE(told_at, ?) WHERE id = ? AND forgotten = 0 AND status NOT IN {_OPEN}",
        (now, turn),
    ).rowcount
    if erased:
        db.execute("DELETE FROM steps WHERE turn = ?", (turn,))
    return erased == 1


def is_open(db: sqlite3.Connection, turn: int) -> bool:
    """The turn has no outcome yet and nobody has asked it to end."""
    row = db.execute(
        f"SELECT 1 FROM turns WHERE id = ? AND stop_asked_at IS NULL AND status IN {_OPEN}",  # noqa: S608 - constant
        (turn,),
    ).fetchone()
    return row is not None


def get_first_queued(db: sqlite3.Connection, key: CubicleKey) -> int | None:
    """The turn that is next in this cubicle's queue: what a person asked comes before what the calendar asks."""
    row = db.execute(
        f"SELECT id {_QUEUE} ORDER BY source = 'calendar', id LIMIT 1",
        (key.agent, key.user),
    ).fetchone()
    return None if row is None else int(row["id"])


def get_last_end(db: sqlite3.Connection, key: CubicleKey) -> float:
    """When a turn of this cubicle last ended; 0 without one."""
    row = db.execute(
        "SELECT ended_at FROM turns WHERE agent = ? AND user = ? AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 1",
        (key.agent, key.user),
    ).fetchone()
    return 0.0 if row is None else float(row["ended_at"])


def list_queued(db: sqlite3.Connection, key: CubicleKey) -> list[int]:
    """The turns in this cubicle's queue, in order."""
    rows = db.execute(f"SELECT id {_QUEUE} ORDER BY source = 'calendar', id", (key.agent, key.user))
    return [int(row["id"]) for row in rows]


def count_queued(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many turns wait in this cubicle's queue."""
    row = db.execute(f"SELECT COUNT(*) {_QUEUE}", (key.agent, key.user)).fetchone()
    return int(row[0])


def list_running(db: sqlite3.Connection, key: CubicleKey | None = None) -> list[tuple[CubicleKey, TurnClaim]]:
    """The turns that some crab holds, in one cubicle or in all."""
    rows = db.execute(
        "SELECT id, agent, user, boot, stop_asked_at "  # noqa: S608 - constant
        f"FROM turns WHERE status IN {_OPEN} AND status <> 'queued' AND (? IS NULL OR (agent = ? AND user = ?))",
        (None, None, None) if key is None else (1, key.agent, key.user),
    )
    return [
        (
            CubicleKey(str(row["agent"]), int(row["user"])),
            TurnClaim(int(row["id"]), row["boot"], row["stop_asked_at"] is not None),
        )
        for row in rows
    ]


def list_waiting_cubicles(db: sqlite3.Connection) -> list[CubicleKey]:
    """The cubicles whose queue is not empty."""
    rows = db.execute(f"SELECT DISTINCT agent, user FROM turns WHERE status IN {_OPEN} AND status = 'queued'")  # noqa: S608 - constant
    return [CubicleKey(str(row["agent"]), int(row["user"])) for row in rows]


def claim_turn(db: sqlite3.Connection, turn: int, boot: str, now: float) -> bool:
    """A crab takes a queued turn; False when it is no longer queued."""
    cursor = db.execute(
        "UPDATE turns SET status = 'running', boot = ?, started_at = ?, claims = claims + 1, written = NULL "
        "WHERE id = ? AND status = 'queued'",
        (boot, now, turn),
    )
    return cursor.rowcount == 1


def requeue_turn(db: sqlite3.Connection, turn: int) -> bool:
    """A running turn goes back to the queue; False when that was tried too often, or anything was done in it."""
    cursor = db.execute(
        "UPDATE turns SET status = 'queued', boot = NULL WHERE id = ? AND status = 'running' AND claims < 3 "
        "AND NOT EXISTS (SELECT 1 FROM steps WHERE turn = turns.id)",
        (turn,),
    )
    return cursor.rowcount == 1


def set_waiting(db: sqlite3.Connection, turn: int, *, is_waiting: bool) -> bool:
    """A running turn begins or ends to wait for a person; False when nothing changed."""
    was, becomes = (TurnStatus.RUNNING, TurnStatus.WAITING) if is_waiting else (TurnStatus.WAITING, TurnStatus.RUNNING)
    cursor = db.execute("UPDATE turns SET status = ? WHERE id = ? AND status = ?", (becomes, turn, was))
    return cursor.rowcount == 1


def ask_stop(db: sqlite3.Connection, turn: int, now: float) -> bool:
    """Remember that a person wants a running turn to end; False when it has ended or was never begun."""
    cursor = db.execute(
        "UPDATE turns SET stop_asked_at = COALESCE(stop_asked_at, ?) WHERE id = ? "
        "AND status IN ('running', 'waiting_approval')",
        (now, turn),
    )
    return cursor.rowcount == 1


def may_go_on(db: sqlite3.Connection, turn: int, key: CubicleKey) -> bool | None:
    """This cubicle's turn is under way and nobody asked it to end; None when it is no turn of this cubicle."""
    row = db.execute(
        f"SELECT status IN {_OPEN} AND stop_asked_at IS NULL FROM turns "  # noqa: S608 - constant
        "WHERE id = ? AND agent = ? AND user = ?",
        (turn, key.agent, key.user),
    ).fetchone()
    return None if row is None else bool(row[0])


def is_stop_asked(db: sqlite3.Connection, turn: int) -> bool:
    """A person asked this turn to end."""
    row = db.execute("SELECT stop_asked_at FROM turns WHERE id = ?", (turn,)).fetchone()
    return row is not None and row["stop_asked_at"] is not None


def end_turn(
    db: sqlite3.Connection,
    turn: int,
    status: TurnStatus,
    *,
    now: float,
    reply: str | None = None,
    error: str | None = None,
    action: str | None = None,
) -> bool:
    """Give a turn its one outcome; False when it already has one."""
    cursor = db.execute(
        f"UPDATE turns SET status = ?, reply = ?, error = ?, action = ?, ended_at = ?, written = NULL "  # noqa: S608 - constant
        f"WHERE id = ? AND status IN {_OPEN}",
        (status, reply, error, action, now, turn),
    )
    return cursor.rowcount == 1


def has_steps(db: sqlite3.Connection, turn: int) -> bool:
    """A command was run in the turn, or asked about."""
    return db.execute("SELECT 1 FROM steps WHERE turn = ? LIMIT 1", (turn,)).fetchone() is not None


def add_apps(db: sqlite3.Connection, turn: int, names: Sequence[str]) -> None:
    """These web apps were made or changed in the turn."""
    db.execute("UPDATE turns SET apps = ? WHERE id = ?", (json.dumps(list(names), ensure_ascii=False), turn))


def clear_conversation(db: sqlite3.Connection, conversation: int) -> int:
    """Clear the conversation of what has ended; returns how many turns that were."""
    cursor = db.execute(
        f"UPDATE turns SET forgotten = 1 WHERE conversation = ? AND forgotten = 0 "  # noqa: S608 - constant
        f"AND status NOT IN {_OPEN}",
        (conversation,),
    )
    return cursor.rowcount


def has_open(db: sqlite3.Connection, conversation: int) -> bool:
    """A turn of the conversation waits or is under way."""
    row = db.execute(
        f"SELECT 1 FROM turns INDEXED BY turns_open WHERE status IN {_OPEN} AND conversation = ? LIMIT 1",  # noqa: S608
        (conversation,),
    ).fetchone()
    return row is not None


def insert_step(db: sqlite3.Connection, step: Step) -> bool:
    """Write a step down before it is done; False when this turn has a step of that number."""
    cursor = db.execute(
        "INSERT INTO steps (turn, n, thought, command, sha256, ruling, reason, approval, status, started_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            step.turn,
            step.n,
            step.thought,
            step.command,
            step.sha256,
            step.ruling,
            step.reason,
            step.approval,
            step.status,
            step.started_at,
        ),
    )
    return cursor.rowcount == 1


def get_step(db: sqlite3.Connection, turn: int, n: int) -> Step | None:
    """The step of this number."""
    row = db.execute("SELECT * FROM steps WHERE turn = ? AND n = ?", (turn, n)).fetchone()
    return None if row is None else _make_step(row)


def list_steps(db: sqlite3.Connection, turn: int) -> list[Step]:
    """The turn's steps in order."""
    return [_make_step(row) for row in db.execute("SELECT * FROM steps WHERE turn = ? ORDER BY n", (turn,))]


def get_last_step(db: sqlite3.Connection, turn: int) -> Step | None:
    """The turn's last step so far."""
    row = db.execute("SELECT * FROM steps WHERE turn = ? ORDER BY n DESC LIMIT 1", (turn,)).fetchone()
    return None if row is None else _make_step(row)


def list_brief_steps(db: sqlite3.Connection, turns: Sequence[int], *, most: int, chars: int) -> dict[int, list[Step]]:
    """The last ``most`` steps of each turn, with no text longer than about ``chars``: of an output head and tail."""
    rows = db.execute(
        "SELECT turn, n, substr(thought, 1, ?) AS thought, substr(command, 1, ?) AS command, sha256, ruling, reason, "
        "approval, status, exit_code, started_at, ended_at, CASE WHEN length(output) <= ? THEN output "
        "ELSE substr(output, 1, ?) || char(10) || '[…]' || char(10) || substr(output, -?) END AS output "
        "FROM steps WHERE turn IN (SELECT value FROM json_each(?)) "
        "AND n > (SELECT MAX(n) FROM steps AS later WHERE later.turn = steps.turn) - ? ORDER BY turn, n",
        (chars, chars, chars, chars // 2, chars // 2, json.dumps(list(turns)), most),
    )
    found: dict[int, list[Step]] = {turn: [] for turn in turns}
    for row in rows:
        found[int(row["turn"])].append(_make_step(row))
    return found


def set_step(db: sqlite3.Connection, turn: int, n: int, status: str, *, approval: str | None = None) -> None:
    """A step moves on; an approval id, once set, stays."""
    db.execute(
        "UPDATE steps SET status = ?, approval = COALESCE(?, approval) WHERE turn = ? AND n = ?",
        (status, approval, turn, n),
    )


def end_step(db: sqlite3.Connection, turn: int, n: int, *, exit_code: int, output: str, now: float) -> bool:
    """Record how a command ended; False when it was recorded before, or was never let run."""
    cursor = db.execute(
        "UPDATE steps SET status = 'done', exit_code = ?, output = ?, ended_at = ? "
        "WHERE turn = ? AND n = ? AND status = 'running'",
        (exit_code, output, now, turn, n),
    )
    return cursor.rowcount == 1


def make_turn(row: sqlite3.Row) -> Turn:
    """A turn of its row."""
    return Turn(
        id=int(row["id"]),
        cubicle=CubicleKey(str(row["agent"]), int(row["user"])),
        source=str(row["source"]),
        prompt=str(row["prompt"]),
        status=TurnStatus(row["status"]),
        reply=row["reply"],
        error=row["error"],
        created_at=float(row["created_at"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        tokens=int(row["tokens"]),
        cost_micro=int(row["cost_micro"]),
        conversation=int(row["conversation"]),
        parent=row["parent"],
        apps=tuple(json.loads(row["apps"])),
        is_cleared=bool(row["forgotten"]),
    )


def _make_step(row: sqlite3.Row) -> Step:
    return Step(**{**dict(row), "ruling": Ruling(row["ruling"])})
