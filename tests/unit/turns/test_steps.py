"""``orchestrator.turns.steps``: what the crab is told about a command, and that it is written down before that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.hooks import StepMoment
from orchestrator.core.models import TurnStatus
from orchestrator.turns.steps import MAX_TURN_CHARS
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching

DANGEROUS = "rm -rf build"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def _start(install: CoreFixture, turn: int, n: int = 1, command: str = "ls", approval: str | None = None) -> str:
    return install.steps.start_step(KEY, turn, n, thought="why", command=command, approval=approval).do


def _end(install: CoreFixture, turn: int, n: int = 1, **changed: Any) -> str:
    return install.steps.end_step(KEY, turn, n, **{"exit_code": 0, "output": "out", "ended": "exited", **changed}).do


def _approved(install: CoreFixture, turn: int, n: int = 1, command: str = DANGEROUS) -> str:
    assert _start(install, turn, n, command) == "ask"
    approval = install.steps.ask_person(KEY, turn, n)
    install.approvals.decide(approval.id, approve=True, by=install.operator, surface="test")
    return approval.id


def test_a_command_is_written_down_before_it_runs(install: CoreFixture) -> None:
    """The step, its audit row and the news of it are there when the crab hears ``run``."""
    turn = install.under_way()
    with watching(install.broker) as news:
        assert _start(install, turn.id, command="ls -l") == "run"
        assert [body["command"] for body in of_kind(heard(news), "step")] == ["ls -l"]
    step = install.turns.list_steps(turn.id)[0]
    assert (step.command, step.status, step.thought) == ("ls -l", "running", "why")
    audited = install.audited("command")[0]
    assert (audited.text, audited.turn, audited.detail["sha256"]) == ("ls -l", turn.id, step.sha256)


def test_whoever_follows_a_command_is_told(install: CoreFixture) -> None:
    """Of its start and its end, by the time the crab is answered; not of one that was never started."""
    started: list[StepMoment] = []
    ended: list[StepMoment] = []
    install.hooks.step_started.subscribe(started.append)
    install.hooks.step_ended.subscribe(ended.append)
    turn = install.under_way()
    with pytest.raises(NotFound):
        _end(install, turn.id)
    assert (started, ended) == ([], [])
    _start(install, turn.id)
    assert (started, ended) == ([StepMoment(KEY, turn.id, 1)], [])
    _end(install, turn.id)
    assert ended == started


def test_its_end_is_recorded_once(install: CoreFixture) -> None:
    """The first report counts; a repeated one is answered the same."""
    turn = install.under_way()
    _start(install, turn.id)
    assert _end(install, turn.id, exit_code=3, output="x" * 100_000) == "continue"
    assert _end(install, turn.id, exit_code=0, output="other") == "continue"
    step = install.turns.list_steps(turn.id)[0]
    assert (step.status, step.exit_code, len(step.output)) == ("done", 3, 65_536)
    assert len(install.audited("command.ended")) == 1


def test_a_repeated_start_gets_the_same_answer(install: CoreFixture) -> None:
    """The answer got lost, so the crab asks again: one step, one audit row."""
    turn = install.under_way()
    assert [_start(install, turn.id), _start(install, turn.id)] == ["run", "run"]
    assert [_start(install, turn.id, 2, DANGEROUS), _start(install, turn.id, 2, DANGEROUS)] == ["ask", "ask"]
    assert len(install.turns.list_steps(turn.id)) == len(install.audited("command")) == 2


def test_a_number_belongs_to_one_command(install: CoreFixture) -> None:
    """Another command under the same number is refused, also when both come at once."""
    turn = install.under_way()
    _start(install, turn.id)
    with pytest.raises(Conflict):
        _start(install, turn.id, command="ls -a")
    commands = [f"echo {n}" for n in range(10)]
    results = at_once(*(partial(_start, install, turn.id, 2, command) for command in commands))
    assert results.count("run") == 1
    assert sum(isinstance(result, Conflict) for result in results) == 9
    assert len(install.audited("command")) == 2


@pytest.mark.parametrize("n", [0, -1, 36, 2**53 - 1])
def test_steps_are_numbered_within_the_limit(install: CoreFixture, n: int) -> None:
    """Any other number is bad input."""
    turn = install.under_way()
    with pytest.raises(BadInput):
        _start(install, turn.id, n)
    assert install.turns.list_steps(turn.id) == []


@pytest.mark.parametrize("command", ["x" * 131_001, "é" * 65_501, "ls\0-l"])
def test_a_command_that_can_not_run_is_not_taken(install: CoreFixture, command: str) -> None:
    """Too long for the kernel, or with a NUL in it: the model is told."""
    turn = install.under_way()
    with pytest.raises(BadInput, match="131,000"):
        _start(install, turn.id, command=command)


def test_the_longest_command_is_asked_about_whole(install: CoreFixture) -> None:
    """What is shown is all of it."""
    turn = install.under_way()
    command = "echo " + "x" * 50_000 + "; " + DANGEROUS
    assert _start(install, turn.id, command=command) == "ask"
    assert install.steps.ask_person(KEY, turn.id, 1).text == command


def test_another_cubicles_turn_is_not_found(install: CoreFixture) -> None:
    """Neither start, ask nor end reaches it."""
    foreign = install.under_way("x", OTHER)
    for call in (_start, _end):
        with pytest.raises(NotFound):
            call(install, foreign.id)
    with pytest.raises(NotFound):
        install.steps.ask_person(KEY, foreign.id, 1)


def test_nothing_begins_in_a_turn_that_has_ended(install: CoreFixture) -> None:
    """The crab is told to stop, nothing is written, nobody is asked."""
    turn = install.under_way()
    _start(install, turn.id, 1, DANGEROUS)
    install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="x")
    assert _start(install, turn.id, 2) == "stop"
    with pytest.raises(NotFound):
        install.steps.ask_person(KEY, turn.id, 1)
    assert len(install.turns.list_steps(turn.id)) == 1


def test_a_command_that_ends_after_its_turn_is_recorded(install: CoreFixture) -> None:
    """The record is complete, and the crab hears that it must stop."""
    turn = install.under_way()
    _start(install, turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="x")
    assert _end(install, turn.id) == "stop"
    assert install.turns.list_steps(turn.id)[0].status == "done"


def test_an_end_without_a_start_is_not_found(install: CoreFixture) -> None:
    """Only what was begun can end."""
    turn = install.under_way()
    with pytest.raises(NotFound):
        _end(install, turn.id)


def test_what_never_ran_is_never_done(install: CoreFixture) -> None:
    """A report about a command that was not let run changes nothing."""
    turn = install.under_way()
    _start(install, turn.id, command=DANGEROUS)
    _end(install, turn.id)
    assert install.turns.list_steps(turn.id)[0].status == "asked"


# --- approvals -------------------------------------------------------------------------------------------------


def test_an_approved_command_runs_once(install: CoreFixture) -> None:
    """With its approval it runs; the lock goes; a repeat of the lost answer is told the same, a later use refused."""
    turn = install.under_way()
    approval = _approved(install, turn.id)
    assert install.lock_names() == {f"hermit_approval.{approval}.lock"}
    assert _start(install, turn.id, command=DANGEROUS, approval=approval) == "run"
    assert install.lock_names() == set()
    assert _start(install, turn.id, command=DANGEROUS, approval=approval) == "run"
    assert _start(install, turn.id, command=DANGEROUS, approval="another") == "refuse"
    _end(install, turn.id)
    assert _start(install, turn.id, command=DANGEROUS, approval=approval) == "refuse"
    assert len(install.audited("approval.used")) == 1


def test_an_approval_serves_no_other_step_text_or_turn(install: CoreFixture) -> None:
    """It is bound to all three."""
    turn = install.under_way()
    approval = _approved(install, turn.id)
    assert _start(install, turn.id, 2, "rm -rf /app/workspace/work") == "ask"
    assert _start(install, turn.id, 2, "rm -rf /app/workspace/work", approval) == "refuse"
    assert _start(install, turn.id, 3, DANGEROUS) == "ask"
    assert _start(install, turn.id, 3, DANGEROUS, approval) == "refuse"
    foreign = install.under_way("x", OTHER)
    install.steps.start_step(OTHER, foreign.id, 1, thought="", command=DANGEROUS, approval=None)
    answer = install.steps.start_step(OTHER, foreign.id, 1, thought="", command=DANGEROUS, approval=approval)
    assert answer.do == "refuse"
    assert _start(install, turn.id, 1, DANGEROUS, approval) == "run"


@pytest.mark.parametrize("approval", ["", "unknown", "' OR 1=1 --", "x" * 32])
def test_an_unknown_approval_is_refused(install: CoreFixture, approval: str) -> None:
    """With a reason for the model."""
    turn = install.under_way()
    _start(install, turn.id, command=DANGEROUS)
    assert _start(install, turn.id, command=DANGEROUS, approval=approval) == "refuse"


def test_a_pending_or_denied_approval_lets_nothing_run(install: CoreFixture) -> None:
    """Only a yes is a yes."""
    turn = install.under_way()
    _start(install, turn.id, command=DANGEROUS)
    approval = install.steps.ask_person(KEY, turn.id, 1)
    assert _start(install, turn.id, command=DANGEROUS, approval=approval.id) == "refuse"
    install.approvals.decide(approval.id, approve=False, by=install.operator, surface="test")
    assert _start(install, turn.id, command=DANGEROUS, approval=approval.id) == "refuse"
    assert install.turns.list_steps(turn.id)[0].status == "denied"


def test_an_approved_command_does_not_run_in_a_stopped_turn(install: CoreFixture) -> None:
    """The stop wins over the yes."""
    turn = install.under_way()
    approval = _approved(install, turn.id)
    install.turns.stop(turn.id)
    assert _start(install, turn.id, command=DANGEROUS, approval=approval) == "stop"
    assert install.approvals.get(approval).used_at is None


def test_many_uses_at_once_are_one(install: CoreFixture) -> None:
    """The repeats are told ``run`` for the one use that there was."""
    turn = install.under_way()
    approval = _approved(install, turn.id)
    results = at_once(*[partial(_start, install, turn.id, 1, DANGEROUS, approval)] * 20)
    assert set(results) <= {"run", "refuse"}
    assert "run" in results
    assert len(install.audited("approval.used")) == 1


def test_what_runs_at_once_is_not_asked_about(install: CoreFixture) -> None:
    """Asking about a harmless or unknown step is an error of the crab's."""
    turn = install.under_way()
    _start(install, turn.id)
    with pytest.raises(Conflict):
        install.steps.ask_person(KEY, turn.id, 1)
    with pytest.raises(NotFound):
        install.steps.ask_person(KEY, turn.id, 2)


