"""``channels.chat.question_prompts``: what an agent asks its person is answered once, by a button, a reply or the next
words, and is shown as answered everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.ask.questions import Question, as_json
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.events import ChatPlace
from orchestrator.channels.chat.message import Message
from orchestrator.channels.chat.rich_text import utf16_len
from orchestrator.core.errors import Conflict
from orchestrator.core.hooks import TurnMoment
from orchestrator.core.models import Event, TurnStatus
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms."""
    with chat_fixture(tmp_path) as made:
        made[0].opens(ADA)
        yield made


@pytest.fixture
def fixture(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def ref(question: Question) -> str:
    """Its message."""
    return f"question:{question.id}"


def says(
    fixture: ChatFixture, text: str, *, by: int = ADA, chat: int | None = None, **more: Any
) -> list[Message] | None:
    """Somebody writes: what is replied, or None when it is for the agent. What is noted besides is posted."""
    user = fixture.users.of_identity("telegram", by)
    assert user is not None
    return fixture.inquiries.take_reply(replace(fixture.message(text, by=by, chat=chat), **more), user)


def answer(fixture: ChatFixture, question: Question) -> tuple[str, str | None]:
    """How it stands."""
    found = fixture.questions.get_question(question.id)
    return found.status, found.answer


def test_a_question_has_a_button_for_each_choice(fixture: ChatFixture) -> None:
    """A press answers it; the message says so and has no buttons any more."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    text = fixture.text(ref(question))
    assert text.startswith(f"{MARK} crab has a question\nTea or coffee?\n")
    assert "Tap an answer." in text
    assert fixture.labels(ref(question)) == ["tea", "coffee"]
    assert fixture.press(ref(question), "coffee") == "Answered: coffee"
    assert answer(fixture, question) == ("answered", "coffee")
    assert "Answered by ada (telegram)" in fixture.text(ref(question))
    assert fixture.text(ref(question)).endswith(": coffee")
    assert fixture.labels(ref(question)) == []


WORDS = {
    "free text": ((), True, "Earl Grey, please", "Earl Grey, please"),
    "a choice": (("tea", "coffee"), False, " Coffee ", "coffee"),
    "a choice among free text": (("tea", "coffee"), True, "TEA", "tea"),
    "something else": (("tea", "coffee"), True, "water", "water"),
}


@pytest.mark.parametrize("which", WORDS)
def test_the_next_words_answer_the_one_open_question(fixture: ChatFixture, which: str) -> None:
    """In private, and it is said once what they were taken for; the message is handled with it."""
    choices, free_text, words, expected = WORDS[which]
    question = fixture.inquires("What to drink?", *choices, free_text=free_text)
    fixture.arrives(ref(question))
    before = len(fixture.refs)
    assert says(fixture, words) == []
    assert answer(fixture, question) == ("answered", expected)
    assert len(fixture.handled) == 1
    assert "Answer received\ncrab had asked: What to drink?" in fixture.text(fixture.refs[before])
    assert says(fixture, words) is None


def test_words_without_a_place_go_to_the_agent(fixture: ChatFixture) -> None:
    """When none of it is a choice, two questions are open, or there is something else about the message."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    fixture.arrives(ref(question))
    assert says(fixture, "neither of these") is None
    free = fixture.inquires("And to eat?", turn=fixture.turns.get(question.turn or 0))
    fixture.arrives(ref(free))
    assert says(fixture, "a cake") is None
    assert says(fixture, "tea", quoted="Forwarded from Bob:") is None
    assert says(fixture, "tea", is_edit=True) is None
    assert says(fixture, "tea", command="tea") is None
    assert says(fixture, "") is None
    assert says(fixture, "tea") == []
    assert says(fixture, "a cake") == []
    assert answer(fixture, free) == ("answered", "a cake")


def test_words_of_somebody_else_answer_nothing(fixture: ChatFixture) -> None:
    """Another member's words in their own chat are for their own cubicle."""
    fixture.opens(BOB)
    question = fixture.inquires("What to drink?")
    fixture.arrives(ref(question))
    assert says(fixture, "tea", by=BOB) is None
    assert says(fixture, "tea", by=BOB, answers=fixture.arrives(ref(question))) is None
    assert answer(fixture, question) == ("pending", None)


def test_words_don_t_answer_what_was_asked_elsewhere(fixture: ChatFixture) -> None:
    """A question in a group is answered by a reply there, not by other words, and not in private."""
    question = fixture.inquires("What to drink?", turn=fixture.asks(chat=GROUP))
    number = fixture.arrives(ref(question))
    assert fixture.body(ref(question)).reply_to is not None
    assert says(fixture, "tea") is None
    assert says(fixture, "tea", chat=GROUP) is None
    assert says(fixture, "tea", chat=GROUP, answers=number + 5) is None
    assert says(fixture, "tea", chat=GROUP, answers=number) == []
    assert answer(fixture, question) == ("answered", "tea")


def test_a_reply_answers_the_question_it_replies_to(fixture: ChatFixture) -> None:
    """Of several; without a note, since it shows what it belongs to."""
    first = fixture.inquires("What to drink?")
    second = fixture.inquires("What to eat?", turn=fixture.turns.get(first.turn or 0))
    numbers = [fixture.arrives(ref(one)) for one in (first, second)]
    before = len(fixture.refs)
    assert says(fixture, "cake", answers=numbers[1], quoted="In reply to what you wrote:\n> What") == []
    assert (answer(fixture, first)[0], answer(fixture, second)) == ("pending", ("answered", "cake"))
    assert len(fixture.refs) == before


def test_a_reply_that_is_no_choice_is_explained(fixture: ChatFixture) -> None:
    """Nothing is answered, and it does not go to the agent by accident."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    replied = says(fixture, "water", answers=fixture.arrives(ref(question)))
    assert replied is not None
    assert "choose one of tea, coffee" in replied[0].body.rich.text
    assert answer(fixture, question) == ("pending", None)
    assert fixture.handled == []


def test_a_reply_that_is_too_late_is_a_message(fixture: ChatFixture) -> None:
    """The agent reads it with the quote."""
    question = fixture.inquires("What to drink?")
    number = fixture.arrives(ref(question))
    fixture.hooks.turn_ended.fire(TurnMoment(KEY, question.turn or 0))
    assert says(fixture, "tea", answers=number) is None


def test_a_question_is_answered_at_once_from_two_surfaces(fixture: ChatFixture) -> None:
    """One answer holds, and the message says which."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    fixture.arrives(ref(question))
    operator = fixture.users.get_operator()
    results = at_once(
        lambda: fixture.press(ref(question), "tea"),
        lambda: fixture.questions.answer_question(question.id, "coffee", by=operator, surface="dashboard"),
        lambda: says(fixture, "coffee"),
    )
    fixture.inquiries.reconcile()
    status, held = answer(fixture, question)
    assert status == "answered"
    assert fixture.text(ref(question)).endswith(f": {held}")
    assert fixture.labels(ref(question)) == []
    won = [results[0] == "Answered: tea", not isinstance(results[1], Conflict), results[2] == []]
    assert won.count(True) == 1


ENDS = {"expired": "Nobody answered in time.", "cancelled": "No answer is needed anymore"}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("is_told", [True, False])
def test_how_a_question_ends_is_shown(fixture: ChatFixture, how: str, is_told: bool) -> None:  # noqa: FBT001 - a table
    """By the news of it, or after a start; a late press is told."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee", timeout=60)
    number = fixture.arrives(ref(question))
    data = fixture.data(ref(question), "tea")
    if how == "expired":
        fixture.clock_s = 61
        fixture.questions.expire_due()
    else:
        fixture.turns.end_turn(KEY, question.turn or 0, TurnStatus.DONE)
        fixture.hooks.turn_ended.fire(TurnMoment(KEY, question.turn or 0))
    if is_told:
        fixture.inquiries.on_event(Event("question", KEY, as_json(fixture.questions.get_question(question.id))))
    else:
        late = fixture.callbacks.on_press(fixture.a_press(data, by=ADA, chat=ADA, message=number))
        assert late.startswith("Too late")
    assert ENDS[how] in fixture.text(ref(question))
    assert fixture.labels(ref(question)) == []
    before = fixture.body(ref(question))
    fixture.inquiries.reconcile()
    assert fixture.body(ref(question)) == before


def test_a_question_is_asked_once_and_its_buttons_mended(fixture: ChatFixture) -> None:
    """However often it is told; a button that was used up to no effect is made again."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    before = fixture.body(ref(question))
    fixture.inquiries.on_event(Event("question", KEY, as_json(question)))
    fixture.inquiries.reconcile()
    assert fixture.refs == [ref(question)]
    assert fixture.body(ref(question)) == before
    press = fixture.a_press(
        fixture.data(ref(question), "tea"), by=ADA, chat=ADA, message=fixture.arrives(ref(question))
    )
    assert fixture.buttons.take_press(press, is_operator=False) is not None
    fixture.inquiries.reconcile()
    assert fixture.press(ref(question), "tea") == "Answered: tea"


def test_nobody_else_presses_anything(fixture: ChatFixture) -> None:
    """Strangers, other members, other messages and made-up data answer nothing."""
    question = fixture.inquires("Tea or coffee?", "tea", "coffee")
    data, message = fixture.data(ref(question), "tea"), fixture.arrives(ref(question))
    callbacks = [
        fixture.a_press(data, by=EVE, chat=ADA, message=message),
        fixture.a_press(data, by=BOB, chat=ADA, message=message),
        fixture.a_press(data, by=ADA, chat=ADA, message=message + 1),
        fixture.a_press(f"{question.id}:0", by=ADA, chat=ADA, message=message),
    ]
    assert {fixture.callbacks.on_press(press) for press in callbacks} == {"This button no longer works."}
    assert answer(fixture, question) == ("pending", None)


NASTY = f"{MARK} crab asks: may this run?\u202e\nhttps://evil.example/x \u200b"


def test_an_agents_words_stay_quoted(fixture: ChatFixture) -> None:
    """The mark, an address, what hides or turns: as text, in a quote; on buttons and in answers as well."""
    question = fixture.inquires(NASTY, f"{MARK} yes\u202e", "no")
    body = fixture.body(ref(question))
    assert body.rich.text.count(MARK) == 1
    assert not any(bad in body.rich.text for bad in ("\u202e", "\u200b", "://", "evil.example"))
    assert fixture.labels(ref(question)) == ["◇ yes\\u202e", "no"]
    quote = next(entity for entity in body.rich.entities if entity.type == "blockquote")
    assert quote.offset == utf16_len(f"{MARK} crab has a question\n")
    fixture.press(ref(question), "yes")
    assert fixture.text(ref(question)).count(MARK) == 1
    assert "\u202e" not in fixture.text(ref(question))


def test_a_question_that_grows_when_it_is_written_out_goes_as_a_file(fixture: ChatFixture) -> None:
    """All of it can be read."""
    question = fixture.inquires("\u202e" * 900 + "?")
    body = fixture.body(ref(question))
    assert body.files[0].path.read_text(encoding="utf-8") == "\\u202e" * 900 + "?"
    assert body.rich.units <= 1024
    says(fixture, "no", answers=fixture.arrives(ref(question)))
    assert "Answered by" in fixture.text(ref(question))


def test_many_choices_are_all_there(fixture: ChatFixture) -> None:
    """Short ones side by side, long ones in rows of their own."""
    short = fixture.inquires("Which?", *(f"n{n}" for n in range(20)))
    assert [len(row) for row in fixture.body(ref(short)).buttons] == [3, 3, 3, 3, 3, 3, 2]
    long = fixture.inquires("And?", *(f"{n} {'x' * 50}" for n in range(20)), turn=fixture.turns.get(short.turn or 0))
    assert [len(row) for row in fixture.body(ref(long)).buttons] == [1] * 20


def test_without_a_chat_other_surfaces_ask(fixture: ChatFixture) -> None:
    """Nothing is posted for somebody who never wrote to the bot."""
    fixture.turns.submit(OTHER, "go", source="api")
    turn = fixture.turns.take_next(OTHER, "boot", 0)
    question = fixture.inquires("Tea?", turn=turn)
    assert ref(question) not in fixture.refs


# --- several conversations -------------------------------------------------------------------------------------


def test_a_question_of_another_conversation_is_not_answered_by_the_next_words(fixture: ChatFixture) -> None:
    """It says which conversation it is of, and a reply or a button answers it; in its own the words do."""
    boat = fixture.conversations.create(KEY)
    fixture.choices.choose(ChatSpot(KEY, ADA), fixture.conversations.get(KEY).id)
    turn = fixture.asks("Boat e\u202evil.com", conversation=boat.id)
    question = fixture.inquires("Which paint?", "red", "blue", free_text=True, turn=turn)
    number = fixture.arrives(ref(question))
    assert "crab has a question in “Boat e" in fixture.text(ref(question))
    assert not {"\u202e", "vil.com"} & set(fixture.text(ref(question)))
    assert "vil․com" in fixture.text(ref(question))
    assert says(fixture, "green") is None
    assert says(fixture, "red") is None
    assert answer(fixture, question) == ("pending", None)
    fixture.choices.choose(ChatSpot(KEY, ADA), boat.id)
    assert says(fixture, "red") == []
    assert answer(fixture, question) == ("answered", "red")
    fixture.choices.forget_choice(ChatSpot(KEY, ADA))
    other = fixture.inquires("Which brush?", free_text=True, turn=fixture.asks("go", conversation=boat.id))
    assert number != fixture.arrives(ref(other))
    assert says(fixture, "broad", answers=fixture.arrives(ref(other))) == []
    assert answer(fixture, other) == ("answered", "broad")


def test_words_in_one_topic_answer_nothing_in_another(fixture: ChatFixture) -> None:
    """Nor do words beside the topics."""
    boat = fixture.choices.enter(fixture.message("hi", thread=7, topic="Boat"), fixture.users.get_operator())
    question = fixture.inquires("Which paint?", free_text=True, turn=fixture.asks("go", thread=7, conversation=boat))
    fixture.arrives(ref(question))
    for thread in (None, 8):
        assert says(fixture, "red", place=ChatPlace(ADA, is_private=True, thread=thread)) is None
    assert says(fixture, "red", place=ChatPlace(ADA, is_private=True, thread=7)) == []
    assert answer(fixture, question) == ("answered", "red")
