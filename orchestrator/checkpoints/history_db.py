"""The database of one cubicle's history: its file, its shape, and when it is on the disk.

One connection writes and one reads, each behind a lock of its own, so that whoever looks at the history need not wait
for a long look at the workspace. WAL with ``synchronous=NORMAL``: what is committed survives the death of this process;
a power cut may take back the last moments, unless it was written with ``is_durable``.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.errors import Unavailable

_VERSION = 1
_BUSY_S = 10.0
_SCHEMA = """
CREATE TABLE points (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, turn INTEGER, step INTEGER, label TEXT NOT NULL,
  at REAL NOT NULL, changed INTEGER NOT NULL, torn INTEGER NOT NULL, unkept INTEGER NOT NULL
);
CREATE TABLE places (id INTEGER PRIMARY KEY, above INTEGER NOT NULL, name BLOB NOT NULL, UNIQUE (above, name));
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name BLOB NOT NULL, kind INTEGER NOT NULL, mode INTEGER NOT NULL,
  size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL, blob INTEGER,
  place INTEGER, is_kept INTEGER NOT NULL, trust INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE UNIQUE INDEX entries_now ON entries (folder, name) WHERE until IS NULL;
CREATE INDEX entries_past ON entries (folder, name) WHERE until IS NOT NULL;
CREATE INDEX entries_since ON entries (since);
CREATE INDEX entries_until ON entries (until) WHERE until IS NOT NULL;
CREATE INDEX entries_blob ON entries (blob) WHERE blob IS NOT NULL;
CREATE INDEX entries_doubtful ON entries (folder) WHERE until IS NULL AND trust < 2;
CREATE TABLE blobs (
  id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, pack INTEGER NOT NULL, offset INTEGER NOT NULL,
  stored INTEGER NOT NULL, size INTEGER NOT NULL, is_deflated INTEGER NOT NULL
);
CREATE INDEX blobs_pack ON blobs (pack);
CREATE TABLE packs (number INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL, live INTEGER NOT NULL);
CREATE TABLE pending (
  id INTEGER PRIMARY KEY CHECK (id = 1), target INTEGER NOT NULL, label TEXT NOT NULL, turn INTEGER,
  is_exact INTEGER NOT NULL
);
CREATE TABLE pending_paths (path BLOB NOT NULL);
"""


class HistoryDb:
    """One file. All methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        """Open it, made with mode 0600 if missing. Raises Unavailable when it can't be used."""
        self.path = path
        self._write_lock = threading.RLock()  # protects _writer and its transaction
        self._read_lock = threading.Lock()  # protects _reader
        self._is_closed = False
        try:
            path.touch(mode=0o600)
            self._writer = _connect(path)
        except (OSError, sqlite3.DatabaseError) as error:
            raise _explain(path, error) from error
        try:
            _bring_up(self._writer)
            self._reader = _connect(path)
            self._reader.execute("PRAGMA query_only=ON")
        except (sqlite3.DatabaseError, Unavailable) as error:
            self._writer.close()
            raise (error if isinstance(error, Unavailable) else _explain(path, error)) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the last committed state, all of it of one instant. Raises Unavailable."""
        with self._read_lock:
            self._raise_if_closed()
            try:
                self._reader.execute("BEGIN")
                try:
                    yield self._reader
                finally:
                    self._reader.execute("ROLLBACK")
            except sqlite3.DatabaseError as error:
                raise _explain(self.path, error) from error

    @contextmanager
    def writing(self, *, is_durable: bool = False) -> Iterator[sqlite3.Connection]:
        """The writing connection inside a transaction: committed at the end, rolled back on any exception.

        ``is_durable``: it is on the disk when this returns. Raises Unavailable when the disk refuses.
        """
        with self._write_lock:
            self._raise_if_closed()
            try:
                self._writer.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.DatabaseError):
                    raise _explain(self.path, error) from error
                raise

    def shrink(self) -> None:
        """Pages that nothing is in any more are given back, and the log is empty. Raises Unavailable."""
        with self._write_lock:
            try:
                self._writer.execute("PRAGMA incremental_vacuum").fetchall()
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.DatabaseError as error:
                raise _explain(self.path, error) from error

    def flush_log(self) -> None:
        """The log is in the file, and empty. Raises Unavailable."""
        with self._write_lock:
            try:
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.DatabaseError as error:
                raise _explain(self.path, error) from error

    def measure_file(self) -> int:
        """Bytes of the file itself."""
        return self.path.stat().st_size

    def measure_log(self) -> int:
        """Bytes of what stands beside it."""
        beside = (self.path.with_name(f"{self.path.name}{ending}") for ending in ("-wal", "-shm"))
        return sum(path.stat().st_size for path in beside if path.exists())

    def close(self) -> None:
        """Nobody may use it afterwards."""
        with self._write_lock, self._read_lock:
            self._is_closed = True
            self._reader.close()
            self._writer.close()

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise Unavailable("This history was closed meanwhile. Try again.")


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64, timeout=_BUSY_S)
    try:
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # before there is a table, else it is too late
        for pragma in ("journal_mode=WAL", "wal_autocheckpoint=0", "temp_store=MEMORY"):
            db.execute(f"PRAGMA {pragma}")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _bring_up(db: sqlite3.Connection) -> None:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > _VERSION:
        raise Unavailable("This history was written by a newer HermitShell. Update this one, then try again.")
    if version == 0:
        db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={_VERSION}; COMMIT;")


def _explain(path: Path, error: Exception) -> Unavailable:
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return Unavailable("The disk is full: free some space where HERMIT_HOME lies, then try again.")
    return Unavailable(
        f"The history in {path.parent.name} of {path.parent.parent.name} can't be used ({error}). If it stays so, stop "
        "HermitShell and delete its folder in HERMIT_HOME/history: a new one is begun, and the old points are gone."
    )
