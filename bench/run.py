"""The core: a turn, a command step, a model call, a file, a start, each with the floors of the same run.

Rounds are taken in turns, so that what else the machine does meets all of them alike.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

from bench import inside, outbox, phone, processes, proxying
from bench.figures import Found, Row, table
from bench.install import Fixture, running_install
from crab.prompt import build_system_prompt
from orchestrator.capabilities.table import REGISTRY

Times = dict[str, list[float]]
_CHARS_PER_TOKEN = 3.3
"""Of the prompt, by a small tokenizer; large models need fewer (``tests/unit/crab/test_prompt.py``)."""


def timed(count: int, work: Callable[[], object]) -> list[float]:
    """Milliseconds of each of ``count`` calls, after one that doesn't count."""
    work()
    times = []
    for _ in range(count):
        began = time.monotonic_ns()
        work()
        times.append((time.monotonic_ns() - began) / 1e6)
    return times


def turns(install: Fixture, count: int, times: Times) -> None:
    """A plain turn: what is left of it without the model's own time; and what it takes of the processor."""
    crab = crab_pid(install)
    install.say("steps=0")
    spent = 0.0
    for _ in range(count):
        busy = processes.cpu_s(install.pid) + processes.cpu_s(crab)
        began = time.monotonic_ns()
        reached, answered = map(int, install.say("steps=0").split())
        ended = time.monotonic_ns()
        spent += processes.cpu_s(install.pid) + processes.cpu_s(crab) - busy
        times["in"].append((reached - began) / 1e6)
        times["out"].append((ended - answered) / 1e6)
        times["turn"].append(times["in"][-1] + times["out"][-1])
        install.call("DELETE", "/agents/crab/history")
    times["cpu"].append(spent / count * 1000)


def crab_pid(install: Fixture, agent: str = "crab") -> int:
    """The agent's loop, as the host numbers it."""
    top = install.container(agent).top()
    pids = [int(row[top["Titles"].index("PID")]) for row in top["Processes"]]
    return next(pid for pid in pids if processes.parent(pid) in pids)


def steps(install: Fixture, count: int, times: Times, per_turn: int = 20) -> None:
    """A command step with its model call: the longer turn less the plain one, by step."""
    for _ in range(count):
        spans = []
        for wanted in (0, per_turn):
            reached, answered = map(int, install.say(f"steps={wanted}").split())
            spans.append((answered - reached) / 1e6)
            install.call("DELETE", "/agents/crab/history")
        times["step"].append((spans[1] - spans[0]) / per_turn)


def starts(install: Fixture, count: int, times: Times) -> None:
    """From the message to the first reply where the cubicle has to be made, and where it has been stopped."""
    for number in range(count):
        name = f"new-{len(times['new'])}-{number}"
        install.new_agent(name)
        began = time.monotonic_ns()
        install.say("steps=0", agent=name)
        times["new"].append((time.monotonic_ns() - began) / 1e6)
        install.call("POST", f"/agents/{name}/cubicle/stop")
        began = time.monotonic_ns()
        install.say("steps=0", agent=name)
        times["wake"].append((time.monotonic_ns() - began) / 1e6)
        install.call("DELETE", f"/agents/{name}")


def floors(install: Fixture, count: int, times: Times) -> None:
    """What cannot be had for less."""
    container = install.container()
    api = install.engine.api

    def exec_true() -> None:
        api.exec_start(api.exec_create(container.id, ["true"])["Id"])

    def run_true() -> None:
        install.engine.containers.run(container.image.id, ["true"], network_mode="none", remove=True)

    times["socket"] += inside.socket_round_trips(count)
    times["bash"] += inside.measure(container, "bash_true", count)
    times["exec"] += timed(max(3, count // 10), exec_true)
    times["run"] += timed(2, run_true)


def files(install: Fixture, count: int, times: Times) -> None:
    """From a close in the cubicle until the host's handler knows of it, by three ways of listening."""
    out = install.home / "workspaces" / "crab" / "1" / "out"
    for name, found in outbox.noticed(install.container(), out, count).items():
        times[name] += found


def measure(*, is_quick: bool) -> Found:
    """The table."""
    rounds, count = (2, 60) if is_quick else (5, 250)
    times: Times = defaultdict(list)
    with running_install() as install:
        install.say("steps=0")
        for _ in range(rounds):
            floors(install, count // rounds, times)
            turns(install, count // rounds, times)
            steps(install, 2 if is_quick else 4, times)
            files(install, count // rounds, times)
            times["crab"] += inside.measure(install.container(), "crab_start", 6)
            starts(install, 2, times)
        resident = float(inside.ask(install.container(), "memory"))
    rows, floor = proxying.measure(count=count, rounds=rounds, seconds=1.0 if is_quick else 2.0)
    first, uploads, written = phone.measure(4 if is_quick else 12)
    return Found(
        table([*_rows(times), *rows, *_others(first, uploads, written, resident)], {**_floors(times), **floor})
    )


def _floors(times: Times) -> dict[str, Row]:
    return {
        "socket": Row("unix-socket HTTP round trip", times["socket"]),
        "bash": Row("fork + exec `bash -c true`, inside", times["bash"]),
        "exec": Row("`docker exec … true`", times["exec"]),
        "run": Row("`docker run … true`", times["run"]),
        "raw": Row("raw inotify: closed inside → known outside", times["raw"]),
        "watchdog": Row("a bare watchdog callback for the same", times["watchdog"]),
    }


def _rows(times: Times) -> list[Row]:
    return [
        Row("message in → model's first byte", times["in"], "socket"),
        Row("model's last byte → reply out", times["out"], "socket"),
        Row("plain turn, both together", times["turn"], "socket", most=6, most_p99=15),
        Row("plain turn, of the processor (host and crab)", times["cpu"], "socket", most=6),
        Row("command step, its model call included", times["step"], "bash", most=4, most_p99=8),
        Row("file closed in `out/` → our handler", times["ours"], "watchdog", most=1.5, most_p99=10),
        Row("crab: start until it asks for work", times["crab"], "bash", most=100),
        Row("first reply through a new cubicle", times["new"], "run", most=1500),
        Row("first reply of a stopped agent", times["wake"], "run", most=400),
    ]


def _others(first: list[float], uploads: list[float], written: list[float], resident: float) -> list[Row]:
    prompt = len(
        build_system_prompt(
            {"name": "crab", "image": "studio", "capabilities": REGISTRY.prompt_text(REGISTRY.toolsets)}
        )
    )
    return [
        Row("message at the Bot API → its answer begins to appear there", first),
        Row("file renamed into `out/` → uploaded to Telegram", uploads, most=25),
        Row("file closed by a command in `out/` → uploaded to Telegram", written, most=25),
        Row("what the idle crab keeps resident", [resident], most=12, unit="MiB"),
        Row("fixed prompt, all tools on", [prompt / _CHARS_PER_TOKEN], most=1200, unit="tokens"),
    ]
