"""What was kept is heard: each message becomes a turn, a command or a reply, each press its deed, once.

Chats don't wait for one another; within one, things happen in the order in which they were said, and presses in an
order of their own. What fails is said to the person in a sentence. An update that breaks the code that handles it is
logged, apologised for and done with; only what the disk refuses is tried again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.channels.chat.adapter import ChannelAdapter
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.events import (
    ButtonPress,
    IncomingEvent,
    IncomingMessage,
    MembershipChange,
    StrangerMessage,
)
from orchestrator.channels.chat.inbound_messages import InboundMessages
from orchestrator.channels.chat.inbox import LANES, Inbox, Lane, WaitingEvent
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.send_errors import SendError, TokenRevoked
from orchestrator.channels.chat.system_text import system_note
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import User

logger = logging.getLogger(__name__)

BROKEN = "Something went wrong, and this was not done. Send it again. If it fails again, run './hermit doctor'."
_MOST_WAITS = 40
_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class InboundHandlers:
    """What others do with what was heard. Called from threads that may wait."""

    users: Callable[[str, int], User | None]
    """Who is allowed to use an agent, by their number."""
    press: Callable[[ButtonPress], str]
    """Does what a button stands for; what to say to it."""
    stranger: Callable[[StrangerMessage], None]
    membership: Callable[[MembershipChange], None]
    is_paired: Callable[[str], bool]
    """The agent's bot has proved whose it is."""
    is_code: Callable[[str, int, str], bool]
    """These six digits, from this person, prove it now."""
    how_to_link: Callable[[str], str]
    """What whoever writes to a bot that has not is told."""


class _ChatWorker(NamedTuple):
    """Where one thing after the other is handled."""

    agent: str
    chat: int
    lane: Lane


