"""Rows of what people have looked at: for each conversation the newest turn that its person saw, and when."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import CubicleKey

MOST_COUNTED = 100
"""Of a conversation: whoever has more before them is told that there are many."""
_TOLD = """
    user = :user AND forgotten = 0 AND status IN ('done', 'failed', 'stopped')
    AND source NOT IN ('telegram', 'terminal')
    AND NOT (source = 'calendar' AND ((status = 'done' AND TRIM(COALESCE(reply, ''), char(9, 10, 13, 32)) = '')
        OR UPPER(SUBSTR(LTRIM(prompt, char(9, 10, 13, 32)), 1, 9)) = 'INTERNAL:'))
"""
"""What ended, and is told here: what was asked on another surface is answered there, and silent runs of the calendar
are told to nobody. Word for word what the indexes ``turns_told`` and ``turns_told_by_end`` hold, so that nothing else
is ever looked at."""
_NEWS = f"""
    SELECT id FROM (SELECT id FROM turns INDEXED BY turns_told
        WHERE {_TOLD} AND conversation = marks.conversation AND id > marks.turn ORDER BY id LIMIT {MOST_COUNTED})
    UNION SELECT id FROM (SELECT id FROM turns INDEXED BY turns_told_by_end
        WHERE {_TOLD} AND conversation = marks.conversation AND ended_at > marks.at
        ORDER BY ended_at LIMIT {MOST_COUNTED})
"""  # noqa: S608 - constants
"""The oldest of what came since the mark, and of what was asked before it and ended since."""
_MARKS = """
    SELECT conversations.agent AS agent, conversations.id AS conversation, COALESCE(read_marks.turn, 0) AS turn,
        COALESCE(read_marks.at, 0) AS at
    FROM agents JOIN conversations ON conversations.agent = agents.name AND conversations.user = :user
        AND conversations.archived_at IS NULL
    LEFT JOIN read_marks ON read_marks.conversation = conversations.id
"""


def mark_read(db: sqlite3.Connection, key: CubicleKey, turn: int, now: float) -> bool:
    """The person has seen this turn and what came before it; False when there is no such turn of theirs."""
    cursor = db.execute(
        "INSERT INTO read_marks (conversation, agent, user, turn, at) SELECT conversation, agent, user, id, :now "
        "FROM turns WHERE id = :turn AND agent = :agent AND user = :user "
        "ON CONFLICT (conversation) DO UPDATE SET turn = MAX(turn, excluded.turn), at = MAX(at, excluded.at)",
        {"agent": key.agent, "user": key.user, "turn": turn, "now": now},
    )
    return cursor.rowcount == 1


def count_unread(db: sqlite3.Connection, user: int) -> dict[str, int]:
    """How many turns a person has not seen the end of, by agent; ``MOST_COUNTED`` stands for that many and more."""
    found = db.execute(
        f"SELECT agent, SUM((SELECT COUNT(*) FROM ({_NEWS}))) AS many FROM ({_MARKS}) AS marks GROUP BY agent",  # noqa: S608
        {"user": user},
    )
    return {str(row["agent"]): min(int(row["many"]), MOST_COUNTED) for row in found if row["many"]}


def count_by_conversation(db: sqlite3.Connection, key: CubicleKey) -> dict[int, int]:
    """The same for the conversations of one cubicle, by their ids."""
    found = db.execute(
        f"SELECT conversation, (SELECT COUNT(*) FROM ({_NEWS})) AS many FROM ({_MARKS}) AS marks WHERE agent = :agent",  # noqa: S608
        {"user": key.user, "agent": key.agent},
    )
    return {int(row["conversation"]): min(int(row["many"]), MOST_COUNTED) for row in found if row["many"]}


def get_first_unread(db: sqlite3.Connection, user: int, conversation: int) -> int | None:
    """The oldest turn of a conversation that its person has not seen the end of."""
    row = db.execute(
        f"SELECT (SELECT MIN(id) FROM ({_NEWS})) AS first FROM ({_MARKS}) AS marks "  # noqa: S608 - constants
        "WHERE conversation = :conversation",
        {"conversation": conversation, "user": user},
    ).fetchone()
    return None if row is None or row["first"] is None else int(row["first"])


def delete_mark(db: sqlite3.Connection, conversation: int) -> None:
    """Nobody looks at it any more."""
    db.execute("DELETE FROM read_marks WHERE conversation = ?", (conversation,))
