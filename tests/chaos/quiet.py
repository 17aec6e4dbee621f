"""Whether an install has come to rest: what is still open in its database and its ``out/`` folders, by name."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from tests.chaos.install import Install

_OPEN = {
    "turns": "SELECT count(*) FROM turns WHERE status IN ('queued', 'running', 'waiting_approval')",
    "approvals": "SELECT count(*) FROM approvals WHERE status = 'pending'",
    "updates not handled": "SELECT count(*) FROM chat_inbox WHERE handled_at IS NULL",
    "letters": "SELECT count(*) FROM chat_outbox WHERE state IN ('waiting', 'sending') OR amendment IS NOT NULL",
    "answers not told": "SELECT count(*) FROM turns WHERE told_at IS NULL AND source IN ('telegram', 'calendar') "
    "AND status IN ('done', 'failed', 'stopped')",
    "status messages": "SELECT count(*) FROM chat_progress",
    "deliveries": "SELECT count(*) FROM deliveries WHERE status IN ('kept', 'handed')",
    "model calls": "SELECT count(*) FROM spending WHERE state = 'reserved'",
    "entries that come due": "SELECT count(*) FROM agenda_entries WHERE status = 'active' AND next_at IS NOT NULL",
    "runs": "SELECT count(*) FROM agenda_runs WHERE ended_at IS NULL",
    "calls": "SELECT count(*) FROM calls WHERE status = 'waiting'",
}


def open_things(install: Install) -> dict[str, int]:
    """What is open, and how much of it; nothing when it is quiet."""
    try:
        with contextlib.closing(reading(install.database)) as db:
            found = {name: int(db.execute(query).fetchone()[0]) for name, query in _OPEN.items()}
            delivered = int(db.execute("SELECT count(*) FROM deliveries").fetchone()[0])
    except sqlite3.Error as error:
        return {f"a database that can't be read ({error})": 1}
    with install.bots.world.changed:
        found["updates that nobody fetched"] = sum(len(bot.updates) for bot in install.bots.world.bots.values())
    found["files in out/"] = max(0, len(files_out(install.home)) - delivered)
    return {name: count for name, count in found.items() if count}


def files_out(home: Path) -> list[Path]:
    """Every file in every ``out/`` that is meant for a person."""
    return [path for path in sorted((home / "workspaces").glob("*/*/out/*")) if not path.name.startswith(".")]


def reading(database: Path) -> sqlite3.Connection:
    """A connection that can't write."""
    found = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)
    found.row_factory = sqlite3.Row
    return found
