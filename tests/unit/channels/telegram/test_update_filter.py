"""``channels.telegram.update_filter`` and ``update_parser``: of everything that Telegram can send, only what an allowed
person did where they may; built from what the Bot API server of the tests really sends.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.chat.events import (
    ButtonPress,
    IncomingEvent,
    IncomingMessage,
    MembershipChange,
    StrangerMessage,
    turn_origin,
)
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_filter import sort_update
from orchestrator.core.models import Role, User
from tests.support.bot_api import BotApi, Group, Person

ADA, EVE = 42, 666
Json = dict[str, Any]


@dataclass
class Scene:
    """A bot, its owner, a stranger, and two groups of which one is enabled."""

    api: BotApi
    token: str
    me: BotIdentity
    ada: Person
    eve: Person
    group: Group
    other: Group

    def updates(self, act: Callable[[Scene], Any]) -> list[Json]:
        """What the bot gets when somebody does this."""
        before = len(self.api.pending(self.token))
        act(self)
        return self.api.pending(self.token)[before:]

    def sort(self, update: Any) -> IncomingEvent | None:
        """The update, for this bot: Ada is allowed, in private and in the one group."""
        return _sort(update, self.me, {self.group.id})

    def one(self, act: Callable[[Scene], Any]) -> IncomingEvent | None:
        """What the last update comes to when somebody does this."""
        return self.sort(self.updates(act)[-1])

    def message(self, act: Callable[[Scene], Any]) -> IncomingMessage:
        """The message that it comes to."""
        found = self.one(act)
        assert isinstance(found, IncomingMessage)
        return found

    def bot_says(self, where: Person | Group, text: str = "◆ Crab:\nHello") -> Json:
        """A message of the bot's own, as people reply to it."""
        with self.api.world.changed:
            room = where.room if isinstance(where, Group) else where._room(self.token)
            return copy.deepcopy(room.add({"from": self.api.world.bots[self.token].user_as_sender(), "text": text}))


def _sort(update: Any, me: BotIdentity, groups: set[int]) -> IncomingEvent | None:
    return sort_update(update, agent="crab", me=me, users=_people, groups_enabled=groups.__contains__)


def _people(telegram_id: int) -> User | None:
    return User(1, "ada", Role.OPERATOR, (("telegram", ADA),), "UTC") if telegram_id == ADA else None


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """One server for all of these tests: they only look at their own updates."""
    with BotApi() as api:
        token = api.bot("Crab", username="crab_bot")
        ada, eve = api.person(ADA, "Ada", username="ada_l", last_name="Lovelace"), api.person(EVE, "Eve")
        group, other = api.group("The lab", token, ada, eve), api.group("Elsewhere", token, ada)
        me = BotIdentity(api.bot_user(token)["id"], "crab_bot", "Crab", can_read_groups=False)
        yield Scene(api, token, me, ada, eve, group, other)


def _mention(text: str, name: str = "@crab_bot") -> Json:
    """An entity over the name, as Telegram makes it."""
    start = len(text[: text.index(name)].encode("utf-16-le")) // 2
    return {"entities": [{"type": "mention", "offset": start, "length": len(name)}]}


def _says_in(where: Callable[[Scene], Any], text: str, *, by: str = "ada", **more: Any) -> Callable[[Scene], Any]:
    return lambda scene: getattr(scene, by).says(where(scene), text, **more)


def _group(scene: Scene) -> Group:
    return scene.group


def _bot(scene: Scene) -> str:
    return scene.token


# --- a message in private ---------------------------------------------------------------------------------------


def test_an_allowed_persons_message_is_read(scene: Scene) -> None:
    """Who, where, which and what."""
    found = scene.message(lambda s: s.ada.says(s.token, "hello 🦀"))
    assert (found.agent, found.bot, found.sender.id, found.sender.name) == ("crab", scene.me.bot, ADA, "Ada Lovelace")
    assert (found.sender.username, found.place.chat, found.place.is_private) == ("ada_l", ADA, True)
    assert (found.text, found.files, found.command, found.quoted) == ("hello 🦀", (), "", "")
    assert turn_origin("telegram", found) == f"telegram:{scene.me.bot}:{found.update}"


