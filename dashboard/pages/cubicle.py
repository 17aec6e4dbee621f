"""An agent's cubicle for the viewer: how it stands, what it used in the last hours, and start, stop and reset.

The page waits for nothing that the engine has to measure: it shows the last sample, and its part, which the browser
asks for at once, what is used now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, render_template, request

from dashboard import ages
from dashboard.auth import require_asker
from dashboard.languages import say, say_as, say_many, speech, to_say
from dashboard.pages.curves import Curve, Point, draw_curve
from dashboard.pages.filters import megabytes
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.views import disk_of
from dashboard.services import get_services
from orchestrator.agents.cubicles import CubicleState
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import Agent, CubicleKey, Usage
from orchestrator.languages.numbers import respell_numbers
from orchestrator.operations.quota.monitor import DiskUse

pages = Blueprint("cubicle_page", __name__)

logger = logging.getLogger(__name__)

SPANS = ((1, to_say("1 hour")), (6, to_say("6 hours")), (24, to_say("24 hours")))
_HOUR_S = 3600.0
_FRESH_S = 90.0
"""How old a sample may be to be shown as what is used now; they are a minute apart."""


_Written = Callable[[float], str]
"""An amount as people read it."""


@dataclass(frozen=True, slots=True)
class UsageChart:
    """One measure, drawn."""

    name: str
    now: str
    """How it stands; empty where that is not known."""
    limit: str
    """How much there is."""
    curve: Curve | None
    top: str
    """How much the whole height is, for the axis."""
    words: str
    """What the drawing tells."""

    @property
    def now_of_limit(self) -> str:
        """Both, as far as they are known."""
        return self.now and say("%(now)s of %(limit)s", now=self.now, limit=self.limit)

    @property
    def sentence(self) -> str:
        """The same for whoever does not see where it stands."""
        return f"{self.name}: {self.words}"


@pages.get("/agents/<name>/cubicle")
def cubicle(name: str) -> str:
    """The whole page, as far as it is known without measuring."""
    key, framed = own_key(name), agent_frame(name, "cubicle")
    return render_template("cubicle.html", **framed, **_seen(key, framed["agent"], _known))


@pages.get("/parts/cubicle/<name>")
def cubicle_now(name: str) -> str:
    """How it stands and what it uses."""
    key, agent = own_key(name), get_services().agents.get(name)
    return render_template("parts/cubicle.html", agent=agent, **_seen(key, agent, get_services().cubicles.get_state))


def _seen(key: CubicleKey, agent: Agent, look: Callable[[CubicleKey], CubicleState]) -> dict[str, Any]:
    hours = next((span for span, _ in SPANS if str(span) == request.args.get("hours")), SPANS[0][0])
    state, trouble = _state(key, look)
    disk = disk_of(agent)
    return {
        "state": state,
        "trouble": trouble,
        "disk": disk,
        "spans": SPANS,
        "hours": hours,
        "charts": _charts(key, agent, state, disk, hours),
    }


def _state(key: CubicleKey, look: Callable[[CubicleKey], CubicleState]) -> tuple[CubicleState | None, str]:
    """How it stands, or what keeps us from knowing."""
    try:
        return look(key), ""
    except Unavailable as error:
        logger.warning("the cubicle %s can't be asked about: %s", key, error.message)
        return None, error.message


def _known(key: CubicleKey) -> CubicleState:
    """How it stands, with what the last sample says that it uses."""
    state = get_services().cubicles.get_brief_state(key)
    found = get_services().usage_samples.list_recent(key, _FRESH_S)
    if state.started_at is None or not found or found[-1].at < int(state.started_at):
        return state
    last = found[-1]
    return replace(state, usage=Usage(last.cpu_percent, last.memory_bytes, last.pids))


def _charts(
    key: CubicleKey, agent: Agent, state: CubicleState | None, disk: DiskUse | None, hours: int
) -> list[UsageChart]:
    limits, usage = agent.limits, None if state is None else state.usage
    until = time.time()
    since = until - hours * _HOUR_S
    found = get_services().usage_samples.list_recent(key, hours * _HOUR_S)
    cpu: list[Point] = [(sample.at, sample.cpu_percent / limits.cpus) for sample in found]
    memory: list[Point] = [(sample.at, sample.memory_bytes) for sample in found]
    room: list[Point] = [(sample.at, sample.disk_bytes) for sample in found if sample.disk_bytes is not None]

    def chart(
        name: str, now: float | None, points: list[Point], limit: float, *, of: str, written: _Written
    ) -> UsageChart:
        made = draw_curve(points, since=since, until=until, limit=limit)
        top = "" if made is None else written(made.top)
        return UsageChart(name, "" if now is None else written(now), of, made, top, _words(made, written))

    cpus = say_many("%(count)s CPU", "%(count)s CPUs", 1 if limits.cpus == 1 else 2, count=f"{limits.cpus:g}")
    memory_limit = limits.memory_mb * 1024**2
    cpu_now = None if usage is None else usage.cpu_percent / limits.cpus
    memory_now = None if usage is None else usage.memory_bytes
    disk_now, disk_limit = (None, 0) if disk is None else (disk.used_bytes, disk.limit_bytes)
    return [
        chart("CPU", cpu_now, cpu, 100.0, of=cpus, written=_percent),
        chart(
            say_as("of a computer", "Memory"),
            memory_now,
            memory,
            memory_limit,
            of=megabytes(memory_limit),
            written=_megabytes,
        ),
        chart(say("Disk"), disk_now, room, limits.disk_mb * 1024**2, of=megabytes(disk_limit), written=_megabytes),
    ]


def _words(made: Curve | None, written: _Written) -> str:
    if made is None:
        return ""
    most_at = ages.day_and_time(made.most_at, require_asker().user.time_zone, time.time()).rpartition(" ")[2]
    return say(
        "%(average)s on average, at most %(most)s at %(time)s.",
        average=written(made.average),
        most=written(made.most),
        time=most_at,
    )


def _percent(share: float) -> str:
    return respell_numbers(f"{share:.0f} %" if share >= 10 else f"{share:.1f} %", speech().language)


def _megabytes(count: float) -> str:
    return megabytes(int(count))
