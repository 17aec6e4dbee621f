"""Videos: a request is checked at once, made once, looked at as a stranger's file, and put into the outbox folder
once, whatever happens meanwhile; every end is told to whoever needs to hear it.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents import deletion_rows
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import REGISTRY
from orchestrator.capabilities.video.capability import Clawmotion
from orchestrator.capabilities.video.input import read_request
from orchestrator.capabilities.video.renderer import MOST_BYTES, VideoRenderer
from orchestrator.capabilities.video.videos import Videos
from orchestrator.core.errors import BadInput, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import TurnStatus
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.files import uploads as arrivals
from orchestrator.jobs.pool import Jobs
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fakes import NoHelpers

FILMS = {
    "mp4": b"\0\0\0\x20ftypisom a film, for all the host knows",
    "gif": b"GIF89a a film",
    "webm": b"\x1aE\xdf\xa3 a film",
}


class FakeRenderer(NoHelpers):
    """Draws nothing: it brings what it is told to."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.report: object = {"ok": True, "left_out": 0}
        """Bytes are written as they are, None is no report at all."""
        self.film: bytes | None = None
        """In the place of one of the right kind."""
        self.cleared = 0
        self.during: Callable[[HelperSpec], None] = lambda _: None

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """Read the task, bring what was said."""
        task = json.loads((spec.given / "task.json").read_bytes())
        assert (spec.given / "clawmotion" / "__main__.py").is_file()
        self.tasks.append(task)
        film = FILMS[task["ending"]] if self.film is None else self.film
        (spec.brought / f"video.{task['ending']}").write_bytes(film)
        if self.report is not None:
            written = self.report if isinstance(self.report, bytes) else json.dumps(self.report).encode()
            (spec.brought / "report.json").write_bytes(written)
        self.during(spec)
        return HelperEnd.ENDED

    def clear_helpers(self, kind: HelperKind) -> None:
        """Counted."""
        self.cleared += 1


@dataclass
class Set:
    """Where videos are made, and what tests do with it."""

    install: CoreFixture
    calls: Calls
    notifications: Notifications
    jobs: Jobs
    motions: Videos
    renderer: FakeRenderer
    out_folder: Path
    clock: list[float]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def ask(
        self, text: str = "Hello there.", seconds: object = 5, name: str = "", turn: int | None = None
    ) -> CapabilityCall:
        """A command in the cubicle asks."""
        fields = {"prompt": text, "duration": seconds, "output_file": name}
        return self.calls.run_command(
            Caller(KEY, turn), f"c{time.monotonic_ns()}-{next(self._numbers)}", "CLAWMOTION", fields
        )

    def work(self) -> None:
        """All that there is to do is done."""
        while self.jobs.run_next():
            pass

    def now(self, call: CapabilityCall) -> CapabilityCall:
        """The call as it stands."""
        return self.calls.get_call(call.cubicle, call.id)

    def films(self) -> dict[str, bytes]:
        """What lies in the outbox folder, hidden or not."""
        return {path.name: path.read_bytes() for path in self.out_folder.iterdir() if path.is_file()}


