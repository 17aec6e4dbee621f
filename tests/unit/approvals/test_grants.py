"""``orchestrator.approvals.grants``: what a person allowed in advance is not asked about, for as long as they said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.answers import DecisionDetails
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.core.errors import BadInput, Forbidden, NotFound, TooMany
from orchestrator.core.models import Approval, Turn, TurnStatus, User
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

BUILD = "delete below work/build/"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def _start(install: CoreFixture, turn: Turn, n: int, command: str, approval: str | None = None) -> str:
    return install.steps.start_step(turn.cubicle, turn.id, n, thought="", command=command, approval=approval).do


def _asked(install: CoreFixture, turn: Turn, n: int, command: str) -> Approval:
    assert _start(install, turn, n, command) == "ask"
    return install.steps.ask_person(turn.cubicle, turn.id, n)


def _say(
    install: CoreFixture, asked: Approval, *, approve: bool, said: DecisionDetails, by: User | None = None
) -> Approval:
    return install.approvals.decide(asked.id, approve=approve, by=by or install.operator, surface="test", said=said)


def _held(install: CoreFixture) -> list[tuple[str, str]]:
    return [(grant.subject, str(grant.scope)) for grant in install.grants.of_agent("crab", viewer=install.operator)]


def _pass_time(install: CoreFixture, seconds: float) -> None:
    with install.store.writing() as db:
        db.execute("UPDATE grants SET since = since - ?, until = until - ?", (seconds, seconds))


def test_a_kind_is_approved_for_an_hour(install: CoreFixture) -> None:
    """The same kind runs without a question, another asks, and so does the same after the hour."""
    turn = install.under_way()
    _say(install, _asked(install, turn, 1, "rm -rf build/x"), approve=True, said=DecisionDetails(scope=GrantScope.HOUR))
    assert _held(install) == [("delete below work/build/x/", "hour")]
    assert _start(install, turn, 2, "rm -rf build/x/y") == "run"
    assert "Allowed in advance" in install.turns.list_steps(turn.id)[1].reason
    assert install.audited("command")[-1].detail["verdict"] == "run"
    assert _start(install, turn, 3, "rm -rf build") == "ask"
    assert _start(install, turn, 4, "rm -rf build/x/z; kill 12") == "ask"
    _pass_time(install, 3601)
    assert _start(install, turn, 5, "rm -rf build/x/y") == "ask"
    assert _held(install) == []


def test_a_conversation_ends_what_it_was_allowed(install: CoreFixture) -> None:
    """When it is cleared, or after a day; another person's conversation never had it."""
    turn = install.under_way()
    _say(
        install,
        _asked(install, turn, 1, "rm -rf build"),
        approve=True,
        said=DecisionDetails(scope=GrantScope.CONVERSATION),
    )
    assert _start(install, turn, 2, "rm -rf build") == "run"
    assert _start(install, install.under_way(key=OTHER), 1, "rm -rf build") == "ask"
    install.turns.clear_history(KEY)
    assert _start(install, turn, 3, "rm -rf build") == "ask"
    install.grants.add_grant(
        "crab", GrantKind.COMMAND, BUILD, GrantScope.CONVERSATION, by=install.operator, surface="test"
    )
    _pass_time(install, 24 * 3600 + 1)
    assert _start(install, turn, 4, "rm -rf build") == "ask"


def test_an_operator_allows_for_everybody_and_takes_it_back(install: CoreFixture) -> None:
    """Always holds in each conversation, until it is revoked; both are in the audit log."""
    given = install.grants.add_grant(
        "crab", GrantKind.COMMAND, BUILD, GrantScope.ALWAYS, by=install.operator, surface="cli"
    )
    assert (given.user, given.until, given.by) == (None, None, "ada (cli)")
    assert _start(install, install.under_way(key=OTHER), 1, "rm -rf build") == "run"
    install.grants.revoke_grant("crab", given.id, by=install.operator)
    assert _start(install, install.under_way(), 1, "rm -rf build") == "ask"
    assert [len(install.audited(kind)) for kind in ("command.allowed", "command.revoked")] == [1, 1]


