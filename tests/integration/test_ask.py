"""Questions of agents through a whole install: asked in a turn, answered from elsewhere, and over when nobody waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.real_app import AppProcess, RealApp, Talker, eventually

pytestmark = pytest.mark.docker

ASK = 'hermit ask "Which?" --choices a,b'


def question(agent: Talker) -> dict[str, Any]:
    """The open question of this agent, once there is one."""
    return eventually(
        lambda: next(
            (q for q in agent.api.get("/questions", status="pending")["questions"] if q["agent"] == agent.name), {}
        )
    )


def state(agent: Talker, question: str) -> str:
    """How a question stands."""
    every = agent.api.get("/questions")["questions"]
    return next(str(found["status"]) for found in every if found["id"] == question)


def test_the_model_reads_the_answer(install: RealApp) -> None:
    """Asked in a turn and answered over the API; who comes second is told so."""
    agent = install.agent()
    turn = agent.send(install.plays.commands(ASK))
    asked = question(agent)
    assert (asked["turn"], asked["choices"]) == (turn, ["a", "b"])
    assert agent.api.post(f"/questions/{asked['id']}", {"answer": "b"})["status"] == "answered"
    late = agent.api.call("POST", f"/questions/{asked['id']}", json={"answer": "a"})
    assert (late.status_code, "answered already" in late.json()["error"]["message"]) == (409, True)
    ended = agent.ended(turn)
    assert [(step["exit_code"], step["output"].splitlines()[-1]) for step in ended["steps"]] == [(0, "b")]


def test_the_cubicle_dies_while_a_question_waits(install: RealApp) -> None:
    """It is withdrawn: nobody answers what nobody waits for."""
    agent = install.agent()
    turn = agent.send(install.plays.commands(ASK))
    asked = question(agent)
    install.client.containers.get(agent.container).kill()
    assert agent.ended(turn)["status"] == "failed"
    eventually(lambda: state(agent, asked["id"]) == "cancelled")


def test_killed_while_a_person_is_asked(process: AppProcess) -> None:
    """The question outlives the orchestrator, is answered from the command line, and its turn goes on."""
    agent = process.agent()
    turn = agent.send(process.plays.commands(ASK))
    asked = question(agent)
    process.kill()
    process.start()
    assert asked["id"] in process.command("questions").stdout
    ran = process.command("answer", asked["id"], "A")
    assert (ran.returncode, ran.stdout) == (0, f"{agent.name} was told: a\n")
    ended = agent.ended(turn)
    assert (ended["status"], ended["steps"][0]["output"].splitlines()[-1]) == ("done", "a")


def test_the_chat_asks_in_place(process: AppProcess) -> None:
    """Where nobody can type, it says what to type elsewhere."""
    agent = process.agent(approval_timeout_s=5)
    ran = process.command("chat", agent.name, process.plays.commands(ASK))
    assert ran.returncode == 0
    assert f"{agent.name} asks:" in ran.stderr
    assert "./hermit answer" in ran.stderr


def test_a_budget_that_is_used_up(install: RealApp) -> None:
    """The agent stops and says how to go on; its person hears of it once; raised, it goes on."""
    agent = install.agent(daily_budget_usd=0.2)
    # The scripted model has no price: each call costs what the fallback says, by the provider's counts.
    while (ended := agent.ask("Again."))["status"] == "done":
        pass
    assert f"agent set {agent.name} daily_budget_usd=" in ended["error"]
    budget = agent.api.get(f"/agents/{agent.name}/budget")
    assert budget["is_stopped"]
    assert budget["held_usd"] == 0
    assert 0 < budget["spent_usd"] <= 0.2
    agent.ask("Again.")
    notifications = agent.api.get(f"/agents/{agent.name}/notices")["notices"]
    assert [notice["kind"] for notice in notifications if "reached today" in notice["text"]] == ["budget"]
    agent.change(daily_budget_usd=1000)
    assert agent.ask("Again.")["status"] == "done"
    assert not agent.api.get(f"/agents/{agent.name}/budget")["is_stopped"]
