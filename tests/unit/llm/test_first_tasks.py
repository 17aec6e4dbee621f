"""The tasks to begin with: whoever presses a card gets from the rehearsal what the card promises, made by commands that
really run; here on this machine in a folder like a cubicle's, with what only a cubicle has played by the test."""

from __future__ import annotations

import csv
import json
import re
import struct
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.approvals.policy.judge import judge_command
from orchestrator.capabilities.roles import ROLES, tasks_of
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.models import ApprovalPolicy, Ruling
from orchestrator.llm.first_tasks import FIRST_TASKS, find_task, list_tasks
from orchestrator.llm.upstreams.rehearsal_script import reply_to
from orchestrator.llm.upstreams.rehearsal_tasks import TASK_SCENES

STAMP = "[2026-02-28 10:00 Europe/Vienna, Saturday]\n"
GONE = "Exit code 0 after 0.1 s. No output."
DENIED = "The command was not run. The person was asked and said no."


@dataclass
class Played:
    """A task that was played to its end."""

    root: Path
    message: str = ""
    action: str = ""
    commands: list[str] = field(default_factory=list)
    panel: list[str] = field(default_factory=list)

    def out(self, name: str) -> bytes:
        """What was delivered."""
        return (self.root / "out" / name).read_bytes()


def play(root: Path, prompt: str, answers: Sequence[str] = ()) -> Played:
    """The whole turn: each command is run; what ``answers`` has instead is taken for ``hermit`` and for approvals."""
    for name in ("work", "in", "out", "www"):
        (root / name).mkdir(exist_ok=True)
    messages: list[dict[str, Any]] = [{"role": "user", "content": STAMP + prompt}]
    played, given = Played(root), list(answers)
    for _ in range(10):
        said = reply_to(messages).as_json()
        reply = json.loads(said)
        played.message, played.action = reply["message"], reply["action"]
        if reply["terminal"]:
            played.commands.append(reply["terminal"])
            is_played = reply["terminal"].startswith(("hermit ", "rm "))
            result = given.pop(0) if is_played else run(root / "work", reply["terminal"])
        elif reply["panelActions"]:
            played.panel += reply["panelActions"]
            result = "Panel actions:\n1. ok: entry 1"
        else:
            return played
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": result}]
    raise AssertionError(f"it does not come to an end: {played}")


def run(work: Path, command: str) -> str:
    """As the crab tells it."""
    ended = subprocess.run(
        ["/bin/bash", "-c", command], cwd=work, capture_output=True, text=True, timeout=60, check=False
    )
    return f"Exit code {ended.returncode} after 0.1 s. Output:\n{ended.stdout}{ended.stderr}"


def task(name: str) -> str:
    """The message of a task."""
    return next(one.prompt for one in FIRST_TASKS if one.id == name)


def test_there_are_ten_and_each_is_known() -> None:
    """By its own words alone, however they are spaced."""
    assert len(FIRST_TASKS) == 10 == len(TASK_SCENES)
    assert {one.id for one in FIRST_TASKS} == set(TASK_SCENES)
    for one in FIRST_TASKS:
        assert find_task(f"  {one.prompt.upper()}\n") is one
        assert find_task(f"{one.prompt} Now.") is None


def test_every_role_is_offered_what_it_can_do() -> None:
    """Six first ones of its own, none that its toolsets have no way for; all ten for an agent that may all."""
    assert [one.id for one in list_tasks(TOOLSETS)] == [one.id for one in FIRST_TASKS]
    for role in ROLES:
        offered = [one.id for one in list_tasks(role.toolsets, tasks_of(role.role))]
        assert tuple(offered[:6]) == role.tasks, role.title
    assert {one.needs for one in FIRST_TASKS} <= {"", *TOOLSETS}
    assert "week" not in [one.id for one in list_tasks(["memory"])]
    assert tasks_of("My own role") == ()


