"""``orchestrator.capabilities.status``: an agent's own standing, as a sentence and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.capabilities.ask import rows as question_rows
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.capabilities.status.capability import Status
from orchestrator.capabilities.status.report import Next, Space, StatusReport
from tests.support.core_fixture import KEY, core_fixture

NEXT = Next(7, "Tea\n\u202etime", datetime(2026, 3, 2, 9, tzinfo=UTC))


def told(home: Path, *, space: Space | None, upcoming: Next | None, toolsets: tuple[str, ...]) -> Outcome:
    """What an agent with these hears."""
    with core_fixture(home) as install:
        report = StatusReport(
            money=install.budget.get_standing,
            space=lambda _key: space,
            upcoming=lambda _key: upcoming,
            toolsets=lambda _agent: toolsets,
            open_questions=question_rows.count_pending,
            commands=lambda _key: ["STATUS"],
        )
        with install.store.writing() as db:
            return report.deeds["STATUS"](db, Caller(KEY, None), Status())


def test_everything(tmp_path: Path) -> None:
    """Money, disk, what waits, what is next, what it has; a title hides nothing and breaks no line."""
    made = told(
        tmp_path / "home", space=Space(1_500_000, 2_000_000_000), upcoming=NEXT, toolsets=("memory", "calendar")
    )
    money, disk, waiting, upcoming, toolsets = made.text.splitlines()
    assert money.startswith("Budget today: $0.00 of $")
    assert disk == "Disk: 1.5 MB of 2,000.0 MB used."
    assert waiting == "Waiting for the person: questions 0, approvals 0."
    assert upcoming == r"Next in the calendar: “Tea\n\u202etime” (number 7) at 2026-03-02T09:00+00:00."
    assert toolsets.startswith("Toolsets: memory, calendar ")
    assert made.result["budget"]["left_usd"] == made.result["budget"]["budget_usd"] > 0
    assert made.result["budget"]["resets_at"].endswith("T00:00Z")
    assert made.result["next"] == {"id": 7, "title": NEXT.title, "at": "2026-03-02T09:00:00+00:00"}
    assert made.result["disk"] == {"used_bytes": 1_500_000, "limit_bytes": 2_000_000_000}
    assert (made.waits_for, made.result["commands"]) == ("", ["STATUS"])


@pytest.mark.parametrize("key", ["disk", "next"])
def test_what_is_not_known(tmp_path: Path, key: str) -> None:
    """Is left out of the sentence, and null in the JSON."""
    made = told(tmp_path / "home", space=None, upcoming=None, toolsets=())
    assert made.result[key] is None
    assert "Toolsets: none" in made.text
    assert len(made.text.splitlines()) == 3
