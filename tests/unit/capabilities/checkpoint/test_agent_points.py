"""``capabilities.checkpoint``: an agent looks at its points, names some and goes back; further than its turn after a
yes to exactly that."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.checkpoint import agent_points
from orchestrator.capabilities.checkpoint.paths import read_paths
from orchestrator.core.errors import BadInput, Conflict, UnsafePath
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, TurnStatus
from tests.support.app_fixture import AppFixture, run_app

PATIENCE_S = 20.0


@dataclass
class Bench:
    """An agent in its turn, by its own calls."""

    install: AppFixture
    key: CubicleKey
    work: Path
    turn: int = 0
    _steps: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _calls: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def calls(self) -> Calls:
        """The table."""
        return self.install.app._capabilities.calls

    def begin_turn(self) -> None:
        """A message, which a crab takes."""
        turns = self.install.services.turns
        turns.submit(self.key, "work", source="test")
        taken = turns.take_next(self.key, "boot", PATIENCE_S)
        assert taken is not None
        self.turn = taken.id

    def end_turn(self) -> None:
        """It is done, and its last point taken."""
        self.install.services.turns.end_turn(self.key, self.turn, TurnStatus.DONE, reply="done")
        undo = self.install.services.undo
        wait_for(lambda: (span := undo.get_span(self.turn)) is None or span.after is not None)

    def run(self, deed: Callable[[], object]) -> None:
        """A command that does something."""
        n = next(self._steps)
        self.install.steps.start_step(self.key, self.turn, n, thought="", command=f"true {n}", approval=None)
        deed()
        self.install.steps.end_step(self.key, self.turn, n, exit_code=0, output="", ended="exited")

    def write(self, **files: str) -> None:
        """A command that writes files in ``work/``."""
        self.run(lambda: [(self.work / name).write_text(text) for name, text in files.items()])

    def begin(self, deed: str, /, **fields: Any) -> CapabilityCall:
        """A command asks the host."""
        caller = Caller(self.key, self.turn or None)
        return self.calls.run_command(caller, f"c{next(self._calls)}", f"CHECKPOINT_{deed}", fields)

    def end(self, call: CapabilityCall) -> CapabilityCall:
        """What came of it."""
        ended = self.calls.wait_call(self.key, call.id, PATIENCE_S)
        assert ended.status != "waiting"
        return ended

    def ask(self, deed: str, /, **fields: Any) -> CapabilityCall:
        """Both."""
        return self.end(self.begin(deed, **fields))

    def question(self) -> Approval:
        """What a person is asked, once they are."""
        pending: list[Approval] = []

        def is_asked() -> bool:
            pending[:] = self.install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)
            return bool(pending)

        wait_for(is_asked)
        return pending[0]

    def decide(self, approval: Approval, *, approve: bool = True) -> None:
        """The person's answer."""
        services = self.install.services
        services.approvals.decide(approval.id, approve=approve, by=services.users.get_operator(), surface="test")

    def name_point(self, name: str) -> int:
        """A point of that name; its number."""
        return int(self.ask("CREATE", name=name).result["id"])

    def files(self) -> dict[str, str]:
        """What lies in ``work/``."""
        return {path.name: path.read_text() for path in self.work.iterdir()}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """In a turn of its own."""
    with run_app(tmp_path, crabs=False) as install:
        key = CubicleKey("crab", install.services.users.get_operator().id)
        install.services.cubicles.ensure_running(key)
        mounts = install.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
        made = Bench(install, key, Path(mounts.work))
        made.begin_turn()
        yield made


