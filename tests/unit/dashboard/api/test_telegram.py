"""Telegram bots over the API: set up against a real Bot API server, the handshake both ways, and who may see what."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dashboard.app import create_app
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app
from tests.support.bot_api import BotApi
from tests.unit.conftest import Api, someone

ADA = 4_200_001
FORMED = f"123456789:AA{'x' * 33}"


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    """Telegram."""
    with BotApi() as api:
        yield api


@pytest.fixture
def webapp(tmp_path: Path, telegram: BotApi) -> Iterator[AppFixture]:
    """An install that knows where Telegram is."""
    with run_app(tmp_path, environment={"HERMIT_TELEGRAM_API_URL": telegram.url}) as install:
        yield install


def test_a_bot_from_nothing_to_gone(webapp: AppFixture, telegram: BotApi, operator: Api) -> None:
    """Set up, its code shown, sent back by the operator's phone, paired, and taken away."""
    assert operator.get("/agents/crab")["telegram"] is None
    assert operator.refused("GET", "/agents/crab/telegram") == (
        404,
        "crab has no Telegram bot. './hermit telegram add crab' gives it one.",
    )
    answer = operator.call("POST", "/agents/crab/telegram", {"token": telegram.bot("Crab", username="crab_bot")})
    body = answer.get_json()
    assert (answer.status_code, body["username"], body["state"]) == (201, "crab_bot", "pairing")
    assert (body["code_way"], len(body["code"]), body["problem"]) == ("shown", 6, None)
    assert operator.get("/agents/crab/telegram") == body
    assert webapp.services.bots.on_code("crab", ADA, body["code"])
    after = operator.get("/agents/crab/telegram")
    assert (after["state"], after["code"], after["paired_at"] is None) == ("paired", None, False)
    assert operator.get("/users")["users"][0]["telegram_id"] == ADA
    assert operator.refused("POST", "/agents/crab/telegram/code")[0] == 409
    assert operator.call("DELETE", "/agents/crab/telegram").status_code == 204
    assert operator.refused("DELETE", "/agents/crab/telegram")[0] == 404
    assert operator.get("/agents/crab")["has_telegram"] is False


def test_a_code_that_the_bot_sends_is_not_shown(telegram: BotApi, operator: Api) -> None:
    """That the operator read it in Telegram is what it proves."""
    operator.call("PATCH", f"/users/{operator.user.id}", {"telegram_id": ADA})
    token, ada = telegram.bot(), telegram.person(ADA)
    ada.opens(token)
    body = operator.post("/agents/crab/telegram", {"token": token})
    assert (body["code_way"], body["code"]) == ("sent", None)
    telegram.wait_for(lambda: telegram.said(ada, bot=token))
    secret = re.findall(r"\b\d{6}\b", " ".join(telegram.said(ada, bot=token)))[0]
    deadline = time.monotonic() + 10
    while operator.get("/agents/crab/telegram")["code_sent_at"] is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert operator.get("/agents/crab/telegram")["code_sent_at"] is not None
    wrong = f"{(int(secret) + 1) % 1_000_000:06}"
    status, message = operator.refused("POST", "/agents/crab/telegram/confirm", {"code": wrong})
    assert (status, "telegram code crab" in message) == (400, True)
    seen = [operator.call("GET", f"/{path}").get_data(as_text=True) for path in ("agents", "agents/crab/telegram")]
    assert secret not in "".join(seen)
    assert operator.post("/agents/crab/telegram/confirm", {"code": secret})["state"] == "paired"


def test_everybody_sees_which_bot_an_agent_has(telegram: BotApi, operator: Api, member: Api) -> None:
    """Its name and whether it works; nothing else is a member's to see or to do."""
    operator.post("/agents/crab/telegram", {"token": telegram.bot("Crab", username="crab_bot")})
    assert member.get("/agents/crab")["telegram"] == {"state": "pairing", "username": "crab_bot"}
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", ""), ("POST", "/confirm"), ("POST", "/code")):
        assert member.refused(method, f"/agents/crab/telegram{path}", {})[0] == 403


