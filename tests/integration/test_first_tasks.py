"""The tasks to begin with, all ten for one agent in a real cubicle, by the built-in demo: each leaves what its card
promises where people find it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.llm.first_tasks import FIRST_TASKS
from tests.support.real_app import RealApp, Talker, eventually

pytestmark = pytest.mark.docker

ENDS_IN = {
    "chart": "chart.png",
    "sales": "sales-clean.csv",
    "pictures": "pictures.zip",
    "report": "report.md",
    "packing": "packing-list.md",
}
"""What is delivered, by the task."""


def _do_task(agent: Talker, prompt: str) -> dict[str, Any]:
    """It is asked for; what comes back as a question is answered, and what needs approval is approved."""
    turn = agent.send(prompt)

    def next_stop() -> dict[str, Any]:
        now = agent.turn(turn)
        questions = agent.api.get("/questions", status="pending")["questions"]
        for asked in (one for one in questions if one["agent"] == agent.name):
            agent.api.post(f"/questions/{asked['id']}", {"answer": "The sea"})
        waiting = agent.api.get("/approvals", status="pending")["approvals"]
        for one in (one for one in waiting if one["agent"] == agent.name):
            assert one["text"] == "rm -r old-drafts"
            agent.decide(one["id"], "approve")
        return now if now["status"] in ("done", "failed", "stopped") else {}

    return eventually(next_stop)


def test_each_ends_with_what_it_promises(install: RealApp) -> None:
    """Three apps, five files, a calendar entry, and a folder that is gone because somebody said yes."""
    agent = install.agent(provider="rehearsal", approval="dangerous")
    for task in FIRST_TASKS:
        ended = _do_task(agent, task.prompt)
        assert ended["status"] == "done", (task.id, ended)
        assert all(step["exit_code"] == 0 for step in ended["steps"]), (task.id, ended["steps"])
    apps = {app["name"] for app in install.api.get(f"/agents/{agent.name}/apps")["apps"]}
    assert apps == {"calculator", "todo", "pairs"}

    def delivered() -> bool:
        found = install.api.get(f"/agents/{agent.name}/deliveries")["deliveries"]
        return {one["file"] for one in found} >= set(ENDS_IN.values())

    assert eventually(delivered)
    (entry,) = install.api.get(f"/agents/{agent.name}/calendar")["entries"]
    assert (entry["title"], entry["repeat"]) == ("Plan the week", "FREQ=WEEKLY;BYDAY=MO")
    assert not (agent.work / "old-drafts").exists()
    asked = [one for one in install.api.get("/approvals")["approvals"] if one["agent"] == agent.name]
    assert [one["status"] for one in asked] == ["approved"]
