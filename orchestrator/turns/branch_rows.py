"""Rows of branches: turns are a tree by their parents, and a branch is the way from one turn back to the first.

No turn that was cleared or withdrawn is on a branch: whoever takes one away joins what is before and after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.core.models import Conversation, Turn
from orchestrator.turns import conversation_rows, rows

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


class TurnLink(NamedTuple):
    """A turn, and the one that it follows."""

    turn: int
    parent: int | None


def list_branch(db: sqlite3.Connection, leaf: int | None, *, limit: int, after: int = 0) -> list[Turn]:
    """The newest turns of the branch that ends with ``leaf``, that one included, oldest first; none up to ``after``."""
    if leaf is None:
        return []
    of_turns = "SELECT turns.*, 0 AS tokens, 0 AS cost_micro FROM way JOIN turns ON turns.id = way.id"
    query = f"{_WAY} {of_turns} WHERE turns.id > :after ORDER BY n DESC"
    found = db.execute(query, {"leaf": leaf, "most": limit, "after": after})
    return [rows.make_turn(row) for row in found]


def list_following(db: sqlite3.Connection, place: Conversation, turn: int, *, limit: int) -> list[Turn]:
    """The turns that come next after one on the way to the conversation's head, oldest first; where that way does not
    lead past the turn, the newest of what follows it in this conversation."""
    found: list[int] = []
    while len(found) < limit and turn != place.head:
        children = list_children(db, turn)
        child = _choose_child(db, place, children) if children else None
        if child is None:
            break
        turn = child
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


def find_headed(db: sqlite3.Connection, turn: int) -> list[Conversation]:
    """The conversations that go on from this turn: its own, and forks that nothing was said in yet."""
    found = db.execute("SELECT id FROM conversations WHERE head = ?", (turn,)).fetchall()
    places = [conversation_rows.get_conversation(db, int(row["id"])) for row in found]
    return [place for place in places if place is not None]


def find_sharing(db: sqlite3.Connection, turn: Turn) -> list[int]:
    """The conversations in which this turn can be reached: its own, and those that go on from it or from what came
    after it."""
    rows = db.execute(
        "SELECT id, forked_from FROM conversations WHERE agent = ? AND user = ? AND archived_at IS NULL "
        "AND forked_from >= ?",
        (turn.cubicle.agent, turn.cubicle.user, turn.id),
    ).fetchall()
    forks = [int(row["id"]) for row in rows if has_ancestor(db, int(row["forked_from"]), turn.id)]
    return sorted({turn.conversation, *forks})


def find_oldest(db: sqlite3.Connection, conversation: int) -> Turn | None:
    """The oldest turn of the conversation's own."""
    row = db.execute(
        "SELECT MIN(id) AS id FROM turns WHERE conversation = ? AND forgotten = 0", (conversation,)
    ).fetchone()
    return None if row["id"] is None else rows.get_turn(db, int(row["id"]))


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


def is_member(db: sqlite3.Connection, place: Conversation, turn: Turn) -> bool:
    """The turn can be reached in this conversation: it was asked there, or is on the way to where it was forked."""
    if turn.is_cleared or turn.cubicle != place.cubicle:
        return False
    return turn.conversation == place.id or (
        place.forked_from is not None and has_ancestor(db, place.forked_from, turn.id)
    )


def list_siblings(db: sqlite3.Connection, place: Conversation, turns: Sequence[Turn]) -> dict[int, tuple[int, ...]]:
    """For each of these turns of a conversation all that could stand in its place there, itself too, oldest first."""
    found: dict[int | None, list[tuple[int, int]]] = {parent: [] for parent in {turn.parent for turn in turns}}
    parents = [parent for parent in found if parent is not None]
    marks = ", ".join("?" for _ in parents)
    children = db.execute(
        f"SELECT id, parent, conversation FROM turns WHERE parent IN ({marks}) AND forgotten = 0 ORDER BY id",  # noqa: S608
        parents,
    )
    for row in children:
        found[int(row["parent"])].append((int(row["id"]), int(row["conversation"])))
    if None in found:
        found[None] = [(turn, place.id) for turn in _list_first_turns(db, place.id)]
        found[None] += [(turn, 0) for turn in _list_shared_first(db, place) if found[None]]
    return {turn.id: _keep_members(db, place, turn, found[turn.parent]) for turn in turns}


