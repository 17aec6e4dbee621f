"""Rows of deliveries. What is delivered once is unique here, so that no race and no crash sends it twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey, Delivery, DeliveryStatus

_ON_THEIR_WAY = "('kept', 'handed')"


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn whose answer asked for files by name."""

    cubicle: CubicleKey
    turn: int
    action: str


def insert_delivery(
    db: sqlite3.Connection, new: Delivery, *, asked: int | None = None, is_again: bool = False
) -> int | None:
    """Write a delivery down before anything is done; its id, or None when there is one like it already.

    ``asked`` is the turn that asked for it by name, ``is_again`` says that it may be one that was delivered before.
    None also when the agent or the person is gone.
    """
    row = db.execute(
        "INSERT INTO deliveries (agent, user, turn, asked, is_again, path, name, kind, caption, sha256, size_bytes, at,"
        " destination, status, why, copy) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? "
        "WHERE EXISTS (SELECT 1 FROM agents WHERE name = ?) AND EXISTS (SELECT 1 FROM users WHERE id = ?) "
        "ON CONFLICT DO NOTHING RETURNING id",
        (
            new.cubicle.agent,
            new.cubicle.user,
            new.turn,
            asked,
            is_again,
            new.path,
            new.name,
            new.kind,
            new.caption,
            new.sha256,
            new.size_bytes,
            new.at,
            new.to,
            new.status,
            new.why,
            new.copy,
            new.cubicle.agent,
            new.cubicle.user,
        ),
    ).fetchone()
    return None if row is None else int(row["id"])


def get_delivery(db: sqlite3.Connection, delivery: int) -> Delivery | None:
    """The delivery with this id."""
    row = db.execute("SELECT * FROM deliveries WHERE id = ?", (delivery,)).fetchone()
    return None if row is None else delivery_of(row)


def list_deliveries(
    db: sqlite3.Connection, key: CubicleKey, *, limit: int, before: int | None = None
) -> list[Delivery]:
    """The newest deliveries of a cubicle, newest first; ``before`` is the id to go on from."""
    rows = db.execute(
        "SELECT * FROM deliveries WHERE agent = ? AND user = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (key.agent, key.user, before or 2**62, limit),
    )
    return [delivery_of(row) for row in rows]


def list_of_turns(db: sqlite3.Connection, turns: Sequence[int]) -> list[Delivery]:
    """What turns delivered, in order, those included that they asked for again."""
    marks = ", ".join("?" * len(turns))
    rows = db.execute(f"SELECT * FROM deliveries WHERE turn IN ({marks}) ORDER BY id", tuple(turns))  # noqa: S608 - marks
    return [delivery_of(row) for row in rows]


def is_delivered(db: sqlite3.Connection, key: CubicleKey, path: bytes, sha256: str, *, turn: int | None = None) -> bool:
    """This content of this file was delivered before; with a ``turn``, in that turn."""
    row = db.execute(
        "SELECT 1 FROM deliveries WHERE agent = ? AND user = ? AND path = ? AND sha256 = ? AND (? IS NULL OR turn = ?)",
        (key.agent, key.user, path, sha256, turn, turn),
    ).fetchone()
    return row is not None


def mark_asked(db: sqlite3.Connection, turn: int, path: bytes, sha256: str) -> None:
    """The turn asked for what it had delivered already: that is its answer."""
    db.execute(
        "UPDATE deliveries SET asked = ? WHERE id = (SELECT id FROM deliveries WHERE turn = ? AND path = ? "
        "AND sha256 = ? AND asked IS NULL ORDER BY id DESC LIMIT 1)",
        (turn, turn, path, sha256),
    )


def list_asked_paths(db: sqlite3.Connection, turn: int) -> set[bytes]:
    """The files that this turn asked for by name and got an answer about."""
    return {bytes(row["path"]) for row in db.execute("SELECT path FROM deliveries WHERE asked = ?", (turn,))}


def list_asking_turns(db: sqlite3.Connection, *, since: float) -> list[Asked]:
    """The turns that asked for files by name and ended since then."""
    rows = db.execute(
        "SELECT id, agent, user, action FROM turns WHERE ended_at >= ? AND action LIKE 'FILE:%' ORDER BY id", (since,)
    )
    return [Asked(CubicleKey(str(r["agent"]), int(r["user"])), int(r["id"]), str(r["action"])) for r in rows]


def get_action(db: sqlite3.Connection, turn: int) -> str:
    """What the turn's answer asked for beside its words; mostly empty."""
    row = db.execute("SELECT action FROM turns WHERE id = ?", (turn,)).fetchone()
    return "" if row is None or row["action"] is None else str(row["action"])


def find_turn_at(db: sqlite3.Connection, key: CubicleKey, at: float, *, afterglow_s: float) -> int | None:
    """The turn that was under way in a cubicle at a time, or had ended moments before."""
    row = db.execute(
        "SELECT id FROM turns WHERE agent = ? AND user = ? AND started_at <= ? "
        "AND (ended_at IS NULL OR ended_at + ? >= ?) ORDER BY id DESC LIMIT 1",
        (key.agent, key.user, at, afterglow_s, at),
    ).fetchone()
    return None if row is None else int(row["id"])


