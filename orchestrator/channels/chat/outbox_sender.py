"""One chat's messages on their way: the oldest first, one at a time, each written down as ``sending`` before its call
and as ``sent`` after it. What had no clear end is looked for in the chat before it is sent again.

It knows nothing of other chats, except that a bot which has to be silent is silent everywhere.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from orchestrator.channels.chat import outbox_rows as rows
from orchestrator.channels.chat.adapter import ChannelAdapter
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.message_json import body_from_json, body_to_json
from orchestrator.channels.chat.outbox_rows import StoredMessage
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.send_errors import (
    ChatForbidden,
    ChatMoved,
    FileTooBig,
    FloodWait,
    NoSuchChat,
    NoSuchMessage,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
)
from orchestrator.core.db import audit_rows as audit
from orchestrator.core.errors import Unavailable

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
LONGEST_SILENCE_S = 3600.0
"""An app may ask for more; it is asked again once an hour then."""
_SHORTEST_PAUSE_S = 0.2
_WITHOUT_A_LINE_S = 1.0
_MOST_STRANGE_TRIES = 3
_CLOSED = {
    "blocked": "The bot is blocked in {app}. Unblock it there to get its messages again.",
    "kicked": "The bot is no longer in this {app} group.",
    "deactivated": "This {app} account no longer exists.",
    "cannot_write_first": "A bot can't write first. Open its chat in {app} and tap Start.",
    "cannot_write": "The bot may not write in this {app} chat.",
}
_NO_CHAT = "{app} doesn't know this chat with the bot. Open the bot in {app} and tap Start."
_TOO_BIG = "It is larger than bots can send on {app} ({limit})."
_STRANGE = "It could not be sent. The orchestrator's log says why."


@dataclass(frozen=True, slots=True)
class SenderParts:
    """What every round works with."""

    store: ChannelStore
    adapter_of: Callable[[str], ChannelAdapter | None]
    trouble: Callable[[str, Exception], None]
    """Told, in the loop, when a bot can't be reached or is revoked."""
    told: Callable[[str, str | None], None]
    """Told, in a thread, how each message ended."""
    now: Callable[[], float]
    first_pause_s: float


