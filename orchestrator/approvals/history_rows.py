"""Rows of approvals as a history: a page at a time, newest first. Every page costs what it shows, at a million rows
too: each kind with each outcome lies in order in an index, and a page is merged from their beginnings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.approvals import rows as approvals
from orchestrator.core.models import Approval, ApprovalStatus

Place = tuple[float, str]
"""When a question was asked, and its id: where a page begins."""


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """Which questions; all of them where nothing is said."""

    statuses: tuple[ApprovalStatus, ...] = tuple(ApprovalStatus)
    kind: str | None = None
    agent: str | None = None
    user: int | None = None


def list_page(db: sqlite3.Connection, wanted: ApprovalFilter, *, before: Place | None, limit: int) -> list[Approval]:
    """The newest questions that match everything given; those asked before ``before`` alone, where it is given."""
    among = list_kinds(db) if wanted.kind is None else [wanted.kind]
    places = [
        place
        for kind in among
        for status in wanted.statuses
        for place in _find_places(db, wanted, kind, status, before=before, limit=limit)
    ]
    newest = (approvals.get_approval(db, approval) for _, approval in sorted(places, reverse=True)[:limit])
    return [found for found in newest if found is not None]


def find_position(db: sqlite3.Connection, approval: str) -> Place | None:
    """Where a question lies among the others."""
    row = db.execute("SELECT asked_at, id FROM approvals WHERE id = ?", (approval,)).fetchone()
    return None if row is None else (row["asked_at"], row["id"])


def list_kinds(db: sqlite3.Connection) -> list[str]:
    """Every kind that there is, found in as many steps as there are kinds."""
    rows = db.execute(
        "WITH RECURSIVE found (it) AS (SELECT MIN(kind) FROM approvals UNION ALL "
        "SELECT (SELECT MIN(kind) FROM approvals WHERE kind > it) FROM found WHERE it IS NOT NULL) "
        "SELECT it FROM found WHERE it IS NOT NULL"
    )
    return [str(row[0]) for row in rows]


def _find_places(
    db: sqlite3.Connection,
    wanted: ApprovalFilter,
    kind: str,
    status: ApprovalStatus,
    *,
    before: Place | None,
    limit: int,
) -> Sequence[Place]:
    clauses: list[tuple[str, tuple[Any, ...]]] = [("kind = ?", (kind,)), ("status = ?", (status,))]
    if wanted.user is not None:
        clauses.append(("user = ?", (wanted.user,)))
        clauses.append((NOT_CLOSED.format(user="?"), (wanted.user,)))
    if wanted.agent is not None:
        clauses.append(("agent = ?", (wanted.agent,)))
    if before is not None:
        clauses.append(("(asked_at, id) < (?, ?)", before))
    rows = db.execute(
        f"SELECT asked_at, id FROM approvals WHERE {' AND '.join(clause for clause, _ in clauses)} "  # noqa: S608 - clauses above, values bound
        "ORDER BY asked_at DESC, id DESC LIMIT ?",
        (*(value for _, values in clauses for value in values), limit),
    )
    return [(row["asked_at"], row["id"]) for row in rows]
