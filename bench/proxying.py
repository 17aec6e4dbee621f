"""What door and proxy add to a model call, and how many calls a second one orchestrator passes on. The caller speaks
over the cubicle's own socket from the host's side, as the crab does from its own, and is a process of its own."""

from __future__ import annotations

import multiprocessing
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from bench import processes
from bench.figures import Row
from bench.install import Fixture, fast_upstream, running_install
from bench.wire import exchange, is_whole, post, received

_BODY: dict[str, object] = {"messages": [{"role": "user", "content": "Are you ready?"}]}
_PER_DOOR = 8
"""A door takes sixteen connections at once, of which the crab has some."""


@dataclass(frozen=True)
class Way:
    """One way to the model: how to connect, and what to send."""

    addresses: Sequence[str | tuple[str, int]]
    request: bytes

    def connect(self, n: int) -> socket.socket:
        """The nth connection."""
        address = self.addresses[n % len(self.addresses)]
        wire = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        wire.connect(address)
        if not isinstance(address, str):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire


def straight(url: str) -> Way:
    """To the provider itself."""
    parts = urlsplit(url)
    path = f"{parts.path}/chat/completions"
    body = {"model": "scripted-large", "stream": True, **_BODY}
    return Way([(parts.hostname or "", parts.port or 80)], post(path, body))


def through(install: Fixture, agents: Sequence[str]) -> Way:
    """Through the doors of these agents."""
    return Way([str(door(install, agent)) for agent in agents], post("/api/internal/llm", _BODY))


def door(install: Fixture, agent: str) -> Path:
    """The host's side of an agent's socket."""
    return install.home / "run" / agent / "1" / "door.sock"


def one_caller(way: Way, count: int) -> list[float]:
    """Milliseconds of each of so many calls, one after the other on one connection."""
    times = []
    with way.connect(0) as wire:
        for n in range(count + 5):
            began = time.monotonic_ns()
            exchange(wire, way.request)
            if n >= 5:
                times.append((time.monotonic_ns() - began) / 1e6)
    return times


def rate(way: Way, connections: int, seconds: float) -> float:
    """Calls a second that so many callers get answered, each with its next call as soon as it has an answer."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    caller = context.Process(target=_call_on, args=(there, way, connections, seconds))
    caller.start()
    there.close()
    try:
        return float(here.recv())
    finally:
        caller.join()


def _call_on(answer: Connection, way: Way, connections: int, seconds: float) -> None:
    with selectors.DefaultSelector() as waiting:
        said: dict[socket.socket, bytes] = {}
        for n in range(connections):
            wire = way.connect(n)
            waiting.register(wire, selectors.EVENT_READ)
            said[wire] = b""
            wire.sendall(way.request)
        began, done = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            for ready, _ in waiting.select(1.0):
                wire = ready.fileobj  # type: ignore[assignment]  # a socket was registered
                said[wire] += received(wire)
                if is_whole(said[wire]):
                    done += 1
                    said[wire] = b""
                    wire.sendall(way.request)
        answer.send(done / (time.monotonic() - began))
        for wire in said:
            wire.close()


def measure(*, count: int, rounds: int, seconds: float) -> tuple[list[Row], dict[str, Row]]:
    """Rows, and the floors that they are compared with; what is compared is taken in turns."""
    with fast_upstream() as url, running_install({"HERMIT_LLM_BASE_URL": url}) as install:
        agents = ["crab", *(f"caller-{n}" for n in range(3))]
        for agent in agents[1:]:
            install.new_agent(agent)
        for agent in agents:
            install.call("POST", f"/agents/{agent}/cubicle/start")
        direct, ours = straight(url), through(install, agents)
        alone: dict[str, list[float]] = {"direct": [], "ours": []}
        spent: list[float] = []
        rates: dict[tuple[str, int], list[float]] = {(way, n): [] for way in ("direct", "ours") for n in (8, 32)}
        for _ in range(rounds):
            for name, way in (("direct", direct), ("ours", ours)):
                alone[name] += one_caller(way, count // rounds)
            busy = processes.cpu_s(install.pid)
            one_caller(ours, count)
            spent.append((processes.cpu_s(install.pid) - busy) / count * 1000)
            for (name, connections), found in rates.items():
                way = direct if name == "direct" else through(install, agents[: connections // _PER_DOOR])
                found.append(rate(way, connections, seconds))
    rows, floor = _rows(alone, rates)
    return [*rows, Row("model call through door and proxy, of the processor (host)", spent, "direct")], floor


def _rows(alone: dict[str, list[float]], rates: dict[tuple[str, int], list[float]]) -> tuple[list[Row], dict[str, Row]]:
    floor = {
        "direct": Row("model call straight to the model server", alone["direct"]),
        **{f"rate {n}": Row(f"the same by {n} callers at once", rates["direct", n], unit="calls/s") for n in (8, 32)},
    }
    added = [ms - statistics.median(alone["direct"]) for ms in alone["ours"]]
    named: Callable[[int], str] = lambda n: f"model calls through door and proxy by {n} callers at once"  # noqa: E731 - said twice
    return [
        Row("model call through door and proxy", alone["ours"], "direct"),
        Row("… what door and proxy add", added, "direct", most=1.0, most_p99=3.0),
        *(Row(named(n), rates["ours", n], f"rate {n}", least=1000, unit="calls/s") for n in (8, 32)),
    ], floor