class ChatSender:
    """The messages of one chat, until none is left."""

    def __init__(self, means: SenderParts, agent: str, chat: int) -> None:
        self._means = means
        self._store, self._traits = means.store, means.store.traits
        self._now = means.now
        self._agent = agent
        self._chat = chat
        self._failures = 0
        self._dead: ChannelAdapter | None = None
        self._arrived: tuple[int, int, int] | None = None
        """A message that has arrived, with its first and last message, until that is written down."""

    def __str__(self) -> str:
        return f"{self._agent}'s chat {self._chat}"

    async def send_waiting(self) -> None:
        """Nothing is left to do in this chat when this returns."""
        while (found := await asyncio.to_thread(self._next_message)) is not None:
            message, silent_s = found
            line = self._means.adapter_of(self._agent)
            if line is None or line is self._dead:
                await asyncio.sleep(_WITHOUT_A_LINE_S)
            elif silent_s > 0:
                await asyncio.sleep(silent_s)
            else:
                await self._try_once(line, message)

    def _next_message(self) -> tuple[StoredMessage, float] | None:
        """The message whose turn it is, and how long its bot has to be silent before."""
        with self._store.reading() as db:
            message = rows.get_first(db, self._agent, self._chat)
            silent_s = rows.silent_until(db, self._agent) - self._now()
        # Of more than can have been asked for, the clock is to blame: it has gone back meanwhile.
        return None if message is None else (message, silent_s if silent_s <= LONGEST_SILENCE_S else 0.0)

    async def _try_once(self, line: ChannelAdapter, message: StoredMessage) -> None:
        """One step forward with this message, or a wait."""
        try:
            await (self._edit_message(line, message) if message.state == "sent" else self._send_message(line, message))
            self._failures = 0
        except Unreachable as error:
            if not error.may_have_arrived:
                await self._mark_unsent(message)
            self._means.trouble(self._agent, error)
            await self._back_off(line)
        except FloodWait as flood:
            await self._mark_unsent(message)
            await self._write_rows(self._silence_bot, flood.retry_after_s)
        except TokenRevoked as error:
            await self._mark_unsent(message)
            self._dead = line
            self._means.trouble(self._agent, error)
        except ChatMoved as moved:
            await self._write_rows(self._move_chat, moved.chat)
        except ChatForbidden as forbidden:
            await self._close_chat(_CLOSED[forbidden.why].format(app=self._traits.label))
        except NoSuchChat:
            await self._close_chat(_NO_CHAT.format(app=self._traits.label))
        except (SendError, OSError) as error:
            await self._on_refused(message, error)
        except Unavailable as error:  # the disk takes nothing just now
            logger.warning("message %s to %s waits: %s", message.ref, self, error.message)
            await self._back_off(line)
        except Exception:  # a mistake of ours or of the library's: the messages behind this one must not wait for ever
            logger.exception("message %s to %s", message.ref, self)
            if message.tries >= _MOST_STRANGE_TRIES or message.state == "sent":
                await self._mark_failed(message, _STRANGE)
            await self._back_off(line)

    # --- sending ---------------------------------------------------------------------------------------------------

    async def _send_message(self, line: ChannelAdapter, message: StoredMessage) -> None:
        body = body_from_json(message.body)
        if self._arrived is not None and self._arrived[0] == message.id:
            await self._mark_sent(message, *self._arrived[1:])
            return
        if message.state == "sending":
            number = await self._find_sent(line, message, body)
            if number is not None:
                await self._mark_sent(message, number, number + max(len(body.files) - 1, 0))
                return
        if not await self._write_rows(self._mark_begun, message):
            return  # it was amended or withdrawn meanwhile
        shown = body if self._traits.has_buttons else replace(body, buttons=(), keyboard=())
        numbers = await line.send_message(self._chat, shown)
        await self._mark_sent(message, numbers[0], numbers[-1])

    async def _find_sent(self, line: ChannelAdapter, message: StoredMessage, body: MessageBody) -> int | None:
        """Whether an earlier try arrived after all."""
        after = message.after or 0
        known = await asyncio.to_thread(self._known_numbers, after)
        return await line.find_sent(self._chat, body, after=after, known=known)

    def _known_numbers(self, after: int) -> set[int]:
        with self._store.reading() as db:
            return rows.known_after(db, self._agent, self._chat, after, self._traits.shared_numbers_above)

    def _mark_begun(self, message: StoredMessage) -> bool:
        with self._store.writing() as db:
            return rows.mark_sending(db, message, shared_above=self._traits.shared_numbers_above)

    async def _mark_sent(self, message: StoredMessage, number: int, last: int) -> None:
        def write() -> None:
            with self._store.writing() as db:
                rows.mark_sent(db, message, number, last, self._now())
            self._means.told(message.ref, None)

        self._arrived = (message.id, number, last)
        await self._write_rows(write)
        self._arrived = None

    async def _edit_message(self, line: ChannelAdapter, message: StoredMessage) -> None:
        """The message says what its amendment says; one that is gone needs none."""
        body = replace(body_from_json(message.amendment or message.body), files=body_from_json(message.body).files)
        with suppress(NoSuchMessage):
            if self._traits.can_edit:
                await line.edit_message(self._chat, message.message or 0, body)

        def write() -> None:
            with self._store.writing() as db:
                rows.mark_amended(db, message)

        await self._write_rows(write)

    # --- what goes wrong -------------------------------------------------------------------------------------------

    async def _mark_unsent(self, message: StoredMessage) -> None:
        """This try has not arrived for sure. One before it may have, and is still looked for."""
        if message.state != "waiting":
            return

        def write() -> None:
            with self._store.writing() as db:
                rows.did_not_go(db, message.id)

        await self._write_rows(write)

    def _silence_bot(self, for_s: float) -> None:
        with self._store.writing() as db:
            rows.silence_bot(db, self._agent, self._now() + min(for_s, LONGEST_SILENCE_S))

    def _move_chat(self, chat: int) -> None:
        with self._store.writing() as db:
            rows.move_chat(db, self._agent, self._chat, chat)

    async def _close_chat(self, why: str) -> None:
        """Nobody can be written to here any more."""

        def write() -> None:
            with self._store.writing() as db:
                failed = rows.fail_all(db, self._agent, self._chat, why)
                rows.close_chat(db, self._agent, self._chat, self._now())
                if failed:
                    text = f"Messages to a {self._traits.label} chat were not sent. {why}"
                    detail = {"chat": self._chat, "letters": failed[:20]}
                    audit.insert_record(
                        db.sql, self._traits.name, text, now=self._now(), agent=self._agent, detail=detail
                    )
            for ref in failed:
                self._means.told(ref, why)

        await self._write_rows(write)

    async def _on_refused(self, message: StoredMessage, error: Exception) -> None:
        """As plain text it may be taken; if it is that already, it is given up."""
        is_sent = message.state == "sent"
        body = body_from_json((message.amendment if is_sent else message.body) or message.body)
        if not isinstance(error, SendRefused) or not body.rich.entities:
            too_big = _TOO_BIG.format(app=self._traits.label, limit=self._traits.upload_limit)
            await self._mark_failed(message, too_big if isinstance(error, FileTooBig) else f"{str(error).rstrip('.')}.")
            return
        plain = body_to_json(replace(body, rich=RichText(body.rich.text)))

        def write() -> None:
            with self._store.writing() as db:
                (rows.amend_instead if is_sent else rows.say_instead)(db, message, plain)

        logger.warning("message %s is tried as plain text: %s", message.ref, error)
        await self._write_rows(write)

    async def _mark_failed(self, message: StoredMessage, why: str) -> None:
        is_sent = message.state == "sent"

        def write() -> None:
            what = "change" if is_sent else "message"
            with self._store.writing() as db:
                if is_sent:
                    rows.amend_instead(db, message, None)
                else:
                    rows.mark_failed(db, message.id, why)
                text = f"A {what} for a {self._traits.label} chat was given up. {why}"
                detail = {"chat": self._chat, "letter": message.ref}
                audit.insert_record(db.sql, self._traits.name, text, now=self._now(), agent=self._agent, detail=detail)
            if not is_sent:
                self._means.told(message.ref, why)

        await self._write_rows(write)

    async def _back_off(self, line: ChannelAdapter) -> None:
        """Waits longer each time, up to a minute, but no longer than until the app answers anybody on this line."""
        answers = line.answer_count
        longest_s = min(_LONGEST_PAUSE_S, self._means.first_pause_s * 2 ** min(self._failures, 12))
        longest_s *= random.uniform(0.5, 1)  # noqa: S311 - so that chats don't all try at once; no secret
        self._failures += 1
        await asyncio.sleep(min(_SHORTEST_PAUSE_S, longest_s))
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await line.wait_answered(answers)

    async def _write_rows(self, doing: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """In a thread, and to its end even when this task is cancelled meanwhile."""
        return await asyncio.shield(asyncio.to_thread(doing, *arguments, **more))
