"""The test's Bot API server takes and refuses calls as Telegram's does."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.bot_api import BotApi, Person
from tests.support.bot_api_raw import ask, post, send, upload

MB = 1024 * 1024
INLINE = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}]]}


def test_get_me_has_what_clients_insist_on(api: BotApi, bot: str) -> None:
    """A bot is told about itself, capitals in the method's name don't matter."""
    me = ask(api, bot, "getme")["result"]
    assert me["is_bot"] is True
    assert {"can_join_groups", "can_read_all_group_messages", "supports_inline_queries"} <= set(me)


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize(
    ("method", "parameters", "description"),
    [
        ("sendMesage", {}, "Not Found: method not found"),
        ("sendMessage", {"text": "x"}, "Bad Request: chat_id is empty"),
        ("sendMessage", {"chat_id": 7, "text": "x"}, "Bad Request: chat not found"),
        ("sendMessage", {"chat_id": 42}, "Bad Request: message text is empty"),
        ("sendMessage", {"chat_id": 42, "text": " \n"}, "Bad Request: message text is empty"),
        ("sendMessage", {"chat_id": 42, "text": "x" * 4097}, "Bad Request: message is too long"),
        ("sendMessage", {"chat_id": 42, "text": "🦀" * 2049}, "Bad Request: message is too long"),
        ("editMessageText", {"chat_id": 42, "text": "x"}, "Bad Request: message identifier is not specified"),
        (
            "editMessageText",
            {"chat_id": 42, "text": "x", "message_id": 9},
            "Bad Request: message to edit not found",
        ),
        ("deleteMessage", {"chat_id": 42, "message_id": 9}, "Bad Request: message to delete not found"),
        ("sendChatAction", {"chat_id": 42, "action": "dance"}, "Bad Request: wrong parameter action in request"),
        ("getFile", {"file_id": "x"}, "Bad Request: invalid file_id"),
        ("sendMessage", {"chat_id": 42, "text": "half a crab \ud83e"}, "Bad Request: strings must be encoded in UTF-8"),
        ("setMyCommands", {"commands": [1]}, "Bad Request: can't parse BotCommand: expected an Object"),
        ("sendDocument", {"chat_id": 42}, "Bad Request: there is no document in the request"),
        (
            "sendDocument",
            {"chat_id": 42, "document": "/etc/passwd"},
            "Bad Request: wrong file identifier/HTTP URL specified",
        ),
        (
            "answerCallbackQuery",
            {"callback_query_id": "1"},
            "Bad Request: query is too old and response timeout expired or query ID is invalid",
        ),
        (
            "sendMessage",
            {"chat_id": 42, "text": "x", "reply_parameters": {"message_id": 99}},
            "Bad Request: message to be replied not found",
        ),
        (
            "sendMessageDraft",
            {"chat_id": 42, "draft_id": 0, "text": "x"},
            "Bad Request: invalid draft_id specified",
        ),
    ],
)
def test_refusals(api: BotApi, bot: str, method: str, parameters: dict[str, Any], description: str) -> None:
    """Each refusal has Telegram's status and words, and leaves the chat as it is."""
    status = 404 if description.startswith("Not Found") else 400
    answer = ask(api, bot, method, **parameters)
    assert answer == {"status": status, "ok": False, "error_code": status, "description": description}
    assert api.messages(42) == []


