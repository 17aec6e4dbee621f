"""A small, strict Telegram Bot API server on loopback, for tests.

``with BotApi() as api:`` serves any number of bots under ``api.base_url`` (``http://127.0.0.1:PORT/bot``) and their
files under ``api.file_url``. It checks requests as Telegram does, and refuses parameters that the method doesn't have.
``bot = api.bot("Name")`` gives a token, ``ada = api.person(42, "Ada")`` somebody who ``says``, ``edits``, ``presses``
and ``sends_…``; ``api.group`` and ``api.channel`` make other chats. Every call is in ``api.calls()``, every message as
it stands in ``api.messages(chat)``; ``api.fail_next`` and ``api.offline`` break things. Everything may be called
from any thread.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any, Self

from tests.support.bot_api_faults import Fault
from tests.support.bot_api_people import Group, Person
from tests.support.bot_api_rules import Json
from tests.support.bot_api_updates import UpdateSender
from tests.support.bot_api_wire import Server
from tests.support.bot_api_world import Bot, Call, StoredFile, Upload, World

__all__ = ["BotApi", "Call", "Fault", "Group", "Person", "StoredFile", "Upload"]

WAIT_S = 30.0


class BotApi:
    """The server and everything a test does with it."""

    def __init__(self) -> None:
        self.world = World()
        self._server = Server(self.world)
        self._sender = UpdateSender(self.world)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="bot-api")

    def __enter__(self) -> Self:
        self._thread.start()
        self._sender.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self.world.changed:
            self.world.is_closing = True
            for fault in self._server.faults:
                fault.release()
            self.world.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.cut()
        self._server.server_close()
        self._sender.join()

    # --- where it is ------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The root, as HERMIT_TELEGRAM_API_URL takes it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What clients put before the token."""
        return f"{self.url}/bot"

    @property
    def file_url(self) -> str:
        """What clients put before the token of a file."""
        return f"{self.url}/file/bot"

    # --- who is there -----------------------------------------------------------------------------------------------

    def bot(self, name: str = "Crab", *, username: str = "") -> str:
        """A new bot; its token."""
        with self.world.changed:
            number = 7_000_000_000 + self.world.number()
            token = f"{number}:AA{number:033d}"
            user: Json = {"id": number, "is_bot": True, "first_name": name}
            user["username"] = username or f"{name.replace(' ', '_').lower()}_{self.world.number()}_bot"
            user |= {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}
            user |= {"can_connect_to_business": False, "has_main_web_app": False}
            self.world.bots[token] = Bot(token, user, next_update_id=100_000_000 + number % 1000 * 1000)
            return token

    def bot_user(self, token: str) -> Json:
        """The bot's own User object."""
        with self.world.changed:
            return copy.deepcopy(self.world.bots[token].user)

    def revoke(self, token: str) -> None:
        """From now on the token is 401, for a waiting poll too."""
        with self.world.changed:
            self.world.bots[token].is_revoked = True
            self.world.changed.notify_all()

    def person(self, number: int, name: str = "Ada", language_code: str = "en", **more: Any) -> Person:
        """Somebody; bots can't write to them before they have opened the chat."""
        user = {"id": number, "is_bot": False, "first_name": name, "language_code": language_code, **more}
        return Person(self.world, user)

    def group(self, title: str = "The group", *members: str | Person, kind: str = "supergroup") -> Group:
        """A group with these members (tokens and persons)."""
        with self.world.changed:
            chat: Json = {"id": -1_000_000_000_000 - self.world.number(), "type": kind, "title": title}
        group = Group(self.world, chat)
        group.adds(*members)
        return group

    def channel(self, title: str = "The channel", *bots: str) -> Group:
        """A channel with these bots as administrators."""
        channel = self.group(title, kind="channel")
        channel.adds(*bots, status="administrator")
        return channel

    # --- updates ----------------------------------------------------------------------------------------------------

    def push(self, bot: str, update: Json) -> Json:
        """Any update as a raw object (inline_query, message_reaction, business_message …); it gets its update_id."""
        with self.world.changed:
            return copy.deepcopy(self.world.push(self.world.bots[bot], update))

    def repeat(self, bot: str, update: Json) -> None:
        """The same update again, with the number that it has."""
        with self.world.changed:
            self.world.push(self.world.bots[bot], update, is_repeat=True)

    def pending(self, bot: str) -> list[Json]:
        """The updates that the bot hasn't acknowledged."""
        with self.world.changed:
            return copy.deepcopy(self.world.bots[bot].updates)

    def expire(self, query_id: str) -> None:
        """The press is too old to be answered."""
        with self.world.changed:
            self.world.queries.pop(query_id, None)

    # --- what happened ----------------------------------------------------------------------------------------------

    def calls(self, method: str = "", *, bot: str = "") -> list[Call]:
        """The calls so far, in order: accepted (`is_ok`), refused (`error`) and broken by `fail_next` (`is_faulty`)."""
        with self.world.changed:
            wanted = method.lower()
            return [
                call for call in self.world.calls if wanted in ("", call.method.lower()) and bot in ("", call.token)
            ]

    def messages(self, chat: Person | Group | int, *, bot: str = "") -> list[Json]:
        """The messages of a chat as they stand, oldest first; a person's with `bot`, when there are several."""
        number = chat if isinstance(chat, int) else chat.id
        with self.world.changed:
            found = self.world.rooms.items()
            rooms = [room for (token, one), room in found if one == number and (not token or bot in ("", token))]
            return copy.deepcopy([message for room in rooms for message in room.messages])

    def said(self, chat: Person | Group | int, *, bot: str = "") -> list[str]:
        """The texts and captions that bots have in a chat, as they stand."""
        messages = [one for one in self.messages(chat, bot=bot) if one.get("from", {"is_bot": True})["is_bot"]]
        return [str(one.get("text", one.get("caption", ""))) for one in messages]

    def answer_to(self, query_id: str) -> Json | None:
        """What answerCallbackQuery said about a press, or None."""
        with self.world.changed:
            return self.world.queries.get(query_id)

    def commands(self, bot: str, scope: str = "default", language_code: str = "") -> list[Json]:
        """The command menu of a scope (``default``, ``chat 42`` …)."""
        with self.world.changed:
            return copy.deepcopy(self.world.bots[bot].commands.get((scope, language_code), []))

    def bytes_of(self, file_id: str) -> bytes:
        """The bytes behind a file_id."""
        with self.world.changed:
            return self.world.files[file_id.removesuffix("_s")].content

    def fetched(self) -> list[StoredFile]:
        """The files that bots have downloaded, in order."""
        with self.world.changed:
            return list(self.world.fetched)

    def wait_for(self, holds: Callable[[], Any], timeout_s: float = WAIT_S) -> None:
        """Waits until the claim holds; it is looked at whenever something happens here."""
        if not self.world.wait_for(holds, timeout_s):
            raise AssertionError(f"it didn't come to hold within {timeout_s} s")

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def fail_next(
        self,
        method: str,
        status: int = 0,
        *,
        retry_after: int = 0,
        html: str = "",
        hang: bool = False,
        after: bool = False,
        times: int = 1,
    ) -> Fault:
        """The next calls of a method (``*``: any, ``download``: a file) fail: with this status, as JSON or a web page;
        without a status the connection is reset, or with `hang` silent until ``fault.release()``. With `after` the call
        is carried out and only the answer is lost."""
        code = status or (429 if retry_after else 0)
        fault = Fault(method, code, retry_after, html, is_silent=hang, is_after=after, left=times)
        with self.world.changed:
            self._server.faults.append(fault)
        return fault

    def offline(self) -> None:
        """Every connection is cut, new ones are reset."""
        with self.world.changed:
            self.world.is_offline = True
            self.world.changed.notify_all()
        self._server.cut()

    def online(self) -> None:
        """All is well again, for whoever comes from now on."""
        with self.world.changed:
            self._server.turn_away()
            self.world.is_offline = False

    def limit_flood(self, pause_s: float | None = 1.0) -> None:
        """Bots may send one message to a chat in this time, else 429; None lifts it."""
        with self.world.changed:
            self.world.chat_pause_s = pause_s
            for room in self.world.rooms.values():
                room.last_sent = float("-inf")
