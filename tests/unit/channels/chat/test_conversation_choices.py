"""``channels.chat.conversation_choices`` and ``commands_conversations``: each person writes to the conversation that
they chose in that chat, whatever dies in between, and never to somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat import conversation_choice_rows as rows
from orchestrator.channels.chat import outbox_rows
from orchestrator.channels.chat.callbacks import NO_LONGER
from orchestrator.channels.chat.commands_conversations import OLDER, SWITCH
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import GONE, ConversationChoices
from orchestrator.channels.chat.events import IncomingMessage
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.core.models import Conversation, CubicleKey, TurnStatus
from orchestrator.turns import conversation_rows
from tests.support.chat_commands_fixture import CommandsFixture, commands_fixture
from tests.support.chat_fakes import telegram_store
from tests.support.chat_fixture import ADA, BOB, GROUP

IN_TOPIC = "This topic is its own conversation"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[CommandsFixture]:
    """An install without crabs; ada and bob use Telegram."""
    with commands_fixture(tmp_path) as made:
        yield made


def key_of(shop: CommandsFixture, by: int = ADA) -> CubicleKey:
    """Whose cubicle."""
    return CubicleKey("crab", (shop.ada if by == ADA else shop.bob).id)


def begun(shop: CommandsFixture, name: str, *, by: int = ADA) -> Conversation:
    """A conversation with a message in it."""
    made = shop.install.services.conversations.create(key_of(shop, by), name)
    shop.install.services.turns.submit(key_of(shop, by), f"about {name}", source="api", conversation=made.id)
    return made


def enters(shop: CommandsFixture, message: IncomingMessage, choices: ConversationChoices | None = None) -> str:
    """The name of the conversation that the message goes to."""
    user = shop.ada if message.sender.id == ADA else shop.bob
    number = (choices or shop.counter.choices).enter(message, user)
    return shop.install.services.conversations.get(CubicleKey("crab", user.id), number).shown_name


def says(shop: CommandsFixture, text: str = "hello", **where: Any) -> str:
    """A plain message: where it goes."""
    return enters(shop, shop.counter.message(text, **where))


def refs(shop: CommandsFixture) -> list[str]:
    """Notes that a conversation is gone."""
    return [ref for ref in shop.counter.refs if ref.endswith(":conversation")]


# --- new, switch -----------------------------------------------------------------------------------------------


def test_a_chat_writes_to_the_first_until_it_is_told_otherwise(shop: CommandsFixture) -> None:
    """Without a row for it."""
    shop.waits("the very first")
    begun(shop, "Boat")
    assert says(shop) == "the very first"
    with telegram_store(shop.counter.store).reading() as db:
        assert rows.get_choice(db, ChatSpot(shop.key, ADA)) is None


def test_new_begins_one_with_the_next_message(shop: CommandsFixture) -> None:
    """Not before, and once: what follows goes there too."""
    shop.waits("the very first")
    assert "Your next message begins it" in shop.says("/new  Boat \n repairs")
    assert len(shop.install.services.conversations.list_conversations(shop.key)) == 1
    assert [says(shop), says(shop)] == ["Boat repairs", "Boat repairs"]
    assert len(shop.install.services.conversations.list_conversations(shop.key)) == 2


def test_new_without_a_name_is_called_by_its_first_words(shop: CommandsFixture) -> None:
    """And a name that can't be one is refused, which changes nothing."""
    shop.waits("the very first")
    shop.says("/new")
    message = shop.counter.message("paint the hull")
    number = shop.counter.choices.enter(message, shop.ada)
    shop.install.services.turns.submit(shop.key, message.text, source="telegram", conversation=number)
    assert shop.install.services.conversations.get(shop.key, number).shown_name == "paint the hull"
    assert "at most 100 characters" in shop.says("/new " + "x" * 101)
    assert "invisible" in shop.says("/new a\u202eb")
    assert says(shop) == "paint the hull"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("boat", "Boat"), ("BOAT REP", "Boat repairs"), ("house", "The House"), ("the  house", "The House")],
)
def test_switch_takes_a_name_or_the_beginning_of_one(shop: CommandsFixture, wanted: str, found: str) -> None:
    """The whole name counts before its beginning, and that before a part."""
    for name in ("Boat", "Boat repairs", "The House"):
        begun(shop, name)
    assert found in shop.says(f"/switch {wanted}")
    assert says(shop) == found


def test_switch_takes_a_number(shop: CommandsFixture) -> None:
    """The one that all surfaces show; a name that is a number is found where no conversation has it."""
    boat, year = begun(shop, "Boat"), begun(shop, "2027")
    assert "Boat" in shop.says(f"/switch {boat.id}")
    assert says(shop) == "Boat"
    shop.says("/switch 2027")
    assert says(shop) == year.name


