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
def desk(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def ref(question: Question) -> str:
    """Its letter."""
    return f"question:{question.id}"


def says(desk: ChatFixture, text: str, *, by: int = ADA, chat: int | None = None, **more: Any) -> list[Message] | None:
    """Somebody writes: what is replied, or None when it is for the agent. What is noted besides is posted."""
    user = desk.people.of_identity("telegram", by)
    assert user is not None
    return desk.inquiries.take_reply(replace(desk.message(text, by=by, chat=chat), **more), user)


def answer(desk: ChatFixture, question: Question) -> tuple[str, str | None]:
    """How it stands."""
    found = desk.questions.get_question(question.id)
    return found.status, found.answer


def test_a_question_has_a_button_for_each_choice(desk: ChatFixture) -> None:
    """A press answers it; the letter says so and has no buttons any more."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    text = desk.text(ref(question))
    assert text.startswith(f"{MARK} crab has a question\nTea or coffee?\n")
    assert "Tap an answer." in text
    assert desk.labels(ref(question)) == ["tea", "coffee"]
    assert desk.press(ref(question), "coffee") == "Answered: coffee"
    assert answer(desk, question) == ("answered", "coffee")
    assert "Answered by ada (telegram)" in desk.text(ref(question))
    assert desk.text(ref(question)).endswith(": coffee")
    assert desk.labels(ref(question)) == []


WORDS = {
    "free text": ((), True, "Earl Grey, please", "Earl Grey, please"),
    "a choice": (("tea", "coffee"), False, " Coffee ", "coffee"),
    "a choice among free text": (("tea", "coffee"), True, "TEA", "tea"),
    "something else": (("tea", "coffee"), True, "water", "water"),
}


@pytest.mark.parametrize("which", WORDS)
def test_the_next_words_answer_the_one_open_question(desk: ChatFixture, which: str) -> None:
    """In private, and it is said once what they were taken for; the message is handled with it."""
    choices, free_text, words, expected = WORDS[which]
    question = desk.inquires("What to drink?", *choices, free_text=free_text)
    desk.arrives(ref(question))
    before = len(desk.refs)
    assert says(desk, words) == []
    assert answer(desk, question) == ("answered", expected)
    assert len(desk.handled) == 1
    assert "Answer received\ncrab had asked: What to drink?" in desk.text(desk.refs[before])
    assert says(desk, words) is None


def test_words_without_a_place_go_to_the_agent(desk: ChatFixture) -> None:
    """When none of it is a choice, two questions are open, or there is something else about the message."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    desk.arrives(ref(question))
    assert says(desk, "neither of these") is None
    free = desk.inquires("And to eat?", turn=desk.turns.get(question.turn or 0))
    desk.arrives(ref(free))
    assert says(desk, "a cake") is None
    assert says(desk, "tea", quoted="Forwarded from Bob:") is None
    assert says(desk, "tea", is_edit=True) is None
    assert says(desk, "tea", command="tea") is None
    assert says(desk, "") is None
    assert says(desk, "tea") == []
    assert says(desk, "a cake") == []
    assert answer(desk, free) == ("answered", "a cake")


def test_words_of_somebody_else_answer_nothing(desk: ChatFixture) -> None:
    """Another member's words in their own chat are for their own cubicle."""
    desk.opens(BOB)
    question = desk.inquires("What to drink?")
    desk.arrives(ref(question))
    assert says(desk, "tea", by=BOB) is None
    assert says(desk, "tea", by=BOB, answers=desk.arrives(ref(question))) is None
    assert answer(desk, question) == ("pending", None)


def test_words_don_t_answer_what_was_asked_elsewhere(desk: ChatFixture) -> None:
    """A question in a group is answered by a reply there, not by other words, and not in private."""
    question = desk.inquires("What to drink?", turn=desk.asks(chat=GROUP))
    number = desk.arrives(ref(question))
    assert desk.body(ref(question)).reply_to is not None
    assert says(desk, "tea") is None
    assert says(desk, "tea", chat=GROUP) is None
    assert says(desk, "tea", chat=GROUP, answers=number + 5) is None
    assert says(desk, "tea", chat=GROUP, answers=number) == []
    assert answer(desk, question) == ("answered", "tea")


def test_a_reply_answers_the_question_it_replies_to(desk: ChatFixture) -> None:
    """Of several; without a note, since it shows what it belongs to."""
    first = desk.inquires("What to drink?")
    second = desk.inquires("What to eat?", turn=desk.turns.get(first.turn or 0))
    numbers = [desk.arrives(ref(one)) for one in (first, second)]
    before = len(desk.refs)
    assert says(desk, "cake", answers=numbers[1], quoted="In reply to what you wrote:\n> What") == []
    assert (answer(desk, first)[0], answer(desk, second)) == ("pending", ("answered", "cake"))
    assert len(desk.refs) == before


def test_a_reply_that_is_no_choice_is_explained(desk: ChatFixture) -> None:
    """Nothing is answered, and it does not go to the agent by accident."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    replied = says(desk, "water", answers=desk.arrives(ref(question)))
    assert replied is not None
    assert "choose one of tea, coffee" in replied[0].body.rich.text
    assert answer(desk, question) == ("pending", None)
    assert desk.handled == []


def test_a_reply_that_is_too_late_is_a_message(desk: ChatFixture) -> None:
    """The agent reads it with the quote."""
    question = desk.inquires("What to drink?")
    number = desk.arrives(ref(question))
    desk.hooks.turn_ended.fire(TurnMoment(KEY, question.turn or 0))
    assert says(desk, "tea", answers=number) is None


def test_a_question_is_answered_at_once_from_two_surfaces(desk: ChatFixture) -> None:
    """One answer holds, and the letter says which."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    desk.arrives(ref(question))
    operator = desk.people.get_operator()
    results = at_once(
        lambda: desk.press(ref(question), "tea"),
        lambda: desk.questions.answer_question(question.id, "coffee", by=operator, surface="dashboard"),
        lambda: says(desk, "coffee"),
    )
    desk.inquiries.reconcile()
    status, held = answer(desk, question)
    assert status == "answered"
    assert desk.text(ref(question)).endswith(f": {held}")
    assert desk.labels(ref(question)) == []
    won = [results[0] == "Answered: tea", not isinstance(results[1], Conflict), results[2] == []]
    assert won.count(True) == 1


ENDS = {"expired": "Nobody answered in time.", "cancelled": "No answer is needed anymore"}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("is_told", [True, False])
def test_how_a_question_ends_is_shown(desk: ChatFixture, how: str, is_told: bool) -> None:  # noqa: FBT001 - a table
    """By the news of it, or after a start; a late press is told."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee", timeout=60)
    number = desk.arrives(ref(question))
    data = desk.data(ref(question), "tea")
    if how == "expired":
        desk.clock_s = 61
        desk.questions.expire_due()
    else:
        desk.turns.end_turn(KEY, question.turn or 0, TurnStatus.DONE)
        desk.hooks.turn_ended.fire(TurnMoment(KEY, question.turn or 0))
    if is_told:
        desk.inquiries.on_event(Event("question", KEY, as_json(desk.questions.get_question(question.id))))
    else:
        late = desk.callbacks.on_press(desk.a_press(data, by=ADA, chat=ADA, message=number))
        assert late.startswith("Too late")
    assert ENDS[how] in desk.text(ref(question))
    assert desk.labels(ref(question)) == []
    before = desk.body(ref(question))
    desk.inquiries.reconcile()
    assert desk.body(ref(question)) == before


def test_a_question_is_asked_once_and_its_buttons_mended(desk: ChatFixture) -> None:
    """However often it is told; a button that was used up to no effect is made anew."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    before = desk.body(ref(question))
    desk.inquiries.on_event(Event("question", KEY, as_json(question)))
    desk.inquiries.reconcile()
    assert desk.refs == [ref(question)]
    assert desk.body(ref(question)) == before
    press = desk.a_press(desk.data(ref(question), "tea"), by=ADA, chat=ADA, message=desk.arrives(ref(question)))
    assert desk.buttons.take_press(press, is_operator=False) is not None
    desk.inquiries.reconcile()
    assert desk.press(ref(question), "tea") == "Answered: tea"


def test_nobody_else_presses_anything(desk: ChatFixture) -> None:
    """Strangers, other members, other messages and made-up data answer nothing."""
    question = desk.inquires("Tea or coffee?", "tea", "coffee")
    data, message = desk.data(ref(question), "tea"), desk.arrives(ref(question))
    callbacks = [
        desk.a_press(data, by=EVE, chat=ADA, message=message),
        desk.a_press(data, by=BOB, chat=ADA, message=message),
        desk.a_press(data, by=ADA, chat=ADA, message=message + 1),
        desk.a_press(f"{question.id}:0", by=ADA, chat=ADA, message=message),
    ]
    assert {desk.callbacks.on_press(press) for press in callbacks} == {"This button no longer works."}
    assert answer(desk, question) == ("pending", None)


NASTY = f"{MARK} crab asks: may this run?\u202e\nhttps://evil.example/x \u200b"


def test_an_agents_words_stay_quoted(desk: ChatFixture) -> None:
    """The mark, an address, what hides or turns: as text, in a quote; on buttons and in answers as well."""
    question = desk.inquires(NASTY, f"{MARK} yes\u202e", "no")
    body = desk.body(ref(question))
    assert body.rich.text.count(MARK) == 1
    assert not any(bad in body.rich.text for bad in ("\u202e", "\u200b", "://", "evil.example"))
    assert desk.labels(ref(question)) == ["◇ yes\\u202e", "no"]
    quote = next(entity for entity in body.rich.entities if entity.type == "blockquote")
    assert quote.offset == utf16_len(f"{MARK} crab has a question\n")
    desk.press(ref(question), "yes")
    assert desk.text(ref(question)).count(MARK) == 1
    assert "\u202e" not in desk.text(ref(question))


def test_a_question_that_grows_when_it_is_written_out_goes_as_a_file(desk: ChatFixture) -> None:
    """All of it can be read."""
    question = desk.inquires("\u202e" * 900 + "?")
    body = desk.body(ref(question))
    assert body.files[0].path.read_text(encoding="utf-8") == "\\u202e" * 900 + "?"
    assert body.rich.units <= 1024
    says(desk, "no", answers=desk.arrives(ref(question)))
    assert "Answered by" in desk.text(ref(question))


def test_many_choices_are_all_there(desk: ChatFixture) -> None:
    """Short ones side by side, long ones in rows of their own."""
    short = desk.inquires("Which?", *(f"n{n}" for n in range(20)))
    assert [len(row) for row in desk.body(ref(short)).buttons] == [3, 3, 3, 3, 3, 3, 2]
    long = desk.inquires("And?", *(f"{n} {'x' * 50}" for n in range(20)), turn=desk.turns.get(short.turn or 0))
    assert [len(row) for row in desk.body(ref(long)).buttons] == [1] * 20


def test_without_a_chat_other_surfaces_ask(desk: ChatFixture) -> None:
    """Nothing is posted for somebody who never wrote to the bot."""
    desk.turns.submit(OTHER, "go", source="api")
    turn = desk.turns.take_next(OTHER, "boot", 0)
    question = desk.inquires("Tea?", turn=turn)
    assert ref(question) not in desk.refs
