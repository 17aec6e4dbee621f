"""What a conversation takes: all its calls, and how full its context is."""

from __future__ import annotations

from orchestrator.core.models import CubicleKey
from orchestrator.llm import ledger_rows
from tests.support.app_fixture import PATIENCE_S, AppFixture
from tests.unit.conftest import Api, Browser
from tests.unit.dashboard.test_agent import page

KEY = CubicleKey("crab", 1)
MODEL = "anthropic/claude-sonnet-5.5"


def said(webapp: AppFixture) -> int:
    """A turn that has ended."""
    turn = webapp.services.turns.submit(KEY, "hello", source="dashboard").id
    webapp.services.turns.wait_for_end(turn, PATIENCE_S)
    return turn


def called(webapp: AppFixture, turn: int | None, *, micro: int, read: int, written: int, model: str = MODEL) -> None:
    """A call for a turn that was paid."""
    with webapp.app._store.writing() as db:
        row = ledger_rows.insert_reservation(
            db, agent="crab", user=1, turn=turn, day="2026-01-01", provider="openrouter", model=model, micro=10**6,
            budget_micro=10**9, now=1.0,
        )  # fmt: skip
        assert row is not None
        ledger_rows.close_reservation(
            db, row, "settled", cost_micro=micro, prompt_tokens=read, completion_tokens=written, now=2.0
        )


def test_all_calls_count_and_the_last_fills_the_context(webapp: AppFixture, operator: Api) -> None:
    """Of this conversation alone; of a model that we don't know, nobody says how full it is."""
    path = "/agents/crab/conversations/1/use"
    turn = said(webapp)
    before = operator.get(path)
    assert (before["cost_usd"], before["model"], before["context_tokens"]) == (0, "", None)
    called(webapp, turn, micro=1_500, read=1_000, written=10)
    called(webapp, said(webapp), micro=2_500, read=250_000, written=20)
    called(webapp, None, micro=9_000_000, read=9_000, written=9)
    assert operator.get(path) == {
        "cost_usd": 0.004, "tokens": 251_030, "provider": "openrouter", "model": MODEL, "prompt_tokens": 250_000,
        "context_tokens": 1_000_000,
    }  # fmt: skip
    assert webapp.services.budget.read_use(1).percent == 25
    called(webapp, turn, micro=1, read=5, written=5, model="somebody/else")
    called(webapp, said(webapp), micro=1, read=5, written=5, model="somebody/else")
    assert webapp.services.budget.read_use(1).percent is None
    other = operator.post("/agents/crab/conversations", {})["id"]
    assert operator.get(f"/agents/crab/conversations/{other}/use")["tokens"] == 0
    assert operator.refused("GET", "/agents/crab/conversations/999/use")[0] == 404


def test_the_line_under_the_field(webapp: AppFixture, browser: Browser) -> None:
    """Nothing in the demo; else the model, and for an operator the choice of another."""
    path = "/parts/meter/crab?conversation=1"
    said(webapp)
    assert "<summary" not in page(browser, path)
    webapp.services.providers.set_key("openrouter", "sk-or-v1-abcdefgh", "", by="ada")
    webapp.services.agents.update_agent("crab", {"provider": "openrouter"})
    shown = page(browser, path)
    assert f'value="{MODEL}" checked' in shown
    assert "$2 in · $10 out" in shown
