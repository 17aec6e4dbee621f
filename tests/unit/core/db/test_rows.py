"""Rows of agents, people, turns, approvals and the ledger, each transition from where it must
start."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents import agent_rows as agents
from orchestrator.agents import user_rows as users
from orchestrator.approvals import rows as approvals
from orchestrator.core.models import ApprovalStatus, CubicleKey, Role, Ruling, Step, TurnStatus
from orchestrator.llm import ledger_rows as ledger
from orchestrator.turns import rows as turns
from orchestrator.turns.conversation_rows import ensure_first
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """A database with agent ``crab`` and two people."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def db(install: CoreFixture) -> Iterator[sqlite3.Connection]:
    """Inside a transaction."""
    with install.store.writing() as connection:
        yield connection


def _queued(db: sqlite3.Connection, key: CubicleKey = KEY, origin: str | None = None) -> int:
    return turns.insert_turn(db, ensure_first(db, key, 0.0), source="test", prompt="p", origin=origin, now=1.0)


def _step(turn: int, n: int = 1, status: str = "running") -> Step:
    return Step(turn, n, "t", "ls", "00", Ruling.RUN, "", None, status, None, "", 1.0, None)


# --- turns -----------------------------------------------------------------------------------------------------

MOVES: dict[str, tuple[Callable[[sqlite3.Connection, int], Any], set[str]]] = {
    "claim": (lambda db, turn: turns.claim_turn(db, turn, "boot", 2.0), {"queued"}),
    "requeue": (turns.requeue_turn, {"running"}),
    "begin to wait": (lambda db, turn: turns.set_waiting(db, turn, is_waiting=True), {"running"}),
    "end to wait": (lambda db, turn: turns.set_waiting(db, turn, is_waiting=False), {"waiting_approval"}),
    "ask to stop": (lambda db, turn: turns.ask_stop(db, turn, 2.0), {"running", "waiting_approval"}),
    "end": (
        lambda db, turn: turns.end_turn(db, turn, TurnStatus.DONE, now=2.0),
        {"queued", "running", "waiting_approval"},
    ),
}


