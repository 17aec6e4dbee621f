"""``orchestrator.jobs.pool``: what is asked for is done once, in order, within its bounds, and told; whatever dies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents import deletion_rows
from orchestrator.approvals.notifications import Notifications
from orchestrator.core.errors import BadInput, Stopped, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.jobs import pool, rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running, TryLater
from orchestrator.jobs.pool import TOOK_TOO_LONG, Jobs
from orchestrator.jobs.rows import Job, JobState
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

PATIENCE_S = 10.0


class Died(BaseException):
    """What a SIGKILL is to a test: nothing after it is done."""


@dataclass
class Fixture:
    """A pool, and what tests do with it."""

    install: CoreFixture
    now: float = 1_000_000.0
    finished: list[tuple[str, bool, str]] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    deed: Callable[[Running], Mapping[str, Any] | None] = lambda _: {}

    def __post_init__(self) -> None:
        self.notifications = Notifications(self.install.store, self.install.broker)
        self.jobs = Jobs(self.install.store, self.notifications, finish=self._finish, now=lambda: self.now)

    def kind(self, name: str = "task", **more: Any) -> None:
        """A kind whose jobs do ``deed``, and are kept."""
        fields = {"time_s": 60.0, "kept_s": 3600.0, "report": _report, **more}
        self.jobs.add_kind(JobKind(name, self._run, **fields))

    def _run(self, running: Running) -> Mapping[str, Any] | None:
        self.ran.append(running.job.payload.get("text", ""))
        return self.deed(running)

    def _finish(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None:
        self.finished.append((waits_for, ok, text))

    def submit(self, text: str = "", kind: str = "task", key: CubicleKey = KEY, **more: Any) -> Job:
        """A job is asked for."""
        with self.install.store.writing() as db:
            return self.jobs.submit(db, kind, key, None, {"text": text}, **more)

    def look(self, job: Job) -> Job | None:
        """The job as it stands."""
        with self.install.store.reading() as db:
            return rows.get_job(db, job.kind, job.name)

    def state(self, job: Job) -> str:
        """Where it stands."""
        found = self.look(job)
        return "gone" if found is None else str(found.state)

    def work(self) -> None:
        """All that can be done now."""
        while self.jobs.run_next():
            pass

    def until(self, holds: Callable[[], bool]) -> None:
        """Returns once it does."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)


def _report(_db: object, job: Job) -> JobReport:
    return JobReport(job.error or "done", audit=f"task.{job.state}", said="x", notice=job.error, is_heard=not job.error)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Fixture]:
    """A fixture."""
    with core_fixture(tmp_path / "home") as install:
        made = Fixture(install)
        yield made
        made.jobs.close()


# --- one job -----------------------------------------------------------------------------------------------------


def test_it_is_done_and_told(at: Fixture) -> None:
    """Its result is kept, whoever waits hears of it, and it stands in the audit log."""
    at.kind()
    at.deed = lambda _: {"size": 3}
    job = at.submit("a")
    at.work()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.progress, found.result, found.tries) == (JobState.DONE, "done", {"size": 3}, 1)
    assert at.finished == [(f"task:{job.name}", True, "done")]
    assert [row.kind for row in at.install.audited("task.done")] == ["task.done"]
    assert at.notifications.list_recent(KEY) == []


def test_a_failure_is_told_to_everybody(at: Fixture) -> None:
    """To the call, to the person, and to the agent's next turn, once."""
    at.kind()

    def fail(_: Running) -> None:
        raise BadInput("It can't be done.")

    at.deed = fail
    job = at.submit()
    at.work()
    assert at.finished == [(f"task:{job.name}", False, "It can't be done.")]
    assert [notice.text for notice in at.notifications.list_recent(KEY)] == ["It can't be done."]
    turn = at.install.under_way()
    assert [told.id for told in at.jobs.report_ends("task", turn, most=5)] == [job.id]
    assert [told.id for told in at.jobs.report_ends("task", turn, most=5)] == [job.id]
    at.install.turns.stop(turn.id)
    assert at.jobs.report_ends("task", at.install.under_way("next"), most=5) == []


def test_a_job_that_is_not_written_down_is_not_done(at: Fixture) -> None:
    """Its transaction was rolled back."""
    at.kind()

    def submit_and_die() -> None:
        with at.install.store.writing() as db:
            at.jobs.submit(db, "task", KEY, None, {})
            raise Died

    with pytest.raises(Died):
        submit_and_die()
    at.work()
    assert at.ran == []


