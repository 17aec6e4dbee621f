"""The calendar on a real cubicle: an agent puts entries into it, they come due as turns of their own, and what the
agent sees of it is a copy that it can't change."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.capabilities.calendar.visibility import is_told
from tests.support.real_app import RealApp, Talker, eventually
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

DATABASE = "/app/workspace/data/calendar.db"
_READ = """
import json, sqlite3
db = sqlite3.connect("file:DATABASE?mode=ro", uri=True)
print(json.dumps([list(row) for row in db.execute("SELECT title, status, words FROM entries ORDER BY id")]))
""".replace("DATABASE", DATABASE)
_WRITE = """
import os, sqlite3
for way in (
    lambda: sqlite3.connect("DATABASE").execute("DELETE FROM entries"),
    lambda: open("DATABASE", "r+b"),
    lambda: os.unlink("DATABASE"),
    lambda: os.rename("/tmp/other", "DATABASE"),
    lambda: open("DATABASE-journal", "wb"),
):
    try:
        way()
        print("done")
    except (OSError, sqlite3.Error) as error:
        print(type(error).__name__)
""".replace("DATABASE", DATABASE)


def _soon(seconds: float = 6.0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def _create(title: str, prompt: str, start: str) -> str:
    return f"CALENDAR_CREATE:{title}|{prompt}|{start}|"


def _calendar(agent: Talker) -> Any:
    return agent.api.get(f"/agents/{agent.name}/calendar")["entries"]


def _run(agent: Talker, title: str) -> dict[str, Any]:
    """The turn that an entry became, once it has ended."""

    def look() -> int | None:
        entry = next((entry for entry in _calendar(agent) if entry["title"] == title), None)
        if entry is None:
            return None
        runs = agent.api.get(f"/agents/{agent.name}/calendar/{entry['id']}")["runs"]
        return next((run["turn"] for run in runs if run["turn"] is not None), None)

    return agent.ended(eventually(look))


def _inside(install: RealApp, agent: Talker, program: str) -> str:
    turn = agent.ask(install.plays.commands(f"python3 -c {shlex.quote(program)}"))
    return str(turn["steps"][0]["output"])


def test_what_an_agent_schedules_comes_due_as_a_turn(install: RealApp) -> None:
    """The result goes back to the model in the same turn; seconds later the prompt is asked, and its reply is in the
    history; the person is told of the entry and of what became of it."""
    agent = install.agent()
    later = install.plays.add(answers("Good morning!"))
    turn = agent.ask(install.plays.add(answers("I set it up.", actions=[_create("Greet", later, _soon())])))
    assert "“Greet” is in the calendar: once on" in turn["reply"]
    ran = _run(agent, "Greet")
    assert (ran["source"], ran["status"], ran["reply"]) == ("calendar", "done", "Good morning!")
    history = agent.api.get(f"/agents/{agent.name}/history")["turns"]
    assert [(t["source"], t["reply"]) for t in history][-1] == ("calendar", "Good morning!")
    (notice,) = agent.api.get(f"/agents/{agent.name}/notices")["notices"]
    assert notice["outcome"] == "“Greet” already ran."
    assert "put “Greet” into the calendar" in notice["text"]
    request = next(
        r for r in reversed(install.model.requests) if "Good morning" not in r.last_text and later in str(r.json)
    )
    assert "Nobody waits for an answer" in json.dumps(request.json, ensure_ascii=False)


@pytest.mark.parametrize(("prefix", "said"), [("INTERNAL: ", "All is tidy."), ("", "")], ids=["internal", "silent"])
def test_what_nobody_is_told(install: RealApp, prefix: str, said: str) -> None:
    """An internal run and a silent one end well, and neither is for the person's chat."""
    agent = install.agent()
    later = prefix + install.plays.add(answers(said))
    agent.ask(install.plays.add(answers("So be it.", actions=[_create("Tidy", later, _soon())])))
    ran = _run(agent, "Tidy")
    assert (ran["status"], ran["reply"]) == ("done", said)
    assert not is_told(install.app.services.turns.get(ran["id"]))


def test_an_agent_schedules_the_next_one_itself(install: RealApp) -> None:
    """From within a run of the calendar, as often as it likes."""
    agent = install.agent()
    last = install.plays.add(answers("That was all."))
    first = install.plays.add(answers("On it goes.", actions=[_create("Second", last, _soon(14))]))
    agent.ask(install.plays.add(answers("Begun.", actions=[_create("First", first, _soon())])))
    assert _run(agent, "First")["status"] == "done"
    assert _run(agent, "Second")["reply"] == "That was all."


def test_the_snapshot_is_a_copy_to_be_read(install: RealApp) -> None:
    """SQLite inside reads it, nothing inside can change it, and a changed copy of it elsewhere changes nothing."""
    agent = install.agent()
    agent.ask(install.plays.commands("true"))
    path = f"/agents/{agent.name}/calendar"
    made = agent.api.post(path, {"title": "Tea", "prompt": "P", "start": "2190-03-01T09:00", "repeat": "FREQ=DAILY"})
    shown = [["Tea", "active", "every day at 09:00"]]
    eventually(lambda: json.loads(_inside(install, agent, _READ)) == shown)
    outcomes = _inside(install, agent, _WRITE).split()
    assert len(outcomes) == 5
    assert "done" not in outcomes
    copy = f"cp {DATABASE} calendar.db && python3 -c \"import sqlite3; db = sqlite3.connect('calendar.db'); "
    copy += "db.execute('DELETE FROM entries'); db.commit()\" && mkdir -p data && cp calendar.db data/"
    assert agent.ask(install.plays.commands(copy))["steps"][0]["exit_code"] == 0
    assert json.loads(_inside(install, agent, _READ)) == shown
    assert agent.api.get(f"{path}/{made['id']}")["status"] == "active"
    agent.api.patch(f"{path}/{made['id']}", {"status": "paused"})
    eventually(lambda: json.loads(_inside(install, agent, _READ)) == [["Tea", "paused", "every day at 09:00"]])


def test_a_cubicle_starts_with_its_calendar(install: RealApp) -> None:
    """What was put there before the agent's first word is there at its first command."""
    agent = install.agent()
    agent.api.post(
        f"/agents/{agent.name}/calendar",
        {"title": "Early", "prompt": "P", "start": "2190-03-01", "repeat": "0 9 * * 1"},
    )
    assert json.loads(_inside(install, agent, _READ)) == [["Early", "active", "every Monday at 09:00"]]


def test_a_failing_entry_is_paused_and_resumed(install: RealApp) -> None:
    """Three runs in a row that fail pause it; the notice's button resumes it."""
    agent = install.agent(daily_budget_usd=0)
    path = f"/agents/{agent.name}/calendar"
    made = agent.api.post(path, {"title": "Costly", "prompt": "P", "start": "2190-03-01", "repeat": "FREQ=DAILY"})
    for _ in range(3):
        turn = agent.api.post(f"{path}/{made['id']}/run")["turn"]
        assert agent.ended(turn)["status"] == "failed"
        eventually(lambda: agent.api.get(f"{path}/{made['id']}")["runs"][0]["outcome"] == "failed")
    assert agent.api.get(f"{path}/{made['id']}")["status"] == "paused"
    notifications = agent.api.get(f"/agents/{agent.name}/notices")["notices"]
    notice = next(n for n in notifications if "failed 3 times in a row" in n["text"])
    agent.api.post(f"/notices/{notice['id']}", {"do": "calendar.resume"})
    assert agent.api.get(f"{path}/{made['id']}")["status"] == "active"