def test_members_decide_for_their_own_conversation(install: CoreFixture) -> None:
    """They see what holds there, take back what is theirs, and allow nothing for ever."""
    install.grants.add_grant("crab", GrantKind.COMMAND, BUILD, GrantScope.HOUR, by=install.operator, surface="test")
    own = install.grants.add_grant(
        "crab", GrantKind.COMMAND, "stop processes", GrantScope.HOUR, by=install.member, surface="test"
    )
    always = install.grants.add_grant(
        "crab", GrantKind.HOST, "a.example", GrantScope.ALWAYS, by=install.operator, surface="test"
    )
    assert [grant.id for grant in install.grants.of_agent("crab", viewer=install.member)] == [own.id, always.id]
    assert len(install.grants.of_agent("crab", viewer=install.operator)) == 3
    with pytest.raises(Forbidden, match="operator"):
        install.grants.add_grant("crab", GrantKind.COMMAND, BUILD, GrantScope.ALWAYS, by=install.member, surface="test")
    with pytest.raises(NotFound):
        install.grants.revoke_grant("crab", always.id, by=install.member)
    install.grants.revoke_grant("crab", own.id, by=install.member)
    asked = _asked(install, install.under_way(key=OTHER), 1, "rm -rf build")
    with pytest.raises(Forbidden, match="operator"):
        _say(install, asked, approve=True, said=DecisionDetails(scope=GrantScope.ALWAYS), by=install.member)
    assert str(install.approvals.get(asked.id).status) == "pending"


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("command", "ls"),
        ("command", "delete below work/"),
        ("host", "a.example/x"),
        ("host", "a b"),
        ("host", "u@a.example"),
    ],
)
def test_what_is_no_subject_is_refused(install: CoreFixture, kind: str, subject: str) -> None:
    """By a sentence that says how it is written."""
    with pytest.raises(BadInput):
        install.grants.add_grant("crab", GrantKind(kind), subject, GrantScope.HOUR, by=install.operator, surface="test")
    with pytest.raises(NotFound):
        install.grants.add_grant(
            "nobody", GrantKind.COMMAND, BUILD, GrantScope.HOUR, by=install.operator, surface="test"
        )
    assert _held(install) == []


def test_a_list_nobody_reads_is_not_made(install: CoreFixture) -> None:
    """At the bound there is an error; the same again replaces what was there."""
    for number in range(200):
        install.grants.add_grant(
            "crab", GrantKind.HOST, f"a{number}.example", GrantScope.HOUR, by=install.operator, surface="test"
        )
    with pytest.raises(TooMany, match="200"):
        install.grants.add_grant("crab", GrantKind.COMMAND, BUILD, GrantScope.HOUR, by=install.operator, surface="test")


def test_what_has_no_kind_is_approved_once(install: CoreFixture) -> None:
    """Longer is refused, and the question stays open."""
    asked = _asked(install, install.under_way(), 1, f"rm -rf $X {'x' * 600}")
    with pytest.raises(BadInput, match="once"):
        _say(install, asked, approve=True, said=DecisionDetails(scope=GrantScope.HOUR))
    with pytest.raises(BadInput, match="once"):
        _say(install, asked, approve=False, said=DecisionDetails(scope=GrantScope.HOUR))
    assert str(install.approvals.get(asked.id).status) == "pending"


def test_grants_go_with_their_agent(install: CoreFixture) -> None:
    """A new one of the same name begins with none."""
    install.grants.add_grant("crab", GrantKind.COMMAND, BUILD, GrantScope.ALWAYS, by=install.operator, surface="test")
    install.agents.remove("crab")
    install.agents.create({"name": "crab"})
    assert _held(install) == []


# --- a no with words, and a no that lasts ------------------------------------------------------------------------


def test_a_no_takes_words_to_the_agent(install: CoreFixture) -> None:
    """They stand with the question, in the audit log, and in the lock that the crab reads."""
    asked = _asked(install, install.under_way(), 1, "rm -rf build")
    denied = _say(install, asked, approve=False, said=DecisionDetails(note="No, use “trash” instead."))
    assert denied.detail["note"] == "No, use “trash” instead."
    assert "They said: “No, use “trash” instead.”" in install.audited("approval.denied")[0].text
    lock = json.loads((install.home / "run" / "crab" / "1" / f"hermit_deny.{asked.id}.lock").read_text())
    assert (lock["status"], lock["note"]) == ("denied", "No, use “trash” instead.")


