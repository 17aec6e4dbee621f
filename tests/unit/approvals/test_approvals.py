"""``orchestrator.approvals.approvals``: one question about one exact text, decided once, used once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.approvals import rows
from orchestrator.approvals.limits import MAX_PENDING
from orchestrator.approvals.serialize import approval_json
from orchestrator.core.errors import Conflict, NotFound, TooMany
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Turn, TurnStatus
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching

COMMAND = "rm -rf build"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def _asked(
    install: CoreFixture, turn: Turn | None = None, n: int = 1, command: str = COMMAND, key: CubicleKey = KEY
) -> Approval:
    found = turn or install.under_way(key=key)
    assert install.steps.start_step(key, found.id, n, thought="", command=command, approval=None).do == "ask"
    return install.steps.ask_person(key, found.id, n)


def turn_of(approval: Approval) -> int:
    """The turn that a question about a command always has."""
    assert approval.turn is not None
    return approval.turn


def _decide(install: CoreFixture, approval: Approval, *, approve: bool = True) -> Approval:
    return install.approvals.decide(approval.id, approve=approve, by=install.operator, surface="test")


def _make_overdue(install: CoreFixture, approval: Approval) -> None:
    with install.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = 1 WHERE id = ?", (approval.id,))


def _lock(install: CoreFixture, name: str) -> dict[str, object]:
    loaded = json.loads((install.home / "run" / "crab" / "1" / name).read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_asking_writes_the_question_before_anybody_sees_it(install: CoreFixture) -> None:
    """Row, audit, step and turn agree when the news goes out."""
    turn = install.under_way()
    with watching(install.broker) as news:
        approval = _asked(install, turn)
        events = heard(news)
    assert install.approvals.get(approval.id) == approval
    assert [body["id"] for body in of_kind(events, "approval")] == [approval.id]
    assert [body["status"] for body in of_kind(events, "turn")] == ["waiting_approval"]
    assert (install.turns.get(turn.id).status, install.turns.list_steps(turn.id)[0].approval) == (
        TurnStatus.WAITING,
        approval.id,
    )
    assert install.audited("approval.asked")[0].detail["sha256"] == approval.sha256


def test_asking_again_is_the_same_question(install: CoreFixture) -> None:
    """A repeated call, also twenty at once, asks the person once."""
    approval = _asked(install)
    results = at_once(*[partial(install.steps.ask_person, KEY, turn_of(approval), 1)] * 20)
    assert {found.id for found in results} == {approval.id}


@pytest.mark.parametrize(("approve", "status", "kind"), [(True, "approved", "approval"), (False, "denied", "deny")])
def test_a_decision_reaches_the_crab_as_a_lock(install: CoreFixture, approve: bool, status: str, kind: str) -> None:  # noqa: FBT001 - a table's column
    """The lock says what was decided about which exact text, and everybody is told."""
    approval = _asked(install)
    with watching(install.broker) as news:
        decided = _decide(install, approval, approve=approve)
        events = heard(news)
    assert (str(decided.status), decided.decided_by) == (status, "ada (test)")
    assert install.lock_names() == {f"hermit_{kind}.{approval.id}.lock"}
    lock = _lock(install, f"hermit_{kind}.{approval.id}.lock")
    assert (lock["status"], lock["sha256"], lock["turn"], lock["n"]) == (status, approval.sha256, turn_of(approval), 1)
    assert [body["status"] for body in of_kind(events, "approval")] == [status]
    assert install.turns.get(turn_of(approval)).status is TurnStatus.RUNNING


def test_fifty_decisions_at_once_are_one(install: CoreFixture) -> None:
    """One wins, all others are told by whom it was decided; one lock, one audit row."""
    approval = _asked(install)
    results = at_once(*(partial(_decide, install, approval, approve=n % 2 == 0) for n in range(50)))
    won = [result for result in results if isinstance(result, Approval)]
    assert len(won) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 49
    assert "by ada (test)" in next(result.message for result in results if isinstance(result, Conflict))
    assert len(install.audited("approval.approved")) + len(install.audited("approval.denied")) == 1
    kind = "approval" if won[0].status is ApprovalStatus.APPROVED else "deny"
    assert install.lock_names() == {f"hermit_{kind}.{approval.id}.lock"}


def test_only_its_own_people_may_decide(install: CoreFixture) -> None:
    """A member sees and decides their own questions; the operator all; for others it does not exist."""
    mine, theirs = _asked(install, key=OTHER), _asked(install)
    with pytest.raises(NotFound):
        install.approvals.decide(theirs.id, approve=True, by=install.member, surface="test")
    assert install.approvals.get(theirs.id).status is ApprovalStatus.PENDING
    install.approvals.decide(mine.id, approve=True, by=install.member, surface="test")
    assert [found.id for found in install.approvals.list_approvals(user=install.member.id)] == [mine.id]


@pytest.mark.parametrize("approval", ["", "unknown1", "approve:crab:rm", "\0", "x" * 10_000])
def test_an_unknown_id_decides_nothing(install: CoreFixture, approval: str) -> None:
    """It is not found, whatever it looks like."""
    with pytest.raises(NotFound):
        install.approvals.decide(approval, approve=True, by=install.operator, surface="test")


def test_nobody_answers_in_time(install: CoreFixture) -> None:
    """It expires once, the crab and the surfaces hear it, and later answers come too late."""
    approval = _asked(install)
    _make_overdue(install, approval)
    install.approvals.expire_due()
    install.approvals.expire_due()
    assert install.approvals.get(approval.id).status is ApprovalStatus.EXPIRED
    assert _lock(install, f"hermit_deny.{approval.id}.lock")["status"] == "expired"
    assert install.turns.list_steps(turn_of(approval))[0].status == "expired"
    with pytest.raises(Conflict, match="nobody answered in time"):
        _decide(install, approval)


def test_an_overdue_question_can_not_be_approved_before_it_was_noticed(install: CoreFixture) -> None:
    """The clock decides, not the sweep."""
    approval = _asked(install)
    _make_overdue(install, approval)
    with pytest.raises(Conflict, match="Too late"):
        _decide(install, approval)
    assert install.approvals.get(approval.id).status is ApprovalStatus.EXPIRED


def test_an_approval_grows_old(install: CoreFixture) -> None:
    """Approved but not used until its time is up: it serves no more."""
    approval = _decide(install, _asked(install))
    _make_overdue(install, approval)
    assert not install.approvals.use_approval(approval.id, install.turns.list_steps(turn_of(approval))[0])


def test_asking_anew_about_an_overdue_step_is_a_new_question(install: CoreFixture) -> None:
    """The old one is expired first, so the turn waits for the new one."""
    old = _asked(install)
    _make_overdue(install, old)
    new = install.steps.ask_person(KEY, turn_of(old), 1)
    assert new.id != old.id
    assert install.approvals.get(old.id).status is ApprovalStatus.EXPIRED
    assert install.turns.get(turn_of(old)).status is TurnStatus.WAITING
    assert install.turns.list_steps(turn_of(old))[0].approval == new.id


def test_a_cubicle_asks_only_so_much_at_a_time(install: CoreFixture) -> None:
    """One question over the cap is refused, until another is decided; other cubicles ask on."""
    turn = install.under_way()
    asked = [_asked(install, turn, n) for n in range(1, MAX_PENDING + 1)]
    with pytest.raises(TooMany):
        _asked(install, turn, 10)
    _asked(install, key=OTHER)
    _decide(install, asked[0], approve=False)
    assert install.steps.ask_person(KEY, turn.id, 10).status is ApprovalStatus.PENDING


def test_the_end_of_a_turn_cancels_its_questions(install: CoreFixture) -> None:
    """Nobody can decide them any more, no lock is left, and the turn's last news is its outcome."""
    approval = _asked(install)
    with watching(install.broker) as news:
        install.turns.end_turn(KEY, turn_of(approval), TurnStatus.FAILED, error="x")
        statuses = [body["status"] for body in of_kind(heard(news), "turn")]
    assert statuses == ["failed"]
    assert install.approvals.get(approval.id).status is ApprovalStatus.CANCELLED
    assert install.lock_names() == set()
    with pytest.raises(Conflict, match="the turn has ended"):
        _decide(install, approval)