def test_switch_says_what_it_can_not_tell(shop: CommandsFixture) -> None:
    """No name, an unknown one, several: nothing changes, and the person reads what to do."""
    shop.waits("first")
    for name in ("Boat engine", "Boat sails"):
        begun(shop, name)
    assert "/switch boat" in shop.says("/switch")
    assert "None is called" in shop.says("/switch cellar")
    several = shop.says("/switch boat")
    assert "2 conversations match" in several
    assert "Boat engine" in several
    assert "Boat engine" not in shop.says("/switch boat", chat=GROUP)
    assert says(shop) == "first"


def test_the_list_switches_by_a_tap(shop: CommandsFixture) -> None:
    """It says which one it is; a tap goes there and shows the list again, as often as one likes."""
    shop.waits("first")
    begun(shop, "Boat")
    (message,) = shop.messages("/conversations")
    assert "first – you write here" in message.body.rich.text
    assert shop.counter.labels(message.ref) == ["Boat"]
    assert shop.counter.press(message.ref, "Boat") == "You write in “Boat” now."
    assert says(shop) == "Boat"
    assert "Boat – you write here" in shop.counter.text(message.ref)
    assert shop.counter.press(message.ref, "first") == "You write in “first” now."
    assert says(shop) == "first"


def test_a_long_list_comes_a_page_at_a_time(shop: CommandsFixture) -> None:
    """Down to the oldest, each of them once."""
    for n in range(20):
        begun(shop, f"Number {n:02}")
    (message,) = shop.messages("/conversations")
    seen = [label for label in shop.counter.labels(message.ref) if label.startswith("Number")]
    for _ in range(2):
        assert shop.counter.labels(message.ref)[-1] == "Older ones"
        shop.counter.press(message.ref, "Older ones")
        seen += [label for label in shop.counter.labels(message.ref) if label.startswith("Number")]
    assert seen == [f"Number {n:02}" for n in reversed(range(20))]
    assert "Older ones" not in shop.counter.labels(message.ref)


def test_an_empty_list_says_so(shop: CommandsFixture) -> None:
    """Before the first message."""
    assert "No conversations yet" in shop.says("/conversations")


# --- whose -----------------------------------------------------------------------------------------------------


def test_in_a_group_everybody_has_their_own(shop: CommandsFixture) -> None:
    """And in private another; no name is told that was not said there."""
    begun(shop, "Ada's secret plan")
    begun(shop, "Bob's boat", by=BOB)
    said = shop.says("/switch secret", chat=GROUP)
    assert "secret" in said
    assert "plan" not in said
    shop.says("/new Party", by=BOB, chat=GROUP)
    assert says(shop, chat=GROUP) == "Ada's secret plan"
    assert says(shop, by=BOB, chat=GROUP) == "Party"
    assert says(shop, by=BOB) == "New conversation"
    assert "in our private chat" in shop.says("/conversations", chat=GROUP)
    assert "None is called" in shop.says("/switch bob", chat=GROUP)


def test_nobody_reaches_the_conversation_of_another(shop: CommandsFixture) -> None:
    """Neither by its number nor by a button, pressed from wherever; the operator neither."""
    adas, bobs = begun(shop, "Ada's"), begun(shop, "Bob's", by=BOB)
    assert "None is called" in shop.says(f"/switch {adas.id}", by=BOB)
    (message,) = shop.messages("/conversations")
    shop.says("/new elsewhere")
    (message,) = shop.messages("/conversations")
    data = shop.counter.data(message.ref, "Ada's")
    number = shop.counter.arrives(message.ref)
    for press in (
        shop.counter.a_press(data, by=BOB, chat=ADA, message=number),
        shop.counter.a_press(data, by=BOB, chat=BOB, message=number),
        shop.counter.a_press(f"crab:{shop.bob.id}:{adas.id}", by=BOB, chat=BOB, message=number),
        shop.counter.a_press(data, by=ADA, chat=ADA, message=number, agent="shrimp"),
    ):
        assert shop.counter.callbacks.on_press(press) == NO_LONGER
    assert says(shop, by=BOB) == "New conversation"
    # A button that says more than it may, in a message of one's own.
    for kind, subject, by in (
        (SWITCH, f"crab:{shop.bob.id}:{adas.id}", BOB),
        (SWITCH, f"crab:{shop.ada.id}:{adas.id}", BOB),
        (SWITCH, f"crab:{shop.bob.id}:{bobs.id}", ADA),
        (SWITCH, f"shrimp:{shop.ada.id}:{adas.id}", ADA),
        (OLDER, f"crab:{shop.ada.id}:{adas.id}", BOB),
    ):
        (shown,) = shop.messages("/conversations", by=by)
        made = shop.counter.buttons.make_button("crab", shown.ref, by, kind, subject)
        press = shop.counter.a_press(made, by=by, chat=by, message=shop.counter.arrives(shown.ref))
        assert shop.counter.callbacks.on_press(press) in (
            "These conversations belong to someone else.",
            "This conversation was deleted. /conversations lists those that there are.",
        )
    assert says(shop, by=BOB) == "New conversation"