@pytest.mark.parametrize(
    "more",
    [
        {"disable_link_preview": True},
        {"link_preview_options": {"disabled": True}},
        {"reply_markup": {"inline_keyboard": [[{"text": "Yes"}]]}},
        {"reply_markup": {"inline_keyboard": [{"text": "Yes", "callback_data": "y"}]}},
        {"reply_markup": {"inline_keyboard": [[{"text": "", "callback_data": "y"}]]}},
        {"reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "y", "url": "https://a.b"}]]}},
        {"reply_markup": {"inline_keyboard": [[{"text": "Yes", "url": "javascript:1"}]]}},
        {"reply_markup": {"keyboard": [["a"]], "colour": "red"}},
        {"reply_markup": {"remove_keyboard": False}},
        {"reply_markup": "{"},
        {"entities": [{"type": "shiny", "offset": 0, "length": 1}]},
        {"entities": [{"type": "bold", "offset": 0, "length": 4}]},
        {"entities": [{"type": "bold", "offset": 2, "length": 1}]},
        {"entities": [{"type": "bold", "offset": 0, "length": 2}]},
        {"entities": [{"type": "bold", "offset": -1, "length": 1}]},
        {"entities": [{"type": "bold", "offset": 0, "length": 0}]},
        {"entities": [{"type": "text_link", "offset": 0, "length": 1}]},
        {"parse_mode": "Fancy"},
        {"disable_notification": "perhaps"},
    ],
)
def test_strict_about_what_goes_with_a_text(api: BotApi, bot: str, ada: Person, more: dict[str, Any]) -> None:
    """Unknown fields, half characters and unusable buttons are refused; the text is `a🦀`, three units long."""
    assert ask(api, bot, "sendMessage", chat_id=42, text="a🦀", **more)["status"] == 400


def test_whole_characters_may_be_marked(api: BotApi, bot: str, ada: Person) -> None:
    """Entities count in UTF-16 units and come back with the message."""
    entities = [{"type": "bold", "offset": 1, "length": 2}]
    assert send(api, bot, "a🦀", entities=entities)["entities"] == entities
    assert len(send(api, bot, "🦀" * 2048)["text"]) == 2048


@pytest.mark.parametrize(("length", "is_ok"), [(0, False), (1, True), (64, True), (65, False)])
def test_callback_data_is_1_to_64_bytes(api: BotApi, bot: str, ada: Person, length: int, is_ok: bool) -> None:  # noqa: FBT001  # a table
    """The limit of a button's data is in bytes."""
    markup = {"inline_keyboard": [[{"text": "x", "callback_data": "d" * length}]]}
    answer = ask(api, bot, "sendMessage", chat_id=42, text="x", reply_markup=markup)
    assert (answer["ok"], answer.get("description")) == (is_ok, None if is_ok else "Bad Request: BUTTON_DATA_INVALID")


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize(
    ("mode", "text", "is_ok"),
    [
        ("HTML", "<b>bold</b> &lt;", True),
        ("HTML", "<b>bold", False),
        ("HTML", "<b><i>x</b></i>", False),
        ("HTML", "a < b", False),
        ("HTML", "<script>x</script>", False),
        ("MarkdownV2", "*bold* `x.y` [a](b.c) \\.", True),
        ("MarkdownV2", "end.", False),
        ("MarkdownV2", "*bold", False),
        ("Markdown", "_x", False),
    ],
)
def test_formatting_is_checked_and_recorded(
    api: BotApi,
    bot: str,
    mode: str,
    text: str,
    is_ok: bool,  # noqa: FBT001  # a table
) -> None:
    """Unbalanced marks are refused as Telegram does, and a test can see that a parse mode was used at all."""
    answer = ask(api, bot, "sendMessage", chat_id=42, text=text, parse_mode=mode)
    assert answer["ok"] is is_ok
    assert is_ok or answer["description"].startswith("Bad Request: can't parse entities: ")
    assert api.calls("sendMessage")[0].parse_modes == [mode]


def test_forms_carry_the_same_values_as_json(api: BotApi, bot: str, ada: Person) -> None:
    """Urlencoded parameters with JSON inside mean what JSON means, over one kept connection."""
    fields = {"chat_id": "42", "text": "x", "reply_markup": json.dumps(INLINE), "protect_content": "true"}
    fields["link_preview_options"] = '{"is_disabled": true}'
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(api.url).port, timeout=10)
    for _ in range(2):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", f"/bot{bot}/sendMessage", urlencode(fields), kind)
        assert json.loads(connection.getresponse().read())["result"]["reply_markup"] == INLINE
    connection.close()
    call = api.calls("sendMessage", bot=bot)[1]
    assert call.is_ok
    assert call.has_preview_off
    assert call.parameters["chat_id"] == 42
    assert call.parameters["protect_content"] is True


def test_a_revoked_token_is_unauthorized(api: BotApi, bot: str) -> None:
    """So is one that never was."""
    api.revoke(bot)
    for token in (bot, "1:nobody"):
        assert ask(api, token, "getMe") == {
            "status": 401,
            "ok": False,
            "error_code": 401,
            "description": "Unauthorized",
        }


def test_a_bot_writes_only_where_it_may(api: BotApi, bot: str, ada: Person) -> None:
    """A person who blocked it, a group that kicked it and another bot's chat are closed."""
    other, group = api.bot("Other"), api.group("G", bot, ada)
    assert ask(api, other, "sendMessage", chat_id=42, text="x")["description"] == "Bad Request: chat not found"
    assert ask(api, bot, "sendMessage", chat_id=group.id, text="x")["ok"]
    group.removes(bot)
    ada.blocks(bot)
    assert ask(api, bot, "sendMessage", chat_id=group.id, text="x")["status"] == 403
    assert ask(api, bot, "sendMessage", chat_id=42, text="x")["description"] == "Forbidden: bot was blocked by the user"
    ada.unblocks(bot)
    assert ask(api, bot, "sendMessage", chat_id=42, text="x")["ok"]