def sum_delivered(db: sqlite3.Connection, key: CubicleKey, *, since: float) -> tuple[int, int]:
    """How many files, and bytes, a cubicle delivered since then. Notices about many count as one."""
    row = db.execute(
        "SELECT COUNT(*), COALESCE(SUM(size_bytes), 0) FROM deliveries WHERE agent = ? AND user = ? AND at > ?",
        (key.agent, key.user, since),
    ).fetchone()
    return int(row[0]), int(row[1])


def list_open(db: sqlite3.Connection) -> list[Delivery]:
    """What was written down and has not ended, oldest first."""
    rows = db.execute(f"SELECT * FROM deliveries WHERE status IN {_ON_THEIR_WAY} ORDER BY id")  # noqa: S608 - constant
    return [delivery_of(row) for row in rows]


def list_unsent(db: sqlite3.Connection, *, since: float) -> list[Delivery]:
    """What was not sent since then, and is to be said elsewhere than in the dashboard."""
    rows = db.execute(
        "SELECT * FROM deliveries WHERE at >= ? AND status IN ('withheld', 'refused', 'failed') AND copy = '' "
        "AND destination <> 'dashboard' ORDER BY id",
        (since,),
    )
    return [delivery_of(row) for row in rows]


def claim_delivery(db: sqlite3.Connection, delivery: int) -> bool:
    """Claim it for handing over; False when somebody else did, or it has ended."""
    cursor = db.execute("UPDATE deliveries SET status = 'handed' WHERE id = ? AND status = 'kept'", (delivery,))
    return cursor.rowcount == 1


def end_delivery(db: sqlite3.Connection, delivery: int, status: DeliveryStatus, *, why: str | None = None) -> bool:
    """How it ended, once; False when it had ended before. Without a ``why`` the old one stays."""
    cursor = db.execute(
        f"UPDATE deliveries SET status = ?, why = COALESCE(?, why) "  # noqa: S608 - constant
        f"WHERE id = ? AND status IN {_ON_THEIR_WAY}",
        (status, why, delivery),
    )
    return cursor.rowcount == 1


# --- copies ----------------------------------------------------------------------------------------------------


def list_copies(db: sqlite3.Connection) -> set[str]:
    """The names of all private copies that a row speaks of."""
    return {str(row["copy"]) for row in db.execute("SELECT copy FROM deliveries WHERE copy <> ''")}


def list_old_copies(db: sqlite3.Connection, *, before: float) -> list[Delivery]:
    """Ended deliveries from before then that still have their copies."""
    rows = db.execute(
        "SELECT * FROM deliveries WHERE copy <> '' AND at < ? "  # noqa: S608 - constant
        f"AND status NOT IN {_ON_THEIR_WAY} ORDER BY at",
        (before,),
    )
    return [delivery_of(row) for row in rows]


def sum_copied_bytes(db: sqlite3.Connection) -> dict[CubicleKey, int]:
    """What the copies of each cubicle take."""
    rows = db.execute("SELECT agent, user, SUM(size_bytes) AS size FROM deliveries WHERE copy <> '' GROUP BY 1, 2")
    return {CubicleKey(str(row["agent"]), int(row["user"])): int(row["size"]) for row in rows}


def list_oldest_copies(db: sqlite3.Connection, key: CubicleKey) -> list[Delivery]:
    """A cubicle's ended deliveries that still have their copies, oldest first."""
    rows = db.execute(
        "SELECT * FROM deliveries WHERE agent = ? AND user = ? AND copy <> '' "  # noqa: S608 - constant
        f"AND status NOT IN {_ON_THEIR_WAY} ORDER BY at",
        (key.agent, key.user),
    )
    return [delivery_of(row) for row in rows]


def forget_copy(db: sqlite3.Connection, delivery: int) -> None:
    """Its copy is not kept any longer."""
    db.execute("UPDATE deliveries SET copy = '' WHERE id = ?", (delivery,))


# --- marks -----------------------------------------------------------------------------------------------------


def get_mark(db: sqlite3.Connection, key: CubicleKey) -> int:
    """Until when, in nanoseconds of the kernel's clock, all that changed in ``out/`` was dealt with."""
    row = db.execute(
        "SELECT until_ns FROM delivery_marks WHERE agent = ? AND user = ?", (key.agent, key.user)
    ).fetchone()
    return 0 if row is None else int(row["until_ns"])


def set_mark(db: sqlite3.Connection, key: CubicleKey, until_ns: int) -> None:
    """Everything that changed until then was dealt with."""
    db.execute(
        "INSERT INTO delivery_marks (agent, user, until_ns) SELECT ?, ?, ? "
        "WHERE EXISTS (SELECT 1 FROM agents WHERE name = ?) AND EXISTS (SELECT 1 FROM users WHERE id = ?) "
        "ON CONFLICT (agent, user) DO UPDATE SET until_ns = excluded.until_ns",
        (key.agent, key.user, until_ns, key.agent, key.user),
    )


def delivery_of(row: sqlite3.Row) -> Delivery:
    """A whole row of the table as the delivery that it is."""
    return Delivery(
        id=int(row["id"]),
        cubicle=CubicleKey(str(row["agent"]), int(row["user"])),
        turn=row["turn"],
        path=bytes(row["path"]),
        name=str(row["name"]),
        kind=str(row["kind"]),
        caption=str(row["caption"]),
        sha256=str(row["sha256"]),
        size_bytes=int(row["size_bytes"]),
        at=float(row["at"]),
        to=str(row["destination"]),
        status=DeliveryStatus(row["status"]),
        why=str(row["why"]),
        copy=str(row["copy"]),
    )
