"""``orchestrator.app.app``: the whole install put together, started, stopped and started again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import requests

from orchestrator.app.app import FIRST_AGENT, App
from orchestrator.app.wiring import Edges
from orchestrator.core.config import Settings, load
from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.home import prepare_home
from orchestrator.core.models import CubicleKey, TurnStatus, Upstream
from tests.support.core_fixture import KEY
from tests.support.fakes import DeadEngine, FakeEngine, FakeUpstream, Reply, engine_of
from tests.support.free_ports import free_port

TOKEN = "test-token-of-the-operator"


def _settings(tmp_path: Path, **more: str) -> Settings:
    given = {
        "HERMIT_HOME": str(tmp_path / "home"),
        "HERMIT_PORT": str(free_port()),
        "HERMIT_PREVIEW_PORT": str(free_port()),
        "HERMIT_API_TOKEN": TOKEN,
    }
    return load({**given, **more}, tmp_path)


@contextmanager
def _install(settings: Settings, engine: FakeEngine, model: Upstream | None = None) -> Iterator[App]:
    upstreams = {"fake": model or FakeUpstream()}
    app = App(settings, prepare_home(settings.home), Edges(engine_of(engine), upstreams, "fake", 0.001))
    try:
        app.start()
        yield app
    finally:
        app.stop(stop_cubicles=False)


def test_a_first_start_makes_operator_and_agent(tmp_path: Path) -> None:
    """A second one makes neither again."""
    settings = _settings(tmp_path)
    for _ in range(2):
        with _install(settings, FakeEngine()) as app:
            assert [agent.name for agent in app.services.agents.list_agents()] == [FIRST_AGENT]
            assert [user.name for user in app.services.users.list_users()] == ["operator"]
            assert app.services.health().is_ok
            assert requests.get(f"{settings.url}/api/health", timeout=5).json() == {"status": "ok"}


@pytest.mark.parametrize("name", ["../../pwned", "..", "a/b", "A", "/etc"])
def test_a_database_with_a_hostile_name_is_refused(tmp_path: Path, name: str) -> None:
    """It says so and what to do, and no folder is made by that name."""
    settings = _settings(tmp_path)
    with _install(settings, FakeEngine()) as app, app._store.writing() as db:
        db.execute("PRAGMA defer_foreign_keys = ON")
        db.execute("UPDATE cubicles SET agent = ?", (name,))
        db.execute("UPDATE agents SET name = ?", (name,))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Unavailable, match="no agent can be called"), _install(settings, FakeEngine()):
        raise AssertionError("unreachable")
    made = [path for path in sorted(tmp_path.rglob("*")) if path not in before and path.is_dir()]
    assert [path for path in made if "backups" not in path.parts] == []


def test_a_port_that_is_taken_is_named_with_its_holder(tmp_path: Path) -> None:
    """And nothing is left running."""
    settings = _settings(tmp_path)
    with socket.socket() as holder:
        holder.bind((settings.host, settings.port))
        holder.listen()
        with pytest.raises(Unavailable, match=r"can't be used .*process \d+"), _install(settings, FakeEngine()):
            raise AssertionError("it started")


def test_an_address_that_is_not_ours_is_named(tmp_path: Path) -> None:
    """With what to write instead."""
    settings = _settings(tmp_path, HERMIT_HOST="192.0.2.1")
    with pytest.raises(Unavailable, match=r"192\.0\.2\.1"), _install(settings, FakeEngine()):
        raise AssertionError("it started")


def test_health_says_what_is_wrong(tmp_path: Path) -> None:
    """503 for everybody, the reason for those who are logged in."""
    settings, engine = _settings(tmp_path), DeadEngine()
    engine.is_dead = False
    with _install(settings, engine) as app:
        engine.is_dead = True
        assert "does not answer" in app.services.health().engine
        assert requests.get(f"{settings.url}/api/health", timeout=5).status_code == 503


def test_deleting_an_agent_gives_every_message_an_outcome_first(tmp_path: Path) -> None:
    """Running and queued ones; container, folders and rows go."""
    engine = FakeEngine()
    with _install(_settings(tmp_path), engine) as app:
        services = app.services
        services.cubicles.ensure_running(KEY)
        running = services.turns.submit(KEY, "a", source="test")
        services.turns.take_next(KEY, "boot", 20)
        queued = services.turns.submit(KEY, "b", source="test")
        news = services.broker.subscribe()
        services.remove_agent(FIRST_AGENT)
        told = {}
        while (event := news.get(0.01)) is not None:
            if event.kind == "turn":
                told[event.body["turn"]] = event.body["status"]
        services.broker.unsubscribe(news)
        assert TurnStatus(told[queued.id]).is_final
        assert TurnStatus(told[running.id]).is_final
        assert engine.containers == {}
        assert not [path for path in (tmp_path / "home").glob("*/*") if path.name == FIRST_AGENT]
        with pytest.raises(NotFound):
            services.agents.get(FIRST_AGENT)
        with pytest.raises(NotFound):
            services.remove_agent(FIRST_AGENT)


def test_deleting_a_person_takes_their_cubicles_along(tmp_path: Path) -> None:
    """Container, folders and queued messages; the operator stays."""
    engine = FakeEngine()
    with _install(_settings(tmp_path), engine) as app:
        member = app.services.users.add({"name": "mia"})
        key = CubicleKey(FIRST_AGENT, member.id)
        app.services.cubicles.ensure_running(key)
        turn = app.services.turns.submit(key, "hello", source="test")
        app.services.remove_user(member.id)
        assert app.services.turns.get(turn.id).error == "This person was removed."
        assert key not in {container.key for container in engine.list_containers()}
        assert not (tmp_path / "home" / "workspaces" / FIRST_AGENT / str(member.id)).exists()
        with pytest.raises(NotFound):
            app.services.users.get(member.id)
        with pytest.raises(Conflict):
            app.services.remove_user(app.services.users.get_operator().id)


def test_stopping_cuts_no_turn_short(tmp_path: Path) -> None:
    """A model call is cut, but its crab gets no answer at all, so that it asks the next orchestrator; its money is
    booked."""
    settings, engine, model = _settings(tmp_path), FakeEngine(), FakeUpstream("fake", Reply(hold_head=True))
    with _install(settings, engine, model) as app:
        app.services.cubicles.ensure_running(KEY)
        app.services.turns.submit(KEY, "a", source="test")
        turn = app.services.turns.take_next(KEY, "boot", 20)
        assert turn is not None
        crab = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        crab.settimeout(10)
        crab.connect(str(settings.home / "run" / "crab" / "1" / "door.sock"))
        body = f'{{"turn": {turn.id}, "messages": [{{"role": "user", "content": "x"}}]}}'
        crab.sendall(
            f"POST /api/internal/llm HTTP/1.1\r\nHost: door\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert model.is_held.wait(5)
    with closing(crab):
        assert crab.recv(65536) == b""
    with _install(settings, engine) as app:
        assert app.services.turns.get(turn.id).status is TurnStatus.RUNNING
        assert app.services.budget.get_today(FIRST_AGENT).reserved_micro == 0
        assert app.services.budget.get_today(FIRST_AGENT).spent_micro > 0
        assert app.services.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="went on")


def test_whoever_waits_is_let_go_at_a_stop(tmp_path: Path) -> None:
    """A message that is waited for, and a stream of news: stopping takes no longer than it must."""
    settings = _settings(tmp_path)
    waiting: list[threading.Thread] = []

    def ask(method: str, path: str, **more: object) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        try:
            with requests.request(method, settings.url + path, headers=headers, timeout=30, **more) as answer:  # type: ignore[arg-type]  # a test's own calls
                answer.content  # noqa: B018 - reading it is what waits
        except requests.RequestException:
            return

    with _install(settings, FakeEngine()) as app:
        message = {"text": "a", "wait": True, "timeout": 600}
        for thread in (
            threading.Thread(target=ask, args=("POST", "/api/agents/crab/messages"), kwargs={"json": message}),
            threading.Thread(target=ask, args=("GET", "/api/events")),
        ):
            thread.start()
            waiting.append(thread)
        while not (app.services.broker.is_wanted("turn") and app.services.turns.list_history(KEY)):
            waiting[0].join(0.01)
    for thread in waiting:
        thread.join(5)
    assert not [thread for thread in waiting if thread.is_alive()]


def test_a_start_clears_up_after_a_death(tmp_path: Path) -> None:
    """Holds are booked, strays removed, doors of running cubicles open again."""
    settings, engine = _settings(tmp_path), FakeEngine()
    with _install(settings, engine) as app:
        app.services.cubicles.ensure_running(KEY)
        agent = app.services.agents.get(FIRST_AGENT)
        app.services.budget.reserve(agent, KEY, None, provider="fake", model="m", micro=1234)
        real = next(iter(engine.containers.values()))
        stray = type(real)("x", "stray", CubicleKey("gone", 9), "i", "s", running=True, started_at=0.0)
        engine.containers["stray"] = stray
    with _install(settings, engine) as app:
        assert app.services.budget.get_today(FIRST_AGENT).spent_micro == 1234
        assert "stray" not in engine.containers
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as crab:
            crab.connect(str(settings.home / "run" / "crab" / "1" / "door.sock"))


def test_ctrl_c_stops_the_cubicles_too(tmp_path: Path) -> None:
    """A restart leaves them running."""
    settings, engine = _settings(tmp_path), FakeEngine()
    with _install(settings, engine) as app:
        app.services.cubicles.ensure_running(KEY)
    assert engine.containers
    app = App(settings, prepare_home(settings.home), Edges(engine_of(engine), {"fake": FakeUpstream()}, "fake"))
    app.start()
    app.stop(stop_cubicles=True)
    assert engine.containers == {}
