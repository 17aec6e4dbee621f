"""Rows that were kept long enough, let go a few at a time: each call is one small piece of work, found by an index or
in the order in which rows came. What is still open stays, however old it is.
"""

from __future__ import annotations

import sqlite3

NOTE = "[This output is no longer kept.]"
"""What stands in the place of a command's output."""
TURNS_AT_ONCE = 10
"""A turn takes its steps and what they printed with it."""
_LOOKED_AT = "retention.looked_at"


def get_last_run(db: sqlite3.Connection) -> float | None:
    """When the last look was, by the clock of then."""
    row = db.execute("SELECT value FROM settings WHERE key = ?", (_LOOKED_AT,)).fetchone()
    return None if row is None else float(row[0])


def set_last_run(db: sqlite3.Connection, now: float) -> None:
    """Note a look."""
    db.execute("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", (_LOOKED_AT, str(now)))


def delete_notifications(db: sqlite3.Connection, before: float, most: int) -> int:
    """What the install said."""
    return db.execute(
        "DELETE FROM notices WHERE id IN (SELECT id FROM notices ORDER BY id LIMIT ?) AND at < ?", (most, before)
    ).rowcount


def delete_questions(db: sqlite3.Connection, before: float, most: int) -> int:
    """What agents asked, unless it still waits."""
    return db.execute(
        "DELETE FROM questions WHERE id IN (SELECT id FROM questions WHERE asked_at < ? AND status <> 'pending' "
        "ORDER BY asked_at LIMIT ?)",
        (before, most),
    ).rowcount


def delete_downloads(db: sqlite3.Connection, before: float, most: int) -> int:
    """What was asked for from the internet; the files stay where they are."""
    return db.execute(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE kind = 'asset' AND created < ? "
        "AND ended IS NOT NULL ORDER BY id LIMIT ?)",
        (before, most),
    ).rowcount


def delete_approvals(db: sqlite3.Connection, before: float, most: int) -> int:
    """Questions for approval that were decided; the audit log has the decisions."""
    return db.execute(
        "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE asked_at < ? AND status <> 'pending' "
        "ORDER BY asked_at LIMIT ?)",
        (before, most),
    ).rowcount


def delete_messages(db: sqlite3.Connection, before: float, most: int) -> int:
    """What was sent to chats, or could not be; it stays there."""
    return db.execute(
        "DELETE FROM chat_outbox WHERE id IN (SELECT id FROM chat_outbox ORDER BY id LIMIT ?) "
        "AND created_at < ? AND state IN ('sent', 'failed') AND amendment IS NULL",
        (most, before),
    ).rowcount


def delete_outputs(db: sqlite3.Connection, before: float, most: int) -> int:
    """What the commands of old turns printed; the commands stay. How many turns were looked at."""
    done = _upto(db, "outputs")
    old = _old_turns(db, before, min(most, TURNS_AT_ONCE), after=done)
    if not old:
        return 0
    db.execute(
        "UPDATE steps SET output = ? WHERE turn > ? AND turn <= ? AND length(output) > ?",
        (NOTE, done, old[-1], len(NOTE)),
    )
    _reach(db, "outputs", old[-1])
    return len(old)


def delete_conversations(db: sqlite3.Connection, before: float, most: int) -> int:
    """Turns with their steps and approvals, what they read, and the summaries that stand for them."""
    old = _old_turns(db, before, min(most, TURNS_AT_ONCE), after=0)
    if not old:
        return 0
    db.execute("DELETE FROM summaries WHERE upto <= ?", (old[-1],))
    db.execute("DELETE FROM sources WHERE turn <= ? OR (turn IS NULL AND last_at < ?)", (old[-1], before))
    return db.execute("DELETE FROM turns WHERE id <= ?", (old[-1],)).rowcount


def delete_audit(db: sqlite3.Connection, before: float, most: int) -> int:
    """Rows of the audit log, which let themselves be deleted up to the mark that is set here alone."""
    rows = db.execute("SELECT id, at FROM audit ORDER BY id LIMIT ?", (most,)).fetchall()
    old = _beginning([(int(row["id"]), row["at"] < before) for row in rows])
    if not old:
        return 0
    _reach(db, "audit", old[-1])
    return db.execute("DELETE FROM audit WHERE id <= ?", (old[-1],)).rowcount


def _old_turns(db: sqlite3.Connection, before: float, most: int, *, after: int) -> list[int]:
    """The oldest turns, up to the first that is too young or has no outcome."""
    rows = db.execute(
        "SELECT id, created_at, ended_at FROM turns WHERE id > ? ORDER BY id LIMIT ?", (after, most)
    ).fetchall()
    return _beginning([(int(r["id"]), r["created_at"] < before and r["ended_at"] is not None) for r in rows])


def _beginning(rows: list[tuple[int, bool]]) -> list[int]:
    """The ids up to the first that may not go."""
    end = next((n for n, (_, may_go) in enumerate(rows) if not may_go), len(rows))
    return [row for row, _ in rows[:end]]


def _upto(db: sqlite3.Connection, what: str) -> int:
    row = db.execute("SELECT upto FROM retention WHERE what = ?", (what,)).fetchone()
    return 0 if row is None else int(row["upto"])


def _reach(db: sqlite3.Connection, what: str, upto: int) -> None:
    db.execute(
        "INSERT INTO retention (what, upto) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET upto = excluded.upto",
        (what, upto),
    )
