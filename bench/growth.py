"""Growth: what things cost by the size of what there is of them, each with its curve.

Histories and turns are measured in a real install, whose tables are filled beside it; the rest in an install without
containers, as the cost is the database's and the pages'.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from flask.testing import FlaskClient

from bench import calendar, memories, pages
from bench.figures import Curve, Found, growth_table
from bench.install import Fixture, running_install
from dashboard.app import create_app
from orchestrator.capabilities.calendar import rows as entries
from orchestrator.core.db import audit_rows as audit
from orchestrator.core.models import CubicleKey
from orchestrator.files import tree
from tests.support.app_fixture import AppFixture, run_app
from tests.unit.conftest import logged_in

_QUICK = {
    "turns of the conversation": (10, 100, 500),
    "rows of the log": (1_000, 10_000, 100_000),
    "turns": (100, 1_000, 10_000),
    "entries": (100, 1_000, 3_000),
    "memories": (1_000, 3_000, 10_000),
    "files": (1_000, 5_000, 20_000),
}
_FULL = {
    "turns of the conversation": (10, 100, 500, 2_000),
    "rows of the log": (10_000, 100_000, 300_000, 1_000_000),
    "turns": (1_000, 10_000, 30_000, 100_000),
    "entries": (100, 1_000, 3_000, 10_000),
    "memories": (1_000, 10_000, 30_000, 100_000),
    "files": (1_000, 20_000, 60_000, 200_000),
}
TITLES = {
    "turns of the conversation": "A plain turn by the length of its conversation",
    "rows of the log": "The audit log",
    "turns": "Turns that ever were",
    "entries": "Calendar entries of one cubicle",
    "memories": "Memories of one cubicle",
    "files": "Files in one workspace",
}
_FORK = """
    UPDATE turns SET parent = (SELECT before.parent FROM turns AS before WHERE before.id = turns.parent)
    WHERE id % 10 = 5 AND id > ? AND parent IS NOT NULL
"""
"""Every tenth message was sent again, beside the one before it."""
Points = dict[str, list[tuple[float, float]]]


def measure(*, is_quick: bool) -> Found:
    """A table of how each grows, and its curves."""
    sizes = _QUICK if is_quick else _FULL
    curves: list[Curve] = []
    for of, work in (
        ("turns of the conversation", _conversation),
        ("rows of the log", _log),
        ("turns", _turns),
        ("entries", _entries),
        ("memories", _memories),
        ("files", _files),
    ):
        began = time.monotonic()
        curves += [Curve(what, of, tuple(points)) for what, points in work(sizes[of]).items()]
        print(f"growth by {of}: {time.monotonic() - began:.0f} s", flush=True)
    return Found(growth_table(curves), tuple(curves), TITLES)


def typical(count: int, work: Callable[[], object]) -> float:
    """The median of some, in milliseconds, after one that doesn't count."""
    work()
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def _plain_turn(install: Fixture) -> float:
    began = time.monotonic_ns()
    reached, answered = map(int, install.say("steps=0").split())
    return (time.monotonic_ns() - began - (answered - reached)) / 1e6


def _conversation(sizes: Sequence[int]) -> Points:
    """With the summaries that an install makes of what has grown long."""
    found: Points = {"plain turn": []}
    with running_install() as install:
        for size in sizes:
            _write_turns(install, size - _count(install))
            _plain_turn(install)
            time.sleep(1.0)  # a summary is made between turns
            times = [_plain_turn(install) for _ in range(21)]
            found["plain turn"].append((size, statistics.median(times)))
    return found


def _turns(sizes: Sequence[int]) -> Points:
    """A cleared conversation's turns are kept; pages are the install's without containers."""
    found: Points = {"plain turn": [], "home page": [], "chat page": [], "page of a branch": []}
    with running_install() as install, _webapp() as (paper, client):
        rows = 0
        for size in sizes:
            _write_turns(install, size - _count(install))
            install.call("DELETE", "/agents/crab/history")
            found["plain turn"].append((size, statistics.median([_plain_turn(install) for _ in range(21)])))
            with paper.app._store.writing() as db:  # noqa: SLF001 - no way of the install's own fills tables in bulk
                before = db.execute("SELECT COALESCE(MAX(id), 0) FROM turns").fetchone()[0]
                db.executemany(pages.INSERT_TURN, _made_up(size - rows))
                pages.join_turns(db, ["crab"])
                db.execute(_FORK, (before + 1,))
            rows = size
            found["home page"].append((size, typical(9, lambda: client.get("/").get_data())))
            found["chat page"].append((size, typical(9, lambda: client.get("/agents/crab").get_data())))
            found["page of a branch"].append((size, typical(25, partial(_read_branch, paper))))
    return found


