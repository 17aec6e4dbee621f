"""``./hermit calendar`` against a house of paper, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.commands.context import Context
from orchestrator.errors import BadInput, OrchestratorError
from tests.house import paper_house

ROOT = Path(__file__).resolve().parents[2]
Hermit = Callable[..., str]


@pytest.fixture
def hermit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Hermit]:
    """What ``./hermit calendar crab …`` prints; raises the error that would be its one line."""
    with paper_house(tmp_path) as house:

        def run(*arguments: str) -> str:
            options = parser().parse_args(["calendar", "crab", *arguments])
            capsys.readouterr()
            assert options.run(Context(ROOT, {}, house.services.settings), options) == 0
            return capsys.readouterr().out

        yield run


def test_an_entry_from_first_to_last(hermit: Hermit) -> None:
    """It is added, listed, shown, changed, run and deleted."""
    assert hermit("list") == "Nothing is in the calendar.\n"
    added = hermit("add", "Tea", "Make tea.", "2190-03-01T09:00", "--repeat", "0 9 * * 1-5", "--missed", "skip")
    assert added == "Entry 1: every weekday at 09:00. Next: 2190-03-01 09:00 UTC.\n"
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
        hermit("add", "Tea", "Make tea.", "soon")
    with pytest.raises(BadInput, match="write FIELD=VALUE"):
        hermit("set", "1", "paused")
