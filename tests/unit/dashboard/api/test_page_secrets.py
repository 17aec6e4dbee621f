"""Secrets for pages over HTTP: kept and removed by their person, shown without their values, nobody else's."""

from __future__ import annotations

import io
import sys

import pytest

from orchestrator.capabilities.browser import page_secret_rows
from tests.support.app_fixture import AppFixture
from tests.support.command_line import CommandLine
from tests.unit.conftest import Api
from tests.unit.dashboard.api.test_second_factor import browser_of

SECRET = {"name": "shop-password", "host": "shop.example", "value": "correct horse"}


def test_one_is_kept_and_removed(webapp: AppFixture, operator: Api) -> None:
    """Its value is in no answer and on no page."""
    kept = operator.post("/me/page-secrets", SECRET)
    assert (kept["name"], kept["host"], kept["agent"]) == ("shop-password", "shop.example", None)
    assert operator.get("/me/page-secrets")["secrets"] == [kept]
    client = browser_of(webapp, operator).client
    for path in ("/you", "/parts/page-secrets"):
        page = client.get(path).get_data(as_text=True)
        assert "shop-password" in page
        assert "for pages of shop.example" in page
        assert "correct horse" not in page
    assert "correct horse" not in str(operator.get("/audit"))
    assert operator.call("DELETE", f"/me/page-secrets/{kept['id']}").status_code == 204
    assert operator.get("/me/page-secrets")["secrets"] == []
    assert operator.refused("DELETE", f"/me/page-secrets/{kept['id']}")[0] == 404


def test_the_command_line_asks_for_the_value(
    webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read from stdin, never from the command line, and never printed."""
    line = CommandLine(webapp, capsys)
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert "for pages of shop.example" in line.good("secrets", "add", "shop-password", "shop.example")
    listed = line.good("secrets", "list")
    assert "shop-password" in listed
    assert "all agents" in listed
    assert "correct horse" not in listed
    (kept,) = operator.get("/me/page-secrets")["secrets"]
    with webapp.services.page_secrets._store.reading() as db:
        assert page_secret_rows.list_values(db) == ["correct horse"]
    line.good("secrets", "rm", kept["id"])
    assert line.good("secrets", "list") == "None.\n"


def test_what_is_wrong_is_named(operator: Api) -> None:
    """The field, never the value."""
    for field, wrong in (("name", "a b"), ("host", "shop.example/x"), ("value", "abc")):
        status, sentence = operator.refused("POST", "/me/page-secrets", {**SECRET, field: wrong})
        assert status == 400
        assert sentence.startswith(f"{field}: ")
        assert "correct horse" not in sentence
    assert operator.refused("POST", "/me/page-secrets", {**SECRET, "agent": "nobody"})[0] == 404


def test_they_are_each_ones_own(operator: Api, member: Api) -> None:
    """Another person neither sees nor removes them."""
    kept = operator.post("/me/page-secrets", SECRET)
    assert member.get("/me/page-secrets")["secrets"] == []
    assert member.refused("DELETE", f"/me/page-secrets/{kept['id']}")[0] == 404
    assert operator.get("/me/page-secrets")["secrets"] == [kept]
