"""Sleep on the real engine: a cubicle with nothing to do is stopped, and its next message wakes it."""

from __future__ import annotations

import time

import pytest

from orchestrator.core.models import CubicleKey
from orchestrator.operations.idle_stop import IdleStop
from tests.support.real_app import RealApp, Talker, eventually

pytestmark = pytest.mark.docker


def state(agent: Talker) -> str:
    """Of its container."""
    return str(agent.api.get(f"/agents/{agent.name}/cubicle")["state"])


def is_up_an_hour_later(install: RealApp, agent: Talker) -> bool:
    """As if nobody had done anything meanwhile."""
    app = install.app
    later = time.time() + 3700
    IdleStop(app._cubicles, app._store, after_s=3600, is_waking=lambda _: False, now=lambda: later).run_once()
    return state(agent) == "running"


def test_it_sleeps_and_wakes(install: RealApp) -> None:
    """What it wrote is there afterwards, and the message is answered as ever."""
    agent = install.agent()
    agent.ask(install.plays.commands("echo kept > kept.txt"))
    assert state(agent) == "running"
    eventually(lambda: not is_up_an_hour_later(install, agent))
    ended = agent.ask(install.plays.commands("cat kept.txt"))
    assert (ended["status"], ended["steps"][0]["output"]) == ("done", "kept\n")


def test_what_runs_inside_keeps_it_awake(install: RealApp) -> None:
    """A server that the agent started stays; once it has ended, the cubicle may sleep."""
    agent = install.agent()
    agent.ask(install.plays.commands("(setsid nohup sleep 1000 >/dev/null 2>&1 &)"))
    assert is_up_an_hour_later(install, agent)
    agent.ask(install.plays.commands("pkill sleep"))
    eventually(lambda: not is_up_an_hour_later(install, agent))


def test_a_message_wakes_a_stopped_one_by_itself(install: RealApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right after its last turn too, and without the watch, which only looks once a second."""
    agent = install.agent()
    monkeypatch.setattr(install.app._watchdog, "run_once", lambda _: None)
    for _ in range(3):
        assert agent.ask(install.plays.commands("true"))["status"] == "done"
        agent.api.post(f"/agents/{agent.name}/cubicle/stop")


def test_a_look_at_the_chat_wakes_it(install: RealApp) -> None:
    """So that the first message finds it up."""
    agent = install.agent()
    assert state(agent) == "stopped"
    install.app.services.prestart(CubicleKey(agent.name, 1))
    eventually(lambda: state(agent) == "running")
