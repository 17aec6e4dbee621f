"""A bot's line says what it is told to say, and turns all that can go wrong into errors of ours."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.message import AttachedFile, MessageBody, MessageButton
from orchestrator.channels.chat.rich_text import RichText, TextEntity
from orchestrator.channels.chat.send_errors import (
    ChatForbidden,
    ChatMoved,
    FileTooBig,
    FloodWait,
    NoSuchChat,
    NoSuchMessage,
    NotModified,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
)
from orchestrator.channels.telegram.api_errors import OtherPoller, clean_text, error_of
from orchestrator.channels.telegram.client import TelegramClient, check_token
from orchestrator.channels.telegram.client_types import BotIdentity, ClientTimeouts
from orchestrator.channels.telegram.ptb_request import told_of
from orchestrator.core.errors import BadInput, Unavailable
from tests.support.bot_api import BotApi, Person
from tests.support.outbox_fixture import QUICK, LoopThread

HELLO = MessageBody(RichText("Hello"))
PNG = b"\x89PNG some picture"


@pytest.fixture
def bot(api: BotApi) -> str:
    """A bot's token; its username is looked at."""
    return api.bot("Crab", username="crab_bot")


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    """Where lines live."""
    made = LoopThread()
    yield made
    made.close()


@pytest.fixture
def line(api: BotApi, bot: str, loop: LoopThread, ada: Person) -> Iterator[TelegramClient]:
    """The bot's line."""
    made = TelegramClient(bot, api_url=api.url, patience=QUICK)
    loop.run(made.open())
    yield made
    loop.run(made.close())


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., AttachedFile]:
    """Something to send, of a kind."""

    def made(kind: str = "document", content: bytes = PNG, name: str = "name.png") -> AttachedFile:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content)
        return AttachedFile(path, name, kind)

    return made


def failure(loop: LoopThread, work: Coroutine[Any, Any, object]) -> SendError:
    """What the call raises."""
    with pytest.raises(SendError) as caught:
        loop.run(work)
    return caught.value


# --- about the bot ---------------------------------------------------------------------------------------------


def test_a_bot_knows_itself(loop: LoopThread, line: TelegramClient) -> None:
    """Its number and names."""
    me = loop.run(line.get_me())
    assert me == BotIdentity(bot=me.bot, username="crab_bot", name="Crab", can_read_groups=False)


def test_a_line_opens_without_a_network(api: BotApi, bot: str, loop: LoopThread) -> None:
    """Telegram is asked when something is to be said, not before; after closing nothing goes any more."""
    api.offline()
    line = TelegramClient(bot, api_url=api.url, patience=QUICK)
    loop.run(line.open())
    assert isinstance(failure(loop, line.get_me()), Unreachable)
    api.online()
    loop.run(line.close())
    gone = failure(loop, line.get_me())
    assert isinstance(gone, Unreachable)
    assert not gone.may_have_arrived


def test_menus(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient) -> None:
    """Each scope has its commands."""
    loop.run(line.set_commands([("start", "Begin")]))
    loop.run(line.set_commands([("stop", "Stop")], "private"))
    loop.run(line.set_commands([("users", "People")], 42))
    assert api.commands(bot) == [{"command": "start", "description": "Begin"}]
    assert api.commands(bot, "all_private_chats")[0]["command"] == "stop"
    assert [call.parameters["scope"]["type"] for call in api.calls("setMyCommands")] == [
        "default",
        "all_private_chats",
        "chat",
    ]


def test_webhooks(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient) -> None:
    """Set with a secret, seen, and taken away; meanwhile nothing can be fetched."""
    loop.run(line.set_webhook("http://127.0.0.1:9/telegram/1", "s3cret"))
    assert loop.run(line.get_webhook()).url == "http://127.0.0.1:9/telegram/1"
    assert isinstance(failure(loop, line.get_updates(None, timeout_s=0)), OtherPoller)
    loop.run(line.delete_webhook())
    assert loop.run(line.get_webhook()).url == ""
    assert api.calls("setWebhook")[0].parameters["secret_token"] == "s3cret"


def test_leaving_a_group(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient) -> None:
    """Afterwards it can't write there."""
    group = api.group("The group", bot)
    loop.run(line.leave_chat(group.id))
    assert isinstance(failure(loop, line.send_message(group.id, HELLO)), ChatForbidden)


# --- what comes in ---------------------------------------------------------------------------------------------


