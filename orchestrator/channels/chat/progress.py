"""Progress: which turns from a channel are under way, each shown in its chat until it ends, and after a restart nothing
stale left standing. Listens to the install's events; what it shows is ``progress_view``'s, what it says
``progress_text``'s.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from orchestrator.channels.chat.adapter import ChannelAdapter
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.progress_rows_view import ProgressRowsView
from orchestrator.channels.chat.progress_text import TurnPhase, TurnProgress
from orchestrator.channels.chat.progress_view import ProgressParts, ProgressView, take_down
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.throttle import ChatThrottle, LoopClock
from orchestrator.channels.chat.turn_reply_rows import ShownStatus
from orchestrator.core.models import CubicleKey, Event, Turn, TurnStatus
from orchestrator.turns.queue import Turns

logger = logging.getLogger(__name__)

_PHASES = {
    TurnStatus.QUEUED: TurnPhase.STARTING,
    TurnStatus.RUNNING: TurnPhase.THINKING,
    TurnStatus.WAITING: TurnPhase.ASKING,
}


@dataclass(frozen=True, slots=True)
class _Watched:
    """A turn that is being shown."""

    cubicle: CubicleKey
    showing: ProgressView


class ProgressDisplay:
    """Shows every turn from its channel while it is under way. All methods are called in one event loop; none waits
    for the app."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        outbox: Outbox,
        turns: Turns,
        adapter_of: Callable[[str], ChannelAdapter | None],
        render: Callable[[str], RichText],
        clock: LoopClock | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``adapter_of`` gives an agent's line, or None while it has none; ``wall`` is the time that rows carry."""
        self._board = ProgressRowsView(store, outbox, turns, wall=wall)
        self._means = ProgressParts(self._board, store, render, adapter_of, clock or LoopClock(), ChatThrottle())
        self._channel = store.channel
        self._wall = wall
        self._watched: dict[int, _Watched] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_started = False

    async def start(self) -> None:
        """Take up again what was shown before a restart, and take down what is no longer true. Before the mail begins
        to send, so that no status message of a turn that has ended leaves the install. Again is fine."""
        if self._is_started:
            return
        self._is_started = True
        shown, under_way = await asyncio.to_thread(self._left_over)
        for row in shown:
            self._start_task(take_down(self._means, row.turn, row.agent, row.chat), f"status-{row.turn}")
        for turn, is_up in under_way:
            since = turn.started_at or turn.created_at
            self._watch_turn(turn.id, turn.cubicle, _PHASES[turn.status], age_s=self._wall() - since, is_up=is_up)

    async def on_event(self, event: Event) -> None:
        """Something happened in the install."""
        await self.start()
        turn = event.body.get("turn")
        if not isinstance(turn, int):
            return
        watched = self._watched.get(turn)
        if watched is not None:
            watched.showing.on_event(event)
        elif event.kind == "turn" and event.body.get("source") == self._channel and event.cubicle is not None:
            status = TurnStatus(event.body["status"])
            if status in _PHASES and not (status is TurnStatus.QUEUED and self._is_busy(event.cubicle)):
                self._watch_turn(turn, event.cubicle, _PHASES[status])

    async def close(self) -> None:
        """Nothing is shown any more; what stands in the chats is taken up or down at the next start."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _left_over(self) -> tuple[list[ShownStatus], list[tuple[Turn, bool]]]:
        """Status messages without a turn under way, and turns under way with whether they have one. Blocks."""
        shown = {row.turn: row for row in self._board.list_shown()}
        turns = [turn for number in {*shown, *self._board.under_way()} if (turn := self._board.get_turn(number))]
        under_way = [(turn, turn.id in shown) for turn in turns if turn.status in _PHASES]
        for turn, _ in under_way:
            shown.pop(turn.id, None)
        return list(shown.values()), under_way

    def _is_busy(self, cubicle: CubicleKey) -> bool:
        """A turn of this cubicle is shown, so one that waits behind it is not."""
        return any(one.cubicle == cubicle and not one.showing.is_over for one in self._watched.values())

    def _watch_turn(
        self, turn: int, cubicle: CubicleKey, phase: TurnPhase, *, age_s: float = 0.0, is_up: bool = False
    ) -> None:
        began_at = self._means.clock.now() - max(age_s, 0.0)
        showing = ProgressView(
            self._means,
            TurnProgress(turn, self._means.store.called(cubicle.agent), phase),
            began_at=began_at,
            is_up=is_up,
        )
        self._watched[turn] = _Watched(cubicle, showing)
        task = self._start_task(showing.run(), f"progress-{turn}")
        task.add_done_callback(lambda _: self._watched.pop(turn, None))

    def _start_task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s broke off", task.get_name(), exc_info=error)