def test_a_choice_does_not_outlive_its_person_or_agent(shop: CommandsFixture) -> None:
    """The rows go with either."""
    begun(shop, "Boat")
    shop.says("/switch boat")
    shop.says("/new", by=BOB)
    with shop.counter.store.writing() as db:
        assert db.execute("SELECT COUNT(*) FROM chat_conversations").fetchone()[0] == 2
        db.execute("DELETE FROM users WHERE id = ?", (shop.bob.id,))
        assert db.execute("SELECT COUNT(*) FROM chat_conversations").fetchone()[0] == 1
        db.execute("DELETE FROM agents")
        assert db.execute("SELECT COUNT(*) FROM chat_conversations").fetchone()[0] == 0


# --- deleted meanwhile, killed in between ----------------------------------------------------------------------


def test_a_deleted_conversation_falls_back_to_the_first_and_says_so(shop: CommandsFixture) -> None:
    """Once, with the message that it happens to; the note and the choice go together."""
    shop.waits("first")
    boat = shop.install.services.conversations.create(shop.key, "Boat")
    shop.says("/switch boat")
    shop.install.services.conversations.delete(shop.key, boat.id)
    message = shop.counter.message("hello")
    assert [enters(shop, message), enters(shop, message), says(shop)] == ["first"] * 3
    (ref,) = refs(shop)
    assert GONE in shop.counter.text(ref)
    assert "went to your first conversation" in shop.counter.text(ref)


def test_clear_never_clears_another_than_the_chosen_one(shop: CommandsFixture) -> None:
    """It clears the current one; where that was deleted, nothing, and where none has begun, neither."""
    shop.waits("first")
    turns, conversations = shop.install.services.turns, shop.install.services.conversations
    boat = begun(shop, "Boat")
    for _ in range(2):
        taken = turns.take_next(shop.key, "boot", 20)
        assert taken is not None
        turns.end_turn(shop.key, taken.id, TurnStatus.DONE)
    shop.says("/switch boat")
    assert "1 message" in shop.says("/clear")
    assert [len(turns.list_history(shop.key, conversation=one)) for one in (None, boat.id)] == [1, 0]
    conversations.create(shop.key, "Cellar")
    shop.says("/switch cellar")
    conversations.delete(shop.key, shop.counter.choices.get_current(ChatSpot(shop.key, ADA)).conversation.id)  # type: ignore[union-attr]  # it was chosen just now
    assert GONE in shop.says("/clear")
    assert len(turns.list_history(shop.key)) == 1
    shop.says("/new")
    assert "Nothing to forget" in shop.says("/clear")
    assert len(turns.list_history(shop.key)) == 1


def test_find_looks_into_the_current_one(shop: CommandsFixture) -> None:
    """And status says which that is."""
    turns = shop.install.services.turns
    boat = shop.install.services.conversations.create(shop.key, "Boat")
    for text, place in (("the keel is red", boat.id), ("the door is red", None)):
        turns.submit(shop.key, text, source="api", conversation=place)
        taken = turns.take_next(shop.key, "boot", 20)
        assert taken is not None
        turns.end_turn(shop.key, taken.id, TurnStatus.DONE)
    assert "door" in shop.says("/find red")
    shop.says("/switch boat")
    said = shop.says("/find red")
    assert "keel" in said
    assert "door" not in said
    assert "Conversation: Boat." in shop.says("/status")
    shop.says("/new")
    assert "Nothing found in this conversation" in shop.says("/find red")
    assert "Your next message begins a conversation." in shop.says("/status")


class _Killed(BaseException):
    """The program dies here."""