@contextmanager
def film_set(home: Path, renderer: FakeRenderer | None = None) -> Iterator[Set]:
    """A set over ``home``, opened again when it was there before."""
    renderer = renderer or FakeRenderer()
    with core_fixture(home) as install:
        install.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        notifications, clock = Notifications(install.store, install.broker), [time.time()]
        calls = Calls(store=install.store, agents=install.agents)
        (home / "studio").mkdir(exist_ok=True)
        jobs = Jobs(install.store, notifications, finish=calls.finish_calls, now=lambda: clock[0])
        motions = Videos(
            agents=install.agents,
            jobs=jobs,
            workspaces=install.workspaces,
            studio=VideoRenderer(renderer, folder=home / "studio", image=lambda: "studio"),
            check_room=lambda: None,
            now=lambda: clock[0],
        )
        calls.set_registry(REGISTRY, motions.deeds)
        jobs.reconcile()
        out_folder = home / "workspaces" / KEY.agent / str(KEY.user) / "out"
        yield Set(install, calls, notifications, jobs, motions, renderer, out_folder, clock)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Set]:
    """A set."""
    with film_set(tmp_path / "home") as made:
        yield made


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "name"),
    [("", "video.mp4"), ("intro", "intro.mp4"), ("a b.GIF", "a b.GIF"), ("x.webm", "x.webm"), ("con.mp4", "_con.mp4")],
)
def test_names(asked: str, name: str) -> None:
    """One is found where none was given, and each is fit for any disk."""
    assert read_request(Clawmotion("Hello", 5.0, asked)).name == name


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Clawmotion("Hello", 0.5), "1 to 600 seconds"),
        (Clawmotion("Hello", 601.0), "1 to 600 seconds"),
        (Clawmotion("Hello", 61.0, "a.gif"), "at most 60 seconds"),
        (Clawmotion("Hello", 5.0, "a.avi"), "must end in"),
        (Clawmotion("Hello", 5.0, "a.mp4.exe"), "must end in"),
        (Clawmotion("!?", 5.0), "must hold the text"),
        (Clawmotion("word " * 200, 5.0), "at least 25 seconds"),
        (Clawmotion("x" * 4000, 5.0), "at least 67 seconds"),
    ],
)
def test_what_can_not_be_made_is_said_at_once(wanted: Clawmotion, said: str) -> None:
    """No container is started for it."""
    with pytest.raises(BadInput, match=said):
        read_request(wanted)


def test_two_wait_and_half_an_hour_is_made_a_day(at: Set) -> None:
    """More is refused with what there is left."""
    at.ask(seconds=600)
    at.ask(seconds=600)
    with pytest.raises(TooMany, match="2 videos are being made"):
        at.ask()
    at.work()
    at.ask(seconds=500)
    with pytest.raises(TooMany, match="100 seconds are left"):
        at.ask(seconds=101)
    at.work()
    at.clock[0] += 86_401
    at.ask(seconds=600)


# --- the way of a request ---------------------------------------------------------------------------------------------


def test_it_lies_in_the_outbox_folder(at: Set) -> None:
    """Whole, under its name, a file as the cubicle's own are; nothing is left behind elsewhere."""
    call = at.ask("Title: Hi\nThere.", 5, "intro.mp4")
    assert (call.status, "out/intro.mp4" in call.text) == ("waiting", True)
    at.work()
    assert at.renderer.tasks == [{"text": "Title: Hi\nThere.", "seconds": 5.0, "ending": "mp4", "bytes": MOST_BYTES}]
    assert at.films() == {"intro.mp4": FILMS["mp4"]}
    facts = (at.out_folder / "intro.mp4").stat()
    assert (facts.st_uid, facts.st_mode & 0o777) == (at.out_folder.stat().st_uid, 0o644)
    done = at.now(call)
    assert (done.status, done.result["file"], done.result["size"]) == ("done", "out/intro.mp4", len(FILMS["mp4"]))
    assert list((at.install.home / "studio").iterdir()) == []
    assert [row.detail["file"] for row in at.install.audited("video.done")] == ["intro.mp4"]


def test_a_taken_name_is_numbered(at: Set) -> None:
    """Whatever has it, a file or a link to nowhere, stays as it is."""
    (at.out_folder / "video.gif").symlink_to("/etc/passwd")
    at.ask(name="video.gif")
    call = at.ask(name="video.gif")
    at.work()
    assert (at.out_folder / "video.gif").is_symlink()
    assert {"video-2.gif", "video-3.gif"} <= set(at.films())
    assert at.now(call).result["file"] == "out/video-3.gif"


