"""Fixtures for tests of the API and the pages, a paper install and people who talk to it; and for tests of Telegram, a
server, a bot and a person."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import csrf
from orchestrator.core.models import User
from tests.support.app_fixture import AppFixture, run_app
from tests.support.bot_api import BotApi
from tests.support.bot_api_people import Person
from tests.support.openapi_check import check

OWN_ORIGIN = "http://localhost"


@dataclass
class Api:
    """Somebody who calls the API with a token; every answer is held against the API's description."""

    client: FlaskClient
    user: User
    token: str

    def call(self, method: str, path: str, body: object = None, **headers: str) -> TestResponse:
        """One call to ``/api`` + path; an underscore in a header's name stands for a hyphen."""
        given = {"Authorization": f"Bearer {self.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        path = f"/api{path}"
        answer = self.client.open(path, method=method, headers=given, json=body)
        check(method, path, answer.status_code, answer.get_json(silent=True))
        return answer

    def get(self, path: str) -> Any:
        """A call that works."""
        return self._fine("GET", path)

    def post(self, path: str, body: object = None) -> Any:
        """A call that works."""
        return self._fine("POST", path, body)

    def refused(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """A call that does not work: its status and sentence."""
        answer = self.call(method, path, body)
        assert answer.status_code >= 400, answer.get_json()
        return answer.status_code, answer.get_json()["error"]["message"]

    def _fine(self, method: str, path: str, body: object = None) -> Any:
        answer = self.call(method, path, body)
        assert answer.status_code < 300, answer.get_json()
        return answer.get_json(silent=True)


@dataclass
class Browser:
    """Somebody who is logged in on a page of ours."""

    client: FlaskClient
    session: str

    @property
    def csrf(self) -> str:
        """What our pages carry."""
        return csrf.token_of(self.session)

    def post(self, path: str, body: object = None, **headers: str) -> TestResponse:
        """As our own script sends it."""
        given = {"Origin": OWN_ORIGIN, "X-CSRF-Token": self.csrf, **headers}
        return self.client.post(path, json=body, headers={k: v for k, v in given.items() if v})


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install without containers."""
    with run_app(tmp_path) as install:
        yield install


@pytest.fixture
def app(webapp: AppFixture) -> Flask:
    """Its dashboard."""
    return webapp.app.dashboard


@pytest.fixture
def operator(webapp: AppFixture, app: Flask) -> Api:
    """The operator."""
    return someone(webapp, app, webapp.services.users.get_operator())


@pytest.fixture(scope="module")
def refused_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The operator of an install that is only asked for what it refuses, so that many tests can share it."""
    with run_app(tmp_path_factory.mktemp("install")) as install:
        yield someone(install, install.app.dashboard, install.services.users.get_operator())


@pytest.fixture
def member(webapp: AppFixture, app: Flask) -> Api:
    """A member."""
    return someone(webapp, app, webapp.services.users.add({"name": "ben"}))


@pytest.fixture
def browser(webapp: AppFixture, app: Flask) -> Browser:
    """The operator in a browser."""
    return logged_in(webapp, app, webapp.services.users.get_operator())


@pytest.fixture
def api() -> Iterator[BotApi]:
    """Telegram: the test's Bot API server."""
    with BotApi() as served:
        yield served


@pytest.fixture
def bot(api: BotApi) -> str:
    """The token of an agent's bot."""
    return api.bot("Crab")


@pytest.fixture
def ada(api: BotApi, bot: str) -> Person:
    """Somebody who has opened the bot's chat."""
    person = api.person(42, "Ada")
    person.opens(bot)
    return person


def someone(webapp: AppFixture, app: Flask, user: User) -> Api:
    """A person with a fresh API token."""
    return Api(app.test_client(), user, webapp.services.users.make_token(secrets.token_hex(4), user.id))


def logged_in(webapp: AppFixture, app: Flask, user: User) -> Browser:
    """A person with a fresh session."""
    users = webapp.services.users
    session = users.use_link(users.make_link(user.id))
    client = app.test_client()
    client.set_cookie("hermit_session", session)
    return Browser(client, session)
