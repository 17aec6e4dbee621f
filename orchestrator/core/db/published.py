"""Making a SQLite file for others to read: one plain file, without a log beside it, whole when it is closed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """A new database at ``path``, committed and closed at the end. It must be thrown away when this raises."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # It is a scratch file until somebody publishes it, so there is nothing to be saved from a crash.
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        yield db
        db.execute("COMMIT")
