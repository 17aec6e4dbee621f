"""Lessons on real cubicles: a failure that is known comes back to the model with what fixed it."""

from __future__ import annotations

import pytest

from tests.support.real_app import RealApp

pytestmark = pytest.mark.docker

FAILS = "echo 'frobnicate: unknown flag --polish' >&2; exit 3"


def test_a_lesson_comes_with_the_next_failure(install: RealApp) -> None:
    """In another turn, after the result, before the model is asked again; and its success is counted."""
    agent = install.agent()
    noted = agent.ask(
        install.plays.commands(
            "hermit lesson add --when 'frobnicate: unknown flag --polish' --fix 'use --shine' && hermit lesson list"
        )
    )
    assert "1. When “frobnicate: unknown flag --polish”: “use --shine”." in noted["steps"][0]["output"]
    turn = agent.ask(install.plays.commands(FAILS, "true"))
    assert [step["exit_code"] for step in turn["steps"]] == [3, 0]
    told = [str(m["content"]) for r in install.model.calls for m in r.json["messages"] if m["role"] == "user"]
    with_advice = {text for text in told if "From your lessons" in text}
    assert len(with_advice) == 1
    assert with_advice.pop().endswith("- When “frobnicate: unknown flag --polish”: “use --shine”.")
    (lesson,) = install.api.get(f"/agents/{agent.name}/lessons")["lessons"]
    assert (lesson["told"], lesson["helped"], lesson["failed"]) == (1, 1, 0)
    other = install.agent()
    other.ask(install.plays.commands(FAILS))
    assert install.api.get(f"/agents/{other.name}/lessons")["lessons"] == []