@pytest.mark.parametrize("note", ["x" * 2_001, "\ud800"])
def test_words_are_bounded(install: CoreFixture, note: str) -> None:
    """And with a yes there are none."""
    asked = _asked(install, install.under_way(), 1, "rm -rf build")
    with pytest.raises(BadInput, match="note"):
        _say(install, asked, approve=False, said=DecisionDetails(note=note))
    with pytest.raises(BadInput, match="note"):
        _say(install, asked, approve=True, said=DecisionDetails(note="yes"))
    assert str(install.approvals.get(asked.id).status) == "pending"


def test_a_no_lasts_for_the_turn(install: CoreFixture) -> None:
    """The same text is not asked again in it, whatever ran in between; in the next turn it is."""
    turn = install.under_way()
    _say(install, _asked(install, turn, 1, "rm -rf build"), approve=False, said=DecisionDetails())
    assert _start(install, turn, 2, "ls") == "run"
    again = install.steps.start_step(KEY, turn.id, 3, thought="", command="rm -rf build", approval=None)
    assert (again.do, "Nobody is asked again" in again.reason) == ("refuse", True)
    assert len(install.approvals.list_approvals()) == 1
    install.turns.stop(turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    _asked(install, install.under_way(), 1, "rm -rf build")


def test_many_noes_end_the_asking(install: CoreFixture) -> None:
    """A text that changes by a letter each time is no way around it."""
    turn = install.under_way()
    for n in range(1, 6):
        _say(install, _asked(install, turn, n, f"rm -rf build{n}"), approve=False, said=DecisionDetails())
    assert _start(install, turn, 6, "rm -rf build6") == "refuse"
    assert len(install.approvals.list_approvals()) == 5


# --- what scripts hold ---------------------------------------------------------------------------------------------


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[CoreFixture]:
    """An agent that asks before every command, with a workspace."""
    with core_fixture(tmp_path / "home", approval="all") as made:
        made.workspaces.prepare_folders(KEY, uid=1000, gid=1000)
        yield made


def _work(install: CoreFixture) -> Path:
    return install.home / "workspaces" / "crab" / "1" / "work"


def test_a_script_that_changed_does_not_run(careful: CoreFixture) -> None:
    """What a person agreed to is what the file held then; the audit log says why nothing ran."""
    script = _work(careful) / "x.sh"
    script.write_text("echo fine\n")
    turn = careful.under_way()
    asked = _asked(careful, turn, 1, "bash x.sh")
    assert [(one["path"], one["size_bytes"]) for one in asked.detail["scripts"]] == [("work/x.sh", 10)]
    _say(careful, asked, approve=True, said=DecisionDetails())
    script.write_text("rm -rf ~\n")
    answer = careful.steps.start_step(KEY, turn.id, 1, thought="", command="bash x.sh", approval=asked.id)
    assert (answer.do, "work/x.sh was changed" in answer.reason) == ("refuse", True)
    assert careful.audited("approval.void")[0].detail["path"] == "work/x.sh"
    asked = _asked(careful, turn, 2, "bash x.sh")
    _say(careful, asked, approve=True, said=DecisionDetails())
    assert _start(careful, turn, 2, "bash x.sh", approval=asked.id) == "run"


def test_a_script_that_appears_or_becomes_a_link_does_not_run(careful: CoreFixture) -> None:
    """Nothing outside is ever read for it."""
    turn = careful.under_way()
    missing = _asked(careful, turn, 1, "python3 later.py")
    assert missing.detail["scripts"] == [{"path": "work/later.py", "sha256": None, "size_bytes": None}]
    _say(careful, missing, approve=True, said=DecisionDetails())
    (_work(careful) / "later.py").write_text("1")
    assert _start(careful, turn, 1, "python3 later.py", approval=missing.id) == "refuse"
    linked = _work(careful) / "linked.sh"
    linked.write_text("ls\n")
    asked = _asked(careful, turn, 2, "bash linked.sh")
    _say(careful, asked, approve=True, said=DecisionDetails())
    linked.unlink()
    linked.symlink_to("/etc/passwd")
    assert _start(careful, turn, 2, "bash linked.sh", approval=asked.id) == "refuse"
    assert _asked(careful, turn, 3, "bash linked.sh").detail["runs_more"] is True


def test_what_makes_its_own_script_runs(careful: CoreFixture) -> None:
    """It was not there when the person was asked, and is not there when it begins."""
    turn, command = careful.under_way(), "echo ls > new.sh && bash new.sh"
    asked = _asked(careful, turn, 1, command)
    _say(careful, asked, approve=True, said=DecisionDetails())
    assert _start(careful, turn, 1, command, approval=asked.id) == "run"