def test_a_change_of_the_agent_withdraws_its_questions(install: CoreFixture) -> None:
    """What was asked under other settings is not approved under these; other agents' questions stay."""
    asked = _asked(install)
    install.approvals.withdraw("somebody-else")
    assert install.approvals.get(asked.id).status is ApprovalStatus.PENDING
    install.approvals.withdraw(asked.cubicle.agent)
    assert install.approvals.get(asked.id).status is ApprovalStatus.CANCELLED


def test_an_unused_approval_goes_with_its_turn(install: CoreFixture) -> None:
    """Approved but not used: the lock goes, and it serves no more."""
    approval = _decide(install, _asked(install))
    step = install.turns.list_steps(turn_of(approval))[0]
    install.turns.end_turn(KEY, turn_of(approval), TurnStatus.FAILED, error="x")
    assert install.lock_names() == set()
    assert install.steps.start_step(KEY, step.turn, 1, thought="", command=COMMAND, approval=approval.id).do == "stop"


def test_a_turn_that_has_ended_asks_nothing(install: CoreFixture) -> None:
    """Also when the end came between the crab's call and the question."""
    turn = install.under_way()
    install.steps.start_step(KEY, turn.id, 1, thought="", command=COMMAND, approval=None)
    step = install.turns.list_steps(turn.id)[0]
    install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="x")
    with pytest.raises(Conflict):
        install.step_approvals.ask_person(KEY, step, timeout_s=60, detail={})
    assert install.approvals.list_approvals() == []


