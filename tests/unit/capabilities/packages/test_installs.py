"""Packages: nothing is fetched before a person agreed to the whole list, and nothing else than that is taken; what a
resolver brings is a stranger's word, and every end is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents import deletion_rows
from orchestrator.approvals import source_rows
from orchestrator.approvals.answers import DecisionDetails
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.capabilities.packages import records
from orchestrator.capabilities.packages.input import read_requests
from orchestrator.capabilities.packages.installs import KEPT_S
from orchestrator.capabilities.packages.lists import MOST_BYTES
from orchestrator.core.audit import Audit
from orchestrator.core.errors import BadInput, OrchestratorError, TooMany
from orchestrator.core.models import TurnStatus
from tests.support.core_fixture import KEY, heard, of_kind, watching
from tests.support.packages_fixture import CONTENT, MOST_AN_HOUR, FakeHelpers, PackagesFixture, fixture, listed


@pytest.fixture
def at(tmp_path: Path) -> Iterator[PackagesFixture]:
    """A fixture."""
    with fixture(tmp_path / "home") as made:
        yield made


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "text", "read"),
    [
        ("pip", "six", "six"),
        ("pip", " Flask_Login == 0.6.3 ", "flask-login==0.6.3"),
        ("pip", "ruamel.yaml==1!2.0rc1", "ruamel-yaml==1!2.0rc1"),
        ("npm", "is-odd", "is-odd"),
        ("npm", "@types/node@20.1.0", "@types/node@20.1.0"),
        ("npm", "left-pad==1.3.0", "left-pad@1.3.0"),
        ("npm", "JSONStream@1.3.5-rc.1", "JSONStream@1.3.5-rc.1"),
    ],
)
def test_wishes_are_read(system: str, text: str, read: str) -> None:
    """A name, with a version or without."""
    assert read_requests(system, [text]) == (read,)


@pytest.mark.parametrize("system", ["pip", "npm"])
@pytest.mark.parametrize(
    "text",
    ["", "-r", "--index-url=http://x", "a b", "git+https://x/y", "./x", "../x", "/x", "x>=1", "x[extra]", "x @ http://y",
     "x==", "x==1;y", "x==*", "http://x/y.whl", "file:x", "x/y", "@/x", "six\n-r", "x@latest", "x@^1", "e" * 300,
     "e" * 65, "mfrggzdfmztwq2lkmfrggzdfm4", f"a==1.{'0' * 40}"],
)  # fmt: skip
def test_nothing_but_names_and_versions_reaches_pip_or_npm(system: str, text: str) -> None:
    """No option, address, folder or range."""
    with pytest.raises(BadInput, match="packages:"):
        read_requests(system, [text])


def test_names_carry_little() -> None:
    """An index reads them before anybody has agreed; so all of them together are short."""
    names = [f"{chr(97 + n) * 60}" for n in range(5)]
    with pytest.raises(BadInput, match="300 characters"):
        read_requests("pip", [f"{name}-x" for name in names])
    assert len(read_requests("pip", names[:4])) == 4


# --- before a name leaves -----------------------------------------------------------------------------------------


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[PackagesFixture]:
    """A fixture where nobody has allowed any name."""
    with fixture(tmp_path / "home", asks_about_names=True) as made:
        yield made


def test_no_name_leaves_before_a_yes(asking: PackagesFixture) -> None:
    """First the names are asked about, then the list; once the index has a name, it is looked up without a question."""
    call = asking.ask("Flask-Login==0.6.3", "six")
    assert (asking.work(), asking.helpers.tasks) == (0, [])
    (question,) = asking.pending()
    assert (question.kind, question.text) == ("package_names", "pip look-up\nflask-login==0.6.3\nsix")
    asking.helpers.report = {"ok": True, "packages": [listed("flask-login", "0.6.3"), listed("six"), listed("flask")]}
    asking.decide()
    assert asking.work() == 1
    assert [(task["do"], task["asked"]) for task in asking.helpers.tasks] == [
        ("resolve", ["flask-login==0.6.3", "six"])
    ]
    assert [one.kind for one in asking.pending()] == ["packages"]
    asking.decide()
    asking.work()
    assert asking.now(call).status == "done"
    for name in ("six", "flask-login", "flask", "flask==1.0"):
        asking.ask(name)
        asking.work()
        assert [one.kind for one in asking.pending()] == ["packages"], name
    for foreign in ("six==9.9", "flask-login==1.0", "idna", "six idna"):
        before = len(asking.helpers.tasks)
        asking.ask(*foreign.split())
        assert asking.pending()[0].kind == "package_names", foreign
        assert (asking.work(), len(asking.helpers.tasks)) == (0, before)


@pytest.mark.parametrize("how", ["deny", "expire", "settings"])
def test_no_name_leaves_after_another_answer(asking: PackagesFixture, how: str) -> None:
    """The program that waits hears which, and the next one is asked about again."""
    call = asking.ask()
    if how == "deny":
        asking.decide(approve=False)
    elif how == "settings":
        asking.install.approvals.withdraw("crab")
    else:
        with asking.install.store.writing() as db:
            db.execute("UPDATE approvals SET expires_at = 1")
        asking.install.approvals.expire_due()
    ended = asking.now(call)
    assert (ended.status, asking.work(), asking.helpers.tasks) == ("failed", 0, [])
    assert ended.result["code"] in ("denied", "expired", "cancelled")
    asking.ask()
    assert [one.kind for one in asking.pending()] == ["package_names"]


def test_names_of_one_index_may_be_allowed(asking: PackagesFixture) -> None:
    """With the answer, for the conversation: then only the list is asked about, of that index and of no other; the
    audit log says by which grant."""
    asking.ask("six")
    (question,) = asking.pending()
    said = DecisionDetails(scope=GrantScope.CONVERSATION)
    asking.install.approvals.decide(question.id, approve=True, by=asking.install.operator, surface="test", said=said)
    (grant,) = asking.install.grants.of_agent("crab", viewer=asking.install.operator)
    assert (grant.kind, grant.subject) == ("command", "look up packages of pip")
    asking.ask("idna")
    asking.work()
    assert {one.kind for one in asking.pending()} == {"packages"}
    (row,) = Audit(asking.install.store).search_records(kind="packages.names_allowed")
    assert (row.detail["asked"], row.detail["grant"]) == (["idna"], grant.id)
    asking.ask("left-pad", system="npm")
    assert asking.pending()[0].kind == "package_names"


@pytest.mark.parametrize("kind", list(SourceKind))
def test_names_are_asked_about_again_once_a_stranger_was_read(asking: PackagesFixture, kind: SourceKind) -> None:
    """A name can carry words; but that a package was installed is no reason to ask about the next."""
    operator, grants = asking.install.operator, asking.install.grants
    grants.add_grant(
        "crab", GrantKind.COMMAND, "look up packages of pip", GrantScope.ALWAYS, by=operator, surface="test"
    )
    with asking.install.store.writing() as db:
        source_rows.add_source(db, KEY, None, NewSource(kind, "evil.example"), now=time.time())
    asking.ask("six")
    if kind is SourceKind.PACKAGES:
        assert asking.pending() == []
        return
    (question,) = asking.pending()
    assert (question.kind, question.detail["since_allowed"][0]["kind"]) == ("package_names", str(kind))


def test_names_are_asked_about_across_a_restart(tmp_path: Path) -> None:
    """The question stands after a restart, and its answer goes on with the request."""
    with fixture(tmp_path / "home", asks_about_names=True) as before:
        before.ask()
    with fixture(tmp_path / "home", asks_about_names=True) as after:
        assert [one.kind for one in after.pending()] == ["package_names"]
        after.decide()
        assert after.work() == 1
        assert [one.kind for one in after.pending()] == ["packages"]


# --- the way of a request ---------------------------------------------------------------------------------------------


def test_before_a_yes_nothing_is_fetched(at: PackagesFixture) -> None:
    """The package resolver looks up what the request comes to, a person is asked about that, and exactly that is
    fetched.
    """
    at.helpers.report = {"ok": True, "packages": [listed("flask-login", "0.6.3"), listed("flask", "3.0.0")]}
    call = at.ask("Flask-Login")
    assert (call.status, call.waits_for, at.helpers.tasks) == ("waiting", "packages:1", [])
    assert at.work() == 1
    assert [(task["do"], task["asked"]) for task in at.helpers.tasks] == [("resolve", ["flask-login"])]
    question = at.pending()[0]
    digest = listed("x")["hash"]
    assert question.text == f"pip install\nflask-login==0.6.3  0.0 KB  {digest}\nflask==3.0.0  0.0 KB  {digest}"
    assert (question.kind, question.detail["asked"], question.detail["total_bytes"]) == (
        "packages",
        ["flask-login"],
        2 * len(CONTENT),
    )
    assert at.on_the_shelf() == {}
    at.decide()
    assert at.work() == 1
    assert [package["name"] for package in at.helpers.tasks[1]["packages"]] == ["flask-login", "flask"]
    ended = at.now(call)
    assert (ended.status, ended.result["folder"]) == ("done", "/app/workspace/data/packages/1")
    shelf = at.on_the_shelf()
    manifest = json.loads(shelf.pop("1/packages.json"))
    assert [package["version"] for package in manifest["packages"]] == ["0.6.3", "3.0.0"]
    assert shelf.pop("1/requirements.txt").decode().splitlines()[0] == f"flask-login==0.6.3 --hash={digest}"
    assert set(shelf.values()) == {CONTENT}
    assert list((at.install.home / "helpers").iterdir()) == []
    assert at.packages.get_install(1).status == records.DONE


def test_the_same_again_is_there_at_once(at: PackagesFixture) -> None:
    """An open request is joined, one that is done is answered from the shelf, and nobody is asked twice."""
    first, second = at.ask(), at.ask()
    assert first.waits_for == second.waits_for
    at.work()
    third = at.ask()
    at.decide()
    at.work()
    assert [at.now(call).status for call in (first, second, third)] == ["done"] * 3
    again = at.ask()
    assert (again.status, again.result["folder"], at.work()) == ("done", "/app/workspace/data/packages/1", 0)


def test_what_was_installed_is_read(at: PackagesFixture) -> None:
    """Not when it is asked, but when it comes; asked for again, it is the same."""
    turn = at.install.under_way()
    at.ask("six", turn=turn.id)
    at.work()
    assert at.read() == []
    at.helpers.during = lambda task: seen.append((task["do"], at.read(), at.on_the_shelf()))
    seen: list[object] = []
    at.decide()
    at.work()
    assert at.read() == [("packages", "pip six", turn.conversation)]
    assert seen == [("fetch", [], {})]
    assert at.ask("six", turn=turn.id).status == "done"
    assert at.read() == [("packages", "pip six", turn.conversation)]


def test_the_same_list_is_one_question(at: PackagesFixture) -> None:
    """Two requests that come to the same are decided together."""
    first, second = at.ask("six"), at.ask("six==1.0")
    at.work()
    assert len(at.pending()) == 1
    at.decide()
    at.work()
    assert [at.now(call).status for call in (first, second)] == ["done", "done"]


@pytest.mark.parametrize(
    ("how", "said"), [("deny", "said no"), ("expire", "Nobody answered"), ("settings", "withdrawn")]
)
def test_other_answers(at: PackagesFixture, how: str, said: str) -> None:
    """The program that waits hears which, with a code, and nothing is fetched."""
    call = at.ask()
    at.work()
    if how == "deny":
        at.decide(approve=False)
    elif how == "settings":
        at.install.approvals.withdraw("crab")
    else:
        with at.install.store.writing() as db:
            db.execute("UPDATE approvals SET expires_at = 1")
        at.install.approvals.expire_due()
    ended = at.now(call)
    assert (ended.status, said in ended.text) == ("failed", True)
    assert ended.result["code"] in ("denied", "expired", "cancelled")
    assert at.work() == 0


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"ok": False, "why": "not_found", "said": "No matching distribution"}, "no such package"),
        ({"ok": False, "why": "unreachable", "said": ""}, "can't be reached"),
        ({"ok": False, "why": "conflict", "said": "x\u202ey"}, "\\u202e"),
        ({"ok": False, "why": "too_large"}, "500.0 MB"),
        ({"ok": False, "why": {"a": 1}}, "could not do it"),
        (None, "took too long"),
        (b"{", "can't be used"),
        (b"[" * 100_000, "can't be used"),
        (b"x" * 2_100_000, "too long"),
        ({"ok": True}, "can't be used"),
        ({"ok": True, "packages": []}, "can't be used"),
        ({"ok": True, "packages": ["six"]}, "can't be used"),
        ({"ok": True, "packages": [listed("six")] * 2}, "same file"),
        ({"ok": True, "packages": [listed("six", size=MOST_BYTES + 1)]}, "the most at a time"),
        ({"ok": True, "packages": [listed(f"p{n}") for n in range(301)]}, "at most 300"),
        ({"ok": True, "packages": [{**listed("six"), "name": "six; rm -rf /"}]}, "name"),
        ({"ok": True, "packages": [listed("six", file="../six-1.0.whl")]}, "file"),
        ({"ok": True, "packages": [listed("six", file="other-1.0-py3-none-any.whl")]}, "file"),
        ({"ok": True, "packages": [listed("six", url="file:///etc/passwd")]}, "address"),
        ({"ok": True, "packages": [listed("six", hash="md5:0")]}, "hash"),
        ({"ok": True, "packages": [listed("six", size=True)]}, "size"),
        ({"ok": True, "packages": [{**listed("six"), "version": "1\n2"}]}, "version"),
        ({"ok": True, "packages": [listed("six", places=["node_modules/x"])]}, "places"),
    ],
)
def test_a_report_is_a_strangers_word(at: PackagesFixture, report: Any, said: str) -> None:
    """What does not fit exactly is refused with a sentence, and nobody is asked."""
    at.helpers.report = report
    call = at.ask()
    at.work()
    ended = at.now(call)
    assert (ended.status, at.pending()) == ("failed", [])
    assert said in ended.text


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"six-1.0-py3-none-any.whl": CONTENT[:-1]},
        {"six-1.0-py3-none-any.whl": CONTENT + b"!"},
        {"six-1.0-py3-none-any.whl": b"A" + CONTENT[1:]},
        {"other.whl": CONTENT},
    ],
)
def test_nothing_else_than_agreed_is_taken(at: PackagesFixture, files: dict[str, bytes]) -> None:
    """Missing, shorter, longer or other bytes: the shelf stays empty."""
    at.helpers.files = files
    call = at.ask()
    at.work()
    at.decide()
    at.work()
    assert at.now(call).status == "failed"
    assert at.on_the_shelf() == {}
    assert list((at.install.home / "helpers").iterdir()) == []


def test_links_of_a_resolver_are_not_followed(at: PackagesFixture) -> None:
    """A link in the place of a file, or of the report, is no file."""
    secret = at.install.home / "secret"
    secret.write_bytes(CONTENT)

    def link(task: dict[str, Any]) -> None:
        if task["do"] == "fetch":
            (at.install.home / "helpers" / "1-fetch" / "out" / "six-1.0-py3-none-any.whl").symlink_to(secret)

    at.helpers.files, at.helpers.during = {}, link
    call = at.ask()
    at.work()
    at.decide()
    at.work()
    assert "did not arrive" in at.now(call).text
    assert at.on_the_shelf() == {}


def test_there_must_be_room(tmp_path: Path) -> None:
    """What does not fit into the workspace is not even asked about."""
    with fixture(tmp_path / "home", limits={"disk_mb": 64}) as at:
        at.helpers.report = {"ok": True, "packages": [listed("six", size=100_000_000)]}
        call = at.ask()
        at.work()
        assert "no room" in at.now(call).text
        assert at.pending() == []


def test_an_hours_wishes_are_few(at: PackagesFixture) -> None:
    """An agent can't have an index asked without end, by names that differ."""
    for number in range(MOST_AN_HOUR):
        at.ask(f"p{number}")
    with pytest.raises(TooMany):
        at.ask("one-more")
    at.clock[0] += 3601
    assert at.packages.list_installs(status=records.RESOLVING)


