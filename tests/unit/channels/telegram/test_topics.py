"""Topics on Telegram, with the real library and a Bot API server on loopback: one topic is one conversation, and what
is said there is answered there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat import contact_rows
from orchestrator.channels.chat.contact_rows import KnownChat
from orchestrator.core.models import CubicleKey
from tests.contracts.chat_phones import ADA, TelegramPhone, telegram, wait_for
from tests.support.bot_api import Group, Person
from tests.support.bot_api_rules import Json
from tests.support.chat_fakes import telegram_store


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[TelegramPhone]:
    """Ada's phone, with the bot of the agent ``crab``."""
    with telegram(tmp_path) as found:
        assert isinstance(found, TelegramPhone)
        yield found


def ada(phone: TelegramPhone) -> Person:
    """Whoever holds the phone."""
    return phone._people[ADA]


def heard(phone: TelegramPhone, words: str, *, chat: Person | Group | None = None) -> Json:
    """The bot's message that ends with these words, once it is there."""

    def found() -> list[Json]:
        where = chat or ada(phone)
        return [one for one in phone._api.messages(where, bot=phone._token) if one.get("text", "").endswith(words)]

    wait_for(found)
    return found()[-1]


def conversation_of(phone: TelegramPhone, prompt: str) -> str:
    """In which conversation the agent was asked this."""
    services, key = phone.install.services, CubicleKey("crab", 1)
    for one in services.conversations.list_conversations(key):
        if prompt in [turn.prompt for turn in services.turns.list_history(key, conversation=one.id)]:
            return one.shown_name
    raise LookupError(prompt)


def says(phone: TelegramPhone, text: str, topic: Json | None = None) -> Json:
    """A message and its answer; returns the answer."""
    ada(phone).says(phone._token, text, topic=topic)
    return heard(phone, f"You said: {text}")


def test_one_topic_is_one_conversation(phone: TelegramPhone) -> None:
    """Named after it; the answers come back to it, and what is said beside the topics is the first conversation."""
    boat, house = (ada(phone).opens_topic(phone._token, name) for name in ("The boat", "The house"))
    answers = [
        says(phone, "no topic"),
        says(phone, "paint it", boat),
        says(phone, "sweep it", house),
        says(phone, "varnish it", boat),
    ]
    assert [one.get("message_thread_id") for one in answers] == [
        None,
        boat["message_id"],
        house["message_id"],
        boat["message_id"],
    ]
    assert [conversation_of(phone, text) for text in ("no topic", "paint it", "sweep it", "varnish it")] == [
        "no topic",
        "The boat",
        "The house",
        "The boat",
    ]


def test_a_reply_as_first_message_brings_no_name(phone: TelegramPhone) -> None:
    """Telegram tells the name only in what replies to nothing else: then the first words are it."""
    first = says(phone, "hello")
    topic = ada(phone).opens_topic(phone._token, "The boat")
    ada(phone).says(phone._token, "what about this", topic=topic, reply_to=first)
    wait_for(lambda: "You said: In reply to" in str(phone._api.said(ada(phone), bot=phone._token)))
    names = [one.shown_name for one in phone.install.services.conversations.list_conversations(CubicleKey("crab", 1))]
    assert names[0].startswith("In reply to what you wrote")


def test_everything_of_a_turn_comes_into_its_topic(phone: TelegramPhone) -> None:
    """What it does, what it asks, and the answer to a press."""
    topic = ada(phone).opens_topic(phone._token, "The boat")
    ran: list[bool] = []
    phone.install.plays["tidy up"] = lambda scene: ran.append(scene.run(1, "rm -rf build"))
    ada(phone).says(phone._token, "tidy up", topic=topic)
    wait_for(lambda: any("may this run?" in one.text for one in phone.shown()))
    asked = next(one for one in phone.shown() if "may this run?" in one.text)
    kept = next(one for one in phone._messages(ADA) if one["message_id"] == asked.number)
    assert kept["message_thread_id"] == topic["message_id"]
    phone.presses(asked.number, "Approve")
    wait_for(lambda: ran == [True])
    assert "In “" not in asked.text


def test_commands_in_a_topic_say_that_it_is_a_conversation(phone: TelegramPhone) -> None:
    """In the topic."""
    topic = ada(phone).opens_topic(phone._token, "The boat")
    says(phone, "paint it", topic)
    ada(phone).says(phone._token, "/new Other", topic=topic)
    answer = heard(phone, "write outside of topics.")
    assert answer["message_thread_id"] == topic["message_id"]
    says(phone, "go on", topic)
    assert conversation_of(phone, "go on") == "The boat"


def test_an_answer_to_a_topic_that_was_deleted_arrives_all_the_same(phone: TelegramPhone) -> None:
    """In the chat itself."""
    topic = ada(phone).opens_topic(phone._token, "The boat")
    is_gone = threading.Event()

    def play(scene: Any) -> None:
        is_gone.wait(30)
        scene.say("Painted.")

    phone.install.plays["paint it"] = play
    ada(phone).says(phone._token, "paint it", topic=topic)
    wait_for(phone.install.services.turns.list_running)
    ada(phone).deletes_topic(phone._token, topic)
    is_gone.set()
    assert "message_thread_id" not in heard(phone, "Painted.")


def test_what_the_calendar_runs_for_a_topic_is_told_there(phone: TelegramPhone) -> None:
    """The entry was made in the topic's conversation; and so is the notice of it."""
    topic = ada(phone).opens_topic(phone._token, "The boat")
    says(phone, "paint it", topic)
    services, key = phone.install.services, CubicleKey("crab", 1)
    place = next(one for one in services.conversations.list_conversations(key) if one.name == "The boat")
    (turn,) = services.turns.list_history(key, conversation=place.id)
    fields = {"title": "Look", "prompt": "look after it", "start": "2099-01-01T10:00"}
    services.calendar.run_now(services.calendar.create_entry(key, fields, by=None, turn=turn.id).id)
    answer = heard(phone, "You said: look after it")
    assert answer["message_thread_id"] == topic["message_id"]
    assert answer["text"] == "◆ crab:\n⏰ Look\nYou said: look after it"


def test_a_forum_has_topics_too(phone: TelegramPhone) -> None:
    """A group whose topics are conversations of whoever writes there."""
    bot = phone._api.bot_user(phone._token)["username"]
    group = phone._api.group("The lab", phone._token, ada(phone))
    with telegram_store(phone.install.app._store).writing() as db:
        contact_rows.put_chat(db, KnownChat("crab", group.id, "The lab", "enabled", 1.0))
    topic = ada(phone).opens_topic(group, "Experiments")
    mention = [{"type": "mention", "offset": 0, "length": len(bot) + 1}]
    ada(phone).says(group, f"@{bot} mix them", topic=topic, entities=mention)
    answer = heard(phone, "You said: mix them", chat=group)
    assert answer["message_thread_id"] == topic["message_id"]
    assert conversation_of(phone, "mix them") == "Experiments"