def find_newest_leaf(db: sqlite3.Connection, place: Conversation, turn: int | None) -> int | None:
    """The end of the branch that goes on from a turn of this conversation, or from its beginning for None, at each fork
    by the newest way. A turn that another conversation shares leads to where this one was forked."""
    begins = _list_first_turns(db, place.id) if turn is None else [turn]
    start = begins[-1] if begins else place.forked_from
    if start is None:
        return None
    row = db.execute("SELECT conversation FROM turns WHERE id = ?", (start,)).fetchone()
    is_shared = row is not None and row["conversation"] != place.id
    found = db.execute(
        """
        WITH RECURSIVE down (id) AS (
            SELECT :start
            UNION ALL
            SELECT (SELECT MAX(id) FROM turns WHERE parent = down.id AND conversation = :place AND forgotten = 0)
                FROM down WHERE down.id IS NOT NULL
        )
        SELECT MAX(id) AS leaf FROM down
        """,
        {"start": place.forked_from if is_shared else start, "place": place.id},
    ).fetchone()
    return None if found["leaf"] is None else int(found["leaf"])


def list_links(db: sqlite3.Connection, place: Conversation, *, most: int) -> list[TurnLink]:
    """Every turn of the conversation with the one that it follows, oldest first; what was said before a fork counts as
    one line. At most the newest ``most`` of them."""
    found = db.execute(
        "SELECT id, parent FROM turns WHERE conversation = ? AND forgotten = 0 ORDER BY id DESC LIMIT ?",
        (place.id, most),
    )
    links = [TurnLink(int(row["id"]), row["parent"]) for row in found]
    way = db.execute(f"{_WAY} SELECT id, parent FROM way", {"leaf": place.forked_from, "most": MOST_WALKED})  # noqa: S608
    links += [TurnLink(int(row["id"]), row["parent"]) for row in way] if place.forked_from is not None else []
    return sorted(set(links))


def hand_over_shared(db: sqlite3.Connection, place: Conversation) -> None:
    """What other conversations go on from is theirs from now on, the older fork's first: this one is being cleared."""
    forks = db.execute(
        "SELECT id, forked_from FROM conversations WHERE agent = ? AND user = ? AND archived_at IS NULL "
        "AND id <> ? AND forked_from IS NOT NULL ORDER BY id",
        (place.cubicle.agent, place.cubicle.user, place.id),
    ).fetchall()
    for fork in forks:
        shared = "SELECT way.id FROM way JOIN turns ON turns.id = way.id WHERE turns.conversation = :place"
        known = {"leaf": fork["forked_from"], "most": MOST_WALKED * 20, "place": place.id, "fork": fork["id"]}
        taken = db.execute(f"{_WAY} {shared}", known).fetchall()
        db.executemany(
            "UPDATE turns SET conversation = ? WHERE id = ?", [(fork["id"], int(row["id"])) for row in taken]
        )
        if taken:
            db.execute(
                "INSERT OR IGNORE INTO read_marks (conversation, agent, user, turn, at) "
                "SELECT :fork, agent, user, turn, at FROM read_marks WHERE conversation = :place",
                known,
            )


def _keep_members(
    db: sqlite3.Connection, place: Conversation, turn: Turn, found: list[tuple[int, int]]
) -> tuple[int, ...]:
    """Those of the children of one turn that can be reached in this conversation."""
    theirs = [one for one, conversation in found if conversation == place.id or one == turn.id]
    others = [one for one, conversation in found if conversation != place.id and one != turn.id]
    if others and turn.conversation == place.id and place.forked_from is not None:
        theirs += [one for one in others if has_ancestor(db, place.forked_from, one)]
    return tuple(sorted(theirs)) or (turn.id,)


def _list_first_turns(db: sqlite3.Connection, conversation: int) -> list[int]:
    found = db.execute(
        "SELECT id FROM turns INDEXED BY turns_that_begin WHERE conversation = ? AND parent IS NULL AND forgotten = 0 "
        "ORDER BY id",
        (conversation,),
    )
    return [int(row["id"]) for row in found]


def _list_shared_first(db: sqlite3.Connection, place: Conversation) -> list[int]:
    """The turn that a forked conversation begins with, where another conversation has it."""
    known = {"leaf": place.forked_from, "until": 0, "place": place.id}
    found = db.execute(
        f"{_BACK} SELECT way.id FROM way JOIN turns ON turns.id = way.id "  # noqa: S608
        "WHERE way.parent IS NULL AND turns.conversation <> :place",
        known,
    )
    return [int(row["id"]) for row in found]


def _choose_child(db: sqlite3.Connection, place: Conversation, children: list[int]) -> int | None:
    """The child on the way to the head; else the newest of the conversation's own."""
    way = db.execute(f"{_BACK} SELECT id FROM way WHERE id >= :until", {"leaf": place.head, "until": children[0]})  # noqa: S608
    on_the_way = {int(row["id"]) for row in way}
    chosen = next((child for child in children if child in on_the_way), None)
    if chosen is not None:
        return chosen
    marks = ", ".join("?" for _ in children)
    own = db.execute(
        f"SELECT MAX(id) AS id FROM turns WHERE id IN ({marks}) AND conversation = ?",  # noqa: S608 - placeholders
        (*children, place.id),
    ).fetchone()
    return None if own["id"] is None else int(own["id"])
