"""``./hermit status``, and where its colours and those of other commands are seen."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.colors import Paint, paint_for
from orchestrator.cli.context import Context, format_table
from orchestrator.core.home import HomeLock, prepare_home
from tests.support.app_fixture import PATIENCE_S, Scene, run_app
from tests.support.command_line import ROOT, CommandLine


@pytest.fixture
def hermit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[CommandLine]:
    """A command line in front of an install that counts as running."""
    with run_app(tmp_path / "home") as install:
        claim = HomeLock(prepare_home(install.services.settings.home))
        yield CommandLine(install, capsys)
        claim.release()


def test_status_tells_what_one_looks_up_next(hermit: CommandLine) -> None:
    """Model, money, what waits and the disk; each agent with its own."""
    hermit.good("agent", "create", "clerk", "daily_budget_usd=2.5", "model=small")
    lines = hermit.good("status").splitlines()
    assert lines[0] == f"HermitShell at {hermit.install.url}"
    assert "  engine     ok" in lines
    assert "  model      rehearsal: rehearsal" in lines
    assert "  approvals  none waiting" in lines
    budget = hermit.install.services.budget.get_standing("crab").budget_micro / 1e6 + 2.5
    assert f"  spent      $0.00 of ${budget:.2f} today" in lines
    assert any(re.fullmatch(r"  disk       [\d,.]+ of [\d,.]+ GB free", line) for line in lines)
    assert any(re.fullmatch(r"  clerk  \w+ +\$0\.00 of \$2\.50 +small", line) for line in lines)


def test_status_names_what_waits(hermit: CommandLine) -> None:
    """With the command that shows it; for programs, as a number."""

    def play(scene: Scene) -> None:
        scene.run(1, "rm -rf /app/workspace/work")

    hermit.install.plays["go"] = play
    with Context(ROOT, {}, hermit.install.services.settings).client as client:
        client.post("/agents/crab/messages", {"text": "go", "wait": False})
        deadline = time.monotonic() + PATIENCE_S
        while not (waiting := client.get("/approvals", status="pending")["approvals"]):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert "  approvals  1 waiting: './hermit approvals' shows it" in hermit.good("status").splitlines()
        body = json.loads(hermit.good("status", "--json"))
        assert (body["approvals_waiting"], body["questions_waiting"]) == (1, 0)
        assert body["disk"]["free_bytes"] <= body["disk"]["total_bytes"]
        assert "ics_url" not in body["agents"][0]
        client.post(f"/approvals/{waiting[0]['id']}", {"decision": "deny"})


def test_colours_are_for_terminals(hermit: CommandLine) -> None:
    """A pipe gets none; NO_COLOR and a terminal that has none get none there either."""
    for words in (["status"], ["agent", "list"], ["user", "list"], ["audit"], ["files", "ls", "crab"]):
        assert "\033" not in hermit.good(*words)
        hermit.environment = {"TERM": "xterm"}
        painted = hermit.on_a_terminal(*words)
        assert "\033[1m" in painted or "\033[2m" in painted
        hermit.environment = {"TERM": "xterm", "NO_COLOR": "1"}
        assert "\033" not in hermit.on_a_terminal(*words)
    hermit.environment = {}
    assert "\033" not in hermit.on_a_terminal("status", "--json")


@pytest.mark.parametrize(
    ("environment", "at_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_who_gets_colours(environment: dict[str, str], *, at_terminal: bool, elsewhere: bool) -> None:
    """As other programs do it: NO_COLOR comes first."""

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert paint_for(Screen(), environment).is_on is at_terminal
    assert paint_for(io.StringIO(), environment).is_on is elsewhere


def test_columns_stay_aligned_in_colours() -> None:
    """What is painted takes no room."""
    rows, head = [("crab", "active", "x"), ("clerk", "idle", "y")], ("AGENT", "STATUS", "ROLE")
    painted = format_table(rows, head=head, paint=Paint(is_on=True))
    assert [re.sub("\033[^m]*m", "", line) for line in painted] == format_table(rows, head=head)
    assert "\033[32mactive\033[0m" in painted[1]
