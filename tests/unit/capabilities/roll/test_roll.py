"""``orchestrator.capabilities.roll``: dice are fair, bounded, and what fell is what is written down."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.capabilities.roll.capability import Roll, roll_dice
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput
from tests.support.core_fixture import KEY, core_fixture

ME = Caller(KEY, None)


def thrown(dice: str) -> Outcome:
    """What came of it."""
    with closing(sqlite3.connect(":memory:")) as db:
        return roll_dice(db, ME, Roll(dice))


@pytest.mark.parametrize(
    ("dice", "count", "least", "most"),
    [
        ("d2", 1, 1, 2),
        ("3D6", 3, 3, 18),
        ("2d6+1", 2, 3, 13),
        (" 2 d 6 - 20 ", 2, -18, -8),
        ("50d1000", 50, 50, 50_000),
    ],
)
def test_dice_fall_within_their_sides(dice: str, count: int, least: int, most: int) -> None:
    """The total is that of what fell, with what is added."""
    for _ in range(50):
        result = thrown(dice).result
        assert len(result["fell"]) == count
        assert least <= result["total"] <= most


def test_every_side_falls() -> None:
    """Neither none nor one too many."""
    assert {thrown("1d2").result["total"] for _ in range(100)} == {1, 2}


@pytest.mark.parametrize(
    "dice", ["", "6", "d", "0d6", "1d1", "1d0", "51d6", "2d1001", "2d6+", "٢d6", "1d6;ls", "d" * 20]
)
def test_what_is_no_dice_is_refused(dice: str) -> None:
    """In words that say what is."""
    with pytest.raises(BadInput, match="ROLL: dice"):
        thrown(dice)


def test_what_fell_is_in_the_audit_log(tmp_path: Path) -> None:
    """Asked again under its id, the dice have fallen already."""
    with core_fixture(tmp_path / "home") as install:
        calls = Calls(store=install.store, agents=install.agents)
        calls.set_registry(REGISTRY, {"ROLL": roll_dice})
        first = calls.run_command(ME, "c1", "ROLL", {"dice": "9d1000"})
        assert calls.run_command(ME, "c1", "ROLL", {"dice": "9d1000"}).text == first.text
        (row,) = install.audited("capability")
        assert row.text == f"ROLL: {first.text}"