class Inbound:
    """All chats of all bots. Lives in the loop; what may wait is done in threads."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        inbox: Inbox,
        outbox: Outbox,
        asks: InboundMessages,
        deeds: InboundHandlers,
        adapter_of: Callable[[str], ChannelAdapter | None],
        gather_s: float = 0.6,
        resume_s: float = 5.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``gather_s``: how long no further part of an album must come until it is taken for whole; ``resume_s``: how
        long after a start the rest of one may take whose parts an earlier life has kept."""
        self._store = store
        self._inbox = inbox
        self._outbox = outbox
        self._asks = asks
        self._deeds = deeds
        self._adapter_of = adapter_of
        self._gather_s, self._resume_s = gather_s, resume_s
        self._now = now
        self._began_at = now()
        self._called: set[_ChatWorker] = set()
        self._workers: dict[_ChatWorker, asyncio.Task[None]] = {}

    def notify(self, agent: str, chats: Sequence[int]) -> None:
        """Something waits in these chats. Called in the loop."""
        for context in (_ChatWorker(agent, chat, lane) for chat in chats for lane in LANES):
            self._called.add(context)
            if context not in self._workers:
                self._workers[context] = asyncio.get_running_loop().create_task(self._run_chat(context))

    async def resume_waiting(self, agent: str) -> None:
        """What an earlier life kept and didn't get to is heard now."""
        waiting = await asyncio.to_thread(self._inbox.waiting_chats)
        self.notify(agent, [chat for whose, chat in waiting if whose == agent])

    async def close(self) -> None:
        """Stop where it stands; what was not done is found again."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    # --- one after the other ------------------------------------------------------------------------------------

    async def _run_chat(self, context: _ChatWorker) -> None:
        failures = 0
        try:
            while context in self._called:
                self._called.discard(context)
                try:
                    while await self._handle_next(context):
                        failures = 0
                except TokenRevoked:
                    logger.info("%s can't fetch anything until its bot has a new token", context.agent)
                except Exception:  # top of a task: what can't be written down now may be written a little later
                    logger.exception("what %s heard could not be handled, it is tried again", context.agent)
                    failures += 1
                    self._called.add(context)
                    await asyncio.sleep(min(_PAUSE_S * 2.0 ** min(failures, 10), _LONGEST_PAUSE_S))
        finally:
            del self._workers[context]

    async def _handle_next(self, context: _ChatWorker) -> bool:
        """Handle the oldest of what waits; False when nothing does."""
        waiting = await asyncio.to_thread(self._inbox.first_waiting, context.agent, context.chat, context.lane)
        if waiting is None:
            return False
        parts = await self._await_album(waiting)
        try:
            messages = await self._handle_update(parts)
        except TokenRevoked:
            raise
        except OrchestratorError as error:
            messages = build_replies(waiting.item, [_sentence(error.message)])
        except Exception:  # a poisonous update must not block its chat
            logger.exception("update %s for %s broke what handles it", waiting.item.update, context.agent)
            messages = build_replies(waiting.item, [_sentence(BROKEN)])
        await asyncio.to_thread(self._finish_update, parts, messages)
        return True

    async def _await_album(self, waiting: WaitingEvent) -> list[IncomingEvent]:
        """The update, or all parts of the album that it is of, once no more come."""
        part = waiting.item
        if not isinstance(part, IncomingMessage) or not part.album or part.is_edit:
            return [part]
        found = [waiting]
        for _ in range(_MOST_WAITS):
            found = await asyncio.to_thread(self._inbox.album_parts, part) or found
            last = max(one.received_at for one in found)
            is_resumed = last < self._began_at
            quiet_s = max(self._now() - (self._began_at if is_resumed else last), 0.0)
            left_s = (self._resume_s if is_resumed else self._gather_s) - quiet_s
            if left_s <= 0:
                break
            await asyncio.sleep(min(left_s, self._gather_s))
        return [one.item for one in found]

    async def _handle_update(self, parts: list[IncomingEvent]) -> list[Message]:
        item = parts[0]
        if isinstance(item, IncomingMessage):
            message = _joined([part for part in parts if isinstance(part, IncomingMessage)])
            return [] if message.is_loose else await self._on_message(message)
        if isinstance(item, ButtonPress):
            await self._on_press(item)
            return []
        if isinstance(item, StrangerMessage):
            return build_replies(item, await asyncio.to_thread(self._on_stranger, item))
        await asyncio.to_thread(self._deeds.membership, item)
        return []

    def _finish_update(self, parts: list[IncomingEvent], messages: list[Message]) -> None:
        """The replies are posted and the update is done with, both or neither."""
        try:
            with self._store.writing():
                for stored in messages:
                    self._outbox.post_message(stored)
                self._inbox.mark_done(*parts)
        except Unavailable:
            raise
        except Exception:  # a reply that can't be posted must not block its chat
            logger.exception("the reply to update %s could not be posted", parts[0].update)
            self._inbox.mark_done(*parts)

    # --- each kind ----------------------------------------------------------------------------------------------

    async def _on_message(self, message: IncomingMessage) -> list[Message]:
        user = await asyncio.to_thread(self._deeds.users, message.agent, message.sender.id)
        if user is None:  # allowed when it came, and no longer
            return []
        if not await asyncio.to_thread(self._deeds.is_paired, message.agent):
            return build_replies(message, await asyncio.to_thread(self._on_unpaired, message))
        return await self._asks.on_message(message, user)

    def _on_unpaired(self, message: IncomingMessage) -> list[MessageBody]:
        """One answer for everything but the code."""
        if not message.place.is_private or message.is_edit:
            return []
        digits = message.text.strip()
        is_six = len(digits) == 6 and digits.isascii() and digits.isdigit()
        if is_six and self._deeds.is_code(message.agent, message.sender.id, digits):
            return [_paired(self._store.called(message.agent))]
        rich = system_note(
            "This bot is not connected yet",
            self._deeds.how_to_link(message.agent),
        )
        return [MessageBody(rich)]

    def _on_stranger(self, stranger: StrangerMessage) -> list[MessageBody]:
        digits = stranger.six_digits
        if digits and self._deeds.is_code(stranger.agent, stranger.sender.id, digits):
            return [_paired(self._store.called(stranger.agent))]
        self._deeds.stranger(stranger)
        return []

    async def _on_press(self, press: ButtonPress) -> None:
        try:
            text = await asyncio.to_thread(self._deeds.press, press)
        except OrchestratorError as error:
            text = error.message
        except Exception:  # whoever pressed must hear something
            logger.exception("press %s for %s broke what handles it", press.update, press.agent)
            text = BROKEN
        line = self._adapter_of(press.agent)
        try:
            if line is not None:
                await line.answer_press(press.query, text)
        except SendError as error:  # the message itself says what came of it
            logger.debug("a press for %s was not answered: %s", press.agent, error)


def _joined(parts: list[IncomingMessage]) -> IncomingMessage:
    """An album as one message: its files in order, and what is written under any of them."""
    first = next((part for part in parts if not part.is_loose), parts[0])
    texts = dict.fromkeys(part.text for part in parts if part.text)
    quoted = next((part.quoted for part in parts if part.quoted), "")
    files = tuple(file for part in parts for file in part.files)
    others = next((part.others for part in parts if part.others), "")
    return replace(first, text="\n".join(texts), quoted=quoted, others=others, files=files)


def _paired(agent: str) -> MessageBody:
    return MessageBody(
        system_note(f"You are connected to {agent}", "Write to it like to a person. /help shows what else you can do.")
    )


def _sentence(text: str) -> MessageBody:
    return MessageBody(RichText(text))