# --- restarts and broken disks ---------------------------------------------------------------------------------


def test_a_lock_that_a_crash_kept_from_being_written_is_written(tmp_path: Path) -> None:
    """Decided, then killed: at the next start the crab hears it; open questions are asked again."""
    home = tmp_path / "home"
    with core_fixture(home) as install:
        decided, pending = _asked(install), _asked(install, key=OTHER)
        with install.store.writing() as db:
            rows.decide_approval(db, decided.id, ApprovalStatus.APPROVED, "ada", decided.asked_at)
    with core_fixture(home) as install, watching(install.broker) as news:
        assert install.lock_names() == set()
        install.approvals.reconcile()
        install.step_approvals.reconcile()
        assert install.lock_names() == {f"hermit_approval.{decided.id}.lock"}
        assert pending.id in [body["id"] for body in of_kind(heard(news), "approval")]


def test_what_is_over_gets_no_lock_at_a_start(tmp_path: Path) -> None:
    """Answers that were used, and those of ended turns, are not written again."""
    home = tmp_path / "home"
    with core_fixture(home) as install:
        used = _decide(install, _asked(install))
        install.steps.start_step(KEY, turn_of(used), 1, thought="", command=COMMAND, approval=used.id)
        install.turns.end_turn(KEY, turn_of(used), TurnStatus.DONE, reply="ok")
        denied = _decide(install, _asked(install), approve=False)
        install.turns.end_turn(KEY, turn_of(denied), TurnStatus.DONE, reply="ok")
    with core_fixture(home) as install:
        install.approvals.reconcile()
        install.step_approvals.reconcile()
        assert install.lock_names() == set()


def test_a_death_right_after_a_turns_end_leaves_no_open_question(tmp_path: Path) -> None:
    """The row of the turn was written, nothing else: the question is cancelled at the next start."""
    home = tmp_path / "home"
    with core_fixture(home) as install:
        approval = _asked(install)
        with install.store.writing() as db:
            db.execute(
                "UPDATE turns SET status = 'failed', error = 'x', ended_at = 1 WHERE id = ?", (turn_of(approval),)
            )
    with core_fixture(home) as install:
        install.approvals.reconcile()
        install.step_approvals.reconcile()
        assert install.approvals.get(approval.id).status is ApprovalStatus.CANCELLED
        assert install.lock_names() == set()


def test_more_than_a_page_of_answers_is_reconciled(tmp_path: Path) -> None:
    """However many newer questions there are, an old one of a running turn is not forgotten."""
    home = tmp_path / "home"
    with core_fixture(home) as install:
        old = _decide(install, _asked(install))
        (home / "run" / "crab" / "1" / f"hermit_approval.{old.id}.lock").unlink()
        with install.store.writing() as db:
            columns = "agent, user, turn, step, kind, text, sha256, reason, status, expires_at, decided_at"
            for n in range(300):
                db.execute(
                    f"INSERT INTO approvals (id, asked_at, {columns}) SELECT ?, asked_at + 1, {columns} "  # noqa: S608
                    "FROM approvals WHERE id = ?",
                    (f"copy{n}", old.id),
                )
    with core_fixture(home) as install:
        install.approvals.reconcile()
        install.step_approvals.reconcile()
        assert f"hermit_approval.{old.id}.lock" in install.lock_names()


def test_a_decision_stands_when_its_lock_can_not_be_written(install: CoreFixture) -> None:
    """The person's answer counts; the crab hears it as soon as the disk takes it."""
    approval = _asked(install)
    run = install.home / "run"
    run.write_text("no folder")
    assert _decide(install, approval).status is ApprovalStatus.APPROVED
    run.unlink()
    install.step_approvals.tell_again()
    assert install.lock_names() == {f"hermit_approval.{approval.id}.lock"}