def test_updates_come_as_they_are(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """Raw, from a number on; only the kinds that are wanted."""
    ada.says(bot, "one")
    ada.says(bot, "two")
    updates = loop.run(line.get_updates(None, timeout_s=0))
    assert [one["message"]["text"] for one in updates if "message" in one] == ["one", "two"]
    later = loop.run(line.get_updates(updates[-1]["update_id"], timeout_s=0))
    assert later == updates[-1:]
    assert len(api.pending(bot)) == 1
    asked = api.calls("getUpdates")[0].parameters
    assert asked["allowed_updates"] == ["message", "edited_message", "callback_query", "my_chat_member"]


def test_a_poll_waits_for_news(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """As long as said, and no longer than until something comes; other calls go meanwhile."""
    poll = asyncio.run_coroutine_threadsafe(line.get_updates(None, timeout_s=30), loop.loop)
    api.wait_for(lambda: api.calls("getUpdates"))
    loop.run(line.send_message(42, HELLO))
    assert not poll.done()
    ada.says(bot, "news")
    assert poll.result(5)[0]["message"]["text"] == "news"


def test_two_pollers(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient) -> None:
    """The older one is told that there is another."""
    poll = asyncio.run_coroutine_threadsafe(line.get_updates(None, timeout_s=30), loop.loop)
    api.wait_for(lambda: api.calls("getUpdates"))
    other = LoopThread()
    second = TelegramClient(bot, api_url=api.url, patience=QUICK)
    other.run(second.get_updates(None, timeout_s=0))
    other.run(second.close())
    other.close()
    with pytest.raises(OtherPoller):
        poll.result(5)


def test_after_a_failure_the_next_poll_asks_at_once(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """So that everybody knows soon that Telegram is back."""
    api.fail_next("getUpdates", 502, html="<html></html>")
    before = line.answer_count
    assert isinstance(failure(loop, line.get_updates(None, timeout_s=30)), Unreachable)
    assert line.answer_count == before
    assert loop.run(line.get_updates(None, timeout_s=30)) == []
    loop.run(line.wait_answered(before))
    assert [call.parameters["timeout"] for call in api.calls("getUpdates")] == [30, 0]


def test_downloads_are_streamed(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """Piece by piece into whatever takes it, up to a size."""
    content = bytes(range(256)) * 4000
    file_id = ada.sends_document(bot, "data.bin", content)["document"]["file_id"]

    class Pieces(io.BytesIO):
        count = 0

        def write(self, piece: Any, /) -> int:
            self.count += 1
            return super().write(piece)

    sink = Pieces()
    assert loop.run(line.download_file(file_id, sink)) == len(content)
    assert sink.getvalue() == content
    assert sink.count > 1
    assert isinstance(failure(loop, line.download_file(file_id, io.BytesIO(), 1000)), FileTooBig)
    assert isinstance(failure(loop, line.download_file("no such file", io.BytesIO())), SendRefused)


def test_downloads_that_break(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """Too large for bots, a broken connection, a server that fails."""
    large = ada.sends_document(bot, "large", b"x", size=21 * 1024 * 1024)["document"]["file_id"]
    assert isinstance(failure(loop, line.download_file(large, io.BytesIO())), FileTooBig)
    small = ada.sends_document(bot, "small", b"x")["document"]["file_id"]
    api.fail_next("download")
    assert isinstance(failure(loop, line.download_file(small, io.BytesIO())), Unreachable)
    api.fail_next("download", 502, html="<html></html>")
    assert isinstance(failure(loop, line.download_file(small, io.BytesIO())), Unreachable)
    assert loop.run(line.download_file(small, io.BytesIO())) == 1


def test_answering_a_press(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """Once; too late is no error, too long is cut."""
    (number,) = loop.run(line.send_message(42, MessageBody(RichText("?"), buttons=((MessageButton("Yes", "y"),),))))
    message = next(one for one in api.messages(42) if one["message_id"] == number)
    query = ada.presses(message, "Yes")
    for _ in range(2):
        loop.run(line.answer_press(query, "🦀" * 300, alert=True))
    answer = api.answer_to(query)
    assert answer is not None
    assert answer["text"] == "🦀" * 100
    assert answer["show_alert"] is True


# --- what goes out ---------------------------------------------------------------------------------------------


def test_a_text_with_all_that_it_can_have(
    api: BotApi, loop: LoopThread, line: TelegramClient, ada: Person, bot: str
) -> None:
    """Entities, buttons, an answer to a message, no sound."""
    asked = ada.says(bot, "a question")["message_id"]
    body = MessageBody(
        RichText("hé 🦀 code", (TextEntity("bold", 0, 2), TextEntity("pre", 3, 2, language="py"))),
        buttons=((MessageButton("Yes", "y"), MessageButton("Look", url="https://example.org/x")),),
        reply_to=asked,
        is_silent=True,
    )
    (number,) = loop.run(line.send_message(42, body))
    message = api.messages(42)[-1]
    assert message["message_id"] == number
    assert message["entities"] == [
        {"type": "bold", "offset": 0, "length": 2},
        {"type": "pre", "offset": 3, "length": 2, "language": "py"},
    ]
    assert message["reply_markup"]["inline_keyboard"] == [
        [{"text": "Yes", "callback_data": "y"}, {"text": "Look", "url": "https://example.org/x"}]
    ]
    assert message["reply_to_message"]["message_id"] == asked
    call = api.calls("sendMessage")[0]
    assert call.parameters["disable_notification"] is True
    assert call.has_preview_off


def test_a_keyboard_is_offered(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """Rows of what a tap says."""
    loop.run(line.send_message(42, MessageBody(RichText("x"), keyboard=(("/help",), ("/files", "/stop")))))
    markup = api.calls("sendMessage")[0].parameters["reply_markup"]
    assert [[key["text"] for key in row] for row in markup["keyboard"]] == [["/help"], ["/files", "/stop"]]


def test_what_it_answers_may_be_gone(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """It goes all the same."""
    loop.run(line.send_message(42, MessageBody(RichText("x"), reply_to=9999)))
    assert "reply_to_message" not in api.messages(42)[-1]


@pytest.mark.parametrize("kind", ["photo", "video", "animation", "audio", "voice", "document"])
def test_each_kind_of_file_goes_its_way(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile], kind: str
) -> None:
    """By its own method, as bytes under its own name, with caption and buttons."""
    sent = MessageBody(
        RichText("A caption", (TextEntity("italic", 2, 7),)), files=(file(kind),), buttons=((MessageButton("x", "y"),),)
    )
    (number,) = loop.run(line.send_message(42, sent))
    message = api.messages(42)[-1]
    assert message["message_id"] == number
    assert kind in message
    assert (message["caption"], message["caption_entities"][0]["type"]) == ("A caption", "italic")
    call = api.calls(f"send{kind}")[0]
    assert [(one.filename, one.content) for one in call.uploads.values()] == [("name.png", PNG)]
    assert call.named_files == []


@pytest.mark.parametrize(
    "name", ["https://evil.example/x.png", "AgACAgIAAxkBAAI", "ä 🦀\ud83e.txt", '"quo;te".txt', ""]
)
def test_names_are_only_names(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile], name: str
) -> None:
    """Whatever an agent calls its file, bytes are uploaded, and neither is anything fetched nor a path told."""
    loop.run(line.send_message(42, MessageBody(RichText(""), files=(file("photo", name=name),))))
    (call,) = api.calls("sendPhoto")
    assert call.is_ok
    assert call.named_files == []
    assert [one.content for one in call.uploads.values()] == [PNG]
    assert "/" not in next(iter(call.uploads.values())).filename.replace(name, "")


def test_an_empty_caption_is_none(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile]
) -> None:
    """A file alone is fine, also as an edit."""
    (number,) = loop.run(line.send_message(42, MessageBody(RichText(""), files=(file(),))))
    loop.run(
        line.edit_message(42, number, MessageBody(RichText(""), files=(file(),), buttons=((MessageButton("x", "y"),),)))
    )
    message = api.messages(42)[-1]
    assert "caption" not in message
    assert "reply_markup" in message


def test_a_long_caption_is_cut(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile]
) -> None:
    """To what Telegram takes, and it shows."""
    loop.run(line.send_message(42, MessageBody(RichText("🦀" * 2000), files=(file(),))))
    caption = api.messages(42)[-1]["caption"]
    assert caption.endswith("…")
    assert len(caption.encode("utf-16-le")) // 2 <= 1024


@pytest.mark.parametrize(
    "kinds",
    [
        "photo photo video: photo photo video",
        "document document: document document",
        "audio audio: audio audio",
        "photo document: document document",
        "voice voice: document document",
        "animation photo: document document",
    ],
)
def test_several_files_are_an_album(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile], kinds: str
) -> None:
    """In one call, the caption under the first; what can't stand together goes as documents."""
    given, become = (part.split() for part in kinds.split(":"))
    files = tuple(file(kind, content=PNG + bytes([n])) for n, kind in enumerate(given))
    numbers = loop.run(
        line.send_message(42, MessageBody(RichText("All of it", (TextEntity("bold", 0, 3),)), files=files))
    )
    messages = [one for one in api.messages(42) if one["message_id"] in numbers]
    assert len({one["media_group_id"] for one in messages}) == 1
    fields = ("photo", "video", "audio", "document")
    assert [next(kind for kind in fields if kind in one) for one in messages] == become
    assert [one.get("caption") for one in messages] == ["All of it", *[None] * (len(given) - 1)]
    (call,) = api.calls("sendMediaGroup")
    assert sorted(one.content for one in call.uploads.values()) == [one.path.read_bytes() for one in files]
    assert call.named_files == []
    assert call.parse_modes == []


def test_albums_have_their_limits(loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile]) -> None:
    """Not more than ten, and no buttons: that is the caller's mistake, said as a refusal."""
    many = tuple(file() for _ in range(11))
    assert isinstance(failure(loop, line.send_message(42, MessageBody(RichText(""), files=many))), SendRefused)
    pressed = MessageBody(RichText(""), files=many[:2], buttons=((MessageButton("x", "y"),),))
    assert isinstance(failure(loop, line.send_message(42, pressed)), SendRefused)


@pytest.mark.parametrize("kind", ["photo", "video", "voice"])
def test_what_is_refused_goes_as_a_document(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile], kind: str
) -> None:
    """A picture that Telegram can't read still arrives."""
    api.fail_next(f"send{kind}", 400)
    loop.run(line.send_message(42, MessageBody(RichText("x"), files=(file(kind),))))
    message = api.messages(42)[-1]
    assert "document" in message
    assert api.bytes_of(message["document"]["file_id"]) == PNG


def test_a_large_picture_goes_as_a_document_at_once(
    api: BotApi, loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile]
) -> None:
    """Photos have a limit of 10 MB."""
    loop.run(line.send_message(42, MessageBody(RichText("x"), files=(file("photo", content=bytes(10_000_001)),))))
    assert api.calls("sendPhoto") == []
    assert "document" in api.messages(42)[-1]


