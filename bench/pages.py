"""Every page of the dashboard in an install that is full: 1,000,000 rows of the log, 10,000 turns, 50 agents.

``python -m bench.pages`` seeds such an install and prints how long the server takes for each page, without the network;
``--write`` keeps the table. ``--rows`` makes it smaller.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flask.testing import FlaskClient

from dashboard.app import create_app
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.turns import conversation_rows
from tests.support.all_pages import Sight, samples, sights
from tests.support.app_fixture import AppFixture, run_app
from tests.support.sample_data import ALL_ON, fill_with_samples
from tests.unit.conftest import logged_in

ROWS, TURNS, AGENTS, DECIDED = 1_000_000, 10_000, 50, 5_000
ROUNDS, WARM_UPS = 40, 2
PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- page figures -->", "<!-- end of page figures -->"
MORE = (
    Sight("audit: one word of many", "/audit?q=exit"),
    Sight("audit: two rare words", "/audit?q=reef+4711"),
    Sight("audit: an agent and a kind", "/audit?agent=agent-7&kind=step.ended"),
    Sight("audit: far back", "/audit?before=2000"),
    Sight("chat: another agent", "/agents/agent-7"),
    Sight("chat: earlier messages", "/agents/crab/turns?before=900"),
)
"""What the install is full of, asked for in ways that its pages offer."""
_DAY_S = 86_400.0
_KINDS = ("turn.asked", "step.started", "step.ended", "approval.asked", "approval.decided", "turn.ended")
_WORDS = ("tide", "table", "letter", "chart", "boat", "weather", "berth", "photo", "backup", "invoice")


@dataclass(frozen=True)
class Took:
    """One page."""

    name: str
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    """Of one core; what else the machine does meanwhile hardly changes it."""
    size: int


def fill(install: AppFixture, rows: int = ROWS) -> None:
    """Years of use, straight into the tables."""
    names = [f"agent-{n}" for n in range(AGENTS - len(install.services.agents.list_agents()))]
    for name in names:
        install.services.agents.create({"name": name, "role": "One of many"})
    store, agents = install.app._store, ["crab", *names]  # noqa: SLF001 - no way of the install's own fills tables in bulk
    with store.writing() as db:
        db.executemany(INSERT_TURN, _turns(agents))
        first = int(db.execute("SELECT MAX(id) FROM turns").fetchone()[0]) - TURNS + 1
        db.executemany(_INSERT_STEP, _steps(first))
        db.executemany(_INSERT_APPROVAL, _approvals(agents, first))
        join_turns(db, agents)
        db.execute(_SEEN)
    fill_log(store, agents, rows)


def join_turns(db: sqlite3.Connection, agents: list[str]) -> None:
    """Each agent's turns that were put in by ``INSERT_TURN`` are one conversation, each following the one before."""
    for agent in agents:
        conversation_rows.ensure_first(db, CubicleKey(agent, 1), time.time())
    db.execute(f"UPDATE turns SET conversation = {_FIRST} WHERE conversation = 0")  # noqa: S608 - a constant
    conversation_rows.repair_conversations(db)


def fill_log(store: Store, agents: list[str], rows: int) -> None:
    """In pieces, as everybody else waits for a transaction."""
    piece = 50_000
    for start in range(0, rows, piece):
        with store.writing() as db:
            db.executemany(_INSERT_ROW, _log(agents, start, min(start + piece, rows), rows))


INSERT_TURN = (
    "INSERT INTO turns (agent, user, conversation, parent, source, prompt, status, claims, reply, created_at, "
    "started_at, ended_at, told_at) VALUES (?, 1, 0, -1, 'dashboard', ?, 'done', 1, ?, ?, ?, ?, ?)"
)
_INSERT_STEP = (
    "INSERT INTO steps (turn, n, thought, command, sha256, ruling, reason, status, exit_code, output, started_at, "
    "ended_at) VALUES (?, ?, 'I look.', ?, ?, 'run', '', 'done', 0, ?, ?, ?)"
)
_INSERT_APPROVAL = (
    "INSERT INTO approvals (id, agent, user, turn, kind, text, sha256, reason, status, asked_at, expires_at, "
    "decided_at, decided_by) VALUES (?, ?, 1, ?, 'command', ?, ?, 'deletes a folder', ?, ?, ?, ?, 'ada (dashboard)')"
)
_FIRST = "(SELECT MIN(id) FROM conversations WHERE agent = turns.agent AND user = turns.user)"
_SEEN = (
    "INSERT INTO read_marks (conversation, agent, user, turn, at) "
    "SELECT conversation, agent, user, MAX(id) - 1, MAX(created_at) FROM turns "
    "WHERE true GROUP BY conversation ON CONFLICT DO NOTHING"
)
_INSERT_ROW = "INSERT INTO audit (at, kind, agent, user, turn, text, detail) VALUES (?, ?, ?, 1, ?, ?, ?)"


