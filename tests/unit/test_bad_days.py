"""A whole install on a bad day: damage that shows while it runs, more work than it can do, no descriptor left, no watch
to be had. Whoever is not concerned goes on, whoever is gets a sentence, and it ends with the day."""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from watchdog.observers.inotify_c import InotifyFD

from orchestrator.capabilities.delivery import inotify as out_events
from orchestrator.capabilities.delivery.watcher import OutboxWatcher
from orchestrator.core import fd_limit as descriptors
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.door.http.server import HttpServer
from orchestrator.door.sockets import LIMITS, DoorSockets
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.doctor.surroundings import examine_descriptors
from tests.support.app_fixture import API_TOKEN, AppFixture, Scene, run_app
from tests.support.delivery_fixture import KEY as TRAY
from tests.support.delivery_fixture import outgoing
from tests.support.real_app import eventually

PAGE = 4096
BACKLOG, AGENTS, EACH = 400, 20, 5


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install whose engine is on paper."""
    with run_app(tmp_path / "home") as made:
        yield made


def _key(install: AppFixture, agent: str = "crab") -> CubicleKey:
    return CubicleKey(agent, install.services.users.get_operator().id)


def _get(install: AppFixture, path: str) -> httpx.Response:
    return httpx.get(f"{install.url}{path}", headers={"Authorization": f"Bearer {API_TOKEN}"}, timeout=30)


# --- the database is damaged while it runs ---------------------------------------------------------------------


def test_damage_under_a_running_install_is_said_everywhere_and_nothing_spins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A message is refused in words, health is 503 and says which part, and the install waits instead of spinning."""
    with run_app(tmp_path / "home", crabs=False) as webapp:
        key, store = _key(webapp), webapp.app._store
        for n in range(30):
            webapp.services.turns.submit(key, f"m{n} " + "x" * 3000, source="test")
        store.checkpoint_log()
        path = webapp.services.settings.home / "db" / "hermit.db"
        with path.open("r+b") as file:
            for page in range(2, path.stat().st_size // PAGE):
                file.seek(page * PAGE)
                file.write(b"\xff" * PAGE)
        with suppress(Unavailable), store.reading() as db:
            for table in ("turns", "audit", "agents", "users", "spending"):
                db.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - a constant
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            worked, began = time.process_time(), time.monotonic()
            with pytest.raises(Unavailable, match="database is damaged"):
                webapp.services.turns.submit(key, "one more", source="test")
            assert _get(webapp, "/api/health").status_code == 503
            threading.Event().wait(2.0)
            assert time.process_time() - worked < 1.5
            assert len(caplog.records) < 20 * (time.monotonic() - began)
        assert "damaged" in webapp.services.health().database


# --- more work than it can do ----------------------------------------------------------------------------------


def test_a_backlog_is_answered_once_each_in_order_and_others_do_not_wait_for_it(webapp: AppFixture) -> None:
    """Hundreds for one agent while nobody can serve it, then some for each of many; what is stopped is not answered.
    (By hand, slower machines included: 5,000 for one and 50 for each of a hundred.)"""
    services, held = webapp.services, threading.Event()

    def hold(_scene: Scene) -> None:
        held.wait(30)

    webapp.plays["hold"] = hold
    first = services.turns.submit(_key(webapp), "hold", source="test")
    backlog = [services.turns.submit(_key(webapp), f"m{n}", source="test") for n in range(BACKLOG)]
    for n in range(AGENTS):
        services.agents.create({"name": f"a{n}"})
    others = [
        services.turns.submit(_key(webapp, f"a{n}"), f"m{m}", source="test") for m in range(EACH) for n in range(AGENTS)
    ]
    for turn in others:
        assert services.turns.wait_for_end(turn.id, 60).status is TurnStatus.DONE
    assert services.turns.get(first.id).status is TurnStatus.RUNNING
    for turn in backlog[-50:]:
        assert services.turns.stop(turn.id).status is TurnStatus.STOPPED
    held.set()
    ended = [services.turns.wait_for_end(turn.id, 60) for turn in backlog]
    assert [turn.status for turn in ended[:-50]] == [TurnStatus.DONE] * (BACKLOG - 50)
    times = [turn.ended_at or 0.0 for turn in ended[:-50]]
    assert times == sorted(times)
    assert [turn.reply for turn in ended[:3]] == ["You said: m0", "You said: m1", "You said: m2"]
    with webapp.app._store.reading() as db:
        ends = db.execute("SELECT COUNT(*), COUNT(DISTINCT turn) FROM audit WHERE kind = 'turn.done'").fetchone()
    assert ends[0] == ends[1] == 1 + BACKLOG - 50 + len(others)
    assert services.turns.clear_history(_key(webapp)) == BACKLOG + 1
    assert services.turns.list_history(_key(webapp)) == []


# --- no descriptor left ----------------------------------------------------------------------------------------


@contextmanager
def _limited_to(spare: int) -> Iterator[None]:
    """This process may open so many more, for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - numbers, not paths
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_install_out_of_descriptors_goes_on_when_there_are_some_again(webapp: AppFixture) -> None:
    """While there are none nobody new gets in, whoever is in is served, and afterwards all is as before."""
    port, turns = webapp.services.settings.port, webapp.services.turns
    webapp.poll_s = 5.0  # the crab is in: it waits, as a real one does, and needs no further descriptor to be woken
    with httpx.Client(base_url=webapp.url, headers={"Authorization": f"Bearer {API_TOKEN}"}, timeout=30) as inside:
        assert inside.get("/api/health").status_code == 200
        turn = webapp.services.turns.submit(_key(webapp), "before", source="test")
        assert webapp.services.turns.wait_for_end(turn.id, 30).reply == "You said: before"
        with ExitStack() as many:  # as in an install that has been busy; how many are open else is a matter of chance
            for _ in range(8):
                many.enter_context(webapp.app._store.reading())
        with _limited_to(0):
            assert inside.get("/api/health").status_code in (200, 503)
        eventually(lambda: turns._long_poll.wake_listeners(_key(webapp)))
        webapp.poll_s = 0.1
        with closing(socket.create_connection(("127.0.0.1", port), 5)), _limited_to(0):
            turn = webapp.services.turns.submit(_key(webapp), "meanwhile", source="test")
            assert webapp.services.turns.wait_for_end(turn.id, 30).reply == "You said: meanwhile"
    assert _get(webapp, "/api/health").status_code == 200


def test_a_cubicle_that_opens_all_it_can_fills_its_own_door_alone(tmp_path: Path) -> None:
    """Its cap and the kernel's queue hold it; another's door answers meanwhile, and its own when it lets go."""
    server, workspaces = HttpServer(), Workspaces(tmp_path)
    doors = DoorSockets(server, workspaces, lambda _environ, start: (start("204 No Content", []), [])[1])
    keys = [CubicleKey("greedy", 1), CubicleKey("other", 1)]
    for key in keys:
        workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
        doors.open(key, uid=os.geteuid(), gid=os.getegid())

    def connect(key: CubicleKey) -> socket.socket | None:
        made = socket.socket(socket.AF_UNIX)
        made.setblocking(False)  # a full queue refuses at once
        try:
            made.connect(str(tmp_path / "run" / key.agent / str(key.user) / "door.sock"))
        except BlockingIOError:
            made.close()
            return None
        return made

    def is_answered(key: CubicleKey) -> bool:
        made = connect(key)
        if made is None:
            return False
        with made:
            made.settimeout(5)
            made.sendall(b"GET / HTTP/1.1\r\nHost: hermit\r\nConnection: close\r\n\r\n")
            return made.recv(100).startswith(b"HTTP/1.1 204")

    before = len(list(Path("/proc/self/fd").iterdir()))
    taken = [made for _ in range(300) if (made := connect(keys[0])) is not None]
    ours = len(list(Path("/proc/self/fd").iterdir())) - before - len(taken)
    assert ours <= LIMITS.connections
    assert len(taken) < 150
    assert is_answered(keys[1])
    for made in taken:
        made.close()
    deadline = time.monotonic() + 20
    while not is_answered(keys[0]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    doors.close_all()
    server.close()
    server.await_quiet()


def test_the_limit_of_descriptors_is_raised_and_never_lowered() -> None:
    """Up to what the system allows; the doctor says how it stands."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
        assert descriptors.raise_limit(600) == 600
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (600, hard)
        assert descriptors.raise_limit(10) == 600
        found = descriptors.used_of(os.getpid())
        assert found is not None
        assert 0 < found[0] < found[1] == 600
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors.used_of(2**22 + 1) is None
    cases: list[tuple[tuple[int, int] | None, str]] = [
        (None, "ok"), ((50, 65_536), "ok"), ((50, 1024), "warn"), ((900, 1024), "fail"), ((60_000, 65_536), "fail"),
    ]  # fmt: skip
    assert [str(examine_descriptors(case).state) for case, _ in cases] == [state for _, state in cases]


# --- no watch to be had ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "code"), [("the instance", errno.EMFILE), ("a watch", errno.ENOSPC), ("a watch", errno.ENOMEM)]
)
def test_without_inotify_files_leave_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, code: int
) -> None:
    """The kernel gives no instance, or no watch: by looking, and the reason is known."""

    def refuse(*_arguments: object) -> InotifyFD:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(out_events, "InotifyFD" if where == "the instance" else "_watched", refuse)
    with outgoing(tmp_path) as install:
        watch = OutboxWatcher(install.workspaces, install.intake, tidy=install.deliveries.remove_old)
        watch.start([TRAY])
        watch.add_cubicle(TRAY)
        try:
            install.put("a")
            deadline = time.monotonic() + 20
            while not install.rows():
                assert time.monotonic() < deadline, "it was not delivered"
                time.sleep(0.02)
            assert "no more watches" in watch.problem
        finally:
            watch.close()
        assert [made.name for made in install.rows()] == ["a"]