def wait_for(is_so: Callable[[], bool]) -> None:
    """Until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_agent_goes_back_within_its_turn(bench: Bench) -> None:
    """To a point that it named, for some paths or all, and back again; nobody is asked."""
    bench.write(a="1", b="1")
    point = bench.name_point("good state")
    bench.write(a="2", b="2", c="2")
    some = bench.ask("RESTORE", id=point, paths=["a"])
    assert (some.status, bench.files()) == ("done", {"a": "1", "b": "2", "c": "2"})
    done = bench.ask("RESTORE", id=point)
    assert (done.status, done.result["changed"], bench.files()) == ("done", 2, {"a": "1", "b": "1"})
    assert "work/b" in done.text
    assert f"hermit checkpoint restore {done.result['before']}` takes that back" in done.text
    assert bench.ask("RESTORE", id=done.result["before"]).status == "done"
    assert bench.files() == {"a": "1", "b": "2", "c": "2"}
    assert bench.ask("RESTORE", id=done.result["before"]).text.startswith("Nothing had to change")
    assert bench.install.services.approvals.list_approvals() == []
    assert not bench.install.engine.frozen


def test_it_goes_back_to_where_its_turn_began(bench: Bench) -> None:
    """The point before its first command is its own, too."""
    (bench.work / "mine").write_text("1")
    bench.write(mine="2")
    span = bench.install.services.undo.get_span(bench.turn)
    assert span is not None
    assert bench.ask("RESTORE", id=span.before).status == "done"
    assert bench.files() == {"mine": "1"}


def test_it_looks_at_its_points(bench: Bench) -> None:
    """Newest first and cut with a word; what differs since a point, or since the turn began."""
    bench.write(a="1")
    point = bench.name_point("one")
    bench.write(**{f"f{n:03}": "x" for n in range(150)})
    listed = bench.ask("LIST", limit=2)
    assert [one["turn"] for one in listed.result["checkpoints"]] == [bench.turn] * 2
    assert (listed.result["has_more"], listed.text.splitlines()[-1][:10]) == (True, "There are ")
    assert "“one”" in bench.ask("LIST").text
    since = bench.ask("DIFF", id=point)
    assert (since.result["total"], len(since.result["changes"])) == (150, 100)
    assert since.text.endswith("and 50 more")
    whole = bench.ask("DIFF")
    assert whole.result["total"] == 151
    assert {"path": "work/a", "kind": "made"} in whole.result["changes"]


def test_further_back_a_person_decides(bench: Bench) -> None:
    """Which point, of when, how many files and which is what they read; nothing happens before their yes."""
    bench.write(a="1")
    point = bench.name_point("old")
    bench.write(a="later")
    bench.end_turn()
    bench.begin_turn()
    bench.write(a="2", b="2")
    call = bench.begin("RESTORE", id=point)
    asked = bench.question()
    first, *rest = asked.text.splitlines()
    assert first.startswith(f"Put back all files as at point {point} (“old”), taken 20")
    assert rest == ["2 files change:", "  work/a goes back", "  work/b is deleted"]
    assert (asked.kind, asked.turn, bench.files()) == ("checkpoint", bench.turn, {"a": "2", "b": "2"})
    bench.decide(asked)
    done = bench.end(call)
    assert (done.status, bench.files()) == ("done", {"a": "1"})
    assert bench.ask("RESTORE", id=done.result["before"]).status == "done"  # within the turn again
    assert bench.files() == {"a": "2", "b": "2"}


def test_a_no_changes_nothing(bench: Bench) -> None:
    """And the same is not asked again in this turn."""
    bench.write(a="1")
    point = bench.name_point("old")
    bench.write(a="later")
    bench.end_turn()
    bench.begin_turn()
    bench.write(a="2")
    call = bench.begin("RESTORE", id=point)
    bench.decide(bench.question(), approve=False)
    ended = bench.end(call)
    assert (ended.status, ended.result["code"], bench.files()) == ("failed", "denied", {"a": "2"})
    assert bench.ask("RESTORE", id=point).result["code"] == "forbidden"


def test_a_yes_is_to_what_was_read(bench: Bench) -> None:
    """Files that were changed since make it void; one for a point is none for another."""
    bench.write(a="1")
    one = bench.name_point("one")
    bench.write(a="2", keep="2")
    two = bench.name_point("two")
    bench.write(a="later")
    bench.end_turn()
    bench.begin_turn()
    bench.write(a="3")
    first = bench.begin("RESTORE", id=two, paths=["a"])
    asked = bench.question()
    second = bench.begin("RESTORE", id=one)
    wait_for(lambda: len(bench.install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 2)
    (bench.work / "late").write_text("what the person has not seen")
    bench.decide(asked)
    assert (bench.end(first).status, bench.files()["a"]) == ("done", "2")
    assert bench.calls.get_call(bench.key, second.id).status == "waiting"
    bench.decide(bench.question())
    assert "changed since the person was asked" in bench.end(second).text
    assert bench.files() == {"a": "2", "keep": "2", "late": "what the person has not seen"}


def test_an_answer_after_the_turn_is_carried_out(bench: Bench) -> None:
    """By the host, and the agent is told before its next turn."""
    bench.write(a="1")
    point = bench.name_point("old")
    bench.write(a="later")
    bench.end_turn()
    bench.begin_turn()
    bench.write(a="2")
    call = bench.begin("RESTORE", id=point)
    asked = bench.question()
    bench.end_turn()
    bench.decide(asked)
    assert (bench.end(call).status, bench.files()) == ("done", {"a": "1"})
    (notice,) = bench.install.services.notifications.list_recent(bench.key)
    assert (notice.kind, notice.text.splitlines()[0]) == (
        "checkpoint",
        f"crab wanted files put back. 1 file changes, back to point {point}.",
    )
    bench.begin_turn()
    told = bench.install.services.restores.turn_note(bench.key, bench.turn)
    assert told.startswith("Since your last turn ada (test) put back")


def test_names_are_few_and_plain(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control characters are refused; there is an end to them, with the way out; a name needs a turn."""
    monkeypatch.setattr(agent_points, "MOST_NAMED", 2)
    for bad in ("a\nb", "a\x1b[2J", "", "x" * 101):
        with pytest.raises(BadInput):
            bench.begin("CREATE", name=bad)
    assert bench.ask("CREATE", name="a\u202eb").status == "failed"
    first = bench.name_point("a")
    bench.install.services.restores.create_point(bench.key, "a person's")
    bench.name_point("b")
    refused = bench.ask("CREATE", name="c")
    assert refused.result["code"] == "too_many"
    assert f"./hermit checkpoints crab rm {first}" in refused.text
    bench.install.services.restores.delete_point(bench.key, first)
    assert bench.ask("CREATE", name="c").status == "done"
    bench.end_turn()
    bench.turn = 0
    with pytest.raises(Conflict):
        bench.begin("CREATE", name="d")