def test_edits(api: BotApi, bot: str, ada: Person) -> None:
    """A bot changes its own messages, really changes them, and takes buttons away."""
    message = send(api, bot, reply_markup=INLINE)
    place = {"chat_id": 42, "message_id": message["message_id"]}
    again = ask(api, bot, "editMessageText", **place, text="hello", reply_markup=INLINE)
    assert again["description"].startswith("Bad Request: message is not modified")
    edited = ask(api, bot, "editMessageText", **place, text="new")["result"]
    assert edited["text"] == "new"
    assert "reply_markup" not in edited
    assert ask(api, bot, "editMessageReplyMarkup", **place, reply_markup=INLINE)["result"]["reply_markup"] == INLINE
    assert ask(api, bot, "editMessageCaption", **place, caption="x")["status"] == 400
    theirs = ada.says(bot, "mine")
    answer = ask(api, bot, "editMessageText", chat_id=42, message_id=theirs["message_id"], text="x")
    assert answer["description"] == "Bad Request: message can't be edited"
    assert api.said(ada) == ["new"]


def test_presses(api: BotApi, bot: str, ada: Person) -> None:
    """A press is answered once and in time; data that no button has can be forged."""
    message = send(api, bot, reply_markup=INLINE)
    pressed, forged, old = ada.presses(message, "Yes"), ada.presses(message, data="forged"), ada.presses(message, "No")
    api.expire(old)
    queries = [update["callback_query"] for update in ask(api, bot, "getUpdates")["result"]]
    assert [query["data"] for query in queries] == ["y", "forged", "n"]
    assert all(query["chat_instance"] and query["message"]["date"] for query in queries)
    outcomes = [ask(api, bot, "answerCallbackQuery", callback_query_id=one)["ok"] for one in (pressed, pressed, old)]
    assert outcomes == [True, False, False]
    assert api.answer_to(pressed) == {"callback_query_id": pressed}
    assert api.answer_to(forged) is None
    with pytest.raises(LookupError):
        ada.presses(message, "Perhaps")


def test_uploads_keep_the_bytes(api: BotApi, bot: str, ada: Person) -> None:
    """What is uploaded can be fetched again, byte for byte, and only with a token."""
    content = b"\r\n--x\r\n\x00\xff" * 100
    sent = upload(api, bot, "sendDocument", {"document": ("a b.txt", content)}, chat_id="42", caption="look")["result"]
    assert (sent["document"]["file_name"], sent["caption"]) == ("a b.txt", "look")
    assert api.calls("sendDocument")[0].uploads["document"].content == content
    path = ask(api, bot, "getFile", file_id=sent["document"]["file_id"])["result"]["file_path"]
    assert post(api, f"/file/bot{bot}/{path}") == (200, content)
    assert post(api, f"/file/bot1:no/{path}")[0] == 401
    assert post(api, f"/file/bot{bot}/documents/none")[0] == 404
    assert [stored.content for stored in api.fetched()] == [content]
    again = ask(api, bot, "sendDocument", chat_id=42, document=sent["document"]["file_id"])
    assert again["result"]["document"]["file_unique_id"] == sent["document"]["file_unique_id"]


def test_albums(api: BotApi, bot: str, ada: Person) -> None:
    """Two to ten files of matching kinds make an album."""
    media = [{"type": "photo", "media": "attach://a", "caption": "x"}, {"type": "photo", "media": "attach://b"}]
    files = {"a": ("a.jpg", b"1"), "b": ("b.jpg", b"2")}
    sent = upload(api, bot, "sendMediaGroup", files, chat_id="42", media=json.dumps(media))["result"]
    assert len({message["media_group_id"] for message in sent}) == 1
    assert [api.bytes_of(message["photo"][-1]["file_id"]) for message in sent] == [b"1", b"2"]
    mixed = [media[0], {"type": "document", "media": "attach://b"}]
    for wrong in (media[:1], mixed, [*media, {"type": "photo", "media": "attach://c"}]):
        assert upload(api, bot, "sendMediaGroup", files, chat_id="42", media=json.dumps(wrong))["status"] == 400


def test_sizes(api: BotApi, bot: str, ada: Person) -> None:
    """Photos end at 10 MB, uploads at 50 MB, captions at 1024 units, downloads at 20 MB."""
    photo = upload(api, bot, "sendPhoto", {"photo": ("a.jpg", bytes(10 * MB + 1))}, chat_id="42")
    assert "too big for a photo" in photo["description"]
    assert upload(api, bot, "sendDocument", {"document": ("a", bytes(50 * MB + 1))}, chat_id="42")["status"] == 413
    assert upload(api, bot, "sendDocument", {"document": ("a", b"")}, chat_id="42")["status"] == 400
    captioned = upload(api, bot, "sendDocument", {"document": ("a", b"x")}, chat_id="42", caption="x" * 1025)
    assert captioned["description"] == "Bad Request: message caption is too long"
    big = ada.sends_document(bot, "big.bin", b"x", size=20 * MB + 1)
    answer = ask(api, bot, "getFile", file_id=big["document"]["file_id"])
    assert answer["description"] == "Bad Request: file is too big"
    assert api.said(ada) == []