def test_progress_is_a_row(at: Fixture) -> None:
    """Everybody sees how far it is, and the next try goes on from there."""
    at.kind()

    def halfway(running: Running) -> Mapping[str, Any]:
        if running.job.progress == "halfway":
            return {"second": 2}
        running.record_progress("halfway", first=1)
        raise TryLater(0.0)

    at.deed = halfway
    job = at.submit()
    at.jobs.run_next()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.progress, found.result, found.tries) == (JobState.QUEUED, "halfway", {"first": 1}, 0)
    at.work()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.result) == (JobState.DONE, {"first": 1, "second": 2})


def test_it_waits_and_is_resumed(at: Fixture) -> None:
    """Nothing is done meanwhile, and it is resumed once."""
    at.kind()

    def ask(running: Running) -> Mapping[str, Any] | None:
        if running.job.waits_for:
            return {}
        with at.install.store.writing() as db:
            assert rows.make_wait(db, running.job.id, "approval:k3j9", "asked", {"more": 1})
        return None

    at.deed = ask
    job = at.submit("a")
    at.work()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.progress, found.payload) == (JobState.WAITING, "asked", {"text": "a", "more": 1})
    with at.install.store.writing() as db:
        (waiting,) = rows.list_waiting_for(db, "task", "approval:k3j9")
        assert at.jobs.resume_job(db, waiting, "going on")
        assert not at.jobs.resume_job(db, waiting, "going on")
    at.work()
    assert (at.state(job), len(at.ran)) == ("done", 2)


# --- tries -------------------------------------------------------------------------------------------------------


def test_what_breaks_is_tried_again_and_given_up(at: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    """With a pause in between; whoever waits hears of the end."""
    at.kind(tries=3, gave_up="It was tried three times.")

    def fall(_: Running) -> None:
        raise KeyError("x")

    at.deed = fall
    job = at.submit()
    for tries in range(1, 4):
        at.work()
        assert (len(at.ran), at.state(job)) == (tries, "queued")
        at.now += 60
    at.work()
    assert (len(at.ran), at.state(job)) == (3, "failed")
    assert at.finished == [(f"task:{job.name}", False, "It was tried three times.")]
    assert "broke" in caplog.text


def test_a_kind_may_fail_at_once(at: Fixture) -> None:
    """With its own sentence."""
    at.kind(broke="Something went wrong.")

    def fall(_: Running) -> None:
        raise KeyError("x")

    at.deed = fall
    at.submit()
    at.work()
    assert [text for _, _, text in at.finished] == ["Something went wrong."]


def test_a_whole_kind_is_put_off(at: Fixture) -> None:
    """Where what all of them need is away; the others go on."""
    at.kind()
    at.kind("other")

    def later(running: Running) -> Mapping[str, Any]:
        if running.job.kind == "task":
            raise TryLater(600, is_whole_kind=True)
        return {}

    at.deed = later
    first, second = at.submit(), at.submit(key=OTHER)
    other = at.submit(kind="other")
    at.work()
    assert (at.state(first), at.state(second), at.state(other), len(at.ran)) == ("queued", "queued", "done", 2)
    at.now += 601
    at.deed = lambda _: {}
    at.work()
    assert (at.state(first), at.state(second)) == ("done", "done")


def test_a_clock_that_went_back_keeps_nothing_waiting(at: Fixture) -> None:
    """A pause is never longer than pauses are."""
    at.kind()

    def later(_: Running) -> None:
        raise TryLater(600)

    at.deed = later
    job = at.submit()
    at.work()
    at.now -= 1_000_000
    at.deed = lambda _: {}
    at.work()
    assert at.state(job) == "done"


# --- deaths and ends ---------------------------------------------------------------------------------------------


def test_a_death_counts_as_a_try(at: Fixture) -> None:
    """It is queued again at the next start; what kills the install each time is given up."""
    at.kind(gave_up="It never finished.")

    def die(_: Running) -> None:
        raise Died

    at.deed = die
    job = at.submit()
    for _ in range(3):
        with pytest.raises(Died):
            at.jobs.run_next()
        assert at.state(job) == "running"
        at.work()
        at.jobs.reconcile()
        assert at.state(job) == "queued"
    at.work()
    assert at.finished == [(f"task:{job.name}", False, "It never finished.")]


def test_what_nobody_waits_for_after_a_death_is_dropped(at: Fixture) -> None:
    """Where the kind says so."""
    at.kind(outlives=False)
    job = at.submit()
    at.jobs.reconcile()
    assert at.state(job) == "gone"


def test_a_stop_breaks_off_and_does_not_count(at: Fixture) -> None:
    """It goes on after the next start, with all its tries."""
    begun = threading.Event()
    at.kind()

    def slow(running: Running) -> None:
        begun.set()
        while running.is_wanted():
            time.sleep(0.01)
        raise Stopped("It stops.")

    at.deed = slow
    job = at.submit()
    at.jobs.start()
    assert begun.wait(PATIENCE_S)
    at.jobs.close()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.tries) == (JobState.QUEUED, 0)
    assert not at.jobs.run_next()


