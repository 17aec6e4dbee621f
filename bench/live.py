"""How soon a watcher sees what a model writes and what a command prints: ``python -m bench.live`` prints the figures.

A real orchestrator process and a real cubicle. The model server and the watcher are in this process, so one clock
times both ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import requests

from tests.support.real_app import Api, AppProcess, Plays, Talker, process_install
from tests.support.scripted_replies import Piece, Reply
from tests.support.scripted_upstream import answers
from tests.support.scripted_wire import Request, chunk, sse_events, stream_head

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- live figures -->", "<!-- end of live figures -->"
WORDS = 100
EVERY_S = 0.12
"""A little longer than two drafts lie apart, so that each word is shown."""
TIMES = 20


class Slowly:
    """A reply of many words that notes when each left."""

    def __init__(self, words: int = WORDS, name: str = "word") -> None:
        self.sent: dict[str, int] = {}
        self._words = [f"{name}{n:03d} " for n in range(words)]

    def reply(self) -> Reply:
        """What the model says."""

        def pieces(request: Request) -> Iterator[Piece]:
            yield stream_head()
            deltas = ['{"message": "', *self._words, '"}']
            for delta, event in zip(
                ["", *deltas, "", "", ""], sse_events(request, deltas, "count", "stop"), strict=False
            ):
                time.sleep(EVERY_S)
                self.sent[delta.strip()] = time.monotonic_ns()
                if isinstance(event, bytes):
                    yield chunk(event)
            yield b"0\r\n\r\n"

        return pieces


class Watcher:
    """Hears the news in a thread of its own and notes when."""

    def __init__(self, api: Api) -> None:
        self.heard: list[tuple[int, str, dict[str, object]]] = []
        self._answer = api.session.get(f"{api.url}/api/events", stream=True, timeout=60)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nothing more is heard."""
        self._answer.raw.close()
        self._thread.join(5)

    def _listen(self) -> None:
        with contextlib.suppress(requests.RequestException, AttributeError, ValueError):  # it was closed
            self._note_all()

    def _note_all(self) -> None:
        kind = ""
        for line in self._answer.iter_lines(chunk_size=1):
            if line.startswith(b"event: "):
                kind = line[7:].decode()
            elif line.startswith(b"data: "):
                self.heard.append((time.monotonic_ns(), kind, json.loads(line[6:])))


def firsts(agent: Talker, plays: Plays, watcher: Watcher) -> list[float]:
    """The same for the first word of each answer alone."""
    late = []
    for turn in range(TIMES):
        slowly = Slowly(words=3, name=f"t{turn}w")
        agent.ask(plays.add(slowly.reply()), timeout=120)
        late += _late(slowly, watcher)[:1]
    return late


def drafts(agent: Talker, plays: Plays, watcher: Watcher) -> list[float]:
    """Milliseconds from a word's leaving the model server until its draft is read."""
    slowly = Slowly()
    agent.ask(plays.add(slowly.reply()), timeout=120)
    return _late(slowly, watcher)


def _late(slowly: Slowly, watcher: Watcher) -> list[float]:
    seen: dict[str, int] = {}
    for at, kind, body in watcher.heard:
        if kind == "delta":
            seen.setdefault(str(body["text"]).strip().rpartition(" ")[2], at)
    return [(at - slowly.sent[word]) / 1e6 for word, at in seen.items() if word in slowly.sent]


def outputs(agent: Talker, plays: Plays, watcher: Watcher) -> list[float]:
    """Milliseconds from a line's being printed inside until it is read; cubicles have the host's clock."""
    command = f"for n in $(seq {TIMES}); do date +%s%N; sleep 1.3; done"
    agent.ask(plays.add(answers(terminal=command), answers("Done.")), timeout=120)
    offset = time.time_ns() - time.monotonic_ns()
    late: dict[str, float] = {}
    for at, kind, body in watcher.heard:
        lines = str(body["output"]).split() if kind == "output" else []
        for line in lines:
            late.setdefault(line, (at + offset - int(line)) / 1e6)
    return list(late.values())[1:]


def measure(install: AppProcess) -> str:
    """The table."""
    plays, agent = Plays(install.model), install.agent()
    agent.ask(plays.add(answers("Awake.")))
    watcher = Watcher(Api(install.api.url))
    rows = (
        ("the first word of an answer → its draft at a watcher", firsts(agent, plays, watcher), "≤ 1.5"),
        ("a word of the model → its draft at a watcher", drafts(agent, plays, watcher), "≤ 20"),
        ("a line printed in the cubicle → the output at a watcher", outputs(agent, plays, watcher), "≤ 700"),
    )
    threading.Thread(target=watcher.close, daemon=True).start()
    lines = ["| while a turn runs | p50 ms | p99 ms | goal |", "|---|---:|---:|---|"]
    for what, times, goal in rows:
        p99 = sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]
        lines.append(f"| {what} ({len(times)} times) | {statistics.median(times):.1f} | {p99:.1f} | {goal} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    client = docker.from_env()
    with tempfile.TemporaryDirectory(prefix="hermit-live-") as home, process_install(Path(home), client) as install:
        text = measure(install)
    client.close()
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