def test_a_url_instead_of_bytes_is_recorded_as_such(api: BotApi, bot: str, ada: Person) -> None:
    """Telegram would fetch it; a test can see that it was asked to."""
    assert ask(api, bot, "sendPhoto", chat_id=42, photo="https://evil.invalid/x.png")["ok"]
    call = api.calls("sendPhoto")[0]
    assert (call.named_files, call.uploads) == (["https://evil.invalid/x.png"], {})


def test_commands_are_kept_for_each_scope(api: BotApi, bot: str) -> None:
    """The menu of one chat is not that of all."""
    menu = [{"command": "start", "description": "begin"}]
    scope = {"type": "chat", "chat_id": 42}
    assert ask(api, bot, "setMyCommands", commands=menu, scope=scope)["ok"]
    assert api.commands(bot, "chat 42") == ask(api, bot, "getMyCommands", scope=scope)["result"] == menu
    assert ask(api, bot, "getMyCommands")["result"] == []
    assert ask(api, bot, "deleteMyCommands", scope=scope)["ok"]
    assert api.commands(bot, "chat 42") == []
    for wrong in ({"commands": [{"command": "No", "description": "x"}]}, {"commands": menu, "scope": {"type": "chat"}}):
        assert ask(api, bot, "setMyCommands", **wrong)["status"] == 400


def test_small_methods(api: BotApi, bot: str, ada: Person) -> None:
    """Actions, drafts, reactions and deletions are taken and recorded in order."""
    message = send(api, bot)
    place = {"chat_id": 42, "message_id": message["message_id"]}
    for method, parameters in (
        ("sendChatAction", {"chat_id": 42, "action": "typing"}),
        ("sendMessageDraft", {"chat_id": 42, "draft_id": 7, "text": ""}),
        ("setMessageReaction", {**place, "reaction": [{"type": "emoji", "emoji": "👍"}]}),
        ("getChat", {"chat_id": 42}),
        ("deleteMessages", {"chat_id": 42, "message_ids": [message["message_id"], 99]}),
        ("close", {}),
        ("logOut", {}),
    ):
        assert ask(api, bot, method, **parameters)["ok"], method
    assert api.messages(ada) == []
    methods = [call.method for call in api.calls()]
    assert methods[:3] == ["sendMessage", "sendChatAction", "sendMessageDraft"]


@pytest.mark.usefixtures("ada")
def test_a_message_with_a_reply_keyboard_can_not_be_changed(api: BotApi, bot: str) -> None:
    """Only messages without a keyboard, or with inline buttons, can."""
    keyboard = {"keyboard": [["/help"]]}
    number = ask(api, bot, "sendMessage", chat_id=42, text="x", reply_markup=keyboard)["result"]["message_id"]
    answer = ask(api, bot, "editMessageText", chat_id=42, message_id=number, text="y")
    assert answer["description"] == "Bad Request: message can't be edited"


def test_topics(api: BotApi, bot: str, ada: Person) -> None:
    """What is said in one says so, by whomever; one that is gone is refused."""
    topic = ada.opens_topic(bot, "Boat")
    said = ada.says(bot, "hi", topic=topic)
    assert (said["message_thread_id"], said["is_topic_message"]) == (topic["message_id"], True)
    assert said["reply_to_message"]["forum_topic_created"]["name"] == "Boat"
    more = {"chat_id": ada.id, "text": "hello", "message_thread_id": topic["message_id"]}
    answer = ask(api, bot, "sendMessage", **more)
    assert answer["result"]["is_topic_message"] is True
    ada.deletes_topic(bot, topic)
    assert "message thread not found" in ask(api, bot, "sendMessage", **more)["description"]


def test_two_bots_know_one_person_apart(api: BotApi, bot: str, ada: Person) -> None:
    """Private chats of two bots have messages with the same numbers, and buttons that lead back to the right one."""
    other = api.bot("Other")
    ada.opens(other)
    mine, theirs = (ask(api, one, "sendMessage", chat_id=42, text="?", reply_markup=INLINE) for one in (bot, other))
    assert mine["result"]["message_id"] == theirs["result"]["message_id"]
    ada.presses(theirs["result"], "Yes")
    assert (len(api.pending(bot)), len(api.pending(other))) == (0, 1)
    assert len(api.messages(ada)) == 2
    assert len(api.messages(ada, bot=other)) == 1
