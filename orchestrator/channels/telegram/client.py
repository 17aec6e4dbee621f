"""A bot's client: what it can say, change and fetch, each as one call with one outcome. This is the only
place that knows the library for Telegram, together with its own parts (``ptb_…``).

Everything goes out without link previews and without a parse mode, files as bytes. It remembers nothing but how long
Telegram wants it to be silent, and which messages it has sent itself. A line belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from telegram import BotCommand
from telegram.error import TelegramError

from orchestrator.agents.agent_fields import ANY_TELEGRAM_TOKEN
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.send_errors import (
    FileTooBig,
    FloodWait,
    NoSuchMessage,
    NotModified,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
)
from orchestrator.channels.telegram.api_errors import APP
from orchestrator.channels.telegram.client_types import (
    ALBUM_MOST,
    BotIdentity,
    ClientTimeouts,
    MenuScope,
    WebhookStatus,
)
from orchestrator.channels.telegram.ptb_bot import UPDATES, BotPace, PlainBot, command_scope
from orchestrator.channels.telegram.ptb_objects import (
    NO_PREVIEW,
    UploadFiles,
    caption_arguments,
    ptb_entities,
    reply_markup,
    send_options,
    shorten_text,
    text_arguments,
    well_formed,
)
from orchestrator.channels.telegram.ptb_request import STAND_IN, BotRequest, told_of
from orchestrator.core.errors import BadInput, Unavailable
from orchestrator.files.models import Writable

P = ParamSpec("P")
T = TypeVar("T")

DOWNLOAD_BYTES = 20 * 1000 * 1000
"""What Telegram lets bots fetch at most (it says 20 MB, and means about this)."""
MAX_PROBES = 25
_CONNECTIONS = 32
_REMEMBERED = 64


class TelegramClient:
    """One bot's calls. Each raises a :class:`SendError`: :class:`Unreachable`, :class:`FloodWait` and
    :class:`TokenRevoked` anywhere, the others where they can happen."""

    def __init__(
        self,
        token: str,
        *,
        api_url: str,
        patience: ClientTimeouts | None = None,
        count: Callable[[str], None] = lambda _outcome: None,
    ) -> None:
        """``count`` hears of each call how it ended. Raises BadInput when the token can't be one; nothing is sent
        yet."""
        if not ANY_TELEGRAM_TOKEN.fullmatch(token):
            raise BadInput("This isn't a bot token. One looks like 1234567890:AAF… and comes from @BotFather.")
        patience = patience or ClientTimeouts()
        self._patience = patience
        self._calling = BotRequest(token, patience, connections=_CONNECTIONS)
        self._polling = BotRequest(token, patience, connections=2)
        root = api_url.rstrip("/")
        self._files = f"{root}/file/bot{STAND_IN}/"
        self._bot = PlainBot(
            STAND_IN,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._calling,
            get_updates_request=self._polling,
            rate_limiter=BotPace(),
        )
        self._silent_until = 0.0
        self._first_after_silence = asyncio.Lock()
        self._is_doubtful = False
        self._count = count
        self.answer_count = 0
        self._answer = asyncio.Event()
        self._at_chat: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)  # one message at a time in a chat
        self._sent: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    async def open(self) -> None:
        """The line can be used; Telegram is not asked yet."""
        await asyncio.gather(self._calling.initialize(), self._polling.initialize())

    async def close(self) -> None:
        """No connection is left; whatever is called afterwards is :class:`Unreachable`."""
        await asyncio.gather(self._calling.shutdown(), self._polling.shutdown())

    # --- about the bot ---------------------------------------------------------------------------------------------

    async def get_me(self) -> BotIdentity:
        """Who the bot is."""
        user = await self._call_method(self._bot.get_me)
        return BotIdentity(user.id, user.username or "", user.first_name, bool(user.can_read_all_group_messages))

    async def set_commands(self, commands: Sequence[tuple[str, str]], scope: MenuScope = "default") -> None:
        """The menu: names with their descriptions."""
        await self._call_method(
            self._bot.set_my_commands, [BotCommand(*one) for one in commands], scope=command_scope(scope)
        )

    async def set_webhook(self, url: str, secret: str) -> None:
        """From now on Telegram posts the updates to ``url``, with the secret in a header."""
        await self._call_method(self._bot.set_webhook, url, allowed_updates=UPDATES, secret_token=secret)

    async def delete_webhook(self) -> None:
        """Updates can be fetched again; none is lost."""
        await self._call_method(self._bot.delete_webhook)

    async def get_webhook(self) -> WebhookStatus:
        """Where updates go now."""
        found = await self._call_method(self._bot.get_webhook_info)
        return WebhookStatus(found.url, found.pending_update_count, found.last_error_message or "")

    async def leave_chat(self, chat: int) -> None:
        """The bot is no longer in the group."""
        await self._call_method(self._bot.leave_chat, chat)

    # --- what comes in ---------------------------------------------------------------------------------------------

    async def get_updates(self, offset: int | None, *, timeout_s: int) -> list[dict[str, Any]]:
        """The updates from this number on, as they came; waits for one as long as said. Those before it are forgotten.

        After a failure the next call does not wait, so that it is known at once when Telegram is back. Raises
        :class:`OtherPoller` when another program fetches them.
        """
        wait_s = 0 if self._is_doubtful else timeout_s
        found = await self._judge_call(self._bot.raw_updates(offset, wait_s, wait_s + self._patience.read_s))
        return [one for one in found if isinstance(one, dict) and isinstance(one.get("update_id"), int)]

    async def download_file(self, file_id: str, sink: Writable, max_bytes: int = DOWNLOAD_BYTES) -> int:
        """Streams a file that a person sent into ``sink``; its size. Raises :class:`FileTooBig` and
        :class:`SendRefused`; the sink may have got a part by then."""
        found = await self._call_method(self._bot.get_file, file_id)
        if not (found.file_path or "").startswith(self._files):
            raise SendRefused("the Bot API server keeps files where they can't be fetched", app=APP)
        return await self._call_method(self._calling.download_to, str(found.file_path), sink, max_bytes)

    async def answer_press(self, query: str, text: str = "", *, alert: bool = False) -> None:
        """The button stops glowing and says this; too late is no error."""
        try:
            await self._call_method(
                self._bot.answer_callback_query, query, text=shorten_text(text, 200) or None, show_alert=alert
            )
        except SendRefused:
            return  # Telegram wants it within seconds, and once

    # --- what goes out ---------------------------------------------------------------------------------------------

    async def send_message(self, chat: int, body: MessageBody) -> list[int]:
        """The numbers of the messages that it became: one, or those of an album (2 to 10 files, no buttons).

        What is refused as a photo, video, voice message … goes as a document; without the message that it answers, or
        the topic, it goes all the same. Raises also ChatForbidden, NoSuchChat, ChatMoved, FileTooBig
        and SendRefused.
        """
        async with self._at_chat[chat]:
            numbers = await self._send_body(chat, body)
            self._sent[chat].extend(numbers)
            return numbers

    async def edit_message(self, chat: int, message: int, body: MessageBody) -> None:
        """The message says this now, with these buttons; with files in ``body`` it is their caption. That it said so
        already is fine. Raises also NoSuchMessage, Refused and what :meth:`send_message` raises of the chat."""
        try:
            await self._edit_body(chat, message, body)
        except NotModified:
            return

    async def delete_message(self, chat: int, message: int) -> None:
        """The message is gone; already gone is fine."""
        try:
            await self._call_method(self._bot.delete_message, chat, message)
        except NoSuchMessage:
            return

    async def send_typing(self, chat: int, thread: int | None = None, *, action: str = "typing") -> None:
        """The bot is seen typing (or at another ``action``) for five seconds."""
        await self._call_method(self._bot.send_chat_action, chat, action, message_thread_id=thread)

    async def send_draft(self, chat: int, draft_id: int, rich: RichText, thread: int | None = None) -> None:
        """In a private chat, the beginning of an answer shows so far; :meth:`send_message` replaces it."""
        said: dict[str, Any] = {
            "text": well_formed(rich.text),
            "entities": ptb_entities(rich),
            "message_thread_id": thread,
        }
        await self._call_method(self._bot.send_message_draft, chat, draft_id, **said, api_kwargs=NO_PREVIEW)

    async def find_sent(self, chat: int, body: MessageBody, *, after: int, known: Collection[int] = ()) -> int | None:
        """The message that ``body`` became, when its sending had no clear end; None when there is none.

        The numbers after ``after`` are tried, without those known to be something else: setting a message to exactly
        what it says already is refused as "not modified". A message of ours that nobody knows of is set to it, so that
        it stands there once either way. One that offers a reply keyboard can't be found: Telegram lets nobody edit it.
        """
        async with self._at_chat[chat]:
            number = after
            for _ in range(MAX_PROBES):
                number += 1
                while number in known or number in self._sent[chat]:
                    number += 1
                try:
                    await self._edit_body(chat, number, body)
                except NoSuchMessage:
                    continue
                except NotModified:
                    pass
                self._sent[chat].append(number)
                return number
        return None

    async def wait_answered(self, since: int) -> None:
        """Returns when Telegram has answered a call, whichever, since :attr:`answer_count` was so many: it is there."""
        while self.answer_count <= since:
            await self._answer.wait()

    # --- beneath ---------------------------------------------------------------------------------------------------

    async def _send_body(self, chat: int, body: MessageBody) -> list[int]:
        try:
            return await self._send_as_asked(chat, body)
        except SendRefused as refused:
            if body.thread is not None and "thread" in refused.description.lower():
                return await self._send_body(chat, replace(body, thread=None))
            if body.reply_to is not None and "repl" in refused.description.lower():
                return await self._send_body(chat, replace(body, reply_to=None))
            raise

    async def _send_as_asked(self, chat: int, body: MessageBody) -> list[int]:
        if not body.files:
            return [await self._send_text(chat, body)]
        with ExitStack() as opened:
            parcel = UploadFiles.open_files(body.files, opened)
            try:
                return await self._send_parcel(chat, body, parcel)
            except (SendRefused, FileTooBig):
                if parcel.is_plain:
                    raise
                return await self._send_parcel(chat, body, parcel.as_documents())

    async def _send_text(self, chat: int, body: MessageBody) -> int:
        sent = await self._call_method(
            self._bot.send_message, chat, **text_arguments(body), **send_options(body), reply_markup=reply_markup(body)
        )
        return sent.message_id

    async def _send_parcel(self, chat: int, body: MessageBody, parcel: UploadFiles) -> list[int]:
        if len(parcel.files) == 1:
            method = getattr(self._bot, f"send_{parcel.files[0].kind}")  # the kinds are the library's own words
            more = {**caption_arguments(body), **send_options(body), "reply_markup": reply_markup(body)}
            sent = await self._call_method(method, chat, **parcel.single_input(), **more)
            return [sent.message_id]
        if len(parcel.files) > ALBUM_MOST or body.buttons:
            raise SendRefused("an album has 2 to 10 files and no buttons", app=APP)
        album = await self._call_method(
            self._bot.send_media_group, chat, parcel.album_inputs(), **caption_arguments(body), **send_options(body)
        )
        return [message.message_id for message in album]

    async def _edit_body(self, chat: int, message: int, body: MessageBody) -> None:
        """Raises NotModified when it says that already."""
        to: dict[str, Any] = {
            "chat_id": chat,
            "message_id": message,
            "reply_markup": reply_markup(replace(body, keyboard=())),
        }
        if body.files:
            await self._call_method(self._bot.edit_message_caption, **caption_arguments(body), **to)
        else:
            await self._call_method(self._bot.edit_message_text, **text_arguments(body), **to)

    async def _call_method(
        self, method: Callable[P, Coroutine[Any, Any, T]], *arguments: P.args, **more: P.kwargs
    ) -> T:
        """One call, unless Telegram wants silence. After a silence, calls go one by one until one was answered."""
        if self._silent_until:
            async with self._first_after_silence:
                return await self._call_once(method(*arguments, **more))
        return await self._call_once(method(*arguments, **more))

    async def _call_once(self, call: Coroutine[Any, Any, T]) -> T:
        left_s = self._silent_until - time.monotonic()
        if left_s > 0:
            call.close()
            raise FloodWait(left_s)
        try:
            result = await self._judge_call(call)
        except FloodWait as flood:
            self._silent_until = max(self._silent_until, time.monotonic() + flood.retry_after_s)
            raise
        if self._silent_until <= time.monotonic():
            self._silent_until = 0.0
        return result

    async def _judge_call(self, call: Awaitable[T]) -> T:
        try:
            result = await call
        except (TelegramError, AttributeError, KeyError, TypeError) as error:
            told = told_of(error)
            self._note_contact(is_there=not isinstance(told, Unreachable))
            self._count(told.kind)
            raise told from None
        self._note_contact(is_there=True)
        self._count("ok")
        return result

    def _note_contact(self, *, is_there: bool) -> None:
        self._is_doubtful = not is_there
        if is_there:
            self.answer_count += 1
            self._answer.set()
            self._answer = asyncio.Event()


def check_token(token: str, api_url: str, *, patience: ClientTimeouts | None = None) -> BotIdentity:
    """Who the bot of this token is; waits for Telegram, so never from within an event loop.

    Raises BadInput when Telegram doesn't know the token, Unavailable when it does not answer.
    """
    return asyncio.run(_prove(token, api_url, patience or ClientTimeouts(connect_s=5, read_s=10)))


async def _prove(token: str, api_url: str, patience: ClientTimeouts) -> BotIdentity:
    line = TelegramClient(token, api_url=api_url, patience=patience)
    await line.open()
    try:
        return await line.get_me()
    except TokenRevoked:
        raise BadInput("Telegram does not know this token. Copy it again from @BotFather.") from None
    except SendError:
        raise Unavailable(
            "Couldn't reach Telegram to check this token. Check your network connection and try again."
        ) from None
    finally:
        await line.close()
