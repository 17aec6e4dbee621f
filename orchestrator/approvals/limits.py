"""How often a person may be asked: so many open questions at a time, no text twice after a no, no end of noes."""

from __future__ import annotations

import sqlite3

from orchestrator.approvals import rows
from orchestrator.core.errors import TooMany
from orchestrator.core.models import CubicleKey

MAX_PENDING = 5
"""Open questions of one cubicle at a time; a person who is asked too much stops reading."""
MAX_REFUSED = 5
"""Questions of a turn without a yes; after that nobody is asked any more until it ends."""


def check_pending(db: sqlite3.Connection, key: CubicleKey) -> None:
    """Raises TooMany when enough questions of this cubicle are open."""
    if rows.count_pending(db, key) >= MAX_PENDING:
        raise TooMany(f"{MAX_PENDING} questions of this agent are waiting for an answer already.")


def refused_before(db: sqlite3.Connection, turn: int, sha256: str) -> str:
    """Why nobody is asked about this text in this turn any more, for the agent; empty when a person may be."""
    refused = rows.list_refused_of_turn(db, turn)
    if sha256 in refused:
        return "A person was asked exactly this in this turn and did not agree. Nobody is asked again: do without."
    if len(refused) >= MAX_REFUSED:
        return f"{MAX_REFUSED} questions of this turn had no yes. Nobody is asked again until the next message."
    return ""
