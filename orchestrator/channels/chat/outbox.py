"""Everything that is said in chats, as messages: written down first, then sent, in order within each chat, once. What a
crash or a broken connection interrupts goes on afterwards. How one chat's messages go out is in ``outbox_sender``.

Posting, amending and withdrawing work from any thread, and within a transaction of the caller's: what he writes and the
message are there together or not at all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from orchestrator.channels.chat import outbox_rows as rows
from orchestrator.channels.chat.adapter import ChannelAdapter
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.message_json import body_from_json, body_to_json
from orchestrator.channels.chat.outbox_rows import SendOutcome
from orchestrator.channels.chat.outbox_sender import FIRST_PAUSE_S, ChatSender, SenderParts
from orchestrator.core.errors import OrchestratorError

logger = logging.getLogger(__name__)

SWEEP_S = 5.0
"""How often messages are looked for when nobody rings; only what a failing database held up needs that."""
_AFTER_FAILURE_S = 1.0
_Key = tuple[str, int]


class Outbox:
    """The messages of all agents."""

    def __init__(
        self, store: ChannelStore, *, now: Callable[[], float] = time.time, first_pause_s: float = FIRST_PAUSE_S
    ) -> None:
        """``first_pause_s``: after a first failure; each one after it is twice as long, up to a minute."""
        self._store = store
        self._first_pause_s = first_pause_s
        self._now = now
        self._told: list[Callable[[str, str | None], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = asyncio.Event()

    def subscribe(self, told: Callable[[str, str | None], None]) -> None:
        """From now on ``told`` hears of every message that was sent (its ref, None) or failed (its ref, a sentence for
        a person), in some thread. A crash in between can swallow that: :meth:`status_of` knows."""
        self._told.append(told)

    # --- from any thread -------------------------------------------------------------------------------------------

    def post_message(self, stored: Message) -> bool:
        """The message will be sent; False when one of this ref was posted before, or there is no such agent."""
        with self._store.writing() as db:
            is_new = rows.insert_message(
                db, stored.agent, stored.chat, stored.ref, body_to_json(stored.body), now=self._now()
            )
        self._wake_senders()
        return is_new

    def amend_message(self, ref: str, body: MessageBody) -> bool:
        """The message says this from now on, whether it is sent already or not; the latest call wins. False when there
        is no such message, or it failed. A message with a file keeps it: its caption changes."""
        with self._store.writing() as db:
            is_known = rows.amend_message(db, ref, body_to_json(body))
        self._wake_senders()
        return is_known

    def withdraw_message(self, ref: str) -> bool:
        """The message will not be sent; False when it may be under way, or is there already."""
        with self._store.writing() as db:
            return rows.withdraw_message(db, ref)

    def ref_of(self, agent: str, chat: int, message: int) -> str | None:
        """The outbox entry that became this message."""
        with self._store.reading() as db:
            return rows.ref_of(db, agent, chat, message)

    def status_of(self, ref: str) -> SendOutcome | None:
        """How the message stands: ``waiting``, ``sending``, ``sent`` or ``failed``, and why."""
        with self._store.reading() as db:
            return rows.get_status(db, ref)

    def body_of(self, ref: str) -> MessageBody | None:
        """What the message says, or soon will."""
        with self._store.reading() as db:
            text = rows.body_of(db, ref)
        return None if text is None else body_from_json(text)

    # --- in the loop -----------------------------------------------------------------------------------------------

    async def run(
        self, adapter_of: Callable[[str], ChannelAdapter | None], trouble: Callable[[str, Exception], None]
    ) -> None:
        """Send what is posted until cancelled. A bot without a line keeps its messages. ``trouble`` is told, in the
        loop, when a bot can't be reached or is revoked, each time that this shows."""
        self._loop = asyncio.get_running_loop()
        means = SenderParts(self._store, adapter_of, trouble, self._notify_listeners, self._now, self._first_pause_s)
        rounds: dict[_Key, asyncio.Task[None]] = {}
        try:
            while True:
                self._rung.clear()
                for key in await self._list_waiting():
                    if key not in rounds:
                        rounds[key] = asyncio.create_task(_walk(ChatSender(means, *key)))
                        rounds[key].add_done_callback(partial(self._is_over, rounds, key))
                # asyncio.wait_for of Python 3.11 may swallow being cancelled.
                with suppress(TimeoutError):
                    async with asyncio.timeout(SWEEP_S):
                        await self._rung.wait()
        finally:
            self._loop = None
            under_way = list(rounds.values())
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _list_waiting(self) -> list[_Key]:
        try:
            return await asyncio.to_thread(self._read_due)
        except OrchestratorError as error:
            logger.warning("waiting messages can't be read: %s", error)
            await asyncio.sleep(_AFTER_FAILURE_S)
            return []

    def _read_due(self) -> list[_Key]:
        # Whoever rang may still be within a transaction; the writers' lock is free when that is over.
        with self._store.writing() as db:
            return rows.chats_with_mail(db)

    def _is_over(self, rounds: dict[_Key, asyncio.Task[None]], key: _Key, _: asyncio.Task[None]) -> None:
        """A message that came while the round was ending is found by the next look."""
        del rounds[key]
        self._rung.set()

    def _wake_senders(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed already; the next one finds the message
                loop.call_soon_threadsafe(self._rung.set)

    def _notify_listeners(self, ref: str, why: str | None) -> None:
        for told in self._told:
            try:
                told(ref, why)
            except Exception:  # whoever listens must not hold up the messages of others
                logger.exception("the outcome of message %s could not be reported", ref)


async def _walk(sending: ChatSender) -> None:
    try:
        await sending.send_waiting()
    except Exception:  # the top of a task: the database fails, or we do; the messages are tried again
        logger.exception("messages to %s are held up", sending)
        await asyncio.sleep(_AFTER_FAILURE_S)
