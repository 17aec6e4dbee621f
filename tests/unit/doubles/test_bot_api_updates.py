"""The test's Bot API server hands out updates as Telegram does, and breaks as it is told to."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.bot_api import BotApi, Person
from tests.support.bot_api_raw import ask, post, send


def test_updates_stay_until_they_are_acknowledged(api: BotApi, bot: str, ada: Person) -> None:
    """An offset forgets what lies before it; a repeated update keeps its number."""
    for text in ("one", "/two@crab_bot three"):
        ada.says(bot, text)
    first, second = ask(api, bot, "getUpdates")["result"]
    assert second["message"]["entities"] == [{"type": "bot_command", "offset": 0, "length": 13}]
    assert ask(api, bot, "getUpdates", limit=1)["result"] == [first]
    assert ask(api, bot, "getUpdates", offset=second["update_id"])["result"] == [second]
    api.repeat(bot, second)
    assert ask(api, bot, "getUpdates")["result"] == [second, second]
    assert ask(api, bot, "getUpdates", offset=second["update_id"] + 1)["result"] == api.pending(bot) == []


def test_only_allowed_updates_come(api: BotApi, bot: str, ada: Person) -> None:
    """Reactions come only when asked for, and naming kinds excludes all others."""
    reaction = {"message_reaction": {"chat": {"id": 42}}}
    api.push(bot, reaction)
    assert ask(api, bot, "getUpdates", allowed_updates=["message_reaction"])["result"] == []
    ada.says(bot, "unheard")
    assert api.push(bot, reaction)["update_id"] == ask(api, bot, "getUpdates")["result"][0]["update_id"]


def test_a_poll_waits_and_gives_way(api: BotApi, bot: str, ada: Person) -> None:
    """A second poll ends the first with a conflict; a waiting poll hears a message at once."""
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, api, bot, "getUpdates", timeout=30)
        api.wait_for(lambda: len(api.calls("getUpdates")) == 1)
        second = threads.submit(ask, api, bot, "getUpdates", timeout=30)
        assert first.result()["description"].startswith("Conflict: terminated by other getUpdates request")
        ada.says(bot, "hello")
        assert second.result()["result"][0]["message"]["text"] == "hello"


def test_a_poll_that_was_hung_up_is_no_conflict(api: BotApi, bot: str) -> None:
    """A client that gives up its poll may ask again, as clients do when they stop."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(api.url).port, timeout=10)
    connection.request("POST", f"/bot{bot}/getUpdates?timeout=30")
    api.wait_for(lambda: api.calls("getUpdates"))
    connection.close()
    assert ask(api, bot, "getUpdates")["ok"]
    api.wait_for(lambda: api.calls("getUpdates")[0].answer is not None)
    assert api.calls("getUpdates")[0].is_ok


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda api, bot: api.revoke(bot), 401),
        (lambda api, bot: ask(api, bot, "setWebhook", url="http://127.0.0.1:1/x"), 409),
    ],
)
def test_what_ends_a_waiting_poll(api: BotApi, bot: str, end: Callable[[BotApi, str], object], status: int) -> None:
    """A revoked token and a webhook end it with their errors."""
    with ThreadPoolExecutor(1) as threads:
        poll = threads.submit(ask, api, bot, "getUpdates", timeout=30)
        api.wait_for(lambda: api.calls("getUpdates"))
        end(api, bot)
        assert poll.result()["status"] == status