def _read_branch(install: AppFixture) -> None:
    """The newest fifty turns of a conversation with thousands of branches, and what stands beside each of them."""
    services = install.services
    place = services.conversations.get(CubicleKey("crab", 1))
    turns = services.turns.list_history(place.cubicle, conversation=place.id, limit=50)
    services.branches.list_siblings(turns, place)


@contextmanager
def _database(install: Fixture) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(install.home / "db" / "hermit.db", timeout=60)) as db, db:
        yield db


def _count(install: Fixture) -> int:
    with _database(install) as db:
        return int(db.execute("SELECT COUNT(*) FROM turns").fetchone()[0])


def _write_turns(install: Fixture, count: int) -> None:
    with _database(install) as db:
        db.row_factory = sqlite3.Row
        db.executemany(pages.INSERT_TURN, _made_up(count))
        pages.join_turns(db, ["crab"])


def _made_up(count: int) -> Iterator[tuple[object, ...]]:
    now = time.time()
    for n in range(count):
        yield "crab", f"steps=0, number {n}", "Done as you said. " * 5, *[now - count + n] * 4


def _log(sizes: Sequence[int]) -> Points:
    found: Points = {"append": [], "newest page": [], "search of a word": [], "search of two rare words": []}
    with _webapp() as (install, client):
        store, rows = install.app._store, 0  # noqa: SLF001 - no way of the install's own fills tables in bulk

        def page(url: str) -> float:
            return typical(9, lambda: client.get(url).get_data())

        for size in sizes:
            pages.fill_log(store, ["crab"], size - rows)
            rows = size
            found["append"].append((size, typical(200, lambda: _append(install))))
            for what, url in (
                ("newest page", "/audit"),
                ("search of a word", "/audit?q=exit"),
                ("search of two rare words", "/audit?q=reef+4711"),
            ):
                found[what].append((size, page(url)))
    return found


def _append(install: AppFixture) -> None:
    with install.app._store.writing() as db:  # noqa: SLF001 - what every append does
        audit.insert_record(db, "turn.asked", "Look after the tide.", now=time.time(), agent="crab", user=1)


def _entries(sizes: Sequence[int]) -> Points:
    found: Points = {"what is due": [], "calendar page": []}
    with _webapp() as (install, client):
        store, rows = install.app._store, 0  # noqa: SLF001 - more than a cubicle may have
        for size in sizes:
            calendar.fill(store, time.time() + 86_400, 30 * 86_400.0, "", count=size - rows)
            rows = size
            found["what is due"].append((size, typical(200, lambda: _due(install))))
            found["calendar page"].append((size, typical(9, lambda: client.get("/calendar").get_data())))
    return found


def _due(install: AppFixture) -> None:
    with install.app._store.reading() as db:  # noqa: SLF001 - what each pass of the clock asks
        entries.list_due(db, time.time(), 100)
        entries.get_earliest_due(db)


def _memories(sizes: Sequence[int]) -> Points:
    found: Points = {"search by words": []}
    for size in sizes:
        took = memories.times_among_many(None, 60, many=size)
        found["search by words"].append((size, statistics.median(took)))
    return found


def _files(sizes: Sequence[int]) -> Points:
    found: Points = {"walk of the disk": [], "files page": []}
    with _webapp() as (install, client):
        work, made = install.services.settings.home / "workspaces" / "crab" / "1" / "work", 0
        for size in sizes:
            for n in range(made, size):
                folder = work / f"folder-{n // 1000:03}"
                folder.mkdir(parents=True, exist_ok=True) if n % 1000 == 0 else None
                os.close(os.open(folder / f"file-{n % 1000:03}.txt", os.O_CREAT | os.O_WRONLY, 0o644))
            made = size
            found["walk of the disk"].append((size, typical(3, lambda: _walk(work.parent))))
            found["files page"].append((size, typical(9, lambda: client.get("/agents/crab/files/work").get_data())))
    return found


def _walk(top: Path) -> None:
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        tree.measure_tree(folder, max_entries=2_000_000)
    finally:
        os.close(folder)


@contextmanager
def _webapp() -> Iterator[tuple[AppFixture, FlaskClient]]:
    with tempfile.TemporaryDirectory(prefix="hermit-bench-") as folder, run_app(Path(folder)) as install:
        reader = logged_in(install, create_app(install.services), install.services.users.get_operator())
        yield install, reader.client
