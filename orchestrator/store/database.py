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

from orchestrator.errors import Unavailable
from orchestrator.migrations import migrations
from orchestrator.store import upgrading

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA temp_store=MEMORY",
    # `tidy` moves the log into the file meanwhile; this is the bound for when nobody calls it.
    "PRAGMA wal_autocheckpoint=20000",
)


class Store:
    """One SQLite database. All methods may be called from any thread."""

    def __init__(self, path: Path, *, keep_in: Path | None = None) -> None:
        """Open ``path``, made with mode 0600 if missing, and bring it to the current shape; before that a copy of it
        goes to ``keep_in`` (else beside it).

        Raises Unavailable when the file cannot be opened, is no database, or can't be brought to that shape.
        """
        self._path = path
        self._readers: list[sqlite3.Connection] = []
        self._is_closed = False
        self._pool_lock = threading.Lock()  # protects _readers and _is_closed
        self._write_lock = threading.RLock()  # protects _writer and its transaction
        try:
            path.touch(mode=0o600)
            self._writer = self._connect()
        except (OSError, sqlite3.DatabaseError) as error:
            raise _unusable(path, error) from error
        try:
            upgrading.bring_up(self._writer, migrations, keep_in=keep_in or path.parent)
        except (sqlite3.DatabaseError, Unavailable) as error:
            self._writer.close()
            raise (error if isinstance(error, Unavailable) else _unusable(path, error)) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the last committed state; it must not write.

        Raises Unavailable when the file can't be read.
        """
        connection = self._borrow()
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            if not _is_of_the_disk(error):
                raise
            raise Unavailable(f"The database cannot be read ({error}). Look after its disk.") from error
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one writing connection inside a transaction: committed at the end, rolled back on any exception.

        Raises Unavailable when the disk is full or broken; nothing has changed then.
        """
        with self._write_lock:
            self._raise_if_closed()
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
                if isinstance(error, sqlite3.DatabaseError) and _is_of_the_disk(error):
                    raise Unavailable(f"The database cannot be written ({error}). Is the disk full?") from error
                raise

    def tidy(self) -> None:
        """Move what the write-ahead log holds into the file, as far as no reader is in the way; waits for the disk.

        Called regularly from a thread that may wait, so that no writer ever has to.
        """
        with self.reading() as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Checkpoint and let go of the file. Nobody may read or write afterwards."""
        with self._write_lock, self._pool_lock:
            self._is_closed = True
            for connection in self._readers:
                connection.close()
            self._readers.clear()
            self._writer.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._pool_lock:
            self._raise_if_closed()
            if self._readers:
                return self._readers.pop()
        try:
            return self._connect(query_only=True)
        except sqlite3.DatabaseError as error:
            raise Unavailable(f"The database cannot be opened ({error}). Look after its disk.") from error

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._pool_lock:
            if self._is_closed:
                connection.close()
            else:
                self._readers.append(connection)

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise Unavailable("HermitShell is being stopped. Try again when it runs.")

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=256)
        connection.row_factory = sqlite3.Row
        try:
            for pragma in (*_PRAGMAS, "PRAGMA query_only=ON") if query_only else _PRAGMAS:
                connection.execute(pragma)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection


def _is_of_the_disk(error: sqlite3.DatabaseError) -> bool:
    """Full, broken, locked or no database: nothing that the statement or its values are to blame for."""
    return type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError)


def _unusable(path: Path, error: Exception) -> Unavailable:
    return Unavailable(f"The database {path} cannot be used ({error}). Restore it from a backup.")
