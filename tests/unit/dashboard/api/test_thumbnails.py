"""Pictures of web apps over the API and on the pages: for whom the app is, as they are; else drawn letters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from flask import Flask

from dashboard import headers
from dashboard.app import create_app
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.fake_browser import FakeBrowser, png
from tests.support.real_app import eventually
from tests.unit.conftest import Api, Browser, logged_in, someone

PATH = "/agents/crab/apps"


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install with a browser on paper."""
    with run_app(tmp_path, browser=FakeBrowser()) as install:
        yield install


@pytest.fixture
def www(webapp: AppFixture) -> Path:
    """The operator's ``www/``."""
    return webapp.services.workspaces.prepare_folders(CubicleKey("crab", 1), uid=os.getuid(), gid=os.getgid()).www


def makes(webapp: AppFixture, operator: Api, www: Path, name: str, content: str, *, file: str = "index.html") -> None:
    """A turn that makes an app."""

    def play(scene: Scene) -> None:
        scene.run(1, "touch")
        (www / name).mkdir(exist_ok=True)
        (www / name / file).write_text(content)
        scene.say("Here it is.")

    webapp.plays["make"] = play
    operator.post("/agents/crab/messages", {"text": "make", "wait": True})


def picture(operator: Api, name: str = "game") -> str:
    """The address of its picture, once there is one."""
    return str(eventually(lambda: operator.get(f"{PATH}/{name}")["thumbnail_url"]))


def test_an_app_s_picture_is_served_as_it_is(webapp: AppFixture, operator: Api, www: Path, browser: Browser) -> None:
    """Held to being a picture, under an address that changes with it; the gallery shows it."""
    news = webapp.services.broker.subscribe("app")
    makes(webapp, operator, www, "game", "<title>Game</title>")
    assert picture(operator).startswith("http://localhost/agents/crab/apps/game/thumbnail?v=")
    assert news.get(5) is not None
    webapp.services.broker.unsubscribe(news)
    address = urlsplit(picture(operator))
    answer = browser.client.get(f"{address.path}?{address.query}")
    assert (answer.status_code, answer.mimetype, answer.data) == (200, "image/png", png())
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == headers.HELD
    gallery = browser.client.get("/agents/crab/apps").get_data(as_text=True)
    assert f'<img class="app-thumb" src="{address.path}?{address.query}" alt="" width="1280" height="800"' in gallery


def test_without_a_picture_letters_are_drawn(webapp: AppFixture, operator: Api, www: Path, browser: Browser) -> None:
    """Of live apps too; whatever the title is, they are letters."""
    makes(webapp, operator, www, "live", '{"port": 8080, "title": "sea shells"}', file="app.json")
    makes(webapp, operator, www, "odd", '{"port": 8080, "title": "<i> \\"x ñandu"}', file="app.json")
    for name in ("live", "odd"):
        assert operator.get(f"{PATH}/{name}")["thumbnail_url"] is None
        missing = browser.client.get(f"{PATH}/{name}/thumbnail")
        assert missing.status_code == 404
    gallery = browser.client.get("/agents/crab/apps").get_data(as_text=True)
    assert ">SS</text></svg>" in gallery
    assert ">Ñ</text></svg>" in gallery


def test_a_picture_is_for_whom_the_app_is(
    webapp: AppFixture, app: Flask, operator: Api, member: Api, www: Path
) -> None:
    """Its owner, an operator, and with whom it is shared; for as long."""
    makes(webapp, operator, www, "game", "x")
    picture(operator)
    whose = f"?user={operator.user.id}"
    guest = logged_in(webapp, app, member.user)
    path = f"{PATH}/game/thumbnail"
    assert (guest.client.get(path).status_code, guest.client.get(path + whose).status_code) == (404, 403)
    operator.post(f"{PATH}/game/share", {"user": member.user.id})
    assert guest.client.get(path + whose).data == png()
    shown = urlsplit(member.get(f"{PATH}/game{whose}")["thumbnail_url"])
    assert shown.query.endswith(f"&user={operator.user.id}")
    assert guest.client.get(f"{shown.path}?{shown.query}").status_code == 200
    operator.call("DELETE", f"{PATH}/game/share", {"user": member.user.id})
    assert guest.client.get(path + whose).status_code == 403
    assert create_app(webapp.services).test_client().get(path).status_code in (303, 401)
    assert someone(webapp, app, operator.user).get(f"{PATH}/game")["thumbnail_url"]