@pytest.mark.parametrize(("move", "may_from"), MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("status", list(TurnStatus))
def test_a_turn_moves_only_from_where_it_may(
    db: sqlite3.Connection, move: Callable[[sqlite3.Connection, int], bool], may_from: set[str], status: TurnStatus
) -> None:
    """True when it moved; else nothing has changed. Unknown turns never move."""
    turn = _queued(db)
    db.execute("UPDATE turns SET status = ? WHERE id = ?", (status, turn))
    before = turns.get_turn(db, turn)
    assert move(db, turn) is (status in may_from)
    if status not in may_from:
        assert turns.get_turn(db, turn) == before
    assert move(db, 999) is False


def test_open_means_wanted(db: sqlite3.Connection) -> None:
    """Not ended, and nobody has asked for its end."""
    turn = _queued(db)
    assert turns.is_open(db, turn)
    turns.claim_turn(db, turn, "boot", 2.0)
    turns.ask_stop(db, turn, 3.0)
    assert not turns.is_open(db, turn)
    assert not turns.is_open(db, 999)


def test_an_origin_is_found_again(db: sqlite3.Connection) -> None:
    """And makes no second row."""
    turn = _queued(db, origin="o")
    assert _queued(db, origin="o") == turn
    found = turns.get_turn_by_origin(db, "o")
    assert found is not None
    assert found.id == turn
    assert turns.get_turn_by_origin(db, "other") is None


def test_queues_are_told_apart(db: sqlite3.Connection) -> None:
    """By agent and person."""
    first, other, second = _queued(db), _queued(db, OTHER), _queued(db)
    assert turns.list_queued(db, KEY) == [first, second]
    assert (turns.get_first_queued(db, OTHER), turns.count_queued(db, KEY)) == (other, 2)
    assert set(turns.list_waiting_cubicles(db)) == {KEY, OTHER}
    turns.claim_turn(db, first, "b", 2.0)
    turns.insert_step(db, _step(first))
    assert turns.list_running(db, KEY) == [(KEY, turns.TurnClaim(first, "b", stop_asked=False))]
    assert turns.list_running(db, OTHER) == []
    assert len(turns.list_running(db)) == 1


def test_what_was_begun_is_not_begun_again(db: sqlite3.Connection) -> None:
    """A turn with a step stays with whoever has it."""
    turn = _queued(db)
    turns.claim_turn(db, turn, "b", 2.0)
    turns.insert_step(db, _step(turn))
    assert not turns.requeue_turn(db, turn)
    assert [claim.turn for _, claim in turns.list_running(db, KEY)] == [turn]


def test_a_step_is_written_once_and_ends_once(db: sqlite3.Connection) -> None:
    """And only when it was let run."""
    turn = _queued(db)
    assert turns.insert_step(db, _step(turn))
    assert not turns.insert_step(db, replace(_step(turn), command="rm x"))
    assert turns.end_step(db, turn, 1, exit_code=0, output="o", now=2.0)
    assert not turns.end_step(db, turn, 1, exit_code=9, output="x", now=3.0)
    turns.insert_step(db, _step(turn, 2, "asked"))
    assert not turns.end_step(db, turn, 2, exit_code=0, output="o", now=2.0)
    assert [(step.command, step.exit_code) for step in turns.list_steps(db, turn)] == [("ls", 0), ("ls", None)]
    turns.set_step(db, turn, 2, "running", approval="a")
    turns.set_step(db, turn, 2, "running")
    found = turns.get_step(db, turn, 2)
    assert found is not None
    assert found.approval == "a"


def test_steps_in_brief_are_the_last_ones_with_long_texts_cut(db: sqlite3.Connection) -> None:
    """Of each turn by itself; a turn without steps has none."""
    first, second, empty = _queued(db), _queued(db), _queued(db)
    for n in range(1, 6):
        turns.insert_step(db, _step(first, n))
    turns.insert_step(db, replace(_step(second), command="c" * 500))
    turns.end_step(db, second, 1, exit_code=0, output="a" * 400 + "b" * 400, now=2.0)
    brief = turns.list_brief_steps(db, [first, second, empty], most=2, chars=100)
    assert [step.n for step in brief[first]] == [4, 5]
    assert brief[second][0].command == "c" * 100
    assert brief[second][0].output == "a" * 50 + "\n[…]\n" + "b" * 50
    assert brief[empty] == []
    assert turns.list_brief_steps(db, [], most=2, chars=100) == {}


# --- approvals -------------------------------------------------------------------------------------------------


def _approval(db: sqlite3.Connection, install: CoreFixture, status: str = "pending", expires_at: float = 100.0) -> str:
    turn = _queued(db)
    turns.insert_step(db, _step(turn))
    number = f"a{turn}"
    db.execute(
        "INSERT INTO approvals (id, agent, user, turn, step, kind, text, sha256, reason, status, asked_at, expires_at) "
        "VALUES (?, 'crab', 1, ?, 1, 'command', 'ls', '00', '', ?, 1.0, ?)",
        (number, turn, status, expires_at),
    )
    return number


@pytest.mark.parametrize("status", list(ApprovalStatus))
@pytest.mark.parametrize("to", [status for status in ApprovalStatus if status is not ApprovalStatus.PENDING])
def test_only_what_is_pending_is_decided(
    db: sqlite3.Connection, install: CoreFixture, status: ApprovalStatus, to: ApprovalStatus
) -> None:
    """Once."""
    number = _approval(db, install, status)
    assert approvals.decide_approval(db, number, to, "ada", 2.0) is (status is ApprovalStatus.PENDING)
    assert approvals.decide_approval(db, number, to, "eve", 3.0) is False


@pytest.mark.parametrize(
    ("to", "may"), [("approved", False), ("denied", False), ("expired", True), ("cancelled", True)]
)
def test_after_its_time_it_can_only_lapse(db: sqlite3.Connection, install: CoreFixture, to: str, may: bool) -> None:  # noqa: FBT001 - a table's column
    """Nobody's yes or no counts then."""
    assert approvals.decide_approval(db, _approval(db, install), ApprovalStatus(to), "ada", 100.0) is may


@pytest.mark.parametrize("status", [status for status in ApprovalStatus if status is not ApprovalStatus.APPROVED])
def test_only_an_approved_one_is_used(db: sqlite3.Connection, install: CoreFixture, status: ApprovalStatus) -> None:
    """All else is no permission."""
    number = _approval(db, install, status)
    assert not approvals.use_approval(db, number, int(number[1:]), 1, sha256="00", now=2.0)


@pytest.mark.parametrize(
    "other", [{"turn": 99}, {"step": 2}, {"sha256": "01"}, {"now": 100.0}, {"approval": "other"}, {}], ids=repr
)
def test_an_approval_is_used_for_what_it_was_given(
    db: sqlite3.Connection, install: CoreFixture, other: dict[str, Any]
) -> None:
    """The same turn, step and text, in time; and not again."""
    number = _approval(db, install, "approved")
    fit: dict[str, Any] = {"approval": number, "turn": int(number[1:]), "step": 1, "sha256": "00", "now": 2.0}
    assert approvals.use_approval(db, **(fit | other)) is (not other)
    assert approvals.use_approval(db, **fit) is bool(other)


# --- the ledger ------------------------------------------------------------------------------------------------


def _hold(db: sqlite3.Connection, micro: int, *, budget: int = 100, day: str = "2026-01-01") -> int | None:
    return ledger.insert_reservation(
        db,
        agent="crab",
        user=1,
        turn=None,
        day=day,
        provider="p",
        model="m",
        micro=micro,
        budget_micro=budget,
        now=1.0,
    )


def _close(db: sqlite3.Connection, row: int, state: str, cost: int) -> bool:
    closed = ledger.close_reservation(db, row, state, cost_micro=cost, prompt_tokens=1, completion_tokens=1, now=2.0)
    return closed is not None


def test_the_sum_is_always_that_of_the_rows(db: sqlite3.Connection) -> None:
    """Held, settled, kept and released; exactly up to the budget; each day by itself."""
    first, second = _hold(db, 60), _hold(db, 40)
    assert first is not None
    assert second is not None
    assert _hold(db, 1) is None
    assert _hold(db, 100, day="2026-01-02") is not None
    assert ledger.get_day(db, "crab", "2026-01-01") == ledger.SpendingDay(0, 100, refused_micro=100, refused_tokens=0)
    assert _close(db, first, "settled", 70)
    assert not _close(db, first, "released", 0)
    assert ledger.get_day(db, "crab", "2026-01-01") == ledger.SpendingDay(70, 40)
    assert _close(db, second, "released", 0)
    assert ledger.get_day(db, "crab", "2026-01-01") == ledger.SpendingDay(70, 0)
    assert _hold(db, 31) is None
    assert _hold(db, 30) is not None
    assert [micro for _, micro, _ in ledger.list_open_reservations(db)] == [100, 30]


# --- agents and people -----------------------------------------------------------------------------------------


def test_a_cubicle_keeps_its_number(db: sqlite3.Connection) -> None:
    """Also after others came."""
    first, second, again = [agents.get_cubicle_number(db, key, 1.0) for key in (KEY, OTHER, KEY)]
    assert 1 <= first <= agents.FIRST_NUMBERS
    assert (second, again) == (first + 1, first)
    assert agents.list_cubicles(db) == [KEY, OTHER]
    assert agents.list_cubicles(db, "nobody") == []


def test_an_agent_comes_back_as_it_was_stored(db: sqlite3.Connection, install: CoreFixture) -> None:
    """Every field."""
    stored = replace(install.crab, name="twin", role="r", toolsets=("memory",), daily_budget_micro=7)
    agents.insert_agent(db, stored)
    assert agents.get_agent(db, "twin") == stored
    agents.update_agent(db, replace(stored, step_limit=3))
    found = agents.get_agent(db, "twin")
    assert found is not None
    assert found.step_limit == 3
    agents.delete_agent(db, "twin")
    assert agents.get_agent(db, "twin") is None


def test_people_are_found_by_what_they_are(db: sqlite3.Connection, install: CoreFixture) -> None:
    """The first operator stays the first; sessions and tokens go with their person."""
    second = users.insert_user(
        db, name="grace", role=Role.OPERATOR, identities=[("telegram", 5)], time_zone="UTC", now=1.0
    )
    assert users.get_operator(db) == install.operator
    found = users.get_user_by_name(db, "grace")
    assert found is not None
    assert found.id == second
    assert users.get_user_by_name(db, "Grace") is None
    users.insert_session(db, "s", second, 1.0, 10.0)
    users.insert_token(db, "phone", "t", second, 1.0)
    assert users.get_session_user(db, "s", 9.0) == found
    assert users.get_session_user(db, "s", 10.0) is None
    assert users.get_token_user(db, "t") == found
    users.delete_user(db, second)
    assert users.get_session_user(db, "s", 9.0) is None
    assert users.get_token_user(db, "t") is None


def test_old_sessions_are_swept(db: sqlite3.Connection, install: CoreFixture) -> None:
    """Whenever a new one comes."""
    users.insert_session(db, "old", install.operator.id, 1.0, 2.0)
    users.insert_session(db, "new", install.operator.id, 5.0, 9.0)
    assert [row["sha256"] for row in db.execute("SELECT sha256 FROM sessions")] == ["new"]
