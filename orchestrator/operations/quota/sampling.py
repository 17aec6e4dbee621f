"""Whom to look at next: looks are rationed, as each walks through a whole workspace, and while nothing can have changed
not even the list of the cubicles is gone through. Decides from what it is told; it looks at no disk itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey
from orchestrator.files import quota as rules
from orchestrator.files.models import Use
from orchestrator.files.quota import Allowance, QuotaState

ROUTINE_S = 60.0
"""How often a running cubicle is looked at even when nothing seems to be written: while one writes, another may delete.
"""
ROUTINE_SHARE, URGENT_SHARE = 0.02, 0.2
"""Which part of the time may be spent on looks: as a rule, and while the disk fills up."""
WRITES_BYTES = 1 << 20
"""A cubicle that has grown by this since it was last looked at is one that writes."""
_CREDIT_S = 5.0
"""So much of unused ration is kept, so that many small workspaces can be looked at in one pass."""
_FAR = Allowance(1 << 62, 1 << 62)


@dataclass(frozen=True, slots=True)
class Gauge:
    """What is known of one workspace."""

    use: Use
    limit: Allowance
    standing: QuotaState
    measured_at: float
    """Unix seconds."""
    seen_at: float
    """The same on the monotonic clock."""
    cost_s: float
    """How long the look took."""
    judged_fallen: Allowance
    """What had been written on the file system when it was last looked at and judged."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the disk's own pass has read."""

    fallen: Allowance
    """All that was written on the file system so far."""
    is_short: bool
    changes: int
    """Another number whenever another cubicle is looked after, or one was looked at."""


@dataclass(frozen=True, slots=True)
class _Calm:
    """Nobody has to be looked at before one of these."""

    changes: int
    is_short: bool
    mark: Allowance
    until: float


class SamplingPlan:
    """The ration, and the next in turn. Used by one thread, but for ``note_cost``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._urgent_at = self._routine_at = float("-inf")
        self._calm: _Calm | None = None

    def note_cost(self, started: float, cost_s: float) -> None:
        """A look was begun then, and took so long."""
        self._urgent_at = max(self._urgent_at, started - _CREDIT_S) + cost_s / URGENT_SHARE
        self._routine_at = max(self._routine_at, started - _CREDIT_S) + cost_s / ROUTINE_SHARE

    def is_calm(self, moment: Moment) -> bool:
        """Nothing can have come to pass since ``next_due`` found nobody."""
        calm = self._calm
        if calm is None or (calm.changes, calm.is_short) != (moment.changes, moment.is_short):
            return False
        is_below = moment.fallen.bytes < calm.mark.bytes and moment.fallen.inodes < calm.mark.inodes
        return is_below and self._clock() < calm.until

    def next_due(self, running: Mapping[CubicleKey, Gauge | None], moment: Moment) -> CubicleKey | None:
        """Whom to look at now, as far as the ration allows."""
        now = self._clock()
        pressures = {key: _pressure(gauge, moment) for key, gauge in running.items()}
        urgent = [key for key, pressure in pressures.items() if pressure >= 1]
        if urgent:
            return max(urgent, key=pressures.__getitem__) if now >= self._urgent_at else None
        gauges = {key: gauge for key, gauge in running.items() if gauge is not None}
        routine = [key for key, gauge in gauges.items() if now - gauge.seen_at >= ROUTINE_S]
        if routine and now >= self._routine_at:
            return routine[0]
        until = self._routine_at if routine else min((g.seen_at for g in gauges.values()), default=now) + ROUTINE_S
        marks = [_mark(gauge, is_short=moment.is_short) for gauge in gauges.values()] or [_FAR]
        mark = Allowance(min(mark.bytes for mark in marks), min(mark.inodes for mark in marks))
        self._calm = _Calm(moment.changes, moment.is_short, mark, until)
        return None


def _mark(gauge: Gauge, *, is_short: bool) -> Allowance:
    """Once so much was written, the workspace may be over the point at which to look again."""
    step, then = rules.next_check_after(gauge.use, gauge.limit, gauge.standing.ceiling), gauge.judged_fallen
    most_bytes = min(step.bytes, WRITES_BYTES // 2) if is_short else step.bytes
    return Allowance(then.bytes + most_bytes, then.inodes + step.inodes)


def _pressure(gauge: Gauge | None, moment: Moment) -> float:
    """How far the workspace may be over the point at which to look again; 1 is there."""
    if gauge is None:
        return float("inf")
    then = gauge.judged_fallen
    wrote = Allowance(moment.fallen.bytes - then.bytes, moment.fallen.inodes - then.inodes)
    if moment.is_short and wrote.bytes >= WRITES_BYTES // 2:
        return float("inf")
    step = rules.next_check_after(gauge.use, gauge.limit, gauge.standing.ceiling)
    return max(wrote.bytes / step.bytes, wrote.inodes / step.inodes)
