"""What the turns of a conversation took, read from the rows of spending."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LastCall:
    """The newest call of a conversation whose tokens were counted."""

    provider: str
    model: str
    prompt_tokens: int


def sum_conversation(db: sqlite3.Connection, conversation: int) -> tuple[int, int]:
    """Micro-dollars and tokens of all calls for its turns."""
    row = db.execute(
        "SELECT COALESCE(SUM(s.cost_micro), 0), COALESCE(SUM(COALESCE(s.prompt_tokens, 0) + "
        "COALESCE(s.completion_tokens, 0)), 0) FROM turns t JOIN spending s ON s.turn = t.id "
        "WHERE t.conversation = ? AND t.forgotten = 0 AND s.state IN ('settled', 'kept')",
        (conversation,),
    ).fetchone()
    return int(row[0]), int(row[1])


def get_last_call(db: sqlite3.Connection, conversation: int) -> LastCall | None:
    """None before the first one."""
    row = db.execute(
        "SELECT s.provider, s.model, s.prompt_tokens FROM turns t JOIN spending s ON s.turn = t.id "
        "WHERE t.conversation = ? AND t.forgotten = 0 AND s.prompt_tokens IS NOT NULL "
        "ORDER BY t.id DESC, s.id DESC LIMIT 1",
        (conversation,),
    ).fetchone()
    return None if row is None else LastCall(str(row[0]), str(row[1]), int(row[2]))
