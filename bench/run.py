"""Measures what HermitShell adds, in one run, against floors measured beside it: ``python -m bench.run [--write]``.

``--write`` replaces the table in docs/performance.md. All times are milliseconds at p50 (p99).
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import inside, outbox, phone
from bench.house import House, running_house

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    ms: list[float]
    floor: str = ""
    goal: str = ""

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.ms)

    @property
    def p99(self) -> float:
        """The 99th percentile, or the maximum of few."""
        return sorted(self.ms)[min(len(self.ms) - 1, int(len(self.ms) * 0.99))]


def timed(count: int, work: Callable[[], object]) -> list[float]:
    """Milliseconds of each of ``count`` calls, after three that don't count."""
    for _ in range(3):
        work()
    times = []
    for _ in range(count):
        began = time.monotonic_ns()
        work()
        times.append((time.monotonic_ns() - began) / 1e6)
    return times


def turns(house: House, count: int) -> list[Row]:
    """A plain turn: what is left of it without the model's own time."""
    for _ in range(5):
        house.say("steps=0")
    to_model, from_model, both = [], [], []
    for _ in range(count):
        began = time.monotonic_ns()
        reached, answered = map(int, house.say("steps=0").split())
        ended = time.monotonic_ns()
        to_model.append((reached - began) / 1e6)
        from_model.append((ended - answered) / 1e6)
        both.append(to_model[-1] + from_model[-1])
        house.call("DELETE", "/agents/crab/history")
    return [
        Row("message in → model's first byte", to_model),
        Row("model's last byte → reply out", from_model),
        Row("plain turn, both together", both, "socket", "≤ 6"),
    ]


def steps(house: House, count: int, per_turn: int = 20) -> Row:
    """A command step with its model call: the longer turn less the plain one, by step."""
    times = []
    for _ in range(count):
        spans = []
        for wanted in (0, per_turn):
            reached, answered = map(int, house.say(f"steps={wanted}").split())
            spans.append((answered - reached) / 1e6)
            house.call("DELETE", "/agents/crab/history")
        times.append((spans[1] - spans[0]) / per_turn)
    return Row("command step, its model call included", times, "bash", "≤ 4")


def cold_start(house: House, count: int) -> Row:
    """From the message to the first reply where the cubicle has to be made."""
    times = []
    for number in range(count):
        house.call("POST", "/agents", name=f"new-{number}")
        began = time.monotonic_ns()
        house.say("steps=0", agent=f"new-{number}")
        times.append((time.monotonic_ns() - began) / 1e6)
        house.call("DELETE", f"/agents/new-{number}")
    return Row("first reply through a new cubicle", times, "run", "≤ 1500")


def proxy(house: House, count: int) -> list[Row]:
    """A model call from inside, through door and proxy, and the same straight to the model server."""
    body = {"messages": [{"role": "user", "content": "steps=0"}]}
    connection = inside.Direct(house.model_url)
    direct = timed(count, lambda: connection.call(body))
    connection.close()
    through = inside.measure(house.container(), "door_calls", count)
    added = [t - statistics.median(direct) for t in through]
    return [
        Row("model call straight to the model server", direct),
        Row("model call through door and proxy", through),
        Row("… what door and proxy add", added, "socket", "≤ 1.5"),
    ]


def floors(house: House, count: int) -> dict[str, Row]:
    """What cannot be had for less."""
    container = house.container()
    image = container.image.id
    api = house.engine.api

    def exec_true() -> None:
        api.exec_start(api.exec_create(container.id, ["true"])["Id"])

    def run_true() -> None:
        house.engine.containers.run(image, ["true"], network_mode="none", remove=True)

    return {
        "socket": Row("unix-socket HTTP round trip", inside.socket_round_trips(count)),
        "bash": Row("fork + exec `bash -c true`, inside", inside.measure(container, "bash_true", count)),
        "exec": Row("`docker exec … true`", timed(max(10, count // 10), exec_true)),
        "run": Row("`docker run … true`", timed(10, run_true)),
    }


def files(house: House, count: int) -> tuple[list[Row], Row]:
    """From a close inside until the host has heard of it, and the floor of that."""
    heard = outbox.noticed(house.container(), house.home / "workspaces" / "crab" / "1" / "out", count)
    rows = [
        Row("file closed inside → bare watchdog callback", heard["watchdog"], "inotify"),
        Row("file closed inside → our handler", heard["ours"], "inotify", "≤ 1"),
    ]
    return rows, Row("file closed inside → raw inotify", heard["raw"])


def crab(house: House) -> list[Row]:
    """The crab's start and its memory."""
    start = inside.measure(house.container(), "crab_start", 20)
    return [Row("crab: start until it asks for work", start, "bash", "≪ 100")]


def memory_mib(house: House) -> float:
    """What the idle crab keeps resident, in MiB."""
    return float(inside.ask(house.container(), "memory"))


def table(rows: list[Row], floor: dict[str, Row]) -> str:
    """Markdown."""
    lines = ["| what | p50 ms | p99 ms | against its floor | goal |", "|---|---:|---:|---|---|"]
    for row in [*floor.values(), *rows]:
        ratio = f"{row.p50 / floor[row.floor].p50:.1f} × {floor[row.floor].what}" if row.floor else ""
        lines.append(f"| {row.what} | {row.p50:.2f} | {row.p99:.2f} | {ratio} | {row.goal} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    with running_house() as house:
        house.say("steps=0")
        rows = [*turns(house, options.count), steps(house, 10), *proxy(house, options.count), *crab(house)]
        idle = memory_mib(house)
        floor = floors(house, options.count)
        noticed, floor["inotify"] = files(house, options.count)
        rows += noticed
        watching = outbox.idle_cpu_percent()
        rows.append(cold_start(house, 8))
        version = house.engine.version()["Version"]
    rows.append(Row("file renamed into `out/` → uploaded to Telegram (on loopback)", phone.uploads(), "", "≤ 25"))
    text = table(rows, floor)
    text += f"\n\nThe idle crab keeps {idle:.1f} MiB resident (goal ≤ 12)."
    text += f" Watching the `out/` of 100 idle cubicles takes {watching:.3f} % of a core."
    text += f"\n\nMachine: {machine()}, Python {platform.python_version()}, Docker {version}, "
    text += time.strftime("%Y-%m-%d.")
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def machine() -> str:
    """What it was measured on."""
    facts = json.loads(subprocess.run(["/usr/bin/lscpu", "-J"], capture_output=True, check=True, text=True).stdout)[
        "lscpu"
    ]
    named = {fact["field"].rstrip(":"): fact["data"] for fact in facts}
    return f"{named['CPU(s)']} × {named['Model name']}, Linux {platform.release()}"


if __name__ == "__main__":
    main()