def test_an_edit_is_said_to_be_one(scene: Scene) -> None:
    """The message keeps its number; the update is another."""
    first = scene.ada.says(scene.token, "helo")
    found = scene.message(lambda s: s.ada.edits(first, "hello"))
    assert (found.is_edit, found.text, found.message) == (True, "hello", first["message_id"])


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("/stop", "stop", ""),
        ("/files report.pdf", "files", "report.pdf"),
        ("/HELP", "help", ""),
        ("/files@crab_bot a  b", "files", "a  b"),
        ("/files@CRAB_bot\nx", "files", "x"),
        ("/stop@other_bot", "", ""),
        ("please /stop", "", ""),
        ("stop", "", ""),
    ],
)
def test_commands_stand_at_the_beginning(scene: Scene, text: str, command: str, argument: str) -> None:
    """And another bot's command is nothing but text."""
    found = scene.message(lambda s: s.ada.says(s.token, text))
    assert (found.command, found.argument) == (command, argument)


def test_a_forwarded_command_is_only_text(scene: Scene) -> None:
    """What was forwarded is to be read, and says from whom it is."""
    origin = {"type": "user", "date": 1, "sender_user": {"id": EVE, "is_bot": False, "first_name": "Eve"}}
    found = scene.message(lambda s: s.ada.says(s.token, "/reset", forward_origin=origin))
    assert (found.command, found.text, found.quoted) == ("", "/reset", "Forwarded from Eve:")


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "hidden_user", "sender_user_name": "Some\u202eone"}, "Some\\u202eone"),
        ({"type": "channel", "chat": {"id": -1, "title": "News"}}, "News"),
        ({"type": "chat", "sender_chat": {"id": -1, "title": "The lab"}}, "The lab"),
        ({}, "somebody"),
    ],
)
def test_a_forward_names_its_source(scene: Scene, origin: Json, name: str) -> None:
    """Each kind of origin, made safe to read."""
    found = scene.message(lambda s: s.ada.says(s.token, "read this", forward_origin=origin))
    assert found.quoted == f"Forwarded from {name}:"
    assert found.others == name


def test_a_reply_quotes_what_it_replies_to(scene: Scene) -> None:
    """The bot's own words come without their header; one's own and a chosen passage are said to be that."""
    mine, theirs = scene.ada.says(scene.token, "the plan"), scene.bot_says(scene.ada)
    assert scene.message(lambda s: s.ada.says(s.token, "why?", reply_to=theirs)).quoted == (
        "In reply to what you wrote:\n> Hello"
    )
    assert scene.message(lambda s: s.ada.says(s.token, "why?", reply_to=mine)).quoted == (
        "In reply to what I wrote:\n> the plan"
    )
    chosen = {"quote": {"text": "plan", "position": 4}}
    assert scene.message(lambda s: s.ada.says(s.token, "why?", reply_to=mine, **chosen)).quoted.endswith("> plan")
    picture = scene.ada.sends_document(scene.token, "plan.pdf", b"x")
    assert scene.message(lambda s: s.ada.says(s.token, "?", reply_to=picture)).quoted.endswith("> document: plan.pdf")


def test_own_words_and_the_bots_are_nobody_elses(scene: Scene) -> None:
    """Whether they are replied to or passed on."""
    mine, theirs = scene.ada.says(scene.token, "the plan"), scene.bot_says(scene.ada)
    assert scene.message(lambda s: s.ada.says(s.token, "why?", reply_to=theirs)).others == ""
    assert scene.message(lambda s: s.ada.says(s.token, "why?", reply_to=mine)).others == ""
    assert scene.message(lambda s: s.ada.says(s.token, "hello")).others == ""
    own = {"type": "user", "sender_user": {"id": mine["from"]["id"], "first_name": "Ada"}}
    assert scene.message(lambda s: s.ada.says(s.token, "mine", forward_origin=own)).others == ""


def test_a_reply_to_the_bot_says_to_which_message(scene: Scene) -> None:
    """Only to a message of its own, and not where the reply was forwarded."""
    own, others = scene.bot_says(scene.ada), scene.ada.says(scene.token, "mine")
    replied = scene.message(lambda s: s.ada.says(s.token, "yes", reply_to_message=own))
    assert replied.answers == own["message_id"]
    assert scene.message(lambda s: s.ada.says(s.token, "yes", reply_to_message=others)).answers is None
    forwarded = {"forward_origin": {"type": "hidden_user", "sender_user_name": "x"}}
    assert scene.message(lambda s: s.ada.says(s.token, "yes", reply_to_message=own, **forwarded)).answers is None


