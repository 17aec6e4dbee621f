"""Rows of notices: what the program itself has to say to a person about a cubicle, and what they may do about it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class Offer:
    """A button under a notice."""

    label: str
    do: str
    """Which deed: a name that somebody registered with `Notices.on`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that the program says."""

    id: int
    cubicle: CubicleKey
    turn: int | None
    """The turn that it is about, where there is one: surfaces say it where that turn is answered."""
    at: float
    kind: str
    """``calendar``, ``asset``, ``packages``, ``budget`` or ``memory``."""
    text: str
    """Plain text for a person; words of an agent in it are quoted."""
    subject: str
    """What the deeds are about, such as an entry's number."""
    detail: dict[str, Any]
    """What a deed needs, such as the entry as it was before."""
    offers: tuple[Offer, ...]
    settled_at: float | None
    outcome: str
    """How it ended, as a sentence; empty while the offers stand."""
    conversation: int | None = None
    """The conversation that it belongs to; None where it is about none."""


def insert_notification(
    db: sqlite3.Connection,
    key: CubicleKey,
    *,
    turn: int | None,
    conversation: int | None,
    at: float,
    kind: str,
    text: str,
    subject: str,
    detail: dict[str, Any],
    offers: Sequence[Offer],
) -> int:
    """Write a notice down; its id. Without a conversation, or with a deleted one, it belongs to that of the turn."""
    cursor = db.execute(
        "INSERT INTO notices (agent, user, turn, conversation, at, kind, text, subject, detail, offers) "
        "VALUES (?, ?, ?, COALESCE((SELECT id FROM conversations WHERE id = ? AND archived_at IS NULL), "
        "(SELECT conversation FROM turns WHERE id = ?)), ?, ?, ?, ?, ?, ?)",
        (
            key.agent,
            key.user,
            turn,
            conversation,
            turn,
            at,
            kind,
            text,
            subject,
            json.dumps(detail, ensure_ascii=False),
            json.dumps([[offer.label, offer.do] for offer in offers], ensure_ascii=False),
        ),
    )
    return int(cursor.lastrowid or 0)


def get_notification(db: sqlite3.Connection, notice: int) -> Notice | None:
    """The notice with this id."""
    row = db.execute("SELECT * FROM notices WHERE id = ?", (notice,)).fetchone()
    return None if row is None else _make_notice(row)


def list_of_cubicle(db: sqlite3.Connection, key: CubicleKey, *, before: int | None, limit: int) -> list[Notice]:
    """The newest notices of a cubicle, oldest first; ``before`` is an id to page back from."""
    rows = db.execute(
        "SELECT * FROM notices WHERE agent = ? AND user = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (key.agent, key.user, before or 2**62, limit),
    ).fetchall()
    return [_make_notice(row) for row in reversed(rows)]


def list_of_turn(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[Notice]:
    """What was said about one turn, in order."""
    rows = db.execute(
        "SELECT * FROM notices WHERE agent = ? AND user = ? AND turn = ? ORDER BY id", (key.agent, key.user, turn)
    )
    return [_make_notice(row) for row in rows]


def list_without_turn(
    db: sqlite3.Connection, key: CubicleKey, *, since: float, until: float, limit: int
) -> list[Notice]:
    """The newest notices of a time that are about no turn, in order."""
    rows = db.execute(
        "SELECT * FROM notices WHERE agent = ? AND user = ? AND turn IS NULL AND at >= ? AND at < ? "
        "ORDER BY id DESC LIMIT ?",
        (key.agent, key.user, since, until, limit),
    ).fetchall()
    return [_make_notice(row) for row in reversed(rows)]


def list_after(db: sqlite3.Connection, notice: int, *, limit: int) -> list[Notice]:
    """The notices after this one, in order, of every cubicle."""
    rows = db.execute("SELECT * FROM notices WHERE id > ? ORDER BY id LIMIT ?", (notice, limit))
    return [_make_notice(row) for row in rows]


def get_nth_newest_time(db: sqlite3.Connection, key: CubicleKey, kind: str, n: int) -> float | None:
    """When the ``n``-th newest notice of this kind was written; None while there are fewer."""
    row = db.execute(
        "SELECT at FROM notices WHERE agent = ? AND user = ? AND kind = ? ORDER BY id DESC LIMIT 1 OFFSET ?",
        (key.agent, key.user, kind, n - 1),
    ).fetchone()
    return None if row is None else float(row["at"])


def list_open(db: sqlite3.Connection, kind: str, subject: str) -> list[Notice]:
    """The notices about this whose offers still stand."""
    rows = db.execute(
        "SELECT * FROM notices WHERE kind = ? AND subject = ? AND settled_at IS NULL AND offers != '[]' ORDER BY id",
        (kind, subject),
    )
    return [_make_notice(row) for row in rows]


def list_open_since(db: sqlite3.Connection, since: float) -> list[Notice]:
    """The notices since then whose offers still stand."""
    rows = db.execute(
        "SELECT * FROM notices WHERE settled_at IS NULL AND offers != '[]' AND at > ? ORDER BY id", (since,)
    )
    return [_make_notice(row) for row in rows]


def settle_notification(db: sqlite3.Connection, notice: int, outcome: str, now: float) -> bool:
    """The notice has ended this way; False when it had ended before."""
    cursor = db.execute(
        "UPDATE notices SET settled_at = ?, outcome = ? WHERE id = ? AND settled_at IS NULL", (now, outcome, notice)
    )
    return cursor.rowcount == 1


def _make_notice(row: sqlite3.Row) -> Notice:
    fields: dict[str, Any] = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    detail = json.loads(fields.pop("detail"))
    offers = tuple(Offer(label, do) for label, do in json.loads(fields.pop("offers")))
    return Notice(**fields, cubicle=key, detail=detail, offers=offers)