def test_a_database_that_refuses_is_asked_again(at: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    """The job is done, but its end could not be written: it is done once more, not lost until the next start."""
    at.kind()
    writing, refusals = at.install.store.writing, [True]

    def refusing(running: Running) -> Mapping[str, Any]:
        if refusals:
            refusals.clear()
            at.install.store.writing = broken  # type: ignore[method-assign]  # the disk is full for a moment
        return {}

    def broken() -> Any:
        at.install.store.writing = writing  # type: ignore[method-assign]  # and has room again
        raise Unavailable("The disk is full.")

    at.deed = refusing
    job = at.submit()
    with caplog.at_level(logging.WARNING):
        at.work()
    assert (at.state(job), len(at.ran)) == ("done", 2)
    assert "The disk is full." in caplog.text


@pytest.mark.parametrize("is_begun", [False, True])
def test_cancelling(at: Fixture, *, is_begun: bool) -> None:
    """What waits is never begun; what runs breaks off, and what it would have brought is not taken. Once."""
    begun = threading.Event()
    at.kind(report=_report)

    def slow(running: Running) -> Mapping[str, Any]:
        begun.set()
        while running.is_wanted():
            time.sleep(0.01)
        with pytest.raises(Stopped):
            running.record_progress("further")
        return {"brought": 1}

    at.deed = slow
    job = at.submit()
    if is_begun:
        at.jobs.start()
        assert begun.wait(PATIENCE_S)
    with at.install.store.writing() as db:
        assert at.jobs.cancel_job(db, job)
        assert not at.jobs.cancel_job(db, job)
    at.until(lambda: not at.jobs._running)
    at.work()
    found = at.look(job)
    assert found is not None
    assert (found.state, found.result, len(at.ran)) == (JobState.CANCELLED, {}, int(is_begun))
    assert len(at.finished) == 1


def test_what_takes_too_long_has_failed(at: Fixture) -> None:
    """Whoever waits hears of it when its time is up, though it may be deaf."""
    deaf = threading.Event()
    at.kind(time_s=0.1)

    def slow(_: Running) -> Mapping[str, Any]:
        deaf.wait(PATIENCE_S)
        return {"late": 1}

    at.deed = slow
    job = at.submit()
    at.jobs.start()
    at.until(lambda: at.state(job) == "failed")
    assert at.finished == [(f"task:{job.name}", False, TOOK_TOO_LONG)]
    deaf.set()
    at.until(lambda: not at.jobs._running)
    found = at.look(job)
    assert found is not None
    assert (found.state, "late" in found.result) == (JobState.FAILED, False)


# --- whose turn it is --------------------------------------------------------------------------------------------


def test_in_order_and_fair(at: Fixture) -> None:
    """Within a cubicle one after the other; of two the one whose last was longest ago."""
    at.kind()
    for n in range(3):
        at.submit(f"a{n}")
    for n in range(2):
        at.submit(f"b{n}", key=OTHER)
    at.work()
    assert at.ran == ["a0", "b0", "a1", "b1", "a2"]


def test_what_is_put_off_keeps_its_place(at: Fixture) -> None:
    """Those behind it in its cubicle wait, another's do not."""
    at.kind()

    def later(running: Running) -> Mapping[str, Any]:
        if running.job.payload["text"] == "a0" and len(at.ran) == 1:
            raise TryLater(10)
        return {}

    at.deed = later
    at.submit("a0")
    at.submit("a1")
    at.submit("b0", key=OTHER)
    at.work()
    assert at.ran == ["a0", "b0"]
    at.now += 11
    at.work()
    assert at.ran == ["a0", "b0", "a0", "a1"]


def test_bounds(at: Fixture) -> None:
    """So many of one cubicle, so many in all; a kind that is busy keeps no other waiting."""
    gate = threading.Event()
    most: list[list[CubicleKey]] = []
    now_running: list[CubicleKey] = []
    at.kind(at_once=2, per_cubicle=1)
    at.kind("other")

    def slow(running: Running) -> Mapping[str, Any]:
        if running.job.kind == "other":
            return {}
        now_running.append(running.job.cubicle)
        most.append(list(now_running))
        gate.wait(PATIENCE_S)
        now_running.remove(running.job.cubicle)
        return {}

    at.deed = slow
    third = CubicleKey(at.install.agents.create({"name": "third"}).name, KEY.user)
    asked = [at.submit(key=key) for key in (KEY, KEY, OTHER, third)]
    at.jobs.start()
    at.until(lambda: len(now_running) == 2)
    quick = at.submit(kind="other")
    at.until(lambda: at.state(quick) == "done")
    assert [at.state(job) for job in asked] == ["running", "queued", "running", "queued"]
    gate.set()
    at.until(lambda: all(at.state(job) == "done" for job in asked))
    assert all(len(cubicles) <= 2 and len(set(cubicles)) == len(cubicles) for cubicles in most)


def test_nothing_is_done_for_who_is_being_deleted(at: Fixture) -> None:
    """Not begun, and broken off where it was; its rows go with it."""
    at.kind(holds_deletion=True)
    begun = threading.Event()

    def slow(running: Running) -> None:
        begun.set()
        while running.is_wanted():
            time.sleep(0.01)
        raise Stopped("It stops.")

    at.deed = slow
    job, second = at.submit(), at.submit()
    at.jobs.start()
    assert begun.wait(PATIENCE_S)
    with at.install.store.writing() as db:
        deletion_rows.mark_agent(db, KEY.agent, 1.0)
    at.jobs.await_end(lambda key: key == KEY)
    assert (at.state(job), at.state(second), len(at.ran)) == ("queued", "queued", 1)
    at.install.agents.remove(KEY.agent)
    assert (at.state(job), at.state(second)) == ("gone", "gone")


def test_a_deletion_does_not_wait_for_ever(at: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that it is not over yet."""
    monkeypatch.setattr(pool, "_DELETION_S", 0.05)
    gate, begun = threading.Event(), threading.Event()
    at.kind(holds_deletion=True)

    def deaf(_: Running) -> Mapping[str, Any]:
        begun.set()
        gate.wait(PATIENCE_S)
        return {}

    at.deed = deaf
    at.submit()
    at.jobs.start()
    assert begun.wait(PATIENCE_S)
    with pytest.raises(Unavailable):
        at.jobs.await_end(lambda _: True)
    gate.set()


# --- what stays --------------------------------------------------------------------------------------------------


def test_old_ones_are_forgotten(at: Fixture) -> None:
    """What ended long ago goes, with what lay about of it; convenience goes at once, and what is open stays."""
    gone: list[str] = []
    at.kind(kept_s=100.0, forget=lambda job: gone.append(job.name))
    at.kind("brief", kept_s=0.0)
    old, brief = at.submit(), at.submit(kind="brief")
    at.work()
    assert (at.state(old), at.state(brief)) == ("done", "gone")
    at.now += 101
    young = at.submit()
    at.jobs.delete_old()
    assert (at.state(old), gone, at.state(young)) == ("gone", [old.name], "queued")


def test_kinds_are_prepared_before_their_first(at: Fixture) -> None:
    """Nothing is done before, and one that fails keeps nobody from it."""
    order: list[str] = []
    gate = threading.Event()

    def prepare() -> None:
        gate.wait(PATIENCE_S)
        order.append("prepared")
        raise Unavailable("There is no engine.")

    def run(_: Running) -> Mapping[str, Any]:
        order.append("ran")
        return {}

    at.kind(prepare=prepare)
    at.kind("other")
    at.deed = run
    job, other = at.submit(), at.submit(kind="other")
    at.jobs.start()
    at.until(lambda: at.state(other) == "done")
    gate.set()
    at.until(lambda: at.state(job) == "done")
    assert order == ["ran", "prepared", "ran"]