@pytest.mark.parametrize(("code", "language"), [("de", "de"), ("pt-BR", "pt-br"), (7, ""), ("x" * 90, ""), (None, "")])
def test_the_language_of_an_app_is_known_where_it_says(scene: Scene, code: object, language: str) -> None:
    """Anything odd is none."""
    (update,) = scene.updates(lambda s: s.ada.says(s.token, "hello"))
    update["message"]["from"]["language_code"] = code
    found = scene.sort(update)
    assert isinstance(found, IncomingMessage)
    assert found.sender.language == language


def test_hidden_links_are_written_out(scene: Scene) -> None:
    """The agent sees where a word leads, as the person's app does; places count UTF-16 units."""
    entities = [{"type": "text_link", "offset": 3, "length": 4, "url": "https://example.org/x"}]
    found = scene.message(lambda s: s.ada.says(s.token, "🦀 here it is", entities=entities))
    assert found.text == "🦀 here (https://example.org/x) it is"


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda s: s.ada.sends_location(s.token), "A place: latitude 46.9, longitude 7.4."),
        (lambda s: s.ada.sends_contact(s.token, "+41790000000", "Bob"), "A contact: Bob, +41790000000."),
        (
            lambda s: s.ada._put(
                s.token,
                {"venue": {"location": {"latitude": 1.5, "longitude": 2}, "title": "Zoo", "address": "Street 1"}},
            ),
            "A place: Zoo, Street 1, latitude 1.5, longitude 2.",
        ),
    ],
)
def test_places_and_contacts_become_sentences(scene: Scene, act: Callable[[Scene], Any], text: str) -> None:
    """They can be read like anything else."""
    assert scene.message(act).text == text


@pytest.mark.parametrize("kind", ["poll", "dice", "game", "story", "checklist", "paid_media", "location"])
def test_what_cannot_be_read_is_an_empty_message(scene: Scene, kind: str) -> None:
    """So that the person gets a word about it."""
    found = scene.message(lambda s: s.ada._put(s.token, {kind: {"id": "1"}}))
    assert (found.text, found.files) == ("", ())


@pytest.mark.parametrize(
    "kind", ["pinned_message", "new_chat_members", "new_chat_title", "migrate_to_chat_id", "boost_added", "brand_new"]
)
def test_service_messages_are_nothing(scene: Scene, kind: str) -> None:
    """Nobody said anything to the agent."""
    assert scene.one(lambda s: s.ada._put(s.token, {kind: {"id": "1"}})) is None


# --- files ------------------------------------------------------------------------------------------------------

_FILES: list[tuple[str, Callable[[Scene], Any], tuple[str, str, str]]] = [
    (
        "document",
        lambda s: s.ada.sends_document(s.token, "a b.pdf", b"12345", mime="application/pdf"),
        ("a b.pdf", "document", "application/pdf"),
    ),
    ("photo", lambda s: s.ada.sends_photo(s.token), ("photo.jpg", "photo", "image/jpeg")),
    ("voice", lambda s: s.ada.sends_voice(s.token), ("voice.ogg", "voice", "audio/ogg")),
    ("audio", lambda s: s.ada.sends_audio(s.token), ("song.mp3", "audio", "audio/mpeg")),
    ("video", lambda s: s.ada.sends_video(s.token), ("video.mp4", "video", "video/mp4")),
    ("sticker", lambda s: s.ada.sends_sticker(s.token), ("sticker.webp", "sticker", "image/webp")),
    (
        "animation",
        lambda s: s.ada._send_file(s.token, ("animation", "cat.mp4", b"x"), {"document": {"file_id": "not this"}}),
        ("cat.mp4", "animation", "video/mp4"),
    ),
    (
        "video note",
        lambda s: s.ada._put(s.token, {"video_note": {"file_id": "F", "length": 1}}),
        ("video-note.mp4", "video note", "video/mp4"),
    ),
    (
        "nameless",
        lambda s: s.ada._put(s.token, {"document": {"file_id": "F", "mime_type": "application/pdf"}}),
        ("document.pdf", "document", "application/pdf"),
    ),
    (
        "moving sticker",
        lambda s: s.ada._put(s.token, {"sticker": {"file_id": "F", "is_animated": True}}),
        ("sticker.tgs", "sticker", "application/x-tgsticker"),
    ),
]