@pytest.mark.parametrize("app", ["calculator", "todo", "pairs"])
def test_apps(tmp_path: Path, app: str) -> None:
    """A page that needs nothing from elsewhere, where apps are found."""
    name = {"pairs": "game"}.get(app, app)
    played = play(tmp_path, task(name))
    page = (tmp_path / "www" / app / "index.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert re.search(r"https?:|src=|@import", page) is None
    assert f"www/{app}/index.html" in played.message


def test_a_chart(tmp_path: Path) -> None:
    """A PNG, and the sum in words."""
    played = play(tmp_path, task("chart"))
    content = played.out("chart.png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">2I", content[16:24]) == (720, 420)
    assert played.action == "FILE:chart.png"
    assert "1070 visitors in all, most in May (260)." in played.message


def test_a_messy_table(tmp_path: Path) -> None:
    """Every row that is left has a day, a product and an amount, none twice; the sums in the answer are theirs."""
    played = play(tmp_path, task("sales"))
    rows = list(csv.DictReader(played.out("sales-clean.csv").decode().splitlines()))
    assert len(rows) == 7 == len({tuple(row.values()) for row in rows})
    assert all(re.fullmatch(r"2026-01-\d\d", row["date"]) and row["product"].istitle() for row in rows)
    total = sum(float(row["amount"]) for row in rows)
    assert f"| **All** | **{total:.2f}** |" in played.message


def test_pictures(tmp_path: Path) -> None:
    """Three PNGs in one archive."""
    played = play(tmp_path, task("pictures"))
    with zipfile.ZipFile(tmp_path / "out" / "pictures.zip") as bundle:
        assert bundle.namelist() == ["shell.png", "sea.png", "sunset.png"]
        assert all(bundle.read(name).startswith(b"\x89PNG") for name in bundle.namelist())
    assert played.action == "FILE:pictures.zip"


def test_a_report(tmp_path: Path) -> None:
    """About where it ran, as a file and in the answer."""
    played = play(tmp_path, task("report"))
    report = played.out("report.md").decode()
    assert report.startswith("# Where I live")
    assert "**Network**" in report
    assert "**Network**" in played.message


@pytest.mark.parametrize(
    ("answer", "thing"), [("The sea", "Sun cream"), ("The mountains", "Walking boots"), ("Grandma's", "An umbrella")]
)
def test_a_question_back(tmp_path: Path, answer: str, thing: str) -> None:
    """What is packed follows from the answer, whatever it is."""
    played = play(tmp_path, task("packing"), [f"Exit code 0 after 9 s. Output:\n{answer}\n"])
    assert played.commands[0].startswith("hermit ask ")
    assert f"- [ ] {thing}" in played.out("packing-list.md").decode()
    assert played.action == "FILE:packing-list.md"


def test_a_calendar_entry(tmp_path: Path) -> None:
    """From the coming Monday on, at nine by the person's clock."""
    (action,) = play(tmp_path, task("week")).panel
    assert action.startswith("CALENDAR_CREATE:Plan the week|")
    assert action.endswith("|2026-03-02T09:00|||FREQ=WEEKLY;BYDAY=MO")


@pytest.mark.parametrize(
    ("result", "said"), [("Exit code 0 after 0 s. No output.", "Deleted:"), (DENIED, "the drafts stay")]
)
def test_an_approval(tmp_path: Path, result: str, said: str) -> None:
    """The deletion is the one command of all the tasks that is asked about; a no is respected."""
    played = play(tmp_path, task("drafts"), [result])
    assert len(list((tmp_path / "work" / "old-drafts").iterdir())) == 3
    assert said in played.message
    assert played.commands[-1] == "rm -r old-drafts"
    assert judge_command(played.commands[-1], ApprovalPolicy.DANGEROUS).ruling is Ruling.ASK


@pytest.mark.parametrize("name", [one.id for one in FIRST_TASKS])
def test_nothing_else_is_asked_about(tmp_path: Path, name: str) -> None:
    """A newcomer who presses a card is not stopped by a question that the card doesn't promise."""
    played = play(tmp_path, task(name), ["Exit code 0 after 0 s. Output:\nThe sea"])
    asked = [one for one in played.commands if judge_command(one, ApprovalPolicy.DANGEROUS).ruling is not Ruling.RUN]
    assert asked == (["rm -r old-drafts"] if name == "drafts" else [])


def test_what_fails_is_told(tmp_path: Path) -> None:
    """And nothing goes on after it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "chart.py").mkdir()
    played = play(tmp_path, task("chart"))
    assert len(played.commands) == 1
    assert "ended with exit code 1" in played.message