def test_an_empty_file_is_refused(loop: LoopThread, line: TelegramClient, file: Callable[..., AttachedFile]) -> None:
    """Telegram takes none."""
    assert isinstance(
        failure(loop, line.send_message(42, MessageBody(RichText("x"), files=(file(content=b""),)))), SendRefused
    )


def test_drafts_and_typing(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """Seen for a moment; a server that knows no drafts says so, and the line lives on."""
    loop.run(line.send_typing(42))
    loop.run(line.send_draft(42, 7, RichText("so far", (TextEntity("bold", 0, 2),))))
    call = api.calls("sendMessageDraft")[0]
    assert (call.parameters["draft_id"], call.parameters["text"]) == (7, "so far")
    assert call.parameters["entities"] == [{"type": "bold", "offset": 0, "length": 2}]


def test_an_old_server_without_drafts_is_no_revoked_token() -> None:
    """404 means two things."""
    assert isinstance(error_of(404, "Not Found: method not found", {}), SendRefused)
    assert isinstance(error_of(404, "Not Found", {}), TokenRevoked)


def test_what_a_server_does_not_know_says_nothing_of_the_token(
    api: BotApi, loop: LoopThread, line: TelegramClient
) -> None:
    """Only calls that every Bot API server has do: a small one of one's own may lack all others."""
    calls: tuple[tuple[str, Callable[[], Coroutine[Any, Any, object]], type[SendError]], ...] = (
        ("setMyCommands", lambda: line.set_commands([("start", "Begin")]), SendRefused),
        ("deleteWebhook", line.delete_webhook, SendRefused),
        ("sendMessageDraft", lambda: line.send_draft(42, 7, RichText("x")), SendRefused),
        ("getMe", line.get_me, TokenRevoked),
        ("getUpdates", lambda: line.get_updates(None, timeout_s=0), TokenRevoked),
    )
    for method, call, error in calls:
        api.fail_next(method, 404)
        assert isinstance(failure(loop, call()), error), method


def test_an_answer_that_makes_no_sense_is_none() -> None:
    """Neither a crash nor a refusal."""
    for odd in (AttributeError("'bool' object has no attribute 'copy'"), KeyError("id"), TypeError("no date")):
        assert isinstance(told_of(odd), Unreachable)


def test_deleting(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """Gone; gone already is fine."""
    (number,) = loop.run(line.send_message(42, HELLO))
    for _ in range(2):
        loop.run(line.delete_message(42, number))
    assert api.messages(42) == []


def test_changing(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """The same again is fine; what is gone, a file's or somebody's message is no message of the bot's to change."""
    (number,) = loop.run(line.send_message(42, HELLO))
    for _ in range(2):
        loop.run(line.edit_message(42, number, MessageBody(RichText("Bye"))))
    theirs = ada.says(bot, "mine")["message_id"]
    for wrong in (999, theirs):
        assert isinstance(failure(loop, line.edit_message(42, wrong, HELLO)), NoSuchMessage)
    assert api.said(42) == ["Bye"]
    assert all(call.has_preview_off for call in api.calls("editMessageText"))


# --- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "description", "parameters", "meaning"),
    [
        (401, "Unauthorized", {}, TokenRevoked),
        (403, "ChatForbidden: bot was blocked by the user", {}, "blocked"),
        (403, "ChatForbidden: bot was kicked from the supergroup chat", {}, "kicked"),
        (403, "ChatForbidden: bot is not a member of the channel chat", {}, "kicked"),
        (403, "ChatForbidden: user is deactivated", {}, "deactivated"),
        (403, "ChatForbidden: bot can't initiate conversation with a user", {}, "cannot_write_first"),
        (403, "ChatForbidden: something new", {}, "cannot_write"),
        (400, "Bad Request: not enough rights to send text messages to the chat", {}, "cannot_write"),
        (400, "Bad Request: chat not found", {}, NoSuchChat),
        (400, "Bad Request: group chat was upgraded", {"migrate_to_chat_id": -1001}, ChatMoved),
        (400, "Bad Request: message is not modified: specified new …", {}, NotModified),
        (400, "Bad Request: message to edit not found", {}, NoSuchMessage),
        (400, "Bad Request: message can't be edited", {}, NoSuchMessage),
        (400, "Bad Request: there is no caption in the message to edit", {}, NoSuchMessage),
        (400, "Bad Request: can't parse entities: …", {}, SendRefused),
        (400, "Bad Request: PHOTO_INVALID_DIMENSIONS", {}, SendRefused),
        (400, "", {}, SendRefused),
        (409, "Conflict: terminated by other getUpdates request", {}, OtherPoller),
        (413, "Request Entity Too Large", {}, FileTooBig),
        (429, "Too Many Requests: retry after 7", {"retry_after": 7}, FloodWait),
        (429, "Too Many Requests", {}, FloodWait),
        (500, "Internal Server Error", {}, Unreachable),
    ],
)
def test_what_telegram_says(
    status: int, description: str, parameters: dict[str, Any], meaning: type[SendError] | str
) -> None:
    """Each answer means one thing."""
    error = error_of(status, description, parameters)
    if isinstance(meaning, str):
        assert isinstance(error, ChatForbidden)
        assert error.why == meaning
    else:
        assert type(error) is meaning


def test_a_flood_silences_the_line(api: BotApi, loop: LoopThread, line: TelegramClient) -> None:
    """No call goes out in the meantime, whatever it is; fetching updates goes on."""
    api.fail_next("sendMessage", retry_after=30)
    assert isinstance(failure(loop, line.send_message(42, HELLO)), FloodWait)
    later = failure(loop, line.send_typing(42))
    assert isinstance(later, FloodWait)
    assert 25 < later.retry_after_s <= 30
    assert api.calls("sendChatAction") == []
    assert loop.run(line.get_updates(None, timeout_s=0)) == []


def _arrives_again(loop: LoopThread, line: TelegramClient) -> bool:
    """The next message but one arrives at the latest: a connection that the server ended meanwhile may cost one."""
    for _ in range(2):
        try:
            loop.run(line.send_message(42, HELLO))
        except Unreachable:
            continue
        return True
    return False


@pytest.mark.parametrize(
    ("fault", "may_have_arrived"),
    [
        ({}, True),
        ({"after": True}, True),
        ({"hang": True}, True),
        ({"status": 502, "html": "<html></html>"}, True),
        ({"status": 200, "html": "[]"}, True),
        ({"status": 401, "html": "<html>Log in</html>"}, True),
        ({"status": 500}, True),
    ],
)
def test_no_answer_of_telegrams(
    api: BotApi, loop: LoopThread, line: TelegramClient, fault: dict[str, Any], *, may_have_arrived: bool
) -> None:
    """Resets, silence, gateways and strangers' web pages are no answers, and it may be there all the same."""
    broken = api.fail_next("sendMessage", **fault)
    error = failure(loop, line.send_message(42, HELLO))
    broken.release()
    assert isinstance(error, Unreachable)
    assert error.may_have_arrived is may_have_arrived
    assert _arrives_again(loop, line)


def test_what_was_never_connected_never_arrived(api: BotApi, bot: str, loop: LoopThread) -> None:
    """Then it need not be looked for."""
    line = TelegramClient(bot, api_url="http://127.0.0.1:1", patience=QUICK)
    error = failure(loop, line.send_message(42, HELLO))
    loop.run(line.close())
    assert isinstance(error, Unreachable)
    assert not error.may_have_arrived


def test_finding_what_was_sent(api: BotApi, bot: str, loop: LoopThread, line: TelegramClient, ada: Person) -> None:
    """By its exact content, among messages of others, without those known to be something else."""
    ada.says(bot, "Hello")
    (first,) = loop.run(line.send_message(42, HELLO))
    ada.says(bot, "Hello")
    other = TelegramClient(bot, api_url=api.url, patience=QUICK)  # remembers nothing
    assert loop.run(other.find_sent(42, HELLO, after=0)) == first
    assert loop.run(other.find_sent(42, HELLO, after=first)) is None
    assert loop.run(line.find_sent(42, HELLO, after=0)) is None, "the line itself knows that it sent that one"
    assert loop.run(other.find_sent(42, HELLO, after=0, known={first})) is None
    loop.run(other.close())


# --- tokens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "4711", "abc:def", "1234567:", "1234567:" + "A" * 35 + "/../x", "x" * 300])
def test_what_is_no_token(token: str) -> None:
    """Is refused before anything is sent, without repeating it."""
    with pytest.raises(BadInput) as caught:
        check_token(token, "http://127.0.0.1:1")
    assert token not in caught.value.message or not token


def test_a_token_is_proved(api: BotApi, bot: str) -> None:
    """With who it is; a wrong one, an unknown one and a network that is down each have their sentence."""
    assert check_token(bot, api.url).username == "crab_bot"
    api.revoke(bot)
    with pytest.raises(BadInput, match="does not know this token"):
        check_token(bot, api.url)
    api.offline()
    with pytest.raises(Unavailable, match="Couldn't reach Telegram"):
        check_token(bot, api.url, patience=ClientTimeouts(connect_s=0.5, read_s=0.5))


def test_no_log_and_no_error_holds_the_token(
    api: BotApi, bot: str, loop: LoopThread, ada: Person, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is logged by whomever at whichever level, and whatever an error or its causes say."""
    line = TelegramClient(
        bot, api_url=api.url, patience=ClientTimeouts(connect_s=0.4, read_s=0.4, upload_s=0.4, digest_s=0.4)
    )
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, logger=name)
    file_id = ada.sends_document(bot, "data.bin", b"x")["document"]["file_id"]
    calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
        line.get_me,
        lambda: line.send_message(42, HELLO),
        lambda: line.get_updates(None, timeout_s=0),
        lambda: line.download_file(file_id, io.BytesIO()),
        lambda: line.edit_message(42, 1, HELLO),
    ]
    texts = []
    for fault in (
        {"status": 500},
        {"status": 502, "html": "<p>"},
        {},
        {"hang": True},
        {"status": 404},
        {"status": 401},
    ):
        for call in calls:
            broken = api.fail_next("*", **fault)
            api.fail_next("download", **fault)
            texts += _said(failure(loop, call()))
            broken.release()
            broken.left = 0
    texts += [repr(line), str(vars(line)), caplog.text]
    loop.run(line.close())
    secret = bot.partition(":")[2]
    assert "HTTP Request" in caplog.text
    assert secret not in " ".join(texts)


def _said(error: BaseException | None) -> list[str]:
    """What an error and all behind it say."""
    texts = []
    while error is not None:
        texts += [str(error), repr(error), str(error.args)]
        error = error.__cause__ or error.__context__
    return texts


def test_descriptions_are_cleaned() -> None:
    """Short, on one line, and nothing in them looks like a token."""
    text = clean_text("bad\n  token 1234567890:AAF" + "x" * 40 + " given " + "y" * 500)
    assert "AAFx" not in text
    assert "\n" not in text
    assert len(text) <= 300
