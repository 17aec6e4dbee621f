"""``orchestrator.operations.quota.sampling``: a pass over cubicles that do nothing goes through no list, and misses
nobody.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from orchestrator.core.models import CubicleKey
from orchestrator.files.models import Use
from orchestrator.files.quota import MB, Allowance, QuotaState
from orchestrator.operations.quota.sampling import ROUTINE_S, Gauge, Moment, SamplingPlan

KEY, OTHER = CubicleKey("crab", 1), CubicleKey("crab", 2)
LIMIT = Allowance(100 * MB, 1000)
NOTHING = Allowance(0, 0)
NOW = Moment(NOTHING, is_short=False, changes=1)


class Hand:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def gauge(at: float = 1000.0, *, used_mb: int = 10, fallen: Allowance = NOTHING) -> Gauge:
    """A workspace as it was seen then."""
    use = Use(bytes=used_mb * MB, inodes=10, is_complete=True)
    return Gauge(use, LIMIT, QuotaState(), measured_at=0, seen_at=at, cost_s=0.01, judged_fallen=fallen)


def calm(clock: Hand) -> SamplingPlan:
    """A rota that has found nobody to look at."""
    rota = SamplingPlan(clock)
    assert rota.next_due({KEY: gauge(), OTHER: gauge()}, NOW) is None
    assert rota.is_calm(NOW)
    return rota


@pytest.mark.parametrize(
    ("later_s", "moment"),
    [
        (ROUTINE_S, NOW),
        (1.0, replace(NOW, changes=2)),
        (1.0, replace(NOW, is_short=True)),
        (1.0, replace(NOW, fallen=Allowance(50 * MB, 0))),
        (1.0, replace(NOW, fallen=Allowance(0, 500))),
    ],
)
def test_the_calm_ends_with_whatever_may_need_a_look(later_s: float, moment: Moment) -> None:
    """A minute later, another cubicle, a host that runs short, and so much written that one may be near its mark."""
    clock = Hand()
    rota = calm(clock)
    clock.now += later_s
    assert not rota.is_calm(moment)


def test_a_little_that_is_written_leaves_the_calm() -> None:
    """A database writes all the time; that is no reason to go through all cubicles."""
    rota = calm(Hand())
    assert rota.is_calm(replace(NOW, fallen=Allowance(3 * MB, 20)))


def test_whoever_was_never_seen_is_looked_at_first() -> None:
    """And until the ration allows it, there is no calm."""
    clock = Hand()
    rota = SamplingPlan(clock)
    assert rota.next_due({KEY: gauge(), OTHER: None}, NOW) == OTHER
    rota.note_cost(clock.now, 100.0)
    assert rota.next_due({KEY: gauge(), OTHER: None}, NOW) is None
    assert not rota.is_calm(NOW)


def test_while_it_is_calm_nobody_would_be_looked_at() -> None:
    """A thousand moments of many installs: whenever it is said to be calm, going through all finds nobody."""
    dice = random.Random(7)  # noqa: S311 - the same moments each time
    seen = 0
    for _ in range(1000):
        clock = Hand()
        rota = SamplingPlan(clock)
        start = Allowance(dice.randrange(100 * MB), dice.randrange(500))
        running: dict[CubicleKey, Gauge | None] = {
            CubicleKey("crab", n): gauge(
                clock.now - dice.uniform(0, 59),
                used_mb=dice.randrange(100),
                fallen=Allowance(dice.randrange(start.bytes + 1), dice.randrange(start.inodes + 1)),
            )
            for n in range(dice.randrange(6))
        }
        is_short = dice.random() < 0.3
        if rota.next_due(running, Moment(start, is_short, 1)) is not None:
            continue
        clock.now += dice.uniform(0, 70)
        fallen = Allowance(start.bytes + dice.randrange(20 * MB), start.inodes + dice.randrange(100))
        moment = Moment(fallen, is_short, 1)
        if rota.is_calm(moment):
            seen += 1
            assert rota.next_due(running, moment) is None
    assert seen > 50
