"""Rows of approvals. A question is decided by one compare-and-set, and an approval is used by another."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey

AHEAD_S = 3600.0
"""What was asked so long after now was asked by a clock that has gone back since."""


def insert_approval(db: sqlite3.Connection, approval: Approval) -> None:
    """Write a question down before anybody is asked."""
    db.execute(
        "INSERT INTO approvals (id, agent, user, turn, step, kind, text, sha256, reason, detail, status, asked_at, "
        "expires_at, read_mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            approval.id,
            approval.cubicle.agent,
            approval.cubicle.user,
            approval.turn,
            approval.step,
            approval.kind,
            approval.text,
            approval.sha256,
            approval.reason,
            json.dumps(approval.detail, ensure_ascii=False),
            approval.status,
            approval.asked_at,
            approval.expires_at,
            approval.read_mark,
        ),
    )


def get_approval(db: sqlite3.Connection, approval: str) -> Approval | None:
    """The approval with this id."""
    row = db.execute("SELECT * FROM approvals WHERE id = ?", (approval,)).fetchone()
    return None if row is None else _make_approval(row)


def list_pending(db: sqlite3.Connection) -> list[Approval]:
    """All open questions of everybody, newest first; each cubicle has a few at most."""
    rows = db.execute("SELECT * FROM approvals WHERE status = 'pending' ORDER BY asked_at DESC, id DESC")
    return [_make_approval(row) for row in rows]


def pending_same(db: sqlite3.Connection, asked: Approval, now: float) -> Approval | None:
    """The open question of this cubicle about the same, if it still may be answered; of a command, of the same step."""
    row = db.execute(
        "SELECT * FROM approvals WHERE agent = ? AND user = ? AND kind = ? AND sha256 = ? AND status = 'pending' "
        "AND expires_at > ? AND step IS ? AND (step IS NULL OR turn IS ?)",
        (asked.cubicle.agent, asked.cubicle.user, asked.kind, asked.sha256, now, asked.step, asked.turn),
    ).fetchone()
    return None if row is None else _make_approval(row)


def list_unused_of_turn(db: sqlite3.Connection, turn: int) -> list[Approval]:
    """The turn's questions about commands whose answer, if there is one, was not used. What the host was asked to do
    may be decided after the turn."""
    rows = db.execute(
        "SELECT * FROM approvals WHERE turn = ? AND kind = 'command' AND used_at IS NULL ORDER BY asked_at", (turn,)
    )
    return [_make_approval(row) for row in rows]


def list_of_turn(db: sqlite3.Connection, turn: int) -> list[Approval]:
    """What was asked in a turn about what the host shall do, in order."""
    rows = db.execute("SELECT * FROM approvals WHERE turn = ? AND kind != 'command' ORDER BY asked_at", (turn,))
    return [_make_approval(row) for row in rows]


def list_refused_of_turn(db: sqlite3.Connection, turn: int) -> list[str]:
    """The SHA-256 of every text of this turn that a person did not agree to."""
    rows = db.execute("SELECT sha256 FROM approvals WHERE turn = ? AND status IN ('denied', 'expired')", (turn,))
    return [str(row["sha256"]) for row in rows]


def list_unused_of_open_turns(db: sqlite3.Connection) -> list[Approval]:
    """The questions of turns under way that are open, or whose answer was not used."""
    rows = db.execute(
        "SELECT approvals.* FROM turns JOIN approvals ON approvals.turn = turns.id "
        "WHERE turns.status IN ('running', 'waiting_approval') AND approvals.used_at IS NULL "
        "AND approvals.kind = 'command' ORDER BY asked_at"
    )
    return [_make_approval(row) for row in rows]


def list_pending_of_ended_turns(db: sqlite3.Connection) -> list[Approval]:
    """Open questions that nobody waits for any more; a death right after a turn's end leaves them."""
    rows = db.execute(
        "SELECT approvals.* FROM approvals JOIN turns ON approvals.turn = turns.id "
        "WHERE approvals.status = 'pending' AND approvals.kind = 'command' "
        "AND turns.status IN ('done', 'failed', 'stopped')"
    )
    return [_make_approval(row) for row in rows]


def count_pending(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many questions of this cubicle are open."""
    row = db.execute(  # the signs keep it to the index of the pending ones: there are few, and many others
        "SELECT COUNT(*) FROM approvals WHERE status = 'pending' AND +agent = ? AND +user = ?", (key.agent, key.user)
    ).fetchone()
    return int(row[0])


def list_overdue(db: sqlite3.Connection, now: float) -> list[str]:
    """The pending ones whose time is up; one that was asked long after now, by a clock that has gone back since, would
    wait for ever."""
    rows = db.execute(
        "SELECT id FROM approvals WHERE status = 'pending' AND (expires_at <= ? OR asked_at > ?)", (now, now + AHEAD_S)
    )
    return [str(row["id"]) for row in rows]


def decide_approval(
    db: sqlite3.Connection,
    approval: str,
    status: ApprovalStatus,
    by: str,
    now: float,
    *,
    detail: Mapping[str, Any] | None = None,
) -> bool:
    """Decide a pending approval; False when it is not pending. An expired one can't be approved or denied any more.
    ``detail`` is added to what is known of it."""
    added = json.dumps(detail, ensure_ascii=False) if detail else None
    cursor = db.execute(
        "UPDATE approvals SET status = :status, decided_at = :now, decided_by = :by, "
        "detail = CASE WHEN :detail IS NULL THEN detail ELSE json_patch(detail, :detail) END WHERE id = :id "
        "AND status = 'pending' AND (:status NOT IN ('approved', 'denied') OR expires_at > :now)",
        {"status": status, "now": now, "by": by, "id": approval, "detail": added},
    )
    return cursor.rowcount == 1


def use_approval(db: sqlite3.Connection, approval: str, turn: int, step: int, *, sha256: str, now: float) -> bool:
    """Take an approval for the step, turn and text that it was given for; False when it does not fit or was used."""
    cursor = db.execute(
        "UPDATE approvals SET used_at = ? WHERE id = ? AND status = 'approved' AND used_at IS NULL "
        "AND turn = ? AND step = ? AND sha256 = ? AND expires_at > ?",
        (now, approval, turn, step, sha256, now),
    )
    return cursor.rowcount == 1


def _make_approval(row: sqlite3.Row) -> Approval:
    fields = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    return Approval(
        **{**fields, "cubicle": key, "status": ApprovalStatus(fields["status"]), "detail": json.loads(fields["detail"])}
    )
