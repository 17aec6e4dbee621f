"""Plans on real cubicles: what an agent is about to do is seen while it works, and stays with its message."""

from __future__ import annotations

import json

import pytest

from tests.support.real_app import RealApp
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker


def test_a_plan_is_told_and_kept(install: RealApp) -> None:
    """By commands and by a panel action; each says what the plan is then."""
    agent = install.agent()
    turn = agent.ask(
        install.plays.add(
            answers(actions=[json.loads('{"name": "PLAN", "items": ["Read the data", "Draw the chart"]}')]),
            answers(
                "Working.", terminal="hermit plan done 1 && hermit plan add 'Write it up' && hermit plan note 2 blue"
            ),
            answers("Half done."),
        )
    )
    assert turn["status"] == "done", turn
    told = install.api.get(f"/turns/{turn['id']}")
    assert told["plan"] == [
        {"n": 1, "text": "Read the data", "is_done": True, "note": ""},
        {"n": 2, "text": "Draw the chart", "is_done": False, "note": "blue"},
        {"n": 3, "text": "Write it up", "is_done": False, "note": ""},
    ]
    assert told["steps"][0]["output"].splitlines()[-3:] == [
        "1. [x] Read the data",
        "2. [ ] Draw the chart (blue)",
        "3. [ ] Write it up",
    ]
    other = agent.ask(install.plays.commands("hermit plan show"))
    assert install.api.get(f"/turns/{other['id']}")["plan"] == []