@pytest.mark.parametrize(("policy", "command", "told"), [("off", DANGEROUS, "run"), ("all", "ls", "ask")])
def test_the_agents_policy_decides(install: CoreFixture, policy: str, command: str, told: str) -> None:
    """What is asked is a setting of the agent's, read at each command."""
    install.agents.update_agent("crab", {"approval": policy})
    assert _start(install, install.under_way().id, command=command) == told


def test_a_turn_makes_us_keep_so_much(install: CoreFixture) -> None:
    """Beyond it outputs are kept in part and long commands are refused, short ones are not; the next turn is free."""
    turn = install.under_way()
    for n in range(1, 27):
        assert _start(install, turn.id, n, f"echo {n}") == "run"
        _end(install, turn.id, n, output="x" * 100_000)
    kept = [len(step.output) for step in install.turns.list_steps(turn.id)]
    assert (kept[0], kept[-1]) == (65_536, 2_000)
    assert sum(kept) < MAX_TURN_CHARS + 10_000
    with pytest.raises(BadInput, match="1,500,000 characters"):
        _start(install, turn.id, 27, f"echo {'y' * 3_000}")
    assert _start(install, turn.id, 27, "echo short") == "run"
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE)
    assert _start(install, install.under_way().id, 1, f"echo {'y' * 3_000}") == "run"
