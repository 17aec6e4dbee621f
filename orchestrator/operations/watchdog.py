"""The watch: once a second it looks after turns whose cubicle ended, crabs that fell silent, stops that nobody heeded,
questions that nobody answered, and queues that nobody serves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.approvals.approvals import Approvals
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.core.periodic import Periodic
from orchestrator.turns.queue import Turns

PERIOD_S = 1.0
STOP_GRACE_S = 5.0
"""How long a crab may take to heed a stop before its container is stopped under it."""
SILENCE_S = 90.0
"""How long beyond its longest command a crab may say nothing."""


class Watchdog:
    """A thread that does one pass after the other."""

    def __init__(
        self,
        *,
        turns: Turns,
        cubicles: Cubicles,
        approvals: Approvals,
        agents: Agents,
        wake: Callable[[CubicleKey], None],
        is_waking: Callable[[CubicleKey], bool],
        is_busy: Callable[[CubicleKey], bool],
        hooks: Hooks,
        tidy: Sequence[Callable[[], None]] = (),
    ) -> None:
        """``is_busy``: a model call of this cubicle is under way; all of ``tidy`` is done after each pass."""
        self._turns = turns
        self._cubicles = cubicles
        self._approvals = approvals
        self._agents = agents
        self._wake = wake
        self._is_waking = is_waking
        self._is_busy = is_busy
        self._tidy = tidy
        self._heard: dict[CubicleKey, float] = {}
        self._stop_seen: dict[int, float] = {}
        self._rounds = Periodic("watch", lambda: self.run_once(time.monotonic()), every_s=lambda: PERIOD_S)
        hooks.door_called.subscribe(self.note_alive)

    def start(self) -> None:
        """Begin the passes."""
        self._rounds.start()

    def close(self) -> None:
        """End after the current pass."""
        self._rounds.close()

    def note_alive(self, key: CubicleKey) -> None:
        """This cubicle's crab said something just now. Called at each door request."""
        self._heard[key] = time.monotonic()

    def run_once(self, now: float) -> None:
        """One pass; ``now`` is monotonic seconds."""
        self._approvals.expire_due()
        under_way = self._turns.list_running()
        for key, claim in under_way:
            if self._cubicles.poll(key) is not None:
                if not self._is_waking(key) and (exit_ := self._cubicles.give_up(key)) is not None:
                    self._turns.on_crab_lost(key, exit_.reason)
            elif claim.stop_asked:
                self._enforce_stop(key, claim.turn, now)
            elif self._is_silent(key, claim.turn, now):
                self._cubicles.stop(key)
                self._turns.on_crab_lost(key, "the agent's loop no longer answered, so its container was stopped")
        self._stop_seen = {
            claim.turn: self._stop_seen.get(claim.turn, now) for _, claim in under_way if claim.stop_asked
        }
        for key in self._turns.list_unserved():
            self._wake(key)
        for tidy in self._tidy:
            tidy()

    def _enforce_stop(self, key: CubicleKey, turn: int, now: float) -> None:
        if now - self._stop_seen.get(turn, now) > STOP_GRACE_S:
            self._cubicles.stop(key)
            self._turns.end_turn(key, turn, TurnStatus.STOPPED)

    def _is_silent(self, key: CubicleKey, turn: int, now: float) -> bool:
        if self._is_busy(key) or self._turns.get(turn).status is TurnStatus.WAITING:
            self._heard[key] = now
        allowed = self._agents.get(key.agent).command_timeout_s + SILENCE_S
        return now - self._heard.setdefault(key, now) > allowed