def test_a_lock_that_could_not_be_written_is_not_left_behind_a_turn_that_ended(install: CoreFixture) -> None:
    """Answered while the disk took nothing, and the turn ended before it did: nobody waits for the file any more."""
    approval = _asked(install)
    run = install.home / "run"
    run.write_text("no folder")
    _decide(install, approval)
    run.unlink()
    install.turns.end_turn(KEY, turn_of(approval), TurnStatus.FAILED, error="the disk is full")
    install.step_approvals.tell_again()
    assert install.lock_names() == set()
    install.step_approvals.tell_again()
    assert install.lock_names() == set()


def test_a_lock_file_is_whole_or_not_there(install: CoreFixture) -> None:
    """What can't get its name goes again, for nobody would ever look for it."""
    approval = _asked(install)
    name = f"hermit_approval.{approval.id}.lock"
    folder = install.home / "run" / "crab" / "1"
    (folder / name).mkdir(parents=True)
    _decide(install, approval)
    assert [path.name for path in folder.iterdir() if path.name.endswith(".new")] == []


def test_a_stop_that_comes_as_the_turn_ends_leaves_no_file(install: CoreFixture) -> None:
    """The crab was faster by a moment: whoever writes the file finds that nobody will read it."""
    turn = install.under_way()
    with install.store.writing() as db:
        db.execute(
            "CREATE TRIGGER faster AFTER UPDATE OF stop_asked_at ON turns BEGIN "
            "UPDATE turns SET status = 'done', ended_at = 1 WHERE id = new.id; END"
        )
    install.turns.stop(turn.id)
    assert install.lock_names() == set()


def test_files_of_turns_that_ended_with_a_death_are_swept(install: CoreFixture) -> None:
    """The row said that the turn has ended, and the death came before its files went; a stop of the turn that is under
    way stays, and so does whatever is not ours."""
    folder = install.home / "run" / "crab" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"hermit_stop.7.lock", "door.sock"}
    gone = {"hermit_stop.6.lock", "hermit_approval.x.lock", "hermit_deny.y.lock", ".hermit_deny.z.lock.new"}
    for name in kept | gone:
        (folder / name).touch()
    install.locks.remove_stale(KEY, under_way={7})
    assert {path.name for path in folder.iterdir()} == kept


def test_a_forged_lock_decides_nothing(install: CoreFixture) -> None:
    """The host decides from its rows; whatever lies in the folder is no answer."""
    approval = _asked(install)
    name = f"hermit_approval.{approval.id}.lock"
    (install.home / "run" / "crab" / "1").mkdir(parents=True, exist_ok=True)
    (install.home / "run" / "crab" / "1" / name).write_text('{"status": "approved"}')
    answer = install.steps.start_step(KEY, turn_of(approval), 1, thought="", command=COMMAND, approval=approval.id)
    assert answer.do == "refuse"
    assert install.approvals.get(approval.id).status is ApprovalStatus.PENDING


# --- what is shown ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\u202e", "\\u202e"),
        ("\u200b", "\\u200b"),
        ("\U000e0041", "\\U000e0041"),
        ("\r", "\\r"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\n" * 100, "[100 line breaks]"),
        (" " * 300, "[300 spaces]"),
    ],
)
def test_shows_what_an_eye_would_miss(install: CoreFixture, hidden: str, shown: str) -> None:
    """The text is exact, what is shown has everything unseen written out."""
    approval = _asked(install, command=f"rm -rf a{hidden}b")
    body = approval_json(approval)
    assert body["text"] == f"rm -rf a{hidden}b"
    assert shown in str(body["shown"])
    assert hidden not in str(body["shown"])


def test_ids_can_be_typed_and_guessed_by_nobody(install: CoreFixture) -> None:
    """Eight letters without look-alikes, all different."""
    turn = install.under_way()
    ids = {_asked(install, turn, n).id for n in range(1, MAX_PENDING + 1)}
    assert len(ids) == MAX_PENDING
    assert all(len(found) == 8 and not set(found) & set("il1o0") for found in ids)


@pytest.mark.parametrize(("ahead_s", "status"), [(2 * 365 * 86_400.0, "expired"), (1800.0, "pending")])
def test_a_clock_that_goes_back_leaves_no_question_for_years(install: CoreFixture, ahead_s: float, status: str) -> None:
    """Asked by a clock that was ahead: the crab hears that its time is up, and can ask again."""
    approval = _asked(install)
    with install.store.writing() as db:
        db.execute("UPDATE approvals SET asked_at = asked_at + ?, expires_at = expires_at + ?", (ahead_s, ahead_s))
    install.approvals.expire_due()
    assert install.approvals.get(approval.id).status == status
    assert len(install.lock_names()) == (1 if status == "expired" else 0)