def test_webhooks(api: BotApi, bot: str, ada: Person) -> None:
    """Updates are posted in order with the secret, again after a failure, and polling is a conflict meanwhile."""
    seen: list[tuple[str | None, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            update = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.headers["X-Telegram-Bot-Api-Secret-Token"], update["message"]["text"]))
            self.send_response(500 if len(seen) == 1 else 200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
            return

    with HTTPServer(("127.0.0.1", 0), Hook) as hook:
        thread = threading.Thread(target=hook.serve_forever, args=(0.01,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{hook.server_address[1]}/hook"
            assert not ask(api, bot, "setWebhook", url=url, secret_token="no spaces")["ok"]
            assert ask(api, bot, "setWebhook", url=url, secret_token="s3cret")["ok"]
            ada.says(bot, "one")
            ada.says(bot, "two")
            api.wait_for(lambda: not api.pending(bot))
        finally:
            hook.shutdown()
            thread.join()
    assert seen == [("s3cret", "one"), ("s3cret", "one"), ("s3cret", "two")]
    assert ask(api, bot, "getUpdates")["status"] == 409
    assert ask(api, bot, "getWebhookInfo")["result"]["last_error_message"] == "Wrong response from the webhook: 500"
    assert ask(api, bot, "deleteWebhook")["ok"]
    assert ask(api, bot, "getUpdates")["ok"]


def test_faults_with_an_answer(api: BotApi, bot: str, ada: Person) -> None:
    """Each fault hits as often as told, and nothing is sent meanwhile."""
    api.fail_next("sendMessage", retry_after=3, times=2)
    for _ in range(2):
        answer = ask(api, bot, "sendMessage", chat_id=42, text="x")
        assert (answer["status"], answer["parameters"]) == (429, {"retry_after": 3})
    api.fail_next("*", 502, html="<html>Bad Gateway</html>")
    assert post(api, f"/bot{bot}/sendMessage") == (502, b"<html>Bad Gateway</html>")
    api.fail_next("sendMessage", 500)
    assert ask(api, bot, "getMe")["ok"]
    assert ask(api, bot, "sendMessage", chat_id=42, text="x")["description"] == "Internal Server Error"
    assert api.messages(ada) == []
    assert send(api, bot)["message_id"] == 1
    assert [call.is_faulty for call in api.calls("sendMessage")] == [True, True, True, True, False]


@pytest.mark.parametrize(("after", "sent"), [(False, []), (True, ["hello"])])
def test_faults_without_an_answer(api: BotApi, bot: str, ada: Person, after: bool, sent: list[str]) -> None:  # noqa: FBT001  # a table
    """The connection breaks, or says nothing, before or after the message was taken."""
    api.fail_next("sendMessage", after=after)
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        send(api, bot)
    assert api.said(ada) == sent
    silence = api.fail_next("sendMessage", hang=True, after=after)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(send, api, bot)
        api.wait_for(lambda: silence.hits == 1)
        assert not call.done()
        silence.release()
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            call.result()
    assert api.said(ada) == sent * 2


def test_offline_and_online(api: BotApi, bot: str, ada: Person) -> None:
    """Nothing gets through while offline, a waiting poll breaks, and what was said meanwhile waits."""
    with ThreadPoolExecutor(1) as threads:
        poll = threads.submit(ask, api, bot, "getUpdates", timeout=30)
        api.wait_for(lambda: api.calls("getUpdates"))
        api.offline()
        with pytest.raises((OSError, http.client.HTTPException)):
            poll.result()
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(api, bot, "getMe")
    ada.says(bot, "are you there?")
    api.online()
    assert ask(api, bot, "getUpdates")["result"][0]["message"]["text"] == "are you there?"


def test_flood(api: BotApi, bot: str, ada: Person) -> None:
    """With the limit on, a chat takes one message in a while."""
    api.limit_flood(60)
    send(api, bot)
    assert ask(api, bot, "sendMessage", chat_id=42, text="x")["parameters"]["retry_after"] in (59, 60)
    api.limit_flood(None)
    send(api, bot)


def test_groups_and_channels(api: BotApi, bot: str, ada: Person) -> None:
    """Who speaks is told as Telegram tells it: anonymous admins, linked channels and posts without anybody."""
    group, channel = api.group("G", bot, ada), api.channel("C", bot)
    ada.says(group, "hello")
    group.anonymous_says("secret admin")
    group.forwards_a_post("news", channel)
    channel.posts("post")
    updates = ask(api, bot, "getUpdates")["result"]
    messages = [update["message"] for update in updates if "message" in update]
    assert [message["from"]["id"] for message in messages] == [42, 1087968824, 777000]
    assert [message.get("sender_chat", {}).get("id") for message in messages] == [None, group.id, channel.id]
    assert "from" not in updates[-1]["channel_post"]
    assert sum("my_chat_member" in update for update in updates) == 2
    assert ask(api, bot, "getChatMember", chat_id=group.id, user_id=42)["result"]["status"] == "member"
    assert ask(api, bot, "leaveChat", chat_id=group.id)["ok"]
    ada.says(group, "gone?")
    assert len(ask(api, bot, "getUpdates")["result"]) == len(updates)


def test_people_send_all_kinds(api: BotApi, bot: str, ada: Person) -> None:
    """Every kind of message arrives under its own name, with ids and sizes; edits and replies name their message."""
    photo = ada.sends_photo(bot, caption="look")
    ada.sends_voice(bot), ada.sends_video(bot), ada.sends_audio(bot), ada.sends_sticker(bot)
    ada.sends_location(bot), ada.sends_contact(bot)
    ada.sends_album(bot, [("photo", "a.jpg", b"1"), ("video", "b.mp4", b"2")], caption="both")
    said = ada.says(bot, "this one", reply_to=photo)
    ada.edits(said, "that one")
    updates = ask(api, bot, "getUpdates")["result"]
    kinds = ("photo", "voice", "video", "audio", "sticker", "location", "contact", "photo", "video", "text")
    assert all(kind in update["message"] for kind, update in zip(kinds, updates, strict=False))
    assert updates[9]["message"]["reply_to_message"]["caption"] == "look"
    assert updates[10]["edited_message"]["text"] == "that one"
    assert updates[10]["edited_message"]["message_id"] == said["message_id"]
