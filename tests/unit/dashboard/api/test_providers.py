"""Providers over the API: keys go in and never come out, and a try says in plain words what came back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.app import create_app
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app
from tests.support.scripted_upstream import Reply, Request, ScriptedUpstream, hangs_up, says, status
from tests.unit.conftest import Api, logged_in, someone

RIGHT = "sk-the-right-key-that-nobody-may-see-1"
WRONG = "sk-the-wrong-key-that-nobody-may-see-1"


def guarded(request: Request) -> Reply:
    """Answers whoever has the right key."""
    return says("ready") if request.headers.get("authorization") == f"Bearer {RIGHT}" else status(401)


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A provider that wants the right key."""
    with ScriptedUpstream() as upstream:
        upstream.answer(guarded)
        yield upstream


def test_a_wrong_key_then_a_right_one(webapp: AppFixture, operator: Api, provider: ScriptedUpstream) -> None:
    """A try keeps nothing; what was kept answers at once, and is paid for by the first agent."""
    given = {"base_url": provider.base_url}
    wrong = operator.post("/providers/custom/test", {**given, "key": WRONG})
    assert (wrong["ok"], wrong["models"]) == (False, ["scripted-large", "scripted-small"])
    assert wrong["message"].startswith("The provider custom refused the key (401).")
    assert operator.get("/providers/custom")["origin"] == ""
    right = operator.post("/providers/custom/test", {**given, "key": RIGHT})
    assert (right["ok"], right["model"], right["cost_usd"] > 0) == (True, "scripted-large", True)
    assert right["message"].startswith("It works: scripted-large answered")
    kept = operator.call("PUT", "/providers/custom", {**given, "key": RIGHT, "model": "scripted-small"}).get_json()
    assert (kept["origin"], kept["model"], kept["is_default"]) == ("dashboard", "scripted-small", True)
    assert operator.post("/providers/custom/test", {})["model"] == "scripted-small"
    assert operator.get("/providers/custom/models") == {"models": ["scripted-large", "scripted-small"], "trouble": None}
    assert operator.get("/models")["default"] == "custom"
    asked = webapp.app._proxy.complete(
        CubicleKey("crab", 1), {"messages": [{"role": "user", "content": "hello"}]}, check_wanted=lambda: None
    )
    assert (asked["model"], asked["output"]) == ("scripted-small", "ready")
    assert webapp.services.budget.get_today("crab").spent_micro > 0
    assert operator.call("DELETE", "/providers/custom").status_code == 204
    assert operator.get("/settings")["default_provider"] == "rehearsal"


def test_a_key_is_in_no_answer_no_log_and_no_database(
    tmp_path: Path, provider: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is asked afterwards, by API or page; only its own file holds it."""
    caplog.set_level(logging.DEBUG)
    with run_app(tmp_path) as install:
        app = create_app(install.services)
        operator = someone(install, app, install.services.users.get_operator())
        browser = logged_in(install, app, install.services.users.get_operator())
        for body in ({"key": WRONG}, {"key": RIGHT}):
            operator.post("/providers/custom/test", {**body, "base_url": provider.base_url})
        operator.call("PUT", "/providers/custom", {"key": RIGHT, "base_url": provider.base_url})
        operator.call("PUT", "/providers/openai", {"key": WRONG})
        paths = ("/providers", "/providers/openai", "/settings", "/models", "/audit", "/status", "/agents", "/prices")
        seen = "".join(operator.call("GET", path).get_data(as_text=True) for path in paths)
        pages = ("/settings", "/parts/providers", "/audit", "/you", "/agents/crab/settings")
        seen += "".join(browser.client.get(path).get_data(as_text=True) for path in pages)
    assert "openai" in seen
    holders = [p.name for p in tmp_path.rglob("*") if p.is_file() and b"nobody-may-see" in p.read_bytes()]
    assert holders == ["providers.json"]
    assert "nobody-may-see" not in seen + caplog.text


def test_what_does_not_answer_is_said(operator: Api, provider: ScriptedUpstream) -> None:
    """A provider that breaks off, one that is not there, one without a key, a day without budget."""
    provider.answer(lambda _: hangs_up())
    broken = operator.post("/providers/custom/test", {"base_url": provider.base_url})
    assert (broken["ok"], "custom" in broken["message"]) == (False, True)
    nobody = operator.post("/providers/custom/test", {"base_url": "http://127.0.0.1:9/v1", "model": "x"})
    assert (nobody["ok"], nobody["models"]) == (False, [])
    assert operator.refused("POST", "/providers/openai/test", {})[1] == "OpenAI has no key yet. Give it one first."
    assert operator.refused("GET", "/providers/openai/models")[0] == 409
    assert operator.refused("GET", "/providers/nobody")[0] == 404
    assert operator.post("/providers/rehearsal/test", {})["ok"] is True
    assert operator.call("PATCH", "/agents/crab", {"daily_budget_usd": 0}).status_code == 200
    poor = operator.post("/providers/custom/test", {"base_url": provider.base_url})
    assert (poor["ok"], "no budget left" in poor["message"]) == (False, True)


def test_settings_of_the_install(operator: Api) -> None:
    """The default provider and its model, checked before they are kept; the version."""
    assert operator.get("/settings")["version"].count(".") == 2
    assert operator.refused("PATCH", "/settings", {"default_provider": "openai"})[0] == 400
    assert operator.refused("PATCH", "/settings", {"version": "9"})[0] == 400
    operator.call("PUT", "/providers/mistral", {"key": RIGHT})
    body = operator.call("PATCH", "/settings", {"default_provider": "mistral", "default_model": "m"}).get_json()
    assert (body["default_provider"], body["default_model"]) == ("mistral", "m")
    assert operator.call("PATCH", "/providers/mistral", {"model": ""}).get_json()["model"] != "m"
    assert (
        operator.call("PATCH", "/settings", {"default_provider": "rehearsal"}).get_json()["default_model"]
        == "rehearsal"
    )
    assert operator.call("PATCH", "/agents/crab", {"provider": "mistral"}).status_code == 200