@pytest.mark.parametrize(("act", "file"), [row[1:] for row in _FILES], ids=[row[0] for row in _FILES])
def test_every_kind_of_file_is_seen(scene: Scene, act: Callable[[Scene], Any], file: tuple[str, str, str]) -> None:
    """With its name, its kind and its type; a message has one."""
    found = scene.message(act)
    assert [(sent.name, sent.kind, sent.type) for sent in found.files] == [file]
    assert not found.album


def test_the_largest_of_a_photos_sizes_counts(scene: Scene) -> None:
    """Telegram lists thumbnails first."""
    found = scene.message(lambda s: s.ada.sends_photo(s.token, b"x" * 5000, caption="look"))
    assert (found.files[0].size_bytes, found.text) == (5000, "look")
    assert not found.files[0].file_id.endswith("_s")


def test_the_parts_of_an_album_belong_together(scene: Scene) -> None:
    """One number for all, the caption on the first."""
    updates = scene.updates(
        lambda s: s.ada.sends_album(s.token, [("photo", "a.jpg", b"a"), ("photo", "b.jpg", b"b")], caption="both")
    )
    found = [scene.sort(update) for update in updates]
    assert [one.text for one in found if isinstance(one, IncomingMessage)] == ["both", ""]
    assert len({one.album for one in found if isinstance(one, IncomingMessage)} - {""}) == 1


# --- groups -----------------------------------------------------------------------------------------------------

