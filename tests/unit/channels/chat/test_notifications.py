"""``channels.chat.notifications``: what the install has to say reaches the right chat once and in order, with buttons
that do what they say once, and with the words of others as words of others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.notification_rows import Notice, Offer
from orchestrator.approvals.notifications import as_json
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.system_text import quote_in_note
from orchestrator.core.errors import Conflict
from orchestrator.core.models import Event, User
from orchestrator.core.text import in_quotes
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once

OFFERS = (Offer("Cancel it", "agenda.cancel"), Offer("Keep it", "agenda.keep"))
DONE = {"agenda.cancel": "Cancelled.", "agenda.keep": "Kept."}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms; two deeds are known, and how often they were done."""
    with chat_fixture(tmp_path) as made:
        made[0].opens(ADA)
        for do in DONE:
            made[0].notifications.on_button(do, deed(do))
        yield made


@pytest.fixture
def fixture(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def deed(do: str) -> Callable[[sqlite3.Connection, Notice, User], str]:
    """What a button does in these tests: it leaves a trace in the database."""

    def done(db: sqlite3.Connection, notice: Notice, _: User) -> str:
        db.execute("INSERT INTO chat_cursors VALUES ('telegram', ?, 1)", (f"done {notice.id} {do}",))
        return DONE[do]

    return done


def say(fixture: ChatFixture, text: str = "crab put “Water the plants” into the calendar.", **more: object) -> Notice:
    """The install says something, and the chat is told."""
    given = {"key": KEY, "kind": "calendar", "text": text, "offers": OFFERS, **more}
    notice = fixture.notifications.post(**given)  # type: ignore[arg-type]  # a table of keywords
    fixture.noticing.on_event(Event("notice", notice.cubicle, as_json(notice)))
    return notice


def ref(notice: Notice) -> str:
    """Its message."""
    return f"house:{notice.id}"


def codes(rich: RichText) -> list[str]:
    """What stands as code."""
    units = rich.text.encode("utf-16-le")
    return [units[2 * e.offset : 2 * e.end].decode("utf-16-le") for e in rich.entities if e.type == "code"]


def traces(fixture: ChatFixture) -> int:
    """How often any button did anything."""
    with fixture.store.reading() as db:
        return int(db.execute("SELECT COUNT(*) FROM chat_cursors WHERE name LIKE 'done %'").fetchone()[0])


def test_a_notice_comes_with_its_buttons(fixture: ChatFixture) -> None:
    """Under the install's mark, its quote as code; a press does it and shows how it ended, without buttons."""
    notice = say(fixture)
    assert fixture.text(ref(notice)).splitlines()[0] == f"{MARK} crab's calendar"
    assert codes(fixture.body(ref(notice)).rich) == ["Water the plants"]
    assert fixture.labels(ref(notice)) == ["Cancel it", "Keep it"]
    assert fixture.press(ref(notice), "Cancel it") == "Cancelled."
    assert fixture.text(ref(notice)).endswith("\n\nCancelled.")
    assert fixture.labels(ref(notice)) == []
    assert traces(fixture) == 1


def test_three_hundred_come_once_and_in_order(tmp_path: Path) -> None:
    """Across an install that closes and opens, with the news of some lost and that of others told twice."""
    with chat_fixture(tmp_path) as (fixture, _):
        fixture.opens(ADA)
        for n in range(170):
            notice = fixture.notifications.post(KEY, "budget", f"number {n}")
            if n % 7 == 0:
                fixture.noticing.on_event(Event("notice", KEY, as_json(notice)))
                fixture.fresh_noticing().post_due()
    with chat_fixture(tmp_path) as (fixture, _):
        for n in range(170, 300):
            fixture.notifications.post(KEY, "budget", f"number {n}")
        at_once(fixture.noticing.reconcile, fixture.noticing.post_due, fixture.fresh_noticing().post_due)
        assert [fixture.text(one).splitlines()[-1] for one in fixture.refs] == [f"number {n}" for n in range(300)]


WHERE = {
    "the chat of its turn": (GROUP, KEY),
    "a private chat": (ADA, KEY),
    "the person's own": (None, KEY),
    "another person's own": (None, OTHER),
}


@pytest.mark.parametrize("where", WHERE)
def test_a_notice_goes_where_it_belongs(fixture: ChatFixture, where: str) -> None:
    """To where its turn was asked for, else to the person's private chat."""
    chat, key = WHERE[where]
    fixture.opens(BOB)
    turn = None if chat is None else fixture.asks(chat=chat, key=key, thread=7 if chat < 0 else None)
    notice = say(fixture, key=key, turn=turn.id if turn else None)
    own = ADA if key == KEY else BOB
    assert fixture.chat_of(ref(notice)) == (chat or own)
    assert fixture.body(ref(notice)).thread == (7 if chat == GROUP else None)


def test_without_a_chat_nothing_is_kept_for_later(fixture: ChatFixture) -> None:
    """The other surfaces told it; the next one is told as soon as there is a chat."""
    say(fixture, key=OTHER)
    fixture.opens(BOB)
    later = say(fixture, key=OTHER)
    assert fixture.refs == [ref(later), f"zone:{OTHER.user}"]


def test_what_was_dealt_with_elsewhere_is_shown(fixture: ChatFixture) -> None:
    """When news of it comes, and after a start when none came; a late press is told how it ended."""
    first, second, third = say(fixture), say(fixture), say(fixture)
    operator = fixture.users.get_operator()
    for notice in (first, second):
        settled = fixture.notifications.press_button(notice.id, "agenda.keep", by=operator, surface="dashboard")
        if notice == first:
            fixture.noticing.on_event(Event("notice", KEY, as_json(settled)))
    assert fixture.labels(ref(first)) == []
    assert fixture.press(ref(second), "Cancel it") == "That was already done: Kept."
    assert fixture.text(ref(second)).endswith("Kept.")
    fixture.notifications.settle_buttons("calendar", "", "It was deleted.")
    fixture.fresh_noticing().reconcile()
    assert fixture.labels(ref(third)) == []
    assert fixture.text(ref(third)).endswith("It was deleted.")


def test_two_surfaces_at_once(fixture: ChatFixture) -> None:
    """One deed is done, and the message says which."""
    notice = say(fixture)
    fixture.arrives(ref(notice))
    operator = fixture.users.get_operator()
    results = at_once(
        lambda: fixture.press(ref(notice), "Cancel it"),
        lambda: fixture.notifications.press_button(notice.id, "agenda.keep", by=operator, surface="dashboard"),
    )
    fixture.noticing.reconcile()
    assert traces(fixture) == 1
    outcome = fixture.notifications.get(notice.id).outcome
    assert fixture.text(ref(notice)).endswith(outcome)
    assert fixture.labels(ref(notice)) == []
    assert isinstance(results[1], Conflict) == (outcome == "Cancelled.")


def test_nobody_else_presses_anything(fixture: ChatFixture) -> None:
    """Strangers, other members, other messages and made-up data do nothing."""
    notice = say(fixture)
    data, message = fixture.data(ref(notice), "Cancel it"), fixture.arrives(ref(notice))
    callbacks = [
        fixture.a_press(data, by=EVE, chat=ADA, message=message),
        fixture.a_press(data, by=BOB, chat=ADA, message=message),
        fixture.a_press(data, by=ADA, chat=ADA, message=message + 1),
        fixture.a_press(data, by=ADA, chat=ADA, message=message, agent="otter"),
        fixture.a_press(f"{notice.id}:agenda.cancel", by=ADA, chat=ADA, message=message),
    ]
    assert {fixture.callbacks.on_press(press) for press in callbacks} == {"This button no longer works."}
    assert traces(fixture) == 0


def test_a_press_that_died_half_way_leaves_buttons(fixture: ChatFixture) -> None:
    """The button was used up and nothing done: after a start there are new ones."""
    notice = say(fixture)
    press = fixture.a_press(
        fixture.data(ref(notice), "Cancel it"), by=ADA, chat=ADA, message=fixture.arrives(ref(notice))
    )
    assert fixture.buttons.take_press(press, is_operator=False) is not None
    fixture.fresh_noticing().reconcile()
    assert fixture.press(ref(notice), "Cancel it") == "Cancelled."
    before = fixture.body(ref(notice))
    fixture.fresh_noticing().reconcile()
    assert fixture.body(ref(notice)) == before


QUOTES = {
    "plain": ("crab put “tea” at 17:00.", ["tea"]),
    "two": ("crab called “tea” “coffee”.", ["tea", "coffee"]),
    "an address": ("crab put “http://e.org” down.", ["http://e.org"]),
    "a quote in a quote": (f"crab put {in_quotes('a” was “b')} down.", ["a’ was ‘b"]),
    "the mark": (f"crab put “{MARK} approved” down.", ["◇ approved"]),
    "hidden": ("crab put “a\u202eb\u200b” down.", ["a\\u202eb\\u200b"]),
    "lines": ("“one”\n“two”", ["one", "two"]),
    "none": ("80 % of today's budget is spent.", []),
    "empty": ("crab put “” down.", []),
    "open": ("crab put “tea down.", []),
}  # fmt: skip


@pytest.mark.parametrize("which", QUOTES)
def test_what_is_quoted_stays_quoted(which: str) -> None:
    """From the first sign of a quote to the last; nothing in it can be tapped or pass for the install."""
    text, expected = QUOTES[which]
    assert codes(quote_in_note("A title", text)) == expected
    assert quote_in_note("A title", text).text.count(MARK) == 1


def test_an_address_outside_a_quote_is_none() -> None:
    """The install names hosts too, and nothing is fetched by a tap."""
    rich = quote_in_note("A title", "From https://evil.example/x came a file.", "See evil.example.")
    assert "://" not in rich.text
    assert "evil.example" not in rich.text


def test_a_very_long_notice_fits(fixture: ChatFixture) -> None:
    """It is cut, the ending is not."""
    notice = say(fixture, "“" + "x" * 9000 + "”\n" + "“y”\n" * 900)
    fixture.press(ref(notice), "Keep it")
    body: MessageBody = fixture.body(ref(notice))
    assert body.rich.units <= 4096
    assert len(body.rich.entities) <= 100
    assert body.rich.text.endswith("Kept.")


# --- several conversations -------------------------------------------------------------------------------------


def test_a_notice_of_another_conversation_says_which(fixture: ChatFixture) -> None:
    """As a quote, in private alone; of a deleted one nothing is said."""
    first, boat = fixture.conversations.get(KEY), fixture.conversations.create(KEY)
    turn = fixture.turns.submit(KEY, "Boat “” \u202e x.com", source="api", conversation=boat.id)
    rich = fixture.body(ref(say(fixture, turn=turn.id))).rich
    line = rich.text.splitlines()[1]
    assert line.startswith("In “Boat ")
    assert line.endswith("”:")
    assert "\u202e" not in line
    assert codes(rich)[0] == line.removeprefix("In “").removesuffix("”:")
    for conversation, is_said in ((boat.id, True), (first.id, False), (None, False)):
        assert ("In “" in fixture.text(ref(say(fixture, conversation=conversation)))) == is_said
    fixture.turns.stop(turn.id)
    asked = fixture.asks(chat=GROUP, conversation=boat.id)
    assert "In “" not in fixture.text(ref(say(fixture, turn=asked.id)))
    fixture.choices.choose(ChatSpot(KEY, ADA), boat.id)
    assert "In “" not in fixture.text(ref(say(fixture, turn=turn.id)))


def test_a_notice_of_a_topic_is_told_there(fixture: ChatFixture) -> None:
    """Where its conversation is one of the person's topics."""
    number = fixture.choices.enter(fixture.message("hi", thread=7, topic="Boat"), fixture.users.get_operator())
    notice = say(fixture, conversation=number)
    assert (fixture.chat_of(ref(notice)), fixture.body(ref(notice)).thread) == (ADA, 7)
    assert "In “" not in fixture.text(ref(notice))
