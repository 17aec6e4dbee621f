"""``orchestrator.approvals.approvals`` about what the host shall do: asked outside steps, heard by whoever follows
that kind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.approvals.limits import MAX_PENDING
from orchestrator.approvals.serialize import approval_json
from orchestrator.core.errors import BadInput, Conflict, TooMany
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, TurnStatus
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching

URL = "https://example.com/report.pdf"
DETAIL = {"host": "example.com", "warnings": []}


@dataclass
class Gate:
    """Questions about downloads, and what was heard of how they ended."""

    install: CoreFixture
    ended: list[tuple[str, ApprovalStatus, bool]] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)

    def ask(
        self,
        text: str = URL,
        *,
        key: CubicleKey = KEY,
        turn: int | None = None,
        detail: Mapping[str, Any] | None = None,
        timeout_s: int = 60,
    ) -> Approval:
        """A question, as a capability asks it."""
        with self.install.store.writing() as db:
            return self.install.approvals.ask_person(
                db,
                key,
                turn,
                kind="asset",
                text=text,
                reason="A file.",
                detail=DETAIL if detail is None else detail,
                timeout_s=timeout_s,
            )

    def decide(self, approval: Approval, *, approve: bool = True, always: bool = False) -> Approval:
        """The operator's answer."""
        by = self.install.operator
        return self.install.approvals.decide(approval.id, approve=approve, by=by, surface="test", always=always)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """An install where somebody follows downloads."""
    with core_fixture(tmp_path / "home") as install:
        made = Gate(install)

        def decided(_db: sqlite3.Connection, approval: Approval) -> None:
            made.ended.append((approval.text, approval.status, bool(approval.detail.get("always"))))
            install.store.after_commit(partial(made.followed.append, approval.id))

        install.approvals.on_decision("asset", decided)
        yield made


def test_a_question_without_a_turn_is_asked_and_decided(gate: Gate) -> None:
    """The follower hears it in the transaction, everybody else after it; there is no lock for the crab."""
    asked: list[Approval] = []
    decided: list[Approval] = []
    gate.install.hooks.approval_asked.subscribe(asked.append)
    gate.install.hooks.approval_decided.subscribe(decided.append)
    with watching(gate.install.broker) as news:
        approval = gate.ask()
        gate.decide(approval)
        statuses = [body["status"] for body in of_kind(heard(news), "approval")]
    assert (approval.turn, approval.step, approval.kind, approval.detail) == (None, None, "asset", DETAIL)
    assert statuses == ["pending", "approved"]
    assert (asked, [found.status for found in decided]) == ([approval], [ApprovalStatus.APPROVED])
    assert gate.ended == [(URL, ApprovalStatus.APPROVED, False)]
    assert gate.followed == [approval.id]
    assert gate.install.lock_names() == set()


def test_one_of_many_decisions_is_heard(gate: Gate) -> None:
    """However many press at once, the follower acts once."""
    approval = gate.ask()
    results = at_once(*[partial(gate.decide, approval, approve=n % 2 == 0) for n in range(12)])
    assert sum(isinstance(result, Approval) for result in results) == 1
    assert len(gate.ended) == len(gate.followed) == 1


def test_the_same_wish_is_one_question(gate: Gate) -> None:
    """While it is open; another cubicle's is another, and after a decision it is asked again."""
    first = gate.ask()
    assert gate.ask().id == first.id
    assert gate.ask(key=OTHER).id != first.id
    gate.decide(first)
    assert gate.ask().id != first.id


def test_a_flood_is_stopped(gate: Gate) -> None:
    """A person is never asked more than a few things at a time."""
    for n in range(MAX_PENDING):
        gate.ask(f"{URL}?{n}")
    with pytest.raises(TooMany):
        gate.ask(f"{URL}?more")


def test_it_outlives_its_turn(gate: Gate) -> None:
    """The turn's end cancels questions about commands, not what the host may still do."""
    turn = gate.install.under_way()
    approval = gate.ask(turn=turn.id)
    assert gate.install.turns.get(turn.id).status is TurnStatus.RUNNING
    gate.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    gate.install.approvals.reconcile()
    assert gate.install.approvals.get(approval.id).status is ApprovalStatus.PENDING
    gate.decide(approval, approve=False)
    assert gate.ended == [(URL, ApprovalStatus.DENIED, False)]


def test_always_is_about_a_host(gate: Gate) -> None:
    """It goes with a yes alone, and only where there is a host; otherwise nothing is decided."""
    approval = gate.ask()
    with pytest.raises(BadInput, match="always"):
        gate.decide(approval, approve=False, always=True)
    plain = gate.ask(f"{URL}?2", detail={})
    with pytest.raises(BadInput, match="always"):
        gate.decide(plain, always=True)
    assert gate.ended == []
    assert approval_json(gate.decide(approval, always=True))["detail"] == {
        **DETAIL,
        "always": True,
        "scope": "always",
    }
    assert gate.ended == [(URL, ApprovalStatus.APPROVED, True)]


def test_nobody_in_time_is_a_no(gate: Gate) -> None:
    """It expires, the follower hears, and a late yes is refused."""
    approval = gate.ask(timeout_s=-1)
    gate.install.approvals.expire_due()
    assert gate.ended == [(URL, ApprovalStatus.EXPIRED, False)]
    with pytest.raises(Conflict, match="Too late"):
        gate.decide(approval)


def test_a_changed_agent_must_ask_again(gate: Gate) -> None:
    """What was asked under other settings is taken back."""
    gate.ask()
    gate.install.approvals.withdraw("crab")
    assert gate.ended == [(URL, ApprovalStatus.CANCELLED, False)]
