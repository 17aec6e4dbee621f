"""The database file: who may read, who may write, and when it is on disk.

Readers borrow a connection from a pool, so hundreds of waiting threads cost nothing. There is one writing connection
and a lock in front of it: SQLite has one writer anyway, and a lock hands over in microseconds where SQLite's own busy
handler sleeps for milliseconds. WAL with ``synchronous=NORMAL``: a committed row survives the death of this process at
any instant; a power cut may take back the last moments before it, never half a transaction.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.db import upgrading
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Unavailable

logger = logging.getLogger(__name__)

PATIENCE_S = 10.0
"""So long whoever writes or reads waits for another program, the line of our own writers included."""
_SHORT_WAIT_S = 0.5
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    # A row that REPLACE puts out of the way is deleted as any other: what hangs on it hears of it.
    "PRAGMA recursive_triggers=ON",
    # `tidy` moves the log into the file meanwhile; this is the bound for when nobody calls it.
    "PRAGMA wal_autocheckpoint=20000",
)


class Store:
    """One SQLite database. All methods may be called from any thread."""

    def __init__(self, path: Path, *, keep_in: Path | None = None, patience_s: float = PATIENCE_S) -> None:
        """Open ``path``, made with mode 0600 if missing, and bring it to the current shape; before that a copy of it
        goes to ``keep_in`` (else beside it).

        Raises Unavailable when the file cannot be opened, is no database, or can't be brought to that shape.
        """
        self._path = path
        self._busy_ms = int(patience_s * 1000)
        self._readers: list[sqlite3.Connection] = []
        self._is_closed = False
        self.trouble = ""
        """Why nothing is written any more, as a sentence; empty while all is well. It stays until the next start."""
        self._pool_lock = threading.Lock()  # protects _readers and _is_closed
        self._write_lock = threading.RLock()  # protects _writer, its transaction and _after_commit
        self._after_commit: list[Callable[[], object]] = []
        try:
            path.touch(mode=0o600)
            self._writer = self._connect()
        except (OSError, sqlite3.DatabaseError) as error:
            raise _explain_unusable(path, error) from error
        try:
            upgrading.bring_up(self._writer, migrations, keep_in=keep_in or path.parent)
        except (sqlite3.DatabaseError, Unavailable) as error:
            self._writer.close()
            raise (error if isinstance(error, Unavailable) else _explain_unusable(path, error)) from error

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
            raise self._unavailable(error, "read") from error
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one writing connection inside a transaction: committed at the end, rolled back on any exception.

        Raises Unavailable when the disk is full or broken, or somebody else keeps the database locked; nothing has
        changed then. What was given to ``after_commit`` is done after the outermost block, with the lock let go.
        """
        came = time.monotonic()
        with self._write_lock:
            self._raise_if_closed()
            if self._writer.in_transaction:
                yield self._writer  # already inside writing(): the outer one commits
                return
            self._raise_if_in_trouble()
            try:
                self._begin(time.monotonic() - came)
                yield self._writer
                self._writer.execute("COMMIT")
                deeds = self._after_commit
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.DatabaseError) and _is_of_the_disk(error):
                    raise self._unavailable(error, "written") from error
                raise
            finally:
                self._after_commit = []
        for deed in deeds:
            try:
                deed()
            except Exception:  # the rows are written: whoever wrote them must not hear of somebody else's fault
                logger.exception("what follows a commit failed")

    def after_commit(self, deed: Callable[[], object]) -> None:
        """Do this once the transaction under way is committed, in the order of asking, and never if it is rolled back.
        One that raises is logged, and the others are done all the same. Raises RuntimeError outside ``writing``.

        A death may come between the commit and this: it must be found again from the rows, or not matter.
        """
        with self._write_lock:
            if not self._writer.in_transaction:
                raise RuntimeError("after_commit is for within writing()")
            self._after_commit.append(deed)

    def _begin(self, waited_s: float) -> None:
        """Whoever has waited for other writers of ours waits for other programs only for what is left: however many
        stand in line while one of those has the database, each gets an answer in time."""
        if waited_s < _SHORT_WAIT_S:
            self._writer.execute("BEGIN IMMEDIATE")
            return
        self._writer.execute(f"PRAGMA busy_timeout={max(0, self._busy_ms - int(waited_s * 1000))}")
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={self._busy_ms}")

    def _unavailable(self, error: sqlite3.DatabaseError, what: str) -> Unavailable:
        """The sentence for it. Of a damaged file nothing is written any more: that would damage more of it."""
        code = getattr(error, "sqlite_errorcode", 0)
        if code in _DAMAGED:
            self.trouble = (
                f"The database is damaged ({error}), so nothing is written to it any more. Stop HermitShell with "
                "'./hermit down'; './hermit doctor' then says how to go on."
            )
            return Unavailable(self.trouble)
        fix = "Check its disk."
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            fix = "Another program has had it for long: close that, or try again in a minute."
        elif code & 0xFF == sqlite3.SQLITE_FULL:
            fix = "The disk is full: free some space."
        return Unavailable(f"The database cannot be {what} ({error}). {fix}")

    def _raise_if_in_trouble(self) -> None:
        if self.trouble:
            raise Unavailable(self.trouble)

    def checkpoint_log(self) -> None:
        """Move what the write-ahead log holds into the file, as far as no reader is in the way; waits for the disk.

        Called regularly from a thread that may wait, so that no writer ever has to.
        """
        self._raise_if_in_trouble()
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
            raise self._unavailable(error, "opened") from error

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
            connection.execute(f"PRAGMA busy_timeout={self._busy_ms}")
            for pragma in (*_PRAGMAS, "PRAGMA query_only=ON") if query_only else _PRAGMAS:
                connection.execute(pragma)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection


def _is_of_the_disk(error: sqlite3.DatabaseError) -> bool:
    """Full, broken, locked or no database: nothing that the statement or its values are to blame for."""
    return type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError)


def _explain_unusable(path: Path, error: Exception) -> Unavailable:
    return Unavailable(f"The database {path} cannot be used ({error}). Restore it from a backup.")
