"""Rows of branches: turns are a tree by their parents, and a branch is the way from one turn back to the first.

No turn that was cleared or withdrawn is on a branch: whoever takes one away joins what is before and after it.
"""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import Turn
from orchestrator.turns import rows

_WAY = """
    WITH RECURSIVE way (id, parent, n) AS (
        SELECT id, parent, 1 FROM turns WHERE id = :leaf AND forgotten = 0
        UNION ALL
        SELECT turns.id, turns.parent, n + 1 FROM way JOIN turns ON turns.id = way.parent
            WHERE n < :most AND turns.forgotten = 0
    )
"""
_BACK = """
    WITH RECURSIVE way (id, parent) AS (
        SELECT id, parent FROM turns WHERE id = :leaf
        UNION ALL SELECT turns.id, turns.parent FROM way JOIN turns ON turns.id = way.parent WHERE way.id > :until
    )
"""
"""The way back as far as one turn; a parent's id is always the lower one."""
MOST_WALKED = 5_000
"""Turns that are looked at for a summary, at most."""


def list_branch(db: sqlite3.Connection, leaf: int | None, *, limit: int, after: int = 0) -> list[Turn]:
    """The newest turns of the branch that ends with ``leaf``, that one included, oldest first; none up to ``after``."""
    if leaf is None:
        return []
    of_turns = "SELECT turns.*, 0 AS tokens, 0 AS cost_micro FROM way JOIN turns ON turns.id = way.id"
    query = f"{_WAY} {of_turns} WHERE turns.id > :after ORDER BY n DESC"
    found = db.execute(query, {"leaf": leaf, "most": limit, "after": after})
    return [rows.make_turn(row) for row in found]


def list_following(db: sqlite3.Connection, turn: int, head: int | None, *, limit: int) -> list[Turn]:
    """The turns that come next after one on the way to ``head``, oldest first; where that way does not lead past the
    turn, the newest of what follows it."""
    found: list[int] = []
    while len(found) < limit and turn != head:
        children = list_children(db, turn)
        if not children:
            break
        turn = children[-1] if len(children) == 1 else _choose_child(db, children, head)
        found.append(turn)
    return [made for made in (rows.get_turn(db, one) for one in found) if made is not None]


def list_children(db: sqlite3.Connection, turn: int) -> list[int]:
    """The turns that follow this one, each on a branch of its own, oldest first."""
    found = db.execute("SELECT id FROM turns WHERE parent = ? AND forgotten = 0 ORDER BY id", (turn,))
    return [int(row["id"]) for row in found]


def has_ancestor(db: sqlite3.Connection, leaf: int, ancestor: int) -> bool:
    """``ancestor`` is ``leaf``, or on the way back from it."""
    wanted = {"leaf": leaf, "until": ancestor}
    return db.execute(f"{_BACK} SELECT 1 FROM way WHERE id = :until", wanted).fetchone() is not None  # noqa: S608


def find_summed_up(db: sqlite3.Connection, leaf: int | None) -> int | None:
    """The newest turn of the branch up to which there is a summary."""
    row = db.execute(
        f"{_WAY} SELECT way.id FROM way JOIN summaries ON summaries.upto = way.id ORDER BY way.n LIMIT 1",  # noqa: S608
        {"leaf": leaf, "most": MOST_WALKED},
    ).fetchone()
    return None if row is None else int(row["id"])


def remove_turn(db: sqlite3.Connection, turn: int, parent: int | None) -> None:
    """What followed this turn follows its parent now: it is on no branch any more."""
    db.execute("UPDATE turns SET parent = ? WHERE parent = ?", (parent, turn))
    db.execute("UPDATE conversations SET head = ? WHERE head = ?", (parent, turn))
    db.execute("UPDATE conversations SET forked_from = ? WHERE forked_from = ?", (parent, turn))


def join_open(db: sqlite3.Connection, conversation: int) -> int | None:
    """What is left of a conversation that was cleared is one line from now on, and begins it; its last turn."""
    left = [
        int(row["id"])
        for row in db.execute(
            "SELECT id FROM turns WHERE conversation = ? AND forgotten = 0 ORDER BY id", (conversation,)
        )
    ]
    for turn, parent in zip(left, [None, *left], strict=False):
        db.execute("UPDATE turns SET parent = ? WHERE id = ?", (parent, turn))
    return left[-1] if left else None


def _choose_child(db: sqlite3.Connection, children: list[int], head: int | None) -> int:
    """The child on the way to the head; else the newest."""
    way = db.execute(f"{_BACK} SELECT id FROM way WHERE id >= :until", {"leaf": head, "until": children[0]})  # noqa: S608
    on_the_way = {int(row["id"]) for row in way}
    return next((child for child in children if child in on_the_way), children[-1])