def test_a_token_that_telegram_does_not_know(telegram: BotApi, operator: Api) -> None:
    """Is refused in a sentence, wherever it is given, and then nothing has changed and nothing was made."""
    for method, path, body in (
        ("POST", "/agents/crab/telegram", {"token": FORMED}),
        ("PATCH", "/agents/crab", {"telegram_token": FORMED, "role": "Spy"}),
        ("POST", "/agents", {"name": "scout", "telegram_token": FORMED}),
    ):
        status, message = operator.refused(method, path, body)
        assert (status, "does not know this token" in message) == (400, True)
        assert FORMED not in message
    agents = operator.get("/agents")["agents"]
    assert [(agent["name"], agent["role"], agent["telegram"]) for agent in agents] == [
        ("crab", "General assistant", None)
    ]


def test_a_bot_linked_by_the_code_it_sent_speaks_at_once(webapp: AppFixture, telegram: BotApi, operator: Api) -> None:
    """The chat is known from the code, so a question reaches it before the person has written a word there."""
    operator.call("PATCH", f"/users/{operator.user.id}", {"telegram_id": ADA})
    token, ada = telegram.bot(), telegram.person(ADA)
    ada.opens(token)
    operator.post("/agents/crab/telegram", {"token": token})
    telegram.wait_for(lambda: telegram.said(ada, bot=token))
    code = re.findall(r"\b\d{6}\b", " ".join(telegram.said(ada, bot=token)))[0]
    operator.post("/agents/crab/telegram/confirm", {"code": code})
    webapp.plays["clean"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -rf build')}")
    webapp.services.turns.submit(CubicleKey("crab", operator.user.id), "clean", source="dashboard")
    telegram.wait_for(lambda: any("rm -rf build" in text for text in telegram.said(ada, bot=token)))


@pytest.mark.parametrize("token", ["", "hello", 7, [], None])
def test_what_is_no_token(telegram: BotApi, operator: Api, token: object) -> None:
    """Is refused without asking anybody."""
    assert operator.refused("POST", "/agents/crab/telegram", {"token": token})[0] == 400
    if token:
        assert operator.refused("PATCH", "/agents/crab", {"telegram_token": token})[0] == 400
    assert telegram.calls() == []


def test_a_bot_of_another_agent(telegram: BotApi, operator: Api) -> None:
    """Is refused, for an agent that is made as for one that is there."""
    token = telegram.bot()
    operator.post("/agents/crab/telegram", {"token": token})
    for method, path, body in (
        ("POST", "/agents/scout/telegram", {"token": token}),
        ("PATCH", "/agents/scout", {"telegram_token": token}),
        ("POST", "/agents", {"name": "third", "telegram_token": token}),
    ):
        if path.startswith("/agents/scout") and method == "POST":
            operator.post("/agents", {"name": "scout"})
        status, message = operator.refused(method, path, body)
        assert (status, "belongs to the agent crab" in message) == (409, True)
    assert [agent["name"] for agent in operator.get("/agents")["agents"]] == ["crab", "scout"]


def test_telegram_that_does_not_answer(telegram: BotApi, operator: Api) -> None:
    """The token is kept, with the problem beside it."""
    token = telegram.bot()
    telegram.offline()
    body = operator.post("/agents/crab/telegram", {"token": token})
    assert (body["state"], body["username"], body["problem"] is None) == ("pairing", "", False)
    assert operator.get("/agents/crab")["telegram"] == {"state": "pairing", "username": ""}


def test_a_token_among_other_settings(telegram: BotApi, operator: Api) -> None:
    """Goes the same way as one by itself; null and an empty text take the bot away, or nothing."""
    made = operator.post(
        "/agents", {"name": "scout", "role": "Scout", "telegram_token": telegram.bot("S", username="s_bot")}
    )
    assert (made["role"], made["telegram"]["username"], made["has_telegram"]) == ("Scout", "s_bot", True)
    changed = operator.call(
        "PATCH", "/agents/scout", {"role": "Spy", "telegram_token": telegram.bot("T", username="t_bot")}
    ).get_json()
    assert (changed["role"], changed["telegram"]["username"]) == ("Spy", "t_bot")
    for nothing in ("", None):
        gone = operator.call("PATCH", "/agents/scout", {"telegram_token": nothing}).get_json()
        assert (gone["telegram"], gone["role"]) == (None, "Spy")
    assert operator.refused("PATCH", "/agents/nobody", {"telegram_token": FORMED})[0] == 404
    assert operator.refused("PATCH", "/agents/scout", {"telegram_token": None, "step_limit": 0})[0] == 400


def test_setting_up_a_bot_withdraws_nothing(webapp: AppFixture, telegram: BotApi, operator: Api) -> None:
    """What waits for a person goes on waiting: the agent itself has not changed."""
    watching = webapp.services.broker.subscribe()
    operator.post("/agents/crab/telegram", {"token": telegram.bot()})
    kinds = []
    while (event := watching.get(0)) is not None:
        kinds.append(event.kind)
    assert set(kinds) == {"bot"}


def test_the_bot_goes_with_its_agent(webapp: AppFixture, telegram: BotApi, operator: Api) -> None:
    """And may be another's afterwards."""
    token = telegram.bot()
    operator.post("/agents", {"name": "scout", "telegram_token": token})
    assert operator.call("DELETE", "/agents/scout").status_code == 204
    assert webapp.services.bots.list_bots() == []
    assert operator.post("/agents/crab/telegram", {"token": token})["state"] == "pairing"


def test_too_many_codes(telegram: BotApi, operator: Api) -> None:
    """Is 429 with when to try again."""
    operator.post("/agents/crab/telegram", {"token": telegram.bot()})
    for _ in range(6):
        operator.post("/agents/crab/telegram/code")
    status, message = operator.refused("POST", "/agents/crab/telegram/code")
    assert (status, "ten minutes" in message) == (429, True)


@pytest.mark.parametrize("operator_id", ["", str(ADA)])
def test_the_settings_bot(tmp_path: Path, telegram: BotApi, operator_id: str) -> None:
    """Is the first agent's from the start: paired with the operator's id beside it, else with a code to send it."""
    environment = {
        "HERMIT_TELEGRAM_API_URL": telegram.url,
        "TELEGRAM_BOT_TOKEN": telegram.bot(),
        "HERMIT_TELEGRAM_OPERATOR_ID": operator_id,
    }
    with run_app(tmp_path, environment=environment) as install:
        operator = someone(install, create_app(install.services), install.services.users.get_operator())
        body = operator.get("/agents/crab/telegram")
    assert (body["state"], body["code_way"], body["code"] is None) == (
        ("paired", None, True) if operator_id else ("pairing", "shown", False)
    )


def test_no_token_leaves_by_any_door(
    webapp: AppFixture, app: Flask, telegram: BotApi, operator: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in an answer, nor in the audit log, nor in the log, whatever Telegram does meanwhile."""
    caplog.set_level(logging.DEBUG)
    tokens = [telegram.bot() for _ in range(5)]
    said: list[Any] = []
    for token, trouble in zip(tokens, ("", "reset", "500", "html", "revoked"), strict=True):
        if trouble == "reset":
            telegram.fail_next("getMe")
        elif trouble == "500":
            telegram.fail_next("getMe", 500)
        elif trouble == "html":
            telegram.fail_next("getMe", 502, html="<h1>Bad gateway</h1>")
        elif trouble == "revoked":
            telegram.revoke(token)
        answer = operator.call("POST", "/agents/crab/telegram", {"token": token})
        said.append((answer.status_code, answer.get_data(as_text=True)))
    assert [status for status, _ in said] == [201, 201, 201, 201, 400]
    said += [
        operator.call("GET", f"/{path}").get_data(as_text=True) for path in ("agents", "audit", "agents/crab/telegram")
    ]
    said.append(app.test_client().get("/api/openapi.json").get_data(as_text=True))
    everything = json.dumps(said) + caplog.text
    for token in tokens:
        assert token not in everything
        assert token.partition(":")[2] not in everything


def test_what_does_not_look_like_a_token_is_refused_before_telegram_is_asked(tmp_path: Path) -> None:
    """With the sentence how one looks, wherever it is given; nothing is kept."""
    with run_app(tmp_path, environment={"HERMIT_TELEGRAM_API_URL": ""}) as install:
        app = create_app(install.services)
        api = someone(install, app, install.services.users.get_operator())
        for token in ("123:abc", FORMED[:-1], FORMED + "x"):
            for method, path, body in (
                ("POST", "/agents/crab/telegram", {"token": token}),
                ("PATCH", "/agents/crab", {"telegram_token": token}),
                ("POST", "/agents", {"name": "scout", "telegram_token": token}),
            ):
                status, message = api.refused(method, path, body)
                assert (status, "then 35 letters, digits, hyphens or underscores" in message) == (400, True)
        assert install.services.bots.list_bots() == []
        assert [agent.name for agent in install.services.agents.list_agents()] == ["crab"]
