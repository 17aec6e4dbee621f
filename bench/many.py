"""Many cubicles at once: what one more costs, what all of them take while nothing happens, how soon any of them
answers, and how long a start of many takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench import processes
from bench.figures import Curve, Found, Row, table
from bench.install import Fixture, running_install

_IDLE_S = 60.0
"""So long that whatever is done once a minute is in it."""
_SETTLE_S = 3.0
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Inside:
    """What one idle cubicle keeps, in MiB, and which processes it has."""

    own_mib: float
    shim_mib: float
    cgroup_mib: float
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Idle:
    """What is taken of one core while nothing happens, in percent."""

    install: float
    inside: float
    """The crabs and their inits; Docker's init looks around once a second."""
    shims: float
    """The engine's own, one a container; each collects its garbage twice a minute."""


@dataclass(frozen=True)
class Crowd:
    """What was found with so many."""

    size: int
    up_s: float
    rss_mib: float
    idle: Idle
    answers_ms: Sequence[float]
    cubicles: Sequence[Inside]


def measure(*, is_quick: bool) -> Found:
    """A table, and the curves of memory and answers by number of cubicles."""
    return measured((20,) if is_quick else (50, 200))


def measured(sizes: Sequence[int]) -> Found:
    """The same for any sizes, the smallest first."""
    with running_install() as install:
        install.say("steps=0")
        time.sleep(_SETTLE_S)
        crowds = [_crowd(install, ["crab"], 0.0)]
        everybody = ["crab"]
        for size in sizes:
            fresh = [f"one-{n}" for n in range(len(everybody), size)]
            for name in fresh:
                install.new_agent(name)
            took = _all_up(install, fresh)
            everybody += fresh
            crowds.append(_crowd(install, everybody, took * size / len(fresh)))
        asleep = _asleep(install, everybody)
    rows = [*_rows(crowds), asleep]
    return Found(table(rows, _floors(crowds[0])), _curves(crowds), {"cubicles": "Cubicles at once"})


def _asleep(install: Fixture, names: Sequence[str]) -> Row:
    """All of it while every cubicle is stopped, as it is after an hour without anything to do."""
    for name in names:
        install.call("POST", f"/agents/{name}/cubicle/stop")
    time.sleep(_SETTLE_S)
    began, before = time.monotonic(), processes.run_s(install.pid)
    time.sleep(_IDLE_S)
    share = (processes.run_s(install.pid) - before) / (time.monotonic() - began) * 100
    return Row(f"{len(names)} asleep: all of it idle for {_IDLE_S:.0f} s, of one core", [share], most=0.5, unit="%")


def _all_up(install: Fixture, names: Sequence[str]) -> float:
    """Seconds from the first of as many messages, sent as fast as one may, until every one is answered."""
    began = time.monotonic()
    turns = {name: _send(install, name) for name in names}
    for name, turn in turns.items():
        _ended(install, name, turn, began)
    return time.monotonic() - began


def _send(install: Fixture, name: str) -> int:
    return int(install.call("POST", f"/agents/{name}/messages", text="steps=0", wait=False)["turn"])


def _ended(install: Fixture, name: str, turn: int, began: float) -> None:
    while (now := install.call("GET", f"/turns/{turn}")["status"]) != "done":
        if now in ("failed", "stopped") or time.monotonic() - began > _PATIENCE_S:
            raise RuntimeError(f"the first turn of {name} {now}")
        time.sleep(0.05)


def _crowd(install: Fixture, names: Sequence[str], up_s: float) -> Crowd:
    time.sleep(_SETTLE_S)
    cubicles = [_inside(install, name) for name in _some(names, 10)]
    idle = _idle(install, names)
    rss = processes.rss_mib(install.pid)
    times = []
    for name in _some(names, 20) * (10 if len(names) == 1 else 1):
        began_ns = time.monotonic_ns()
        reached, answered = map(int, install.say("steps=0", agent=name).split())
        times.append((time.monotonic_ns() - began_ns - (answered - reached)) / 1e6)
    return Crowd(len(names), up_s, rss, idle, times, cubicles)


