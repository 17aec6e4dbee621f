"""``./hermit calendar`` against an install without containers, as a person uses it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import BadInput, OrchestratorError
from tests.support.app_fixture import run_app

ROOT = Path(__file__).resolve().parents[3]
Hermit = Callable[..., str]
HINTS: list[str] = []
"""What commands said on standard error."""


@pytest.fixture
def hermit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Hermit]:
    """What ``./hermit calendar crab …`` prints; raises the error that would be its one line."""
    with run_app(tmp_path) as install:

        def run(*arguments: str) -> str:
            options = parser().parse_args(["calendar", "crab", *arguments])
            capsys.readouterr()
            assert options.run(Context(ROOT, {}, install.services.settings), options) == 0
            said = capsys.readouterr()
            HINTS.append(said.err)
            return said.out

        yield run


def test_an_entry_from_first_to_last(hermit: Hermit) -> None:
    """It is added, listed, shown, changed, run and deleted."""
    assert hermit("list") == "Nothing is in the calendar.\n"
    added = hermit("add", "Tea", "Make tea.", "2190-03-01T09:00", "--repeat", "0 9 * * 1-5", "--missed", "skip")
    assert added == "Entry 1: every weekday at 09:00, next on Mon 1 Mar 2190 at 09:00 (UTC).\n"
    listed = hermit("list", "--from", "2190-03-01", "--to", "2190-03-07").splitlines()
    assert listed[1] == "1   2190-03-01 09:00  every weekday at 09:00  Tea"
    assert hermit("set", "1", "repeat=", "status=paused") == (
        "Entry 1: once on Mon 1 Mar 2190 at 09:00. It is paused.\n"
    )
    turn = json.loads(hermit("run", "1", "--json"))["turn"]
    shown = hermit("show", "1")
    assert "title        Tea\n" in shown
    assert f", turn {turn}\n" in shown
    assert hermit("rm", "1", "--yes") == "Entry 1 is deleted.\n"
    with pytest.raises(OrchestratorError, match="There is no entry 1"):
        hermit("show", "1")


def test_a_mistake_is_one_line(hermit: Hermit) -> None:
    """That says which field is wrong."""
    with pytest.raises(OrchestratorError, match="start must be"):
        hermit("add", "Tea", "Make tea.", "2190-02-30T09:00")
    with pytest.raises(BadInput, match=r"“soon” is no time that is understood here\. Write “tomorrow 9am”"):
        hermit("add", "Tea", "Make tea.", "soon")
    with pytest.raises(BadInput, match="Give one of them"):
        hermit("add", "Tea", "Make tea.", "every friday 17:00", "--repeat", "FREQ=DAILY")
    with pytest.raises(BadInput, match="write FIELD=VALUE"):
        hermit("set", "1", "paused")


def test_times_in_words(hermit: Hermit) -> None:
    """By the person's clock, or by that of the entry; what was understood is said, as the API has it."""
    added = hermit("add", "Week", "Sum up my week.", "every friday 17:00", "--time-zone", "Europe/Vienna")
    assert re.fullmatch(
        r"Entry 1: every Friday at 17:00, next on Fri \d+ \w{3} \d{4} at 17:00 \(Europe/Vienna\)\.\n", added
    )
    entry = json.loads(hermit("show", "1", "--json"))
    assert (entry["repeat"], entry["start"][10:]) == ("FREQ=WEEKLY;BYDAY=FR", "T17:00:00")
    once = hermit("set", "1", "start=in 20 minutes", "repeat=")
    assert re.fullmatch(r"Entry 1: once on .* at \d\d:\d\d \(Europe/Vienna\)\. It is active\.\n", once)
    assert "every day at 08:00" in hermit("set", "1", "start=every day at 8")
    listed = json.loads(hermit("list", "--from", "in 2 days", "--to", "in 4 days", "--json"))
    begin = datetime.fromisoformat(listed["times"][0]["at"])
    assert timedelta(days=2) <= begin - datetime.now(UTC) < timedelta(days=3)


def test_an_unknown_zone_is_said(hermit: Hermit) -> None:
    """Once it matters, with the command that sets it."""
    hermit("add", "Tea", "Make tea.", "tomorrow 9am")
    assert HINTS[-1] == (
        "Times are in UTC, as your time zone isn't known: './hermit user set 1 time_zone=Europe/Vienna' or the like "
        "sets it.\n"
    )
    hermit("add", "Tea", "Make tea.", "tomorrow 9am", "--time-zone", "Europe/Vienna")
    assert HINTS[-1] == ""
