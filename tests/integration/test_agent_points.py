"""Points of time on real cubicles: an agent names one, wrecks its files and goes back; further than its turn a person
is asked."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.support.real_app import RealApp, eventually

pytestmark = pytest.mark.docker

NUMBER = """python3 -c "import json; print(json.load(open('../out/.point.json'))['id'])\""""


def test_an_agent_goes_back_to_its_own_point(install: RealApp) -> None:
    """Within one turn: the files are back, and the commands after it run on as if nothing had been."""
    agent = install.agent()
    done = agent.ask(
        install.plays.commands(
            "mkdir -p src && echo good > src/main.txt && echo keep > notes.txt",
            "hermit checkpoint create before the wreck --json > ../out/.point.json",
            "rm notes.txt && echo broken > src/main.txt && echo junk > src/junk.txt",
            f"hermit checkpoint restore $({NUMBER}) src notes.txt > ../out/.said 2>&1",
            "cat src/main.txt notes.txt > seen.txt; hermit checkpoint diff --json > diff.json",
        )
    )
    assert done["status"] == "done", done
    said = (agent.work.parent / "out/.said").read_text()
    assert (agent.work / "src/main.txt").read_text() == "good\n", said
    assert (agent.work / "notes.txt").read_text() == "keep\n", said
    assert (agent.work / "seen.txt").read_text() == "good\nkeep\n"
    assert not (agent.work / "src/junk.txt").exists()
    changed = {one["path"] for one in json.loads((agent.work / "diff.json").read_text())["changes"]}
    assert {"work/src/main.txt", "work/notes.txt"} <= changed
    assert install.api.get("/approvals?status=pending")["approvals"] == []


def test_further_back_the_person_is_asked(install: RealApp) -> None:
    """The command waits, nothing changes meanwhile, and the host does it once they agree."""
    agent = install.agent()
    agent.ask(install.plays.commands("echo good > report.txt", "hermit checkpoint create 'good report'", "echo x > x"))
    points = install.api.get(f"/agents/{agent.name}/checkpoints")["checkpoints"]
    point = next(one["id"] for one in points if one["name"] == "good report")
    prompt = install.plays.commands("echo bad > report.txt", f"hermit checkpoint restore {point} > /tmp/said", "true")
    ended: list[dict[str, Any]] = []
    turn = threading.Thread(target=lambda: ended.append(agent.ask(prompt)))
    turn.start()
    eventually(lambda: any(_asked(install, agent.name)))
    (asked,) = _asked(install, agent.name)
    assert asked["text"].startswith(f"Put back all files as at point {point} (“good report”), taken ")
    assert "work/report.txt goes back" in asked["text"]
    assert (agent.work / "report.txt").read_text() == "bad\n"
    install.api.post(f"/approvals/{asked['id']}", {"decision": "approve"})
    turn.join(60)
    assert ended
    assert ended[0]["status"] == "done", ended
    assert (agent.work / "report.txt").read_text() == "good\n"
    assert "back to point" in install.inside(agent, "cat", "/tmp/said")


def _asked(install: RealApp, agent: str) -> list[dict[str, Any]]:
    found = install.api.get("/approvals?status=pending")["approvals"]
    return [one for one in found if (one["agent"], one["kind"]) == (agent, "checkpoint")]