def _idle(install: Fixture, names: Sequence[str]) -> Idle:
    containers = [_all_pids(install, name) for name in names]
    groups = ([install.pid], [pid for _, *pids in containers for pid in pids], [shim for shim, *_ in containers])

    def spent() -> list[float]:
        return [sum(map(processes.run_s, group)) for group in groups]

    before, began = spent(), time.monotonic()
    time.sleep(_IDLE_S)
    took_s = time.monotonic() - began
    return Idle(*((now - then) / took_s * 100 for now, then in zip(spent(), before, strict=True)))


def _some(names: Sequence[str], most: int) -> list[str]:
    """So many of them, evenly."""
    return list(names[:: max(1, len(names) // most)])[:most]


def _all_pids(install: Fixture, name: str) -> list[int]:
    """The shim, the init, the crab."""
    init = int(install.engine.api.inspect_container(_container(install, name))["State"]["Pid"])
    return [processes.parent(init), init, *processes.families().get(init, [])]


def _container(install: Fixture, name: str) -> str:
    install_id = (install.home / "keys" / "install-id").read_text(encoding="utf-8").strip()
    return f"hermit-{install_id}-{name}-1"


def _inside(install: Fixture, name: str) -> Inside:
    shim, *pids = _all_pids(install, name)
    return Inside(
        sum(map(processes.pss_mib, pids)),
        processes.pss_mib(shim),
        processes.cgroup_number(pids[0], "memory", "memory.usage_in_bytes", "memory.current") / 2**20,
        tuple(pids),
    )


def _floors(alone: Crowd) -> dict[str, Row]:
    return {
        "alone": Row("a plain turn with one cubicle", alone.answers_ms),
        "rss": Row("the orchestrator with one cubicle", [alone.rss_mib], unit="MiB"),
    }


def _rows(crowds: Sequence[Crowd]) -> list[Row]:
    alone, *many = crowds
    rows = []
    for crowd in many:
        size = crowd.size
        is_fifty = size <= 50
        per = (crowd.rss_mib - alone.rss_mib) / (size - 1)
        own = [one.own_mib for one in crowd.cubicles]
        shim = [one.shim_mib for one in crowd.cubicles]
        rows += [
            Row(f"{size}: crab and init of one that idles (PSS)", own, unit="MiB"),
            Row(f"{size}: the engine's shim for it (PSS)", shim, unit="MiB"),
            Row(f"{size}: its control group", [one.cgroup_mib for one in crowd.cubicles], unit="MiB"),
            Row(f"{size}: the orchestrator, for each", [per], unit="MiB"),
            Row(
                f"{size}: one more idle agent (crab, init, orchestrator's share)",
                [mib + per for mib in own],
                most=10,
                unit="MiB",
            ),
            Row(f"{size}: the orchestrator", [crowd.rss_mib], "rss", most=80 if is_fifty else None, unit="MiB"),
            Row(
                f"{size}: all of it idle for {_IDLE_S:.0f} s, of one core",
                [crowd.idle.install + crowd.idle.inside + crowd.idle.shims],
                most=0.5 if is_fifty else None,
                unit="%",
            ),
            Row(f"{size}: … of that the orchestrator", [crowd.idle.install], unit="%"),
            Row(f"{size}: … of that crabs and their inits", [crowd.idle.inside], unit="%"),
            Row(f"{size}: … of that the engine's shims", [crowd.idle.shims], unit="%"),
            Row(
                f"{size}: a plain turn of any of them",
                crowd.answers_ms,
                "alone",
                most=round(2 * statistics.median(alone.answers_ms), 1),
            ),
            Row(
                f"{size}: until so many are up and have answered, at the pace of those added",
                [crowd.up_s],
                most=10 if is_fifty else None,
                unit="s",
            ),
        ]
    return rows


def _curves(crowds: Sequence[Crowd]) -> tuple[Curve, ...]:
    def curve(what: str, unit: str, values: Sequence[float]) -> Curve:
        points = tuple((float(crowd.size), value) for crowd, value in zip(crowds, values, strict=True))
        return Curve(what, "cubicles", points, unit)

    return (
        curve("the orchestrator's memory", "MiB", [crowd.rss_mib for crowd in crowds]),
        curve("a plain turn of any of them", "ms", [statistics.median(crowd.answers_ms) for crowd in crowds]),
    )
