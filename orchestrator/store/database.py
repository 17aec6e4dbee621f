"""The database file: who may read, who may write, and when it is on disk.

Readers borrow a connection from a pool, so hundreds of waiting threads cost nothing. There is one writing connection
and a lock in front of it: SQLite has one writer anyway, and a lock hands over in microseconds where SQLite's own busy
handler sleeps for milliseconds. WAL with ``synchronous=NORMAL``: a committed row survives the death of this process at
any instant; a power cut may take back the last moments before it, never half a transaction.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from orchestrator.errors import Unavailable
from orchestrator.migrations import migrations

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA temp_store=MEMORY",
)


class Store:
    """One SQLite database. All methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        """Open ``path``, made with mode 0600 if missing, and bring it to the current shape.

        Raises Unavailable when the file cannot be opened or is no database.
        """
        self._path = path
        self._readers: list[sqlite3.Connection] = []
        self._pool_lock = threading.Lock()  # protects _readers
        self._write_lock = threading.RLock()  # protects _writer and its transaction
        try:
            path.touch(mode=0o600)
            self._writer = self._connect()
            migrations.apply(Database(self._writer))
        except (OSError, sqlite3.DatabaseError) as error:
            raise Unavailable(f"The database {path} cannot be used ({error}). Restore it from a backup.") from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the last committed state; it must not write."""
        with self._pool_lock:
            connection = self._readers.pop() if self._readers else None
        connection = connection or self._connect(query_only=True)
        try:
            yield connection
        finally:
            with self._pool_lock:
                self._readers.append(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one writing connection inside a transaction: committed at the end, rolled back on any exception.

        Raises Unavailable when the disk is full or broken; nothing has changed then.
        """
        with self._write_lock:
            if self._writer.in_transaction:
                yield self._writer  # already inside writing(): the outer one commits
                return
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise Unavailable(f"The database cannot be written ({error}). Is the disk full?") from error
                raise

    def close(self) -> None:
        """Checkpoint and let go of the file. Nobody may read or write afterwards."""
        with self._pool_lock, self._write_lock:
            for connection in self._readers:
                connection.close()
            self._readers.clear()
            self._writer.close()

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=256)
        connection.row_factory = sqlite3.Row
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if query_only:
            connection.execute("PRAGMA query_only=ON")
        return connection
