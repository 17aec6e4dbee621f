"""``channels.chat.time_zone_prompt``: a person is asked once where they are, and may say it at any time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.channels.chat.events import IncomingMessage, Sender
from orchestrator.channels.chat.time_zone_prompt import TimeZonePrompt, find_zone, zones_for_language
from orchestrator.core.errors import BadInput
from tests.support.chat_fixture import ADA, BOB, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import OTHER, at_once


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[ChatFixture]:
    """A counter; bob has opened the bot's chat and never said where he is."""
    with chat_fixture(tmp_path) as (made, _):
        made.opens(ADA)
        made.opens(BOB)
        yield made


@pytest.fixture
def zones(fixture: ChatFixture) -> TimeZonePrompt:
    """Everybody's time."""
    return fixture.zones


def words(fixture: ChatFixture, *, by: int = BOB, chat: int | None = None, language: str = "") -> IncomingMessage:
    """Somebody's message."""
    message = fixture.message("hello", by=by, chat=chat)
    return replace(message, sender=Sender(by, "someone", language=language))


def zone(fixture: ChatFixture) -> tuple[str, bool]:
    """Bob's zone, and whether he said so."""
    bob = fixture.users.get(OTHER.user)
    return bob.time_zone, bob.time_zone_known


def test_somebody_new_is_asked_once_ever(fixture: ChatFixture, zones: TimeZonePrompt) -> None:
    """With places by the language of their app; not again after any answer, nor without one."""
    bob = fixture.users.get(OTHER.user)
    at_once(*[lambda: zones.on_message(words(fixture, language="de"), bob)] * 4)
    zones.ask_zone(OTHER)
    ref = f"zone:{bob.id}"
    assert fixture.refs == [ref]
    assert "I use UTC for now" in fixture.text(ref)
    labels = fixture.labels(ref)
    assert [label.split(" ")[0] for label in labels] == ["Berlin", "Vienna", "Zurich", "UTC"]
    with fixture.store.writing() as db:
        db.execute("DELETE FROM chat_outbox")
    zones.on_message(words(fixture), bob)
    assert fixture.refs == []


def test_who_said_it_is_not_asked(fixture: ChatFixture, zones: TimeZonePrompt) -> None:
    """In whatever way; and nobody is asked in a group, or without a chat."""
    zones.on_message(words(fixture, by=ADA), fixture.users.get_operator())
    bob = fixture.users.get(OTHER.user)
    zones.on_message(words(fixture, chat=GROUP), bob)
    fixture.opens(BOB, state="closed")
    zones.on_message(words(fixture), bob)
    assert fixture.refs == []
    fixture.opens(BOB)
    fixture.users.update_user(bob.id, {"name": "robert"})
    zones.on_message(words(fixture), fixture.users.get(bob.id))
    assert fixture.refs == [f"zone:{bob.id}"]


@pytest.mark.parametrize(("label", "expected"), [("Vienna", "Europe/Vienna"), ("UTC is fine", "UTC")])
def test_a_press_says_it(fixture: ChatFixture, zones: TimeZonePrompt, label: str, expected: str) -> None:
    """Also that UTC is right; the message says so and has no buttons any more."""
    bob = fixture.users.get(OTHER.user)
    zones.on_message(words(fixture, language="de"), bob)
    ref = f"zone:{bob.id}"
    assert zone(fixture) == ("UTC", False)
    assert fixture.press(ref, label) == f"Your time zone is {expected}."
    assert zone(fixture) == (expected, True)
    assert expected in fixture.text(ref)
    assert fixture.labels(ref) == []


def test_nobody_says_it_for_another(fixture: ChatFixture, zones: TimeZonePrompt) -> None:
    """Not even an operator, who may press other buttons of others."""
    bob = fixture.users.get(OTHER.user)
    zones.on_message(words(fixture), bob)
    ref = f"zone:{bob.id}"
    data = fixture.data(ref, "Berlin")
    answer = fixture.callbacks.on_press(fixture.a_press(data, by=ADA, chat=BOB, message=fixture.arrives(ref)))
    assert answer == "Only the person who was asked can answer this."
    assert zone(fixture) == ("UTC", False)
    assert fixture.users.get_operator().time_zone == "Europe/Vienna"


NAMES = {
    "Europe/Vienna": "Europe/Vienna",
    "europe/vienna": "Europe/Vienna",
    " Vienna ": "Europe/Vienna",
    "new york": "America/New_York",
    "Buenos Aires": None,
    "utc": "UTC",
    "Viena": None,
    "../../etc/passwd": None,
    "Mars/Base": None,
    "": None,
}


@pytest.mark.parametrize("wanted", NAMES)
def test_a_zone_is_known_by_its_name_or_its_city(wanted: str) -> None:
    """Anything else is refused with a sentence, and with what comes near."""
    expected = NAMES[wanted]
    if expected is not None:
        assert find_zone(wanted) == expected
        return
    with pytest.raises(BadInput, match="I don't know a time zone"):
        find_zone(wanted)


def test_what_comes_near_is_said() -> None:
    """A message too few."""
    with pytest.raises(BadInput, match=r"Did you mean .*Europe/Vienna"):
        find_zone("Viena")


@pytest.mark.parametrize("language", ["de", "en", "pt-br", "zh-hans", "xx", ""])
def test_every_language_has_places(language: str) -> None:
    """And all of them are there."""
    assert all(find_zone(zone) == zone for zone in zones_for_language(language))
    assert zones_for_language(language)