@pytest.mark.parametrize("at", ["insert_conversation", "put_choice"])
def test_killed_while_one_begins_it_begins_once(
    shop: CommandsFixture, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """The conversation and that it is the chosen one are one transaction; a restart knows what was chosen."""
    shop.waits("first")
    shop.says("/new Boat")
    message = shop.counter.message("hello")
    place: Any = conversation_rows if at == "insert_conversation" else rows
    with monkeypatch.context() as patch, suppress(_Killed):
        patch.setattr(place, at, lambda *_, **__: (_ for _ in ()).throw(_Killed()))
        enters(shop, message)
    store = telegram_store(shop.counter.store)
    fresh = ConversationChoices(store, shop.install.services.conversations, Outbox(store))
    assert [enters(shop, message, fresh), enters(shop, message, fresh)] == ["Boat", "Boat"]
    names = [one.shown_name for one in shop.install.services.conversations.list_conversations(shop.key)]
    assert sorted(names) == ["Boat", "first"]


def test_a_press_that_comes_again_after_a_death_is_done_again(shop: CommandsFixture) -> None:
    """Taken, and dead before it was told: the same press leads to the same conversation."""
    shop.waits("first")
    begun(shop, "Boat")
    (message,) = shop.messages("/conversations")
    data = shop.counter.data(message.ref, "Boat")
    press = shop.counter.a_press(data, by=ADA, chat=ADA, message=shop.counter.arrives(message.ref))
    assert shop.counter.buttons.take_press(press, is_operator=True) is not None
    assert shop.counter.fresh_presses().on_press(press) == "You write in “Boat” now."
    assert shop.counter.fresh_presses().on_press(press) == "You write in “Boat” now."
    assert says(shop) == "Boat"


# --- topics ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chat", [ADA, GROUP])
def test_a_topic_is_a_conversation(shop: CommandsFixture, chat: int) -> None:
    """Begun by its first message and named after it; the chat around it stays where it was."""
    shop.waits("first")
    assert says(shop, chat=chat, thread=7, topic="The boat") == "The boat"
    assert says(shop, chat=chat, thread=7) == "The boat"
    assert says(shop, chat=chat, thread=8, topic="The house") == "The house"
    assert says(shop, chat=chat) == "first"
    shop.says("/new Garden", chat=chat)
    assert [says(shop, chat=chat), says(shop, chat=chat, thread=8)] == ["Garden", "The house"]


def test_a_topic_without_a_name_takes_the_first_words(shop: CommandsFixture) -> None:
    """And a name that no conversation may have is made one."""
    assert says(shop, thread=7) == "New conversation"
    assert says(shop, thread=8, topic="a\u202eb\x00 c  d" + "x" * 300).startswith("a")


def test_two_people_have_each_their_own_in_a_topic(shop: CommandsFixture) -> None:
    """Of the same name."""
    numbers = {
        shop.counter.choices.enter(shop.counter.message("hi", by=by, chat=GROUP, thread=7, topic="Boat"), user)
        for by, user in ((ADA, shop.ada), (BOB, shop.bob))
    }
    assert len(numbers) == 2


@pytest.mark.parametrize("text", ["/new", "/new Boat", "/switch", "/switch boat", "/switch 1"])
def test_a_topic_can_not_be_switched(shop: CommandsFixture, text: str) -> None:
    """It says that it is one."""
    begun(shop, "Boat")
    says(shop, thread=7, topic="House")
    message = replace(shop.counter.message(text, thread=7))
    (answer,) = shop.commands.run_command(message, shop.ada)
    assert IN_TOPIC in answer.body.rich.text
    assert answer.body.thread == 7
    assert says(shop, thread=7) == "House"


def test_the_list_in_a_topic_has_no_buttons(shop: CommandsFixture) -> None:
    """And a button of another list does nothing there."""
    begun(shop, "Boat")
    says(shop, thread=7, topic="House")
    (answer,) = shop.commands.run_command(shop.counter.message("/conversations", thread=7), shop.ada)
    assert answer.body.buttons == ()
    assert "House – you write here" in answer.body.rich.text
    (message,) = shop.messages("/conversations")
    data, number = shop.counter.data(message.ref, "House"), shop.counter.arrives(message.ref)
    press = shop.counter.a_press(data, by=ADA, chat=ADA, message=number, thread=7)
    assert IN_TOPIC in shop.counter.callbacks.on_press(press)
    assert says(shop, thread=7) == "House"


def test_a_topic_whose_conversation_was_deleted_begins_another(shop: CommandsFixture) -> None:
    """In the topic it is said, and once."""
    message = shop.counter.message("hi", thread=7, topic="House")
    number = shop.counter.choices.enter(message, shop.ada)
    assert number is not None
    shop.install.services.conversations.delete(shop.key, number)
    later = shop.counter.message("again", thread=7, topic="House")
    made = [shop.counter.choices.enter(later, shop.ada) for _ in range(2)]
    assert made[0] == made[1] != number
    (ref,) = refs(shop)
    assert "begins a new one" in shop.counter.text(ref)
    assert shop.counter.body(ref).thread == 7


def test_a_group_that_gets_another_number_keeps_the_choice(shop: CommandsFixture) -> None:
    """As when it becomes a supergroup."""
    begun(shop, "Boat")
    shop.says("/switch boat", chat=GROUP)
    with telegram_store(shop.counter.store).writing() as db:
        outbox_rows.move_chat(db, "crab", GROUP, -1_000_000_000_777)
    assert says(shop, chat=-1_000_000_000_777) == "Boat"