def test_an_outbox_folder_that_is_a_link(at: Set) -> None:
    """Nothing is written through it."""
    elsewhere = at.install.home / "elsewhere"
    elsewhere.mkdir()
    at.out_folder.rename(at.out_folder.with_name("gone"))
    at.out_folder.symlink_to(elsewhere)
    call = at.ask()
    at.work()
    assert (at.now(call).status, list(elsewhere.iterdir())) == ("failed", [])


def test_what_could_not_be_drawn_is_counted(at: Set) -> None:
    """The agent hears that letters were left out."""
    at.renderer.report = {"ok": True, "left_out": 3}
    call = at.ask()
    at.work()
    assert "3 characters" in at.now(call).text


@pytest.mark.parametrize(
    ("report", "film", "said"),
    [
        ({"ok": False, "why": "unreadable"}, None, "no letters"),
        ({"ok": False, "why": "<b>", "said": "\x1b[31m"}, None, "could not be made"),
        (None, None, "too long"),
        (b"{", None, "too long"),
        (b"[" * 50_000, None, "too long"),
        ({"ok": True}, b"", "could not be made"),
        ({"ok": True}, b"#!/bin/sh", "could not be made"),
        ({"ok": True}, FILMS["gif"], "could not be made"),
        ({"ok": True}, FILMS["mp4"] + bytes(MOST_BYTES), "48 MB"),
    ],
)
def test_what_is_brought_is_a_strangers(at: Set, report: object, film: bytes | None, said: str) -> None:
    """A word, size or beginning that is wrong is a failure, and nothing gets into the outbox folder."""
    at.renderer.report, at.renderer.film = report, film
    call = at.ask()
    at.work()
    assert (at.now(call).status, said in at.now(call).text, at.films()) == ("failed", True, {})


def test_a_link_in_the_place_of_the_film(at: Set) -> None:
    """It is not followed."""

    def link(spec: HelperSpec) -> None:
        path = spec.brought / "video.mp4"
        path.unlink()
        path.symlink_to("/etc/passwd")

    at.renderer.during = link
    call = at.ask()
    at.work()
    assert (at.now(call).status, at.films()) == ("failed", {})


def test_no_room_in_the_workspace(at: Set) -> None:
    """It is said, and nothing is stored."""
    at.install.agents.update_agent("crab", {"limits": {"disk_mb": 16}})
    with (at.out_folder.parent / "work" / "big").open("wb") as big:
        os.posix_fallocate(big.fileno(), 0, 16 << 20)
    call = at.ask()
    at.work()
    assert ("no room" in at.now(call).text, at.films()) == (True, {})


# --- deaths and stops ----------------------------------------------------------------------------------------------


class Died(BaseException):
    """What a SIGKILL is to a test: nothing after it is done."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["lay_hidden", "_rename_to_new"])
def test_a_death_at_each_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, *, after: bool) -> None:
    """Whenever it comes, the video is there once at the end, and nothing hidden is left."""
    home, right = tmp_path / "home", getattr(arrivals, step)

    def dying(*args: Any, **kwargs: Any) -> Any:
        if after:
            right(*args, **kwargs)
        raise Died

    with film_set(home) as at:
        call = at.ask(name="intro.mp4")
        monkeypatch.setattr(arrivals, step, dying)
        with pytest.raises(Died):
            at.work()
        monkeypatch.undo()
    with film_set(home) as at:
        at.jobs.prepare_kinds()
        at.work()
        assert at.films() == {"intro.mp4": FILMS["mp4"]}
        assert (at.now(call).status, at.now(call).result["file"]) == ("done", "out/intro.mp4")
        assert len(at.renderer.tasks) == (0 if step == "_rename_to_new" else 1)


def test_a_death_while_it_is_made(tmp_path: Path) -> None:
    """It is made again; what kills the install each time is given up."""
    home, renderer = tmp_path / "home", FakeRenderer()

    def die(_spec: HelperSpec) -> None:
        raise Died

    renderer.during = die
    with film_set(home, renderer) as at:
        call = at.ask()
    for _ in range(3):
        with film_set(home, renderer) as at, pytest.raises(Died):
            at.work()
    with film_set(home, renderer) as at:
        at.work()
        assert ("cancelled" in at.now(call).text, at.films()) == (True, {})


def test_a_stop_is_no_failure(tmp_path: Path) -> None:
    """What the install's end breaks off is made at the next start."""
    home, renderer = tmp_path / "home", FakeRenderer()
    with film_set(home, renderer) as at:
        call = at.ask()
        renderer.during = lambda _: at.jobs.close()
        at.work()
        assert (at.now(call).status, at.films()) == ("waiting", {})
    renderer.during = lambda _: None
    with film_set(home, renderer) as at:
        at.jobs.prepare_kinds()
        at.work()
        assert (at.now(call).status, renderer.cleared) == ("done", 1)