_ADDRESSED: list[tuple[str, Callable[[Scene], Any], tuple[str, str] | None]] = [
    ("mentioned", _says_in(_group, "🦀 @crab_bot hi", **_mention("🦀 @crab_bot hi")), ("🦀 hi", "")),
    ("first", _says_in(_group, "@Crab_Bot hi", **_mention("@Crab_Bot hi", "@Crab_Bot")), ("hi", "")),
    ("only", _says_in(_group, "@crab_bot", **_mention("@crab_bot")), ("", "")),
    ("just text", _says_in(_group, "@crab_bot hi"), None),
    ("another", _says_in(_group, "@crab_bots hi", **_mention("@crab_bots hi", "@crab_bots")), None),
    ("nobody", _says_in(_group, "hello all"), None),
    ("a command", _says_in(_group, "/status@crab_bot"), ("/status", "status")),
    ("a bare command", _says_in(_group, "/status"), None),
    ("another's command", _says_in(_group, "/status@other_bot"), None),
    ("a place wrong", _says_in(_group, "hi", entities=[{"type": "mention", "offset": 90, "length": 9}]), None),
    (
        "by its id",
        lambda s: s.ada.says(
            s.group, "Crab hi", entities=[{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": s.me.bot}}]
        ),
        ("hi", ""),
    ),
    ("a reply", lambda s: s.ada.says(s.group, "why?", reply_to=s.bot_says(s.group)), ("why?", "")),
    (
        "a bare command in reply",
        lambda s: s.ada.says(s.group, "/stop", reply_to=s.bot_says(s.group)),
        ("/stop", "stop"),
    ),
    (
        "another's command in reply",
        lambda s: s.ada.says(s.group, "/stop@other_bot", reply_to=s.bot_says(s.group)),
        None,
    ),
    ("a reply to somebody", lambda s: s.ada.says(s.group, "why?", reply_to=s.eve.says(s.group, "so")), None),
    (
        "in its topic",
        lambda s: s.ada.says(s.group, "hi", reply_to={**s.bot_says(s.group), "forum_topic_created": {"name": "x"}}),
        None,
    ),
    (
        "a caption",
        lambda s: s.ada.sends_document(
            s.group, "a.txt", b"x", caption="@crab_bot sum up", caption_entities=_mention("@crab_bot")["entities"]
        ),
        ("sum up", ""),
    ),
    (
        "forwarded",
        _says_in(_group, "@crab_bot hi", forward_origin={"type": "hidden_user"}, **_mention("@crab_bot hi")),
        None,
    ),
    ("not enabled", lambda s: s.ada.says(s.other, "@crab_bot hi", **_mention("@crab_bot hi")), None),
    ("a stranger", _says_in(_group, "@crab_bot hi", by="eve", **_mention("@crab_bot hi")), None),
]


@pytest.mark.parametrize(("act", "expected"), [row[1:] for row in _ADDRESSED], ids=[row[0] for row in _ADDRESSED])
def test_in_a_group_only_who_speaks_to_it_is_heard(
    scene: Scene, act: Callable[[Scene], Any], expected: tuple[str, str] | None
) -> None:
    """An allowed person, in an enabled group, who names the bot or replies to it."""
    found = scene.one(act)
    assert expected == ((found.text, found.command) if isinstance(found, IncomingMessage) else None)
    assert isinstance(found, IncomingMessage) == (found is not None)


def test_a_question_about_somebodys_message_quotes_it(scene: Scene) -> None:
    """``@bot`` in reply to anybody: the quote is what it is about; the topic is where the answer goes."""
    theirs = scene.eve.says(scene.group, "2+2=5")
    more = {**_mention("@crab_bot"), "is_topic_message": True, "message_thread_id": 17}
    found = scene.message(lambda s: s.ada.says(s.group, "@crab_bot", reply_to=theirs, **more))
    assert found.quoted == "In reply to what Eve wrote:\n> 2+2=5"
    assert found.others == "Eve"
    assert (found.place.thread, found.place.title, found.place.is_private) == (17, "The lab", False)


def test_a_topic_has_a_number_and_a_name(scene: Scene) -> None:
    """In private too; the name where the message replies to nothing else. That it was opened, by whomever, is no
    message and no question of the bot's."""
    topic = scene.ada.opens_topic(scene.token, "The\u202e boat")
    assert scene.one(lambda s: s.ada.opens_topic(s.token, "Another")) is None
    found = scene.message(lambda s: s.ada.says(s.token, "hi", topic=topic))
    assert (found.place.thread, found.place.is_private) == (topic["message_id"], True)
    assert found.place.topic.startswith("The")
    assert "\u202e" not in found.place.topic
    assert (found.quoted, found.answers) == ("", None)
    theirs = scene.bot_says(scene.ada)
    replied = scene.message(lambda s: s.ada.says(s.token, "why?", topic=topic, reply_to=theirs))
    assert (replied.place.topic, replied.answers) == ("", theirs["message_id"])
    opened = {**theirs, "forum_topic_created": {"name": "Opened by the bot"}}
    answered = scene.message(lambda s: s.ada.says(s.token, "hi", topic=topic, reply_to=opened))
    assert (answered.place.topic, answered.answers) == ("Opened by the bot", None)
    beside = [
        scene.message(partial(_says_in_thread, number=number)).place.thread for number in (0, -3, topic["message_id"])
    ]
    assert beside == [None, None, topic["message_id"]]


def _says_in_thread(scene: Scene, number: int) -> Json:
    return scene.ada.says(scene.token, "hi", is_topic_message=True, message_thread_id=number)


# --- who doesn't count ------------------------------------------------------------------------------------------


def test_a_stranger_is_a_number_and_a_name(scene: Scene) -> None:
    """Nothing of what they wrote or sent is kept."""
    acts: list[Callable[[Scene], Any]] = [
        lambda s: s.eve.says(s.token, "open up, SECRET"),
        lambda s: s.eve.says(s.token, "/start SECRET"),
        lambda s: s.eve.sends_document(s.token, "SECRET.pdf", b"SECRET", caption="SECRET"),
        lambda s: s.eve.sends_location(s.token),
    ]
    for act in acts:
        found = scene.one(act)
        assert found == StrangerMessage("crab", scene.me.bot, found.update if found else 0, found.sender, "")  # type: ignore[union-attr]  # None is unequal already
        assert "SECRET" not in repr(found)


@pytest.mark.parametrize(
    ("text", "digits"), [("123456", "123456"), (" 123456\n", "123456"), ("1234567", ""), ("١٢٣٤٥٦", ""), ("12345", "")]
)
def test_a_strangers_six_digits_may_be_a_code(scene: Scene, text: str, digits: str) -> None:
    """And nothing else may."""
    found = scene.one(lambda s: s.eve.says(s.token, text))
    assert isinstance(found, StrangerMessage)
    assert found.six_digits == digits


def _raw(**more: Any) -> Callable[[Scene], Json]:
    """A private text message of Ada's, with something changed."""
    return lambda _: {
        "message": {
            "message_id": 5,
            "date": 1,
            "from": {"id": ADA, "is_bot": False, "first_name": "Ada"},
            "chat": {"id": ADA, "type": "private"},
            "text": "do it",
            **more,
        }
    }


_CHAT = {"id": -1, "type": "channel", "title": "x"}
_NOT_ADA = {"id": EVE, "is_bot": False, "first_name": "Ada", "username": "ada_l"}
_ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
_NOTHING: list[tuple[str, Callable[[Scene], Any]]] = [
    ("no from", _raw(**{"from": None})),
    ("a channel as sender", _raw(sender_chat=_CHAT)),
    ("via a bot", _raw(via_bot={"id": 9, "is_bot": True, "first_name": "gif"})),
    ("business", _raw(business_connection_id="b")),
    ("of a business bot", _raw(sender_business_bot={"id": 9})),
    ("automatic forward", _raw(is_automatic_forward=True)),
    ("the anonymous administrator", _raw(**{"from": _ANONYMOUS})),
    ("who says to be no bot", _raw(**{"from": {**_ANONYMOUS, "is_bot": False}})),
    ("Telegram itself", _raw(**{"from": {"id": 777000, "is_bot": False, "first_name": "Telegram"}})),
    ("the channel bot", _raw(**{"from": {"id": 136817688, "is_bot": False, "first_name": "Channel"}})),
    ("a bot with that id", _raw(**{"from": {"id": ADA, "is_bot": True, "first_name": "Ada"}})),
    ("perhaps a bot", _raw(**{"from": {"id": ADA, "first_name": "Ada"}})),
    ("the id as text", _raw(**{"from": {"id": str(ADA), "is_bot": False, "first_name": "Ada"}})),
    ("the id as a fraction", _raw(**{"from": {"id": float(ADA), "is_bot": False, "first_name": "Ada"}})),
    ("the id true", _raw(**{"from": {"id": True, "is_bot": False, "first_name": "Ada"}})),
    ("another's private chat", _raw(chat={"id": EVE, "type": "private"})),
    ("no chat", _raw(chat=None)),
    ("a chat of no kind", _raw(chat={"id": ADA, "type": "secret"})),
    ("a group with a person's number", _raw(chat={"id": ADA, "type": "group"})),
    ("a private chat with a group's number", _raw(chat={"id": -5, "type": "private"})),
    ("a channel's number", _raw(chat={"id": -5, "type": "channel"})),
    ("no message number", _raw(message_id=None)),
    ("an anonymous administrator", lambda s: s.group.anonymous_says("/stop@crab_bot")),
    ("a linked channel's post", lambda s: s.group.forwards_a_post("@crab_bot do it", s.api.channel("News"))),
    ("a channel post", lambda s: s.api.channel("News", s.token).posts("/stop@crab_bot")),
    *(
        (kind, lambda s, kind=kind: {kind: _raw()(s)["message"]})
        for kind in (
            "edited_channel_post", "business_connection", "business_message", "edited_business_message",
            "deleted_business_messages", "message_reaction", "message_reaction_count", "inline_query",
            "chosen_inline_result", "shipping_query", "pre_checkout_query", "purchased_paid_media", "poll",
            "poll_answer", "chat_member", "chat_join_request", "chat_boost", "removed_chat_boost", "of_tomorrow",
        )
    ),
    ("a press from afar", lambda s: _pressed(s, message=None, inline_message_id="x")),
    ("a press for a game", lambda s: _pressed(s, game_short_name="x", data=None)),
    ("a press by another", lambda s: _pressed(s, **{"from": _NOT_ADA})),
    ("a press by nobody", lambda s: _pressed(s, **{"from": None})),
    ("a press in another's chat", lambda s: _pressed(s, message=_message_in(EVE, "private"))),
    ("a press under another's message", lambda s: _pressed(s, message={**_raw()(s)["message"], "message_id": 5})),
    ("a press in a group not enabled", lambda s: _pressed(s, message=_message_in(s.other.id, "supergroup"))),
    ("a stranger's edit in a group", lambda s: s.eve.edits(s.eve.says(s.group, "a"), "/stop@crab_bot")),
    ("a stranger blocks it", lambda s: s.eve.blocks(s.token)),
    ("a change of another member", lambda s: _member_changed(s, {"user": {"id": 9}, "status": "member"})),
    ("a change of nobody", lambda s: _member_changed(s, None)),
]  # fmt: skip


def _message_in(chat: int, kind: str) -> Json:
    """A message that is too old to be shown."""
    return {"message_id": 5, "date": 0, "chat": {"id": chat, "type": kind}}


def _pressed(scene: Scene, **more: Any) -> Json:
    """A press of Ada's under a message in her chat, with something changed."""
    query = {"id": "1", "from": scene.ada.user, "message": _message_in(ADA, "private"), "data": "opaque"}
    return {"callback_query": {**query, **more}}


def _member_changed(scene: Scene, member: Json | None) -> Json:
    """Ada changes somebody's place in her private chat."""
    chat = {"id": ADA, "type": "private"}
    return {"my_chat_member": {"chat": chat, "from": scene.ada.user, "new_chat_member": member}}


@pytest.mark.parametrize("act", [row[1] for row in _NOTHING], ids=[row[0] for row in _NOTHING])
def test_nothing_comes_of_it(scene: Scene, act: Callable[[Scene], Any]) -> None:
    """Whoever has no number of an allowed person, or uses a way that isn't a person's own, has no effect."""
    before = len(scene.api.pending(scene.token))
    made = act(scene)
    came = scene.api.pending(scene.token)[before:]
    assert scene.sort(came[-1] if came else {"update_id": 9, **made}) is None


def test_what_these_were_made_from_counts(scene: Scene) -> None:
    """Without the change, each row of the table would have had an effect."""
    me = {"user": {"id": scene.me.bot}, "status": "member"}
    whole = (_raw()(scene), _pressed(scene), _member_changed(scene, me))
    kinds = [type(scene.sort({"update_id": 9, **update})) for update in whole]
    assert kinds == [IncomingMessage, ButtonPress, MembershipChange]


def test_the_names_someone_took_are_no_allowance(scene: Scene) -> None:
    """The number counts: an allowed person's name and username are a stranger's too."""
    found = scene.sort({"update_id": 9, **_raw(**{"from": _NOT_ADA}, chat={"id": EVE, "type": "private"})(scene)})
    assert isinstance(found, StrangerMessage)


# --- presses and memberships ------------------------------------------------------------------------------------


def test_a_press_is_who_where_and_what(scene: Scene) -> None:
    """In private and in an enabled group."""
    for place in (scene.ada, scene.group):
        message = scene.bot_says(place)
        found = scene.one(lambda s, message=message: s.ada.presses(message, data="opaque"))  # type: ignore[misc]  # mypy can't type a bound default
        assert isinstance(found, ButtonPress)
        assert (found.data, found.message, found.sender.id) == ("opaque", message["message_id"], ADA)
        assert found.place.chat == place.id
    assert scene.one(lambda s: s.eve.presses(s.bot_says(s.group), data="opaque")) is None


def test_a_press_under_a_message_too_old_to_be_shown_counts(scene: Scene) -> None:
    """Telegram sends only its number then."""
    found = scene.sort({"update_id": 9, **_pressed(scene)})
    assert isinstance(found, ButtonPress)


def test_where_the_bot_is_becomes_known(scene: Scene) -> None:
    """Blocked and unblocked by an allowed person; into a group and out of it by anybody, who is named."""
    assert [
        scene.one(act).is_in if isinstance(scene.one(act), MembershipChange) else None  # type: ignore[union-attr]  # just asked
        for act in (lambda s: s.ada.blocks(s.token), lambda s: s.ada.unblocks(s.token))
    ] == [False, True]
    found = scene.one(lambda s: s.other.removes(s.token))
    assert isinstance(found, MembershipChange)
    assert (found.is_in, found.place.title, found.place.is_private) == (False, "Elsewhere", False)
    back = scene.updates(lambda s: s.other.adds(s.token))[-1]
    back["my_chat_member"]["from"] = scene.eve.user
    found = scene.sort(back)
    assert isinstance(found, MembershipChange)
    assert (found.is_in, found.sender.id) == (True, EVE)
    back["my_chat_member"]["new_chat_member"]["status"] = "restricted"
    found = scene.sort(back)
    assert isinstance(found, MembershipChange)
    assert not found.is_in


# --- whatever comes ---------------------------------------------------------------------------------------------

_ME = BotIdentity(7, "crab_bot", "Crab", can_read_groups=False)
_IDS = st.sampled_from([ADA, EVE, 7, -5, -6, 0, 777000, 1087968824, True, 2**70, -(2**70), 1.5, "42", None])
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8) | _IDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def _objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Objects with some of these fields, each as it should be or anything at all."""
    return st.fixed_dictionaries({}, optional={name: value | _ANY for name, value in fields.items()})


_TEXT = st.text(st.characters() | st.sampled_from("\ud800\udc00🦀@/ \n"), max_size=20) | st.sampled_from(
    ["/stop@crab_bot", "@crab_bot hi", "123456", "\ud83e"]
)
_USERS = _objects(
    id=_IDS, is_bot=st.booleans(), first_name=_TEXT, last_name=_TEXT, username=st.sampled_from(["crab_bot", "ada_l"])
) | st.just({"id": ADA, "is_bot": False, "first_name": "Ada"})
_CHATS = _objects(id=_IDS, type=st.sampled_from(["private", "group", "supergroup", "channel"]), title=_TEXT) | (
    st.sampled_from([{"id": ADA, "type": "private"}, {"id": -5, "type": "group"}, {"id": EVE, "type": "private"}])
)
_ENTITIES = st.lists(
    _objects(
        type=st.sampled_from(["mention", "bot_command", "text_link", "text_mention", "bold"]),
        offset=st.integers(-3, 25), length=st.integers(-3, 25), url=_TEXT, user=_USERS,
    ),
    max_size=4,
)  # fmt: skip
_FILE = _objects(file_id=_TEXT, file_name=_TEXT, mime_type=_TEXT, file_size=st.integers(), width=_IDS, is_video=_IDS)
_MESSAGES = _objects(
    **{"from": _USERS}, message_id=st.integers(), chat=_CHATS, text=_TEXT, caption=_TEXT, entities=_ENTITIES,
    caption_entities=_ENTITIES, document=_FILE, photo=st.lists(_FILE, max_size=3), sticker=_FILE, voice=_FILE,
    reply_to_message=_objects(
        **{"from": _USERS}, text=_TEXT, document=_FILE, forum_topic_created=_objects(name=_TEXT)
    ),
    quote=_objects(text=_TEXT),
    forward_origin=_objects(sender_user=_USERS, chat=_CHATS), media_group_id=_TEXT, message_thread_id=_IDS,
    is_topic_message=st.booleans(), location=_objects(latitude=st.floats(), longitude=_IDS), contact=_ANY, venue=_ANY,
    via_bot=_USERS, sender_chat=_CHATS,
)  # fmt: skip
_UPDATES = st.fixed_dictionaries(
    {"update_id": st.integers(0, 2**31) | _IDS},
    optional={
        "message": _MESSAGES,
        "edited_message": _MESSAGES,
        "callback_query": _objects(**{"from": _USERS}, id=_TEXT, data=_TEXT, message=_MESSAGES),
        "my_chat_member": _objects(
            **{"from": _USERS}, chat=_CHATS, new_chat_member=_objects(user=_objects(id=_IDS), status=_TEXT)
        ),
    },
)


@given(_UPDATES | _ANY)
def test_whatever_json_comes_only_allowed_people_act(update: Any) -> None:
    """It never raises; what comes out fits into rows; of anybody else there is a stranger without words, or a group
    that the bot was put into."""
    found = _sort(update, _ME, {-5})
    if found is None:
        return
    repr(found).encode()
    json.dumps([found.update, found.sender.id])
    assert 0 <= found.update < 2**53
    if found.sender.id == ADA:
        return
    if isinstance(found, StrangerMessage):
        assert len(found.six_digits) in (0, 6)
        assert replace(found, sender=replace(found.sender, name="", username="")) == StrangerMessage(
            "crab", 7, found.update, replace(found.sender, name="", username=""), found.six_digits
        )
    else:
        assert isinstance(found, MembershipChange)
        assert not found.place.is_private
