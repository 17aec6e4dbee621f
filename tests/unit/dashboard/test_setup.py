"""The first-run page: who gets there, and until when."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import segno
from flask import Flask

from dashboard.qr import of_bot
from orchestrator.core.config import load
from orchestrator.core.version import VERSION
from tests.support.app_fixture import AppFixture, run_app
from tests.unit.conftest import OWN_ORIGIN, Browser, logged_in, someone
from tests.unit.dashboard.test_pages import checked

PAGES = ("/setup", "/setup/model", "/setup/telegram")
OWN = {"Origin": OWN_ORIGIN}


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install that nobody has set up."""
    with run_app(tmp_path, environment={"HERMIT_ADMIN_USER": ""}) as install:
        yield install


def test_the_link_leads_there_once(webapp: AppFixture, app: Flask) -> None:
    """An operator's link, until the page was left; not a member's, who is welcomed, nor a link to somewhere else."""
    users = webapp.services.users
    member = users.add({"name": "ben"})

    def led(user: int, path: str = "") -> str:
        answer = app.test_client().post(f"/login/{users.make_link(user)}", data={"next": path}, headers=OWN)
        return str(answer.location)

    assert (led(1), led(member.id), led(1, "/agents/crab")) == ("/setup", "/welcome", "/agents/crab")
    webapp.services.install_settings.finish_set_up(by="ada")
    assert led(1) == "/"


def test_it_is_the_operators_alone_and_no_more_once_it_was_left(
    webapp: AppFixture, app: Flask, browser: Browser
) -> None:
    """A stranger goes to the login, a member is refused; afterwards Settings opens it again, nobody else."""
    users = webapp.services.users
    member = logged_in(webapp, app, users.add({"name": "ben"}))
    operator = someone(webapp, app, users.get_operator())
    for path in PAGES:
        page = browser.client.get(path)
        assert page.status_code == 200
        checked(page.get_data(as_text=True))
        assert app.test_client().get(path).location.startswith("/login")
        assert member.client.get(path).status_code == 403
    assert operator.call("PATCH", "/settings", {"is_set_up": True}).get_json()["is_set_up"] is True
    assert {browser.client.get(path).location for path in PAGES} == {"/settings"}
    assert operator.call("PATCH", "/settings", {"is_set_up": False}).status_code == 200
    assert browser.client.get("/setup").status_code == 200


@pytest.mark.parametrize(
    ("environment", "is_arranged"),
    [
        ({}, False),
        ({"HERMIT_API_TOKEN": "x" * 20}, False),
        ({"HERMIT_ADMIN_USER": "ada"}, True),
        ({"HERMIT_ADMIN_PASSWORD": "long enough"}, True),
        ({"GROQ_API_KEY": "gsk_x"}, True),
        ({"HERMIT_LLM_BASE_URL": "http://127.0.0.1:1/v1"}, True),
    ],
)
def test_settings_that_say_enough_need_no_page(
    tmp_path: Path, environment: dict[str, str], *, is_arranged: bool
) -> None:
    """Who the operator is, or which model answers."""
    assert load({"HERMIT_HOME": str(tmp_path), **environment}, tmp_path).is_arranged is is_arranged


def test_the_bots_code_is_shown_only_where_it_is_to_be_sent(webapp: AppFixture, browser: Browser) -> None:
    """Telegram can't be reached here, so the code goes by the person."""
    assert "Token" in browser.client.get("/parts/setup/bot").get_data(as_text=True)
    bot = webapp.services.bots.set_up("crab", f"123456789:AA{'x' * 33}")
    page = browser.client.get("/parts/setup/bot").get_data(as_text=True)
    assert bot.code is not None
    assert bot.code in page
    assert "AAxxx" not in page


def test_the_version_is_written_in_one_place(browser: Browser) -> None:
    """The project file takes it from there, and Settings shows it."""
    root = Path(__file__).resolve().parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "orchestrator.core.version.VERSION"}
    assert f"<dd>{VERSION}</dd>" in browser.client.get("/settings").get_data(as_text=True)


def test_a_bot_with_a_name_is_a_link_and_a_qr_code(webapp: AppFixture, browser: Browser) -> None:
    """For the browser and for the phone's camera; without a name of Telegram's form there is neither."""
    bots = webapp.services.bots
    bots.set_up("crab", f"123456789:AA{'x' * 33}")
    for path in ("/parts/setup/bot", "/parts/bot/crab"):
        page = browser.client.get(path).get_data(as_text=True)
        assert 'class="qr"' not in page
        assert "https://t.me/" not in page.replace("https://t.me/BotFather", "")
    bots.on_contact("crab", "crab_bot")
    for path in ("/parts/setup/bot", "/parts/bot/crab"):
        page = browser.client.get(path).get_data(as_text=True)
        assert 'href="https://t.me/crab_bot"' in page
        assert segno.make("https://t.me/crab_bot", error="m").svg_inline(scale=4, dark="#000", light="#fff") in page
    assert of_bot("x" * 65) == of_bot('"><script>') == ""