def test_nothing_is_made_for_who_is_being_deleted(at: Set) -> None:
    """Not begun, and not stored when it was begun before."""

    def leave(_spec: HelperSpec) -> None:
        with at.install.store.writing() as db:
            deletion_rows.mark_agent(db, KEY.agent, 1.0)

    at.renderer.during = leave
    at.ask()
    at.ask()
    at.work()
    assert (len(at.renderer.tasks), at.films()) == (1, {})


def test_an_engine_that_does_not_answer(at: Set) -> None:
    """It is said at once."""

    def broken(_spec: HelperSpec) -> None:
        raise Unavailable("The Docker engine does not answer.")

    at.renderer.during = broken
    call = at.ask()
    at.work()
    assert "engine" in at.now(call).text


# --- who hears of it -----------------------------------------------------------------------------------------------


def test_who_hears_when_nobody_waits(at: Set) -> None:
    """A panel action goes on at once: a failure is told to the person by a notice and to the agent's next turn."""
    at.renderer.report = {"ok": False, "why": "unreadable"}
    turn = at.install.under_way()
    (said,) = at.calls.run_batch(Caller(KEY, turn.id), 1, ["CLAWMOTION:你好|5|hi.mp4"])
    assert said == {"ok": True, "result": said["result"]}
    assert "is being made; it will be in out/hi.mp4" in said["result"]
    at.work()
    assert [(notice.kind, "hi.mp4" in notice.text) for notice in at.notifications.list_recent(KEY)] == [("video", True)]
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    second = at.install.under_way("next")
    assert "hi.mp4 that you asked for could not be made" in at.motions.turn_note(second)
    at.install.turns.end_turn(KEY, second.id, TurnStatus.DONE, reply="")
    assert at.motions.turn_note(at.install.under_way("third")) == ""


def test_a_video_that_nobody_waited_for(at: Set) -> None:
    """It comes to the person by itself, so only the agent is told."""
    turn = at.install.under_way()
    at.calls.run_batch(Caller(KEY, turn.id), 1, ["CLAWMOTION:Hello|5|hi.mp4"])
    at.work()
    assert at.notifications.list_recent(KEY) == []
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    assert "out/hi.mp4" in at.motions.turn_note(at.install.under_way("next"))


def test_nobody_is_told_twice(at: Set) -> None:
    """Within the turn its program hears it, and that is enough."""
    at.renderer.report = {"ok": False, "why": "unreadable"}
    turn = at.install.under_way()
    at.ask(turn=turn.id)
    at.work()
    assert (at.notifications.list_recent(KEY), at.motions.turn_note(turn)) == ([], "")


def test_an_agent_without_the_toolset(at: Set) -> None:
    """It can't ask."""
    at.install.agents.update_agent("crab", {"toolsets": ["memory"]})
    with pytest.raises(OrchestratorError, match="toolset video"):
        at.ask()


def test_old_records_go(at: Set) -> None:
    """After a week; what is open stays."""
    call = at.ask()
    at.work()
    at.clock[0] += 8 * 86_400
    at.jobs.delete_old()
    assert at.now(call).status == "done"
    assert at.motions.turn_note(at.install.under_way()) == ""
