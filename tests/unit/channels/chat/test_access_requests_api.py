"""Strangers are decided about on any surface: their card on Telegram shows it, and the page of people hears of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.access_requests import ALLOW, BLOCK, IGNORE
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.core.errors import Conflict, Forbidden, NotFound
from tests.support.app_fixture import AppFixture
from tests.support.chat_fixture import ADA, BOB, EVE, ChatFixture, chat_fixture
from tests.support.core_fixture import CoreFixture
from tests.unit.channels.chat.test_access_requests import card, member, to
from tests.unit.conftest import Api, Browser
from tests.unit.dashboard.test_audit import page


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms; the operator's chat with the bot is open."""
    with chat_fixture(tmp_path) as made:
        made[0].opens(ADA)
        yield made


def test_allowed_elsewhere_the_card_is_settled(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """They are a member with a welcome; the card offers to take it back, and its old buttons do nothing."""
    fixture, _ = pair
    fixture.stranger(name="Eve")
    assert [known.name for known in fixture.cards.list_waiting()] == ["Eve"]
    made = fixture.cards.decide_request("crab", EVE, ALLOW, fixture.users.get_operator())
    assert made == member(fixture)
    assert fixture.labels(card(fixture)) == ["Remove"]
    assert "Welcome, Eve" in fixture.text(to(fixture, EVE)[-1])
    assert fixture.cards.list_waiting() == []
    with pytest.raises(Conflict):
        fixture.cards.decide_request("crab", EVE, BLOCK, fixture.users.get_operator())


@pytest.mark.parametrize(("kind", "state", "said"), [(IGNORE, "ignored", "Ignored"), (BLOCK, "blocked", "Blocked")])
def test_turned_away_elsewhere_the_card_says_so(
    pair: tuple[ChatFixture, CoreFixture], kind: str, state: str, said: str
) -> None:
    """Nobody is let in, and there is nothing left to press."""
    fixture, _ = pair
    fixture.stranger()
    assert fixture.cards.decide_request("crab", EVE, kind, fixture.users.get_operator()) is None
    assert member(fixture) is None
    assert fixture.labels(card(fixture)) == []
    assert said in fixture.text(card(fixture))
    with fixture.store.reading() as db:
        known = rows.get_stranger(ChannelDb(db, "telegram"), "crab", EVE)
    assert known is not None
    assert known.state == state


def test_decided_on_telegram_nobody_waits_any_more(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """The list is what is not decided, wherever it was."""
    fixture, _ = pair
    fixture.stranger()
    fixture.press(card(fixture), "Ignore")
    assert fixture.cards.list_waiting() == []
    with pytest.raises(Conflict):
        fixture.cards.decide_request("crab", EVE, ALLOW, fixture.users.get_operator())


def test_only_an_operator_decides_about_whom_is_known(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """A member does not, and nobody about somebody who never wrote."""
    fixture, _ = pair
    fixture.stranger()
    bob = fixture.users.of_identity("telegram", BOB)
    assert bob is not None
    with pytest.raises(Forbidden):
        fixture.cards.decide_request("crab", EVE, ALLOW, bob)
    with pytest.raises(NotFound):
        fixture.cards.decide_request("crab", EVE + 1, ALLOW, fixture.users.get_operator())


def test_the_page_of_people_asks_and_the_api_decides(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """With the name as text and the id; an event tells other pages."""
    assert "Waiting to be let in" not in page(browser, "/parts/strangers")
    with webapp.app._store.writing() as db:
        rows.note_stranger(ChannelDb(db, "telegram"), "crab", EVE, "<b>Eve</b>", time.time())
    assert "“<b>Eve</b>” wrote to crab" in page(browser, "/people")
    assert [known["telegram_id"] for known in operator.get("/strangers")["strangers"]] == [EVE]
    news = webapp.services.broker.subscribe()
    assert operator.refused("POST", f"/strangers/crab/{EVE}", {"decision": "perhaps"})[0] == 400
    user = operator.post(f"/strangers/crab/{EVE}", {"decision": "allow"})["user"]
    assert webapp.services.users.get(user).id_in("telegram") == EVE
    assert "people" in {event.kind for _ in range(20) if (event := news.get(0.05))}
    assert operator.refused("POST", f"/strangers/crab/{EVE}", {"decision": "block"})[0] == 409
    assert page(browser, "/parts/strangers") == ""
