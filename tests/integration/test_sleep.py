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


def is_up_an_hour_later(house: RealApp, agent: Talker) -> bool:
    """As if nobody had done anything meanwhile."""
    app = house.app
    later = time.time() + 3700
    IdleStop(app._cubicles, app._store, after_s=3600, is_waking=lambda _: False, now=lambda: later).run_once()
    return state(agent) == "running"


def test_it_sleeps_and_wakes(house: RealApp) -> None:
    """What it wrote is there afterwards, and the message is answered as ever."""
    agent = house.agent()
    agent.ask(house.plays.commands("echo kept > kept.txt"))
    assert state(agent) == "running"
    eventually(lambda: not is_up_an_hour_later(house, agent))
    ended = agent.ask(house.plays.commands("cat kept.txt"))
    assert (ended["status"], ended["steps"][0]["output"]) == ("done", "kept\n")


def test_what_runs_inside_keeps_it_awake(house: RealApp) -> None:
    """A server that the agent started stays; once it has ended, the cubicle may sleep."""
    agent = house.agent()
    agent.ask(house.plays.commands("(setsid nohup sleep 1000 >/dev/null 2>&1 &)"))
    assert is_up_an_hour_later(house, agent)
    agent.ask(house.plays.commands("pkill sleep"))
    eventually(lambda: not is_up_an_hour_later(house, agent))


def test_a_message_wakes_a_stopped_one_by_itself(house: RealApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right after its last turn too, and without the watch, which only looks once a second."""
    agent = house.agent()
    monkeypatch.setattr(house.app._watch, "run_once", lambda _: None)
    for _ in range(3):
        assert agent.ask(house.plays.commands("true"))["status"] == "done"
        agent.api.post(f"/agents/{agent.name}/cubicle/stop")


def test_a_look_at_the_chat_wakes_it(house: RealApp) -> None:
    """So that the first message finds it up."""
    agent = house.agent()
    assert state(agent) == "stopped"
    house.app.services.rouse(CubicleKey(agent.name, 1))
    eventually(lambda: state(agent) == "running")
