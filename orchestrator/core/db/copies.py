"""Copies of the whole database, made while others write, and what a copy holds.

A copy is one consistent instant, taken in one reading transaction: nobody who writes waits for it. It is one file with
nothing beside it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orchestrator.core.db.migration_list import MigrationList
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey

_NAMELESS = ".copy-{}.db"
_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Inside:
    """What a database holds, as far as a backup is concerned with it."""

    migrations: tuple[str, ...]
    agents: tuple[str, ...]
    users: tuple[int, ...]
    turns: int
    cubicles: dict[CubicleKey, int]
    """The number of each cubicle, from which it has its user."""


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """``target`` is a private copy of the database, on the disk. Raises sqlite3.Error and OSError."""
    os.close(os.open(target, _NEW, 0o600))
    with closing(sqlite3.connect(target)) as copied:
        source.backup(copied)
        copied.execute("PRAGMA journal_mode=DELETE").fetchall()
    with target.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def open_unnamed_copy(database: Path, folder: Path) -> Iterator[tuple[BinaryIO, Inside]]:
    """A copy of the database at this instant, open for reading, and what is in it. Its name in ``folder`` is gone as
    soon as it is made, so nothing is left however this ends. Raises Unavailable."""
    target = folder / _NAMELESS.format(os.getpid())
    try:
        _forget_dead(folder)
        with closing(sqlite3.connect(database)) as source:
            source.execute("PRAGMA query_only=ON")
            source.execute("PRAGMA busy_timeout=10000")
            try:
                copy_database(source, target)
                file = target.open("rb")
                inside = look_into(target)
            finally:
                target.unlink(missing_ok=True)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(f"The database could not be copied to {folder} ({error}).") from error
    with file:
        yield file, inside


def _forget_dead(folder: Path) -> None:
    """Copies, and what SQLite puts beside them, whose makers were killed before they could take the name away."""
    for path in folder.glob(_NAMELESS.format("[0-9]*") + "*"):
        if not Path("/proc", path.name.split("-")[1].partition(".")[0]).exists():
            path.unlink(missing_ok=True)


def look_into(database: Path) -> Inside:
    """What is in a database that nobody else has open. Raises Unavailable when it is damaged or a newer version's, and
    sqlite3.Error."""
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA query_only=ON")
        said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if said != "ok":
            raise Unavailable(f"The database is damaged ({said}). Use an older backup.")
        done = migrations.list_applied(db)
        raise_if_newer(done, migrations)
        return Inside(
            migrations=tuple(done),
            agents=tuple(str(row["name"]) for row in db.execute("SELECT name FROM agents ORDER BY name")),
            users=tuple(int(row["id"]) for row in db.execute("SELECT id FROM users ORDER BY id")),
            turns=int(db.execute("SELECT COUNT(*) FROM turns").fetchone()[0]),
            cubicles={
                CubicleKey(str(row["agent"]), int(row["user"])): int(row["id"])
                for row in db.execute("SELECT id, agent, user FROM cubicles")
            },
        )


def raise_if_newer(done: list[str], steps: MigrationList) -> None:
    """Raises Unavailable when a database has had steps that this version does not know."""
    if set(done) - set(steps.list_names()):
        raise Unavailable("The database was made by a newer HermitShell. Update this one, then try again.")
