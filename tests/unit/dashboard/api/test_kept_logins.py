"""Logins that stay over HTTP, on the page and by the command: listed without their values, each person's own."""

from __future__ import annotations

import pytest

from orchestrator.browser.storage_state import StorageState, StoredCookie
from orchestrator.capabilities.browser.kept_logins import SeenLogins
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.support.command_line import CommandLine
from tests.unit.conftest import Api
from tests.unit.dashboard.api.test_second_factor import browser_of

PATH = "/agents/crab/browser/logins"
SECRET = "correct-horse-cookie"


def log_in(webapp: AppFixture, name: str = "sid") -> None:
    """A browser of the operator's was seen with a cookie of the shop."""
    cookie = StoredCookie(name, SECRET, "shop.example", "/", -1.0, is_secure=True, is_http_only=True, same_site="Lax")
    state = StorageState((cookie,), {"https://shop.example": {"token": SECRET}})
    webapp.services.kept_logins.save(CubicleKey("crab", 1), SeenLogins(state, frozenset({"shop.example"})))


def test_one_is_kept_listed_and_forgotten(webapp: AppFixture, operator: Api) -> None:
    """Names of cookies are shown; values are in no answer, on no page and in no record."""
    kept = operator.post(PATH, {"site": "www.Shop.example"})
    assert (kept["site"], kept["cookies"], kept["names"], kept["saved_at"]) == ("shop.example", 0, [], None)
    log_in(webapp, "<b>sid</b>\u202e")
    (now,) = operator.get(PATH)["logins"]
    assert (now["cookies"], now["names"]) == (1, ["<b>sid</b>\u202e"])
    assert now["saved_at"]
    client = browser_of(webapp, operator).client
    operator.call("PATCH", "/agents/crab", {"toolsets": ["browser"]})
    for path in ("/agents/crab/browser", "/parts/kept-logins/crab"):
        page = client.get(path).get_data(as_text=True)
        assert "shop.example" in page
        assert "&lt;b&gt;sid&lt;/b&gt;" in page
        assert "\u202e" not in page
        assert SECRET not in page
    assert SECRET not in str(operator.get("/audit")) + str(now)
    assert operator.call("DELETE", f"{PATH}/shop.example").status_code == 204
    assert operator.get(PATH)["logins"] == []
    assert operator.refused("DELETE", f"{PATH}/shop.example")[0] == 404
    kinds = [row["kind"] for row in operator.get("/audit")["rows"]]
    assert [kind for kind in kinds if kind.startswith("login.")][:2] == ["login.forgotten", "login.kept"]


def test_they_are_each_ones_own(operator: Api, member: Api) -> None:
    """Another person of the same agent neither sees nor forgets them."""
    operator.post(PATH, {"site": "shop.example"})
    assert member.get(PATH)["logins"] == []
    assert member.refused("DELETE", f"{PATH}/shop.example")[0] == 404
    assert [one["site"] for one in operator.get(PATH)["logins"]] == ["shop.example"]


def test_what_is_wrong_is_named(operator: Api) -> None:
    """And nothing is kept."""
    for wrong in ("", "a b", "shop.example/x", "10.0.0.1"):
        status, sentence = operator.refused("POST", PATH, {"site": wrong})
        assert status == 400
        assert sentence.startswith("site: ")
    assert operator.refused("POST", "/agents/nobody/browser/logins", {"site": "shop.example"})[0] == 404
    assert operator.get(PATH)["logins"] == []


def test_the_command_line(webapp: AppFixture, capsys: pytest.CaptureFixture[str]) -> None:
    """It keeps, lists and forgets."""
    line = CommandLine(webapp, capsys)
    assert "Logins of shop.example stay." in line.good("logins", "crab", "keep", "shop.example")
    assert "nothing yet" in line.good("logins", "crab", "list")
    log_in(webapp)
    listed = line.good("logins", "crab", "list")
    assert "shop.example" in listed
    assert "sid" in listed
    assert SECRET not in listed + line.good("logins", "crab", "list", "--json")
    assert "any more" in line.good("logins", "crab", "rm", "shop.example")
    assert line.good("logins", "crab", "list").startswith("None.")