def _turns(agents: list[str]) -> Iterator[tuple[object, ...]]:
    """Half of them are the first agent's."""
    began = time.time() - 400 * _DAY_S
    for n in range(TURNS):
        at = began + n * 399 * _DAY_S / TURNS
        agent = agents[0] if n % 2 else agents[n // 2 % len(agents)]
        reply = f"The **{_WORDS[n % 10]}** is done.\n\n- one\n- two\n\n```\n{'tide ' * 20}\n```"
        yield agent, f"Look after the {_WORDS[n % 10]}, number {n}.", reply, at, at + 1, at + 9, at + 10


def _steps(first: int) -> Iterator[tuple[object, ...]]:
    at = time.time() - 400 * _DAY_S
    for turn in range(first, first + TURNS):
        for n in (1, 2):
            yield turn, n, f"python3 tides.py --number {turn}", "ab" * 32, "line of output\n" * 10, at, at + 1


def _approvals(agents: list[str], first: int) -> Iterator[tuple[object, ...]]:
    for n in range(DECIDED):
        at = time.time() - (DECIDED - n) * 6000.0
        status = ("approved", "denied", "expired")[n % 3]
        turn = first + n * TURNS // DECIDED
        yield (
            f"bench{n:06}",
            agents[n % len(agents)],
            turn,
            f"rm -rf build/{n}",
            "ab" * 32,
            status,
            at,
            at + 60,
            at + 30,
        )


def _log(agents: list[str], start: int, end: int, total: int) -> Iterator[tuple[object, ...]]:
    now = time.time()
    for n in range(start, end):
        at = now - (total - n) * 30.0
        text = f"Exit 0: {_WORDS[n % 10]} {_WORDS[n // 10 % 10]} {n}" if n % 997 else f"The reef, row {n}"
        yield at, _KINDS[n % 6], agents[n % len(agents)], n % TURNS + 1, text, '{"surface": "dashboard", "n": 4711}'


def measure(client: FlaskClient, sight: Sight) -> Took:
    """One page, again and again."""
    for _ in range(WARM_UPS):
        client.get(sight.url)
    times, size = [], 0
    busy = time.thread_time()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = client.get(sight.url)
        size = len(answer.get_data())
        times.append((time.perf_counter() - began) * 1000)
    busy = (time.thread_time() - busy) * 1000 / ROUNDS
    took = Took(sight.name, statistics.median(times), sorted(times)[int(len(times) * 0.99)], busy, size)
    print(f"{took.name}: {took.p50_ms:.1f} ms", flush=True)
    return took


def table(found: list[Took], rows: int, file: Path) -> str:
    """As the page has it."""
    head = ["| page | p50 ms | p99 ms | processor ms | KB |", "|---|---:|---:|---:|---:|"]
    lines = [
        f"| {took.name} | {took.p50_ms:.1f} | {took.p99_ms:.1f} | {took.cpu_ms:.1f} | {took.size / 1000:.0f} |"
        for took in found
    ]
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    machine = f"Machine: {os.cpu_count()} cores, {system}, SQLite {sqlite3.sqlite_version}"
    load = f"a load of {os.getloadavg()[0]:.1f} while it was measured"
    held = f"{rows:,} rows of the log, {TURNS:,} turns, {DECIDED:,} decided approvals, {AGENTS} agents"
    size = f"a database of {file.stat().st_size / 1e6:.0f} MB"
    return "\n".join([*head, *lines, "", f"{held}; {size}. {machine}, with {load}."])


def main() -> None:
    """Seed, measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the log")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="hermit-bench-") as folder,
        run_app(Path(folder), environment=ALL_ON) as install,
    ):
        lived = fill_with_samples(install)
        began = time.monotonic()
        fill(install, options.rows)
        print(f"seeded in {time.monotonic() - began:.0f} s")
        app = create_app(install.services)
        reader = logged_in(install, app, install.services.users.get_operator())
        every = [one for one in sights(app, reader.client, samples(install, lived)) if one.is_inside]
        text = table([measure(reader.client, sight) for sight in (*every, *MORE)], options.rows, _database(folder))
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def _database(folder: str) -> Path:
    return max(Path(folder).rglob("*.db"), key=lambda path: path.stat().st_size)


if __name__ == "__main__":
    main()