# --- deaths and stops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["resolve", "fetch"])
def test_a_stop_is_no_failure(tmp_path: Path, do: str) -> None:
    """A helper that the install's end breaks off is sent again at the next start."""
    home, helpers = tmp_path / "home", FakeHelpers()
    with fixture(home, helpers) as at:
        call = at.ask()
        if do == "fetch":
            at.work()
            at.decide()
        helpers.during = lambda _task: at.jobs.close()
        at.work()
        assert at.now(call).status == "waiting"
    helpers.during = lambda _task: None
    with fixture(home, helpers) as at:
        at.jobs.prepare_kinds()
        assert helpers.cleared == 1
        at.work()
        if do == "resolve":
            at.decide()
            at.work()
        assert at.now(call).status == "done"


def test_what_kills_the_install_each_time_is_given_up(tmp_path: Path) -> None:
    """A death in the middle of a helper counts; after three there is an end."""
    home, helpers = tmp_path / "home", FakeHelpers()

    def die(_task: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    helpers.during = die
    with fixture(home, helpers) as at:
        call = at.ask()
    for _ in range(3):
        with fixture(home, helpers) as at, pytest.raises(KeyboardInterrupt):
            at.work()
    with fixture(home, helpers) as at:
        at.work()
        assert "cancelled" in at.now(call).text


def test_an_open_question_is_asked_anew_after_a_start(tmp_path: Path) -> None:
    """Surfaces hear of it again."""
    with fixture(tmp_path / "home") as at:
        at.ask()
        at.work()
    with fixture(tmp_path / "home") as at, watching(at.install.broker) as events:
        at.install.approvals.reconcile()
        assert [event["kind"] for event in of_kind(heard(events), "approval")] == ["packages"]


def test_an_engine_that_does_not_answer(at: PackagesFixture) -> None:
    """It is said at once."""
    at.helpers.is_broken = True
    call = at.ask()
    at.work()
    assert "engine" in at.now(call).text


# --- who hears of it -----------------------------------------------------------------------------------------------


def test_who_hears_after_the_turn(at: PackagesFixture) -> None:
    """The person by a notice, the agent at its next turn, once; while the turn goes on neither."""
    turn = at.install.under_way()
    at.ask(turn=turn.id)
    at.work()
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="Later, then.")
    at.decide()
    at.work()
    assert [notice.kind for notice in at.notifications.list_recent(KEY)] == ["packages"]
    assert "six" in at.notifications.list_recent(KEY)[0].text
    second = at.install.under_way("next")
    assert "hermit install pip six" in at.packages.turn_note(second)
    assert at.packages.turn_note(second) == at.packages.turn_note(second)
    at.install.turns.end_turn(KEY, second.id, TurnStatus.DONE, reply="")
    assert at.packages.turn_note(at.install.under_way("third")) == ""


