"""How SQLite goes about what every page asks: it must not read a whole history for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.approvals import rows as approvals
from orchestrator.core.db import audit_rows as audit
from orchestrator.core.models import Conversation, CubicleKey, Turn, TurnStatus
from orchestrator.turns import branch_rows as branches
from orchestrator.turns import conversation_rows as conversations
from orchestrator.turns import rows as turns
from tests.support.core_fixture import core_fixture

KEY = CubicleKey("crab", 1)
PLACE = Conversation(1, KEY, "", "", head=9, forked_from=5, created_at=0, used_at=0)
TABLES = ("turns", "approvals", "steps", "summaries", "conversations")


@pytest.mark.parametrize(
    "ask",
    [
        turns.list_running,
        turns.list_waiting_cubicles,
        lambda db: branches.list_branch(db, 1, limit=20),
        lambda db: branches.list_following(db, PLACE, 1, limit=20),
        lambda db: branches.list_siblings(db, PLACE, [make_turn(1, None), make_turn(2, 1)]),
        lambda db: branches.find_newest_leaf(db, PLACE, 1),
        lambda db: branches.find_newest_leaf(db, PLACE, None),
        lambda db: branches.list_links(db, PLACE, most=20_000),
        lambda db: branches.find_summed_up(db, 1),
        lambda db: conversations.list_conversations(db, KEY, limit=20),
        lambda db: approvals.list_of_turn(db, 1),
        audit.search_records,
        lambda db: audit.search_records(db, agent="crab", kind="turn.ended"),
    ],
    ids=[
        "under way",
        "waiting",
        "history",
        "what follows",
        "siblings",
        "the end of a branch",
        "the end of the newest branch",
        "the tree",
        "summed up",
        "conversations",
        "approvals of a turn",
        "log",
        "log of an agent",
    ],
)
def test_it_is_found_by_an_index(tmp_path: Path, ask: Callable[[sqlite3.Connection], object]) -> None:
    """Every step of the plan is a search, or goes along an index as far as it must."""
    asked: list[str] = []
    with core_fixture(tmp_path) as install, install.store.reading() as db:
        db.set_trace_callback(asked.append)
        ask(db)
        db.set_trace_callback(None)
        plans = [str(row[3]) for text in asked for row in db.execute(f"EXPLAIN QUERY PLAN {text}")]
    assert plans
    whole = [step for step in plans if step.startswith("SCAN") and step.split()[1] in TABLES and "INDEX" not in step]
    assert whole == [], plans


@pytest.mark.parametrize("ask", [turns.get_first_queued, turns.list_queued, turns.count_queued])
def test_a_queue_is_found_among_what_is_open(
    tmp_path: Path, ask: Callable[[sqlite3.Connection, CubicleKey], object]
) -> None:
    """And not among all the turns that a cubicle ever had."""
    asked: list[str] = []
    with core_fixture(tmp_path) as install, install.store.reading() as db:
        db.set_trace_callback(asked.append)
        ask(db, KEY)
        db.set_trace_callback(None)
        plans = [str(row[3]) for text in asked for row in db.execute(f"EXPLAIN QUERY PLAN {text}")]
    assert any("turns_open" in step for step in plans), plans
    assert not any("turns_of_cubicle" in step for step in plans), plans


def test_what_was_cleared_is_not_read_again(tmp_path: Path) -> None:
    """A conversation is as quick after a hundred thousand cleared turns as after none: nothing leads to them, and
    clearing again does not look at them."""
    with core_fixture(tmp_path) as install:
        for n in range(3):
            turn = install.turns.submit(KEY, f"word {n}", source="test")
            install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="yes")
        install.turns.clear_history(KEY)
        after = install.turns.submit(KEY, "anew", source="test")
        assert (after.parent, [turn.id for turn in install.turns.list_history(KEY)]) == (None, [after.id])
        with install.store.writing() as db:
            asked: list[str] = []
            db.set_trace_callback(asked.append)
            turns.clear_conversation(db, after.conversation)
            db.set_trace_callback(None)
            updates = [text for text in asked if text.startswith("UPDATE turns SET forgotten")]
            plans = [str(row[3]) for text in updates for row in db.execute(f"EXPLAIN QUERY PLAN {text}")]
    reads = [step for step in plans if "turns" in step.split()]
    assert len(reads) == 1
    assert "turns_of_conversation" in reads[0], plans


def make_turn(turn: int, parent: int | None) -> Turn:
    """One of the conversation's."""
    return Turn(
        id=turn,
        cubicle=KEY,
        source="test",
        prompt="",
        status=TurnStatus.DONE,
        reply=None,
        error=None,
        created_at=0,
        started_at=None,
        ended_at=None,
        tokens=0,
        cost_micro=0,
        conversation=PLACE.id,
        parent=parent,
    )
