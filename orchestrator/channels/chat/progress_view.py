"""One turn's progress in its chat while it is under way: typing, a status message, the reply as it comes, and in the
end nothing of that. All of it is best effort: whatever the app says to it, the turn and its answer go their own way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchestrator.channels.chat.adapter import ChannelAdapter
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.progress_rows_view import ProgressRowsView
from orchestrator.channels.chat.progress_text import (
    TurnPhase,
    TurnProgress,
    apply_event,
    finished_text,
    so_far,
    status_line,
    unlink_text,
)
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.send_errors import (
    ChatForbidden,
    FloodWait,
    NoSuchChat,
    NoSuchMessage,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
)
from orchestrator.channels.chat.throttle import GROUP, PRIVATE, ChatThrottle, LoopClock, ProgressPace
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import Event

logger = logging.getLogger(__name__)

_NEVER = float("-inf")
_PATIENCE_S = (2.0, 5.0, 15.0, 60.0, 300.0)
"""Between tries to take a status message down; the last one again and again."""


@dataclass(frozen=True, slots=True)
class ProgressParts:
    """What every showing works with."""

    board: ProgressRowsView
    store: ChannelStore
    render: Callable[[str], RichText]
    """An agent's Markdown as the app can show it."""
    adapter_of: Callable[[str], ChannelAdapter | None]
    clock: LoopClock
    manners: ChatThrottle


class ProgressView:
    """One turn from a channel while it is under way. Of one event loop."""

    def __init__(self, means: ProgressParts, standing: TurnProgress, *, began_at: float, is_up: bool = False) -> None:
        """``is_up``: its status message was posted before a restart."""
        self._means = means
        self._standing = standing
        self._began_at = began_at
        self._is_up = is_up
        self._shown = RichText("")
        self._drafted = ""
        self._is_cut_off = False
        self._bell = asyncio.Event()
        self._typed_at = self._edited_at = self._drafted_at = _NEVER
        self._checked_at = means.clock.now()

    @property
    def is_over(self) -> bool:
        """The turn has ended."""
        return self._standing.phase is TurnPhase.OVER

    def on_event(self, event: Event) -> None:
        """Something happened in this turn; from here on nothing is shown that it made untrue."""
        self._standing = apply_event(self._standing, event)
        self._bell.set()

    def on_turn_end(self) -> None:
        """The turn is over."""
        self.on_event(Event("turn", None, {"status": "done"}))

    async def run(self) -> None:
        """Until the turn has ended and nothing of its progress is left to be seen."""
        place = await asyncio.to_thread(self._means.board.place_of, self._standing.turn)
        if place is None:
            return
        pace = PRIVATE if place.is_private else GROUP
        while not self.is_over:
            try:
                due = await self._show_due(place, pace)
            except OrchestratorError as error:  # the disk is full, say
                logger.debug("progress of turn %s: %s", self._standing.turn, error.message)
                due = pace.check_s
            if not self.is_over:
                await self._means.clock.wait(self._bell, due)
        if self._is_up:
            await take_down(self._means, self._standing.turn, place.agent, place.chat)

    async def _show_due(self, place: TurnPlace, pace: ProgressPace) -> float:
        """Whatever is due; returns in how many seconds something will be."""
        now = self._means.clock.now()
        if now - self._checked_at >= pace.check_s:
            self._checked_at = now
            await self._check_turn()
        held = self._means.manners.held_until(place.agent)
        wire = self._means.adapter_of(place.agent)
        if wire is None or self._is_cut_off or held > now:
            return pace.check_s if held <= now else min(pace.check_s, held - now)
        await self._send_typing(wire, place, pace)
        await self._send_draft(wire, place, pace)
        await self._send_status(wire, place, pace)
        return self._until_due(place, pace)

    def _until_due(self, place: TurnPlace, pace: ProgressPace) -> float:
        dues = [self._checked_at + pace.check_s, self._typed_at + pace.typing_s]
        dues.append(self._edited_at + pace.edit_s if self._is_up else self._began_at + pace.quiet_s)
        if self._is_streaming(place):
            dues.append(max(self._drafted_at, self._began_at) + pace.draft_s)
        now = self._means.clock.now()
        return max(0.05, min([due for due in dues if due > now], default=pace.edit_s) - now)

    # --- the three ways to show it -----------------------------------------------------------------------------

    async def _send_typing(self, wire: ChannelAdapter, place: TurnPlace, pace: ProgressPace) -> None:
        """Not while a person is asked: nobody works then."""
        if self._standing.phase is not TurnPhase.ASKING and self._is_due(self._typed_at, pace.typing_s):
            self._typed_at = self._means.clock.now()
            await self._try_call(wire.send_typing(place.chat, place.thread), place)

    async def _send_draft(self, wire: ChannelAdapter, place: TurnPlace, pace: ProgressPace) -> None:
        """The reply as it comes, where the chat and the server take drafts."""
        if not self._is_streaming(place) or not self._is_due(max(self._drafted_at, self._began_at), pace.draft_s):
            return
        text = self._standing.text
        if text == self._drafted and not self._is_due(self._drafted_at, pace.keep_draft_s):
            return
        self._drafted_at, self._drafted = self._means.clock.now(), text
        rich = unlink_text(so_far(self._standing.agent, self._means.render, text))
        try:
            await wire.send_draft(place.chat, self._standing.turn, rich, place.thread)
        except (FloodWait, Unreachable) as error:
            self._wait_after(error, place)
        except (ChatForbidden, NoSuchChat):
            self._is_cut_off = True
        except SendError as error:
            logger.info("%s's bot shows no drafts: %s", place.agent, error)
            self._means.manners.refuse_drafts(place.agent)

    async def _send_status(self, wire: ChannelAdapter, place: TurnPlace, pace: ProgressPace) -> None:
        """The status message: posted once, then edited in place."""
        if self.is_over or not self._means.store.traits.can_edit or not self._is_due(self._began_at, pace.quiet_s):
            return
        if not self._is_up:
            if not self._is_streaming(place):
                await self._put_up(place)
            return
        if not self._is_due(self._edited_at, pace.edit_s) or (rich := self._status_text(place)) == self._shown:
            return
        message = await asyncio.to_thread(self._means.board.message_of, self._standing.turn)
        if message is None or self.is_over:
            return
        self._edited_at, self._shown = self._means.clock.now(), rich
        await self._try_call(wire.edit_message(place.chat, message, MessageBody(rich)), place)

    async def _put_up(self, place: TurnPlace) -> None:
        self._is_up, self._edited_at, self._shown = True, self._means.clock.now(), self._status_text(place)
        reply_to = None if place.is_private else place.message
        body = MessageBody(self._shown, reply_to=reply_to, thread=place.thread, is_silent=True)
        await asyncio.to_thread(self._means.board.put_up, self._standing.turn, place, body)

    def _status_text(self, place: TurnPlace) -> RichText:
        if self._standing.phase is TurnPhase.WRITING and not self._is_streaming(place):
            return so_far(self._standing.agent, self._means.render, self._standing.text)
        return status_line(self._standing, self._means.clock.now() - self._began_at)

    # --- what it depends on ------------------------------------------------------------------------------------

    def _is_streaming(self, place: TurnPlace) -> bool:
        """The reply is on its way and is shown as a draft."""
        may_draft = (
            self._means.store.traits.has_drafts and place.is_private and self._means.manners.takes_drafts(place.agent)
        )
        return may_draft and self._standing.phase is TurnPhase.WRITING

    def _is_due(self, last: float, every_s: float) -> bool:
        return self._means.clock.now() - last >= every_s

    async def _check_turn(self) -> None:
        """News may have been lost."""
        turn = await asyncio.to_thread(self._means.board.get_turn, self._standing.turn)
        if turn is None or turn.status.is_final:
            self.on_turn_end()

    async def _try_call(self, call: Awaitable[None], place: TurnPlace) -> None:
        """Best effort."""
        try:
            await call
        except (FloodWait, Unreachable) as error:
            self._wait_after(error, place)
        except NoSuchMessage:
            self._edited_at = float("inf")  # the person deleted it, and it stays so
        except SendError as error:
            logger.debug("progress of turn %s is no longer shown: %s", self._standing.turn, error)
            self._is_cut_off = True

    def _wait_after(self, error: FloodWait | Unreachable, place: TurnPlace) -> None:
        seconds = error.retry_after_s if isinstance(error, FloodWait) else PRIVATE.typing_s
        self._means.manners.hold_agent(place.agent, self._means.clock.now() + seconds)


