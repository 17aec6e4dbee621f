"""``channels.chat.buttons`` and ``channels.chat.button_rows``: a button means what it was made for, where it was put,
for whom, until when, once."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat.buttons import FOREVER_S
from orchestrator.channels.chat.callbacks import NO_LONGER
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.rich_text import RichText
from tests.support.chat_fixture import ADA, BOB, BOT, EVE, ChatFixture, chat_fixture
from tests.support.core_fixture import at_once


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[ChatFixture]:
    """A counter."""
    with chat_fixture(tmp_path) as (made, _):
        yield made


def placed(
    fixture: ChatFixture, kind: str = "allow", *, person: int = ADA, chat: int = ADA, **more: float
) -> ButtonPress:
    """A button under a message that has arrived, pressed as it should be."""
    data = fixture.buttons.make_button("crab", "a-letter", person, kind, "subject", **more)
    fixture.outbox.post_message(Message("crab", chat, "a-letter", MessageBody(RichText("?"))))
    return fixture.a_press(data, by=person, chat=chat, message=fixture.arrives("a-letter"))


def test_a_button_is_taken_once(fixture: ChatFixture) -> None:
    """It gives what it was made for, and then nothing any more."""
    press = placed(fixture)
    taken = fixture.buttons.take_press(press, is_operator=False)
    assert taken is not None
    assert (taken.kind, taken.subject, taken.ref, taken.person) == ("allow", "subject", "a-letter", ADA)
    assert fixture.buttons.take_press(press, is_operator=False) is None
    assert fixture.buttons.take_press(press, is_operator=True) is None


def test_a_button_is_opaque_and_short(fixture: ChatFixture) -> None:
    """Nothing of its meaning is in it, no two are alike, and Telegram takes it."""
    made = {fixture.buttons.make_button("crab", "r", ADA, "approve", "abcd2345") for _ in range(200)}
    assert len(made) == 200
    assert all(len(data.encode()) <= 64 and "approve" not in data and "abcd" not in data for data in made)


MISFITS: dict[str, Callable[[ButtonPress], ButtonPress]] = {
    "another person": lambda press: replace(press, sender=replace(press.sender, id=BOB)),
    "a stranger": lambda press: replace(press, sender=replace(press.sender, id=EVE)),
    "another chat": lambda press: replace(press, place=replace(press.place, chat=BOB)),
    "another message": lambda press: replace(press, message=press.message + 1),
    "no message": lambda press: replace(press, message=0),
    "another agent's bot": lambda press: replace(press, agent="other"),
    "another id": lambda press: replace(press, data=press.data[:-1] + ("A" if press.data[-1] != "A" else "B")),
    "an id with more behind it": lambda press: replace(press, data=press.data + "x"),
    "an id with a line break": lambda press: replace(press, data=press.data + "\n"),
    "an id in other letters": lambda press: replace(press, data=press.data.swapcase()),
    "words": lambda press: replace(press, data="approve:crab:rm -rf build"),
    "the id of an approval": lambda press: replace(press, data="abcd2345"),
    "nothing": lambda press: replace(press, data=""),
    "SQL": lambda press: replace(press, data="' OR 1=1 --".ljust(32, "-")),
    "a wildcard": lambda press: replace(press, data="%" * 32),
    "NUL": lambda press: replace(press, data="\0" * 32),
    "half a character": lambda press: replace(press, data="\ud800" * 32),
    "64 random bytes": lambda press: replace(press, data=secrets.token_bytes(64).decode("latin-1")),
    "much": lambda press: replace(press, data="A" * 100_000),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_what_does_not_fit_in_every_way_does_nothing(fixture: ChatFixture, misfit: str) -> None:
    """Nothing is taken, nothing used up, and the words over the chat are the same each time."""
    press = placed(fixture)
    wrong = MISFITS[misfit](press)
    assert fixture.buttons.take_press(wrong, is_operator=False) is None
    assert not fixture.buttons.is_early(wrong, is_operator=False)
    assert fixture.callbacks.on_press(wrong) == NO_LONGER
    assert fixture.buttons.take_press(press, is_operator=False) is not None


def test_an_operator_may_press_for_others(fixture: ChatFixture) -> None:
    """But not elsewhere than where the button is."""
    press = placed(fixture, person=BOB)
    by_ada = replace(press, sender=replace(press.sender, id=ADA))
    assert fixture.buttons.take_press(by_ada, is_operator=False) is None
    assert fixture.buttons.take_press(replace(by_ada, message=1), is_operator=True) is None
    assert fixture.buttons.take_press(by_ada, is_operator=True) is not None


def test_a_button_has_an_end(fixture: ChatFixture) -> None:
    """Too old is too late; without an end of its own it has one all the same."""
    press = placed(fixture, expires_at=fixture.now() + 60)
    fixture.clock_s = 61
    assert fixture.buttons.take_press(press, is_operator=True) is None
    lasting = fixture.buttons.make_button("crab", "a-letter", ADA, "allow", "subject")
    fixture.clock_s = FOREVER_S + 120
    assert fixture.buttons.take_press(replace(press, data=lasting), is_operator=True) is None


def test_parallel_presses_take_it_once(fixture: ChatFixture) -> None:
    """Fifty at the same moment: one."""
    press = placed(fixture)
    taken = at_once(*[lambda: fixture.buttons.take_press(press, is_operator=False)] * 50)
    assert len([one for one in taken if one is not None]) == 1


def test_what_came_to_nothing_is_given_back(fixture: ChatFixture) -> None:
    """And can be pressed again."""
    press = placed(fixture)
    taken = fixture.buttons.take_press(press, is_operator=False)
    assert taken is not None
    fixture.buttons.give_back(taken)
    assert fixture.buttons.take_press(press, is_operator=False) is not None


def test_a_lasting_button_lasts(fixture: ChatFixture) -> None:
    """A file may be sent twice."""
    press = placed(fixture, "file")
    assert fixture.buttons.take_press(press, is_operator=False) is not None
    assert fixture.buttons.take_press(press, is_operator=False) is not None
    assert fixture.buttons.retire_buttons("a-letter") == 1
    assert fixture.buttons.take_press(press, is_operator=False) is None


def test_retired_buttons_do_nothing(fixture: ChatFixture) -> None:
    """All of a message, or those of some kinds; not those of other messages."""
    press = placed(fixture, "approve")
    deny = fixture.buttons.make_button("crab", "a-letter", ADA, "deny", "subject")
    again = fixture.buttons.make_button("crab", "a-letter", ADA, "again", "subject")
    elsewhere = fixture.buttons.make_button("crab", "another", ADA, "deny", "subject")
    assert fixture.buttons.retire_buttons("a-letter", kinds=("approve", "deny")) == 2
    assert fixture.buttons.retire_buttons("a-letter", kinds=("approve", "deny")) == 0
    assert fixture.buttons.take_press(press, is_operator=False) is None
    assert fixture.buttons.take_press(replace(press, data=deny), is_operator=False) is None
    assert fixture.buttons.take_press(replace(press, data=again), is_operator=False) is not None
    with fixture.store.reading() as db:
        assert rows.list_live_kinds(ChannelDb(db, "telegram"), "another", fixture.now()) == {"deny"}
    assert elsewhere


def test_a_press_before_the_number_is_known_is_early(fixture: ChatFixture) -> None:
    """The message can be on the phone before Telegram's answer is here."""
    data = fixture.buttons.make_button("crab", "a-letter", ADA, "allow", "subject")
    fixture.outbox.post_message(Message("crab", ADA, "a-letter", MessageBody(RichText("?"))))
    press = fixture.a_press(data, by=ADA, chat=ADA, message=77)
    assert fixture.buttons.take_press(press, is_operator=False) is None
    assert fixture.buttons.is_early(press, is_operator=False)
    assert not fixture.buttons.is_early(replace(press, place=replace(press.place, chat=BOB)), is_operator=False)
    assert not fixture.buttons.is_early(replace(press, sender=replace(press.sender, id=BOB)), is_operator=False)
    fixture.arrives("a-letter", 77)
    assert fixture.buttons.take_press(press, is_operator=False) is not None


def test_buttons_go_with_their_agent_and_with_time(fixture: ChatFixture) -> None:
    """Nothing is kept for ever."""
    press = placed(fixture, expires_at=fixture.now() + 60)
    fixture.clock_s = 30 * 24 * 3600
    fixture.buttons.forget_old()
    with fixture.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM chat_buttons").fetchone()[0] == 0
    assert fixture.callbacks.on_press(press) == NO_LONGER
    assert press.bot == BOT