def test_nobody_is_told_twice(at: PackagesFixture) -> None:
    """Within the turn its program hears it, and that is enough."""
    turn = at.install.under_way()
    at.ask(turn=turn.id)
    at.work()
    at.decide()
    at.work()
    assert at.notifications.list_recent(KEY) == []
    assert at.packages.turn_note(turn) == ""


def test_a_shelf_is_cleared_after_a_week(at: PackagesFixture) -> None:
    """What lay long enough goes, and a new request is looked up again."""
    at.ask()
    at.work()
    at.decide()
    at.work()
    at.clock[0] += KEPT_S + 1
    at.jobs.delete_old()
    assert at.on_the_shelf() == {}
    assert at.ask().status == "waiting"


def test_a_deleted_agent_gets_nothing(at: PackagesFixture) -> None:
    """Its rows go with it, and the helper that was under way ends nowhere."""

    def delete(_task: dict[str, Any]) -> None:
        with at.install.store.writing() as db:
            db.execute("DELETE FROM agents WHERE name = 'crab'")

    at.helpers.during = delete
    at.ask()
    try:
        at.work()
    except OrchestratorError as error:
        pytest.fail(error.message)
    assert (at.pending(), at.packages.list_installs()) == ([], [])


def test_another_agent_of_that_name_gets_nothing(at: PackagesFixture) -> None:
    """What was agreed to for one that was deleted meanwhile is not put into the next one's cubicle."""
    at.ask()
    at.work()
    at.decide()

    def replace(_task: dict[str, Any]) -> None:
        with at.install.store.writing() as db:
            db.execute("DELETE FROM agents WHERE name = 'crab'")
        at.install.agents.create({"name": "crab"})

    at.helpers.during = replace
    at.work()
    assert (at.on_the_shelf(), at.packages.list_installs()) == ({}, [])


def test_whoever_is_being_deleted_sends_no_helper(at: PackagesFixture) -> None:
    """Neither to look up nor to fetch, and nobody is asked."""
    at.ask()
    with at.install.store.writing() as db:
        deletion_rows.mark_agent(db, "crab", 0.0)
    assert (at.work(), at.helpers.tasks, at.pending()) == (0, [], [])
