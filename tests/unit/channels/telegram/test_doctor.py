"""``channels.telegram.doctor``: what the doctor finds of bots, asked of a real Bot API server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator.channels.chat.send_errors import FloodWait
from orchestrator.channels.telegram.accounts.rows import BotToken, StoredBot, list_tokens
from orchestrator.channels.telegram.bot_check import BotCheck, check_up
from orchestrator.channels.telegram.client_types import BotIdentity, WebhookStatus
from orchestrator.channels.telegram.doctor import Expected, examine_telegram
from orchestrator.core.errors import Unavailable
from orchestrator.core.finding import FindingState
from tests.support.app_fixture import run_app
from tests.support.bot_api import BotApi

OURS = "https://crab.example"


def expected(token: str = "", *, webhook: str = "", is_running: bool = True) -> Expected:
    """What the settings say."""
    return Expected(BotToken(token), webhook, is_running)


def bot(token: str, state: str = "paired") -> StoredBot:
    """Crab's bot."""
    return StoredBot("crab", BotToken(token), state)


def test_no_bot_is_fine(api: BotApi) -> None:
    """With how to get one; nobody is asked."""
    (only,) = examine_telegram([], None, expected(), partial(check_up, api_url=api.url))
    assert (only.state, api.calls()) == (FindingState.OK, [])


@pytest.mark.parametrize("token", ["987654321", "hello", "123:abc"])
def test_a_setting_that_is_no_token(token: str, api: BotApi) -> None:
    """Is a failure, without showing it."""
    (only,) = examine_telegram([], 1, expected(token), partial(check_up, api_url=api.url))
    assert (only.state, token in only.text + only.fix) == (FindingState.FAIL, False)


@pytest.mark.parametrize(
    ("state", "found", "says"),
    [("paired", "ok", "is known"), ("pairing", "warn", "until it is linked"), ("revoked", "warn", "accepts it now")],
)
def test_a_bot_that_telegram_knows(api: BotApi, state: str, found: str, says: str) -> None:
    """It is well when it is paired too; what is to be done is said else."""
    token = api.bot("Crab", username="crab_bot")
    (only,) = examine_telegram([bot(token, state)], 42, expected(), partial(check_up, api_url=api.url))
    assert only.state == found
    assert "@crab_bot of crab" in only.text
    assert says in only.text
    assert token not in only.text + only.fix + repr(bot(token))


def test_a_token_that_is_revoked(api: BotApi) -> None:
    """Is a failure with the way to a new one, for the settings' token another."""
    token = api.bot()
    api.revoke(token)
    ask = partial(check_up, api_url=api.url)
    (only,) = examine_telegram([bot(token)], 42, expected(token), ask)
    assert (only.state, "telegram add crab" in only.fix) == (FindingState.FAIL, True)
    (only,) = examine_telegram([], 42, expected(token), ask)
    assert (only.state, "TELEGRAM_BOT_TOKEN" in only.fix) == (FindingState.FAIL, True)


def test_telegram_that_is_not_there(api: BotApi) -> None:
    """Is said once, however many bots there are."""
    tokens = [api.bot(), api.bot()]
    api.offline()
    (only,) = examine_telegram([bot(t) for t in tokens], 42, expected(), partial(check_up, api_url=api.url))
    assert (only.state, "can't be reached" in only.text) == (FindingState.FAIL, True)


def test_an_operator_without_a_telegram_id(api: BotApi) -> None:
    """Is a warning of its own, as no bot answers anybody."""
    first, _ = examine_telegram([bot(api.bot())], None, expected(), partial(check_up, api_url=api.url))
    assert (first.state, "Telegram id" in first.text) == (FindingState.WARN, True)


ELSEWHERE = WebhookStatus("https://elsewhere.example/secret", 0, "")
POSTED = WebhookStatus(f"{OURS}/telegram/7", 3, "Wrong response from the webhook: 502")
FETCHED = WebhookStatus("", 0, "")


@pytest.mark.parametrize(
    ("webhook", "wanted", "is_running", "state", "says"),
    [
        (FETCHED, "", True, "ok", ""),
        (FETCHED, OURS, True, "warn", "nowhere"),
        (FETCHED, OURS, False, "ok", ""),
        (ELSEWHERE, "", True, "warn", "another address"),
        (ELSEWHERE, "", False, "ok", ""),
        (POSTED, OURS, True, "warn", "502"),
        (WebhookStatus(POSTED.url, 0, ""), OURS, True, "ok", ""),
    ],
)
def test_where_updates_go(webhook: WebhookStatus, wanted: str, is_running: bool, state: str, says: str) -> None:  # noqa: FBT001 - a table
    """They must come to us while we run; another program's address is not repeated, as it may hold a secret."""
    seen = BotCheck(BotIdentity(7, "crab_bot", "Crab", can_read_groups=False), webhook)
    (only,) = examine_telegram([bot("x")], 1, expected(webhook=wanted, is_running=is_running), lambda _: seen)
    assert only.state == state
    assert says in only.text
    assert "elsewhere" not in only.text + only.fix


def test_what_else_a_bot_says() -> None:
    """Groups that it reads whole are named; a bot that must be silent is a warning."""
    seen = BotCheck(BotIdentity(7, "crab_bot", "Crab", can_read_groups=True), FETCHED)
    (only,) = examine_telegram([bot("x")], 1, expected(), lambda _: seen)
    assert (only.state, "privacy mode is off" in only.text) == (FindingState.OK, True)

    def silent(_: str) -> BotCheck:
        raise FloodWait(30)

    (only,) = examine_telegram([bot("x")], 1, expected(), silent)
    assert (only.state, "30 s" in only.text) == (FindingState.WARN, True)


@pytest.mark.parametrize(("is_running", "state"), [(True, "warn"), (False, "ok")])
def test_what_the_running_install_meets_with_is_said(is_running: bool, state: str) -> None:  # noqa: FBT001 - a table
    """Such as another program that fetches the same bot's messages, which only who fetches can know."""
    seen = BotCheck(BotIdentity(7, "crab_bot", "Crab", can_read_groups=False), FETCHED)
    troubled = replace(bot("x"), problem="Another program fetches this bot's messages.")
    (only,) = examine_telegram([troubled], 1, expected(is_running=is_running), lambda _: seen)
    assert only.state == state
    assert ("Another program" in only.text) == is_running


def test_the_tokens_are_read_where_they_are_kept(tmp_path: Path) -> None:
    """While the install runs and when it does not; of nothing, or something older, nothing is known."""
    token = f"123456789:AA{'x' * 33}"
    database = tmp_path / "home" / "db" / "hermit.db"
    assert list_tokens(database) == ([], None)
    with run_app(tmp_path / "home") as install:
        install.services.users.update_user(1, {"telegram_id": 42})
        install.services.bots.set_up("crab", token)
        (running,), operator = list_tokens(database)
    (stopped,), _ = list_tokens(database)
    assert operator == 42
    assert (running.agent, running.token.text, running.state) == ("crab", token, "pairing")
    assert (stopped.agent, stopped.token.text, stopped.state) == ("crab", token, "pairing")
    (tmp_path / "empty.db").touch()
    assert list_tokens(tmp_path / "empty.db") == ([], None)
    (tmp_path / "broken.db").write_bytes(b"no database " * 500)
    with pytest.raises(Unavailable, match="cannot be read"):
        list_tokens(tmp_path / "broken.db")
