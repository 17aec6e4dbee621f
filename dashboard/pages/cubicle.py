"""An agent's cubicle for the viewer: how it stands, what it used in the last hours, and start, stop and reset."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template, request

from dashboard import ages
from dashboard.auth import asker
from dashboard.house import services
from dashboard.pages.curves import Curve, Point, curve
from dashboard.pages.filters import megabytes
from dashboard.pages.frame import frame, own_key
from dashboard.pages.views import disk_of
from orchestrator.cubicles import State
from orchestrator.disk.metering import DiskUse
from orchestrator.errors import Unavailable
from orchestrator.nouns import Agent, CubicleKey

pages = Blueprint("cubicle_page", __name__)

logger = logging.getLogger(__name__)

SPANS = ((1, "1 hour"), (6, "6 hours"), (24, "24 hours"))
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Chart:
    """One measure, drawn."""

    name: str
    now: str
    """How it stands."""
    curve: Curve | None
    top: str
    """How much the whole height is."""
    words: str
    """What the drawing tells."""

    @property
    def sentence(self) -> str:
        """The same for whoever does not see where it stands."""
        return f"{self.name}: {self.words}"


@pages.get("/agents/<name>/cubicle")
def cubicle(name: str) -> str:
    """The whole page."""
    key, framed = own_key(name), frame(name, "cubicle")
    return render_template("cubicle.html", **framed, **_seen(key, framed["agent"]))


@pages.get("/parts/cubicle/<name>")
def cubicle_now(name: str) -> str:
    """How it stands and what it uses."""
    key, agent = own_key(name), services().agents.get(name)
    return render_template("parts/cubicle.html", agent=agent, **_seen(key, agent))


def _seen(key: CubicleKey, agent: Agent) -> dict[str, Any]:
    hours = next((span for span, _ in SPANS if str(span) == request.args.get("hours")), SPANS[0][0])
    state, trouble = _state(key)
    disk = disk_of(agent)
    return {
        "state": state,
        "trouble": trouble,
        "disk": disk,
        "spans": SPANS,
        "hours": hours,
        "charts": _charts(key, agent, state, disk, hours),
    }


def _state(key: CubicleKey) -> tuple[State | None, str]:
    """How it stands, or what keeps us from knowing."""
    try:
        return services().cubicles.state(key), ""
    except Unavailable as error:
        logger.warning("the cubicle %s can't be asked about: %s", key, error.message)
        return None, error.message


def _charts(key: CubicleKey, agent: Agent, state: State | None, disk: DiskUse | None, hours: int) -> list[Chart]:
    limits, usage = agent.limits, None if state is None else state.usage
    until = time.time()
    since = until - hours * _HOUR_S
    found = services().samples.last(key, hours * _HOUR_S)
    cpu: list[Point] = [(sample.at, sample.cpu_percent / limits.cpus) for sample in found]
    memory: list[Point] = [(sample.at, sample.memory_bytes) for sample in found]
    room: list[Point] = [(sample.at, sample.disk_bytes) for sample in found if sample.disk_bytes is not None]

    def chart(name: str, now: str, points: list[Point], limit: float, written: Callable[[float], str]) -> Chart:
        made = curve(points, since=since, until=until, limit=limit)
        return Chart(name, now, made, "" if made is None else written(made.top), _words(made, written))

    cpus = f"{limits.cpus:g} CPU" + ("" if limits.cpus == 1 else "s")
    memory_limit = limits.memory_mb * 1024**2
    return [
        chart(
            "CPU",
            "" if usage is None else f"{_percent(usage.cpu_percent / limits.cpus)} of {cpus}",
            cpu,
            100.0,
            _percent,
        ),
        chart(
            "Memory",
            "" if usage is None else f"{megabytes(usage.memory_bytes)} of {megabytes(memory_limit)}",
            memory,
            memory_limit,
            _megabytes,
        ),
        chart(
            "Disk",
            "" if disk is None else f"{megabytes(disk.used_bytes)} of {megabytes(disk.limit_bytes)}",
            room,
            limits.disk_mb * 1024**2,
            _megabytes,
        ),
    ]


def _words(made: Curve | None, written: Callable[[float], str]) -> str:
    if made is None:
        return ""
    most_at = ages.day_and_time(made.most_at, asker().user.time_zone, time.time()).rpartition(" ")[2]
    return f"{written(made.average)} on average, at most {written(made.most)} at {most_at}."


def _percent(share: float) -> str:
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def _megabytes(count: float) -> str:
    return megabytes(int(count))