async def take_down(means: ProgressParts, turn: int, agent: str, chat: int) -> None:
    """The turn's status message is gone, however long that takes; the row stays until it is."""
    tries = 0
    while not await _is_down(means, turn, agent, chat):
        await means.clock.wait(asyncio.Event(), _PATIENCE_S[min(tries, len(_PATIENCE_S) - 1)])
        tries += 1


async def _is_down(means: ProgressParts, turn: int, agent: str, chat: int) -> bool:
    try:
        down = await asyncio.to_thread(means.board.take_down, turn)
        wire = means.adapter_of(agent)
        if down.is_under_way or (down.message is not None and wire is None):
            return False
        if down.message is not None and wire is not None:
            await _end(wire, chat, down.message, means.store.called(agent), is_old=down.is_old)
    except (FloodWait, Unreachable, TokenRevoked, OrchestratorError) as error:  # a new token may come
        logger.debug("the status message of turn %s is still there: %s", turn, error)
        return False
    except SendError as error:
        logger.debug("the status message of turn %s stays: %s", turn, error)
    return await _is_forgotten(means, turn)


async def _end(wire: ChannelAdapter, chat: int, message: int, agent: str, *, is_old: bool) -> None:
    """The message is gone, or says that it is over: an old one can't be deleted, and some servers delete none."""
    if not is_old:
        try:
            await wire.delete_message(chat, message)
        except SendRefused as error:
            logger.debug("a status message can't be deleted: %s", error)
        else:
            return
    await wire.edit_message(chat, message, MessageBody(finished_text(agent)))


async def _is_forgotten(means: ProgressParts, turn: int) -> bool:
    try:
        await asyncio.to_thread(means.board.forget_message, turn)
    except OrchestratorError as error:
        logger.debug("the status message of turn %s is not forgotten: %s", turn, error.message)
        return False
    return True