def test_what_is_not_there_is_said(bench: Bench) -> None:
    """A point that is gone; a comparison where the turn has begun at none."""
    assert bench.ask("RESTORE", id=4711).result["code"] == "not_found"
    assert bench.ask("DIFF", id=4711).result["code"] == "not_found"
    assert bench.ask("DIFF").result["code"] == "bad_input"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.txt", (b"work", b"a.txt")),
        ("./a/b/", (b"work", b"a", b"b")),
        ("work/a", (b"work", b"a")),
        ("www", (b"www",)),
        ("../out/a", (b"out", b"a")),
        ("/app/workspace/out/ä", (b"out", "ä".encode())),
    ],
)
def test_paths_are_those_of_the_agents_folder(text: str, parts: tuple[bytes, ...]) -> None:
    """As its commands would read them."""
    assert read_paths((text,)) == (parts,)


@pytest.mark.parametrize(
    "text", ["../in/a", "/app/workspace/data", "..", "../..", "a/../../in", "/etc/passwd", "../../x", "a//b", ".", "/"]
)
def test_paths_elsewhere_are_refused(text: str) -> None:
    """Whatever leads out of what points are about."""
    with pytest.raises((BadInput, UnsafePath)):
        read_paths((text,))


def test_a_death_names_nothing_twice(bench: Bench) -> None:
    """A job that is begun again finds what its first try has made."""
    made = bench.install.services.restores.create_point(bench.key, "once", turn=bench.turn)
    jobs = bench.install.app._capabilities.jobs
    with bench.install.app._store.writing() as db:
        job = jobs.submit(db, "checkpoint", bench.key, bench.turn, {"do": "CHECKPOINT_CREATE", "name": "once"})
        db.execute("UPDATE jobs SET tries = 1 WHERE id = ?", (job.id,))
    wait_for(lambda: _is_over(bench, job.id))
    named = [one for one in bench.install.services.checkpoints.list_checkpoints(bench.key) if one.label == "once"]
    assert [one.id for one in named] == [made.id]


def _is_over(bench: Bench, job: int) -> bool:
    with bench.install.app._store.reading() as db:
        return db.execute("SELECT 1 FROM jobs WHERE id = ?", (job,)).fetchone() is None
