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
def desk(tmp_path: Path) -> Iterator[ChatFixture]:
    """A counter; bob has opened the bot's chat and never said where he is."""
    with chat_fixture(tmp_path) as (made, _):
        made.opens(ADA)
        made.opens(BOB)
        yield made


@pytest.fixture
def zones(desk: ChatFixture) -> TimeZonePrompt:
    """Everybody's time."""
    return desk.zones


def words(desk: ChatFixture, *, by: int = BOB, chat: int | None = None, language: str = "") -> IncomingMessage:
    """Somebody's message."""
    message = desk.message("hello", by=by, chat=chat)
    return replace(message, sender=Sender(by, "someone", language=language))


def zone(desk: ChatFixture) -> tuple[str, bool]:
    """Bob's zone, and whether he said so."""
    bob = desk.people.get(OTHER.user)
    return bob.time_zone, bob.time_zone_known


def test_somebody_new_is_asked_once_ever(desk: ChatFixture, zones: TimeZonePrompt) -> None:
    """With places by the language of their app; not again after any answer, nor without one."""
    bob = desk.people.get(OTHER.user)
    at_once(*[lambda: zones.on_message(words(desk, language="de"), bob)] * 4)
    zones.ask_zone(OTHER)
    ref = f"zone:{bob.id}"
    assert desk.refs == [ref]
    assert "I use UTC for now" in desk.text(ref)
    labels = desk.labels(ref)
    assert [label.split(" ")[0] for label in labels] == ["Berlin", "Vienna", "Zurich", "UTC"]
    with desk.store.writing() as db:
        db.execute("DELETE FROM chat_outbox")
    zones.on_message(words(desk), bob)
    assert desk.refs == []


def test_who_said_it_is_not_asked(desk: ChatFixture, zones: TimeZonePrompt) -> None:
    """In whatever way; and nobody is asked in a group, or without a chat."""
    zones.on_message(words(desk, by=ADA), desk.people.get_operator())
    bob = desk.people.get(OTHER.user)
    zones.on_message(words(desk, chat=GROUP), bob)
    desk.opens(BOB, state="closed")
    zones.on_message(words(desk), bob)
    assert desk.refs == []
    desk.opens(BOB)
    desk.people.update_user(bob.id, {"name": "robert"})
    zones.on_message(words(desk), desk.people.get(bob.id))
    assert desk.refs == [f"zone:{bob.id}"]


@pytest.mark.parametrize(("label", "expected"), [("Vienna", "Europe/Vienna"), ("UTC is fine", "UTC")])
def test_a_press_says_it(desk: ChatFixture, zones: TimeZonePrompt, label: str, expected: str) -> None:
    """Also that UTC is right; the letter says so and has no buttons any more."""
    bob = desk.people.get(OTHER.user)
    zones.on_message(words(desk, language="de"), bob)
    ref = f"zone:{bob.id}"
    assert zone(desk) == ("UTC", False)
    assert desk.press(ref, label) == f"Your time zone is {expected}."
    assert zone(desk) == (expected, True)
    assert expected in desk.text(ref)
    assert desk.labels(ref) == []


def test_nobody_says_it_for_another(desk: ChatFixture, zones: TimeZonePrompt) -> None:
    """Not even an operator, who may press other buttons of others."""
    bob = desk.people.get(OTHER.user)
    zones.on_message(words(desk), bob)
    ref = f"zone:{bob.id}"
    data = desk.data(ref, "Berlin")
    answer = desk.callbacks.on_press(desk.a_press(data, by=ADA, chat=BOB, message=desk.arrives(ref)))
    assert answer == "Only the person who was asked can answer this."
    assert zone(desk) == ("UTC", False)
    assert desk.people.get_operator().time_zone == "Europe/Vienna"


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
    """A letter too few."""
    with pytest.raises(BadInput, match=r"Did you mean .*Europe/Vienna"):
        find_zone("Viena")


@pytest.mark.parametrize("language", ["de", "en", "pt-br", "zh-hans", "xx", ""])
def test_every_language_has_places(language: str) -> None:
    """And all of them are there."""
    assert all(find_zone(zone) == zone for zone in zones_for_language(language))
    assert zones_for_language(language)
