"""Whether the database's file can be trusted, and a copy of one that can't, beside nothing that it could overwrite.

It looks without changing anything: a connection that only reads neither moves the log into the file nor forgets it. It
fixes nothing.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from orchestrator.core.errors import Unavailable

_BESIDE = ("", "-wal", "-shm")
_KEPT = "damaged-{}"
_STEPS = 100_000
"""So many of SQLite's steps are a few milliseconds."""
_WAIT_S = 5.0
_TELLING = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNREADABLE = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ)

Access = Callable[[Path, int], bool]


def why_unreadable(path: Path, *, user: int | None = None, access: Access = os.access) -> tuple[str, str] | None:
    """What keeps us from reading and writing the database's files, and the fix; None when nothing does. ``user``: whom
    we run as, where that is not asked of the system."""
    me = os.geteuid() if user is None else user
    for file in (path.parent, *_files(path)):
        if not file.exists():
            continue
        facts = file.stat()
        if file != path.parent and not stat.S_ISREG(facts.st_mode):
            return f"{file} is not a regular file.", f"Move it away, then put {path.name} of a backup in its place."
        if access(file, os.R_OK | os.W_OK | (os.X_OK if file == path.parent else 0)):
            continue
        if os.statvfs(file).f_flag & os.ST_RDONLY:
            return f"The disk of {file} can only be read.", "'dmesg' may say why. Mount it so that it can be written."
        if facts.st_uid != me:
            return f"{file} belongs to another user.", f"Run as its owner, or 'chown -R {me} {path.parent}'."
        return f"I may not read and write {file}.", f"Run 'chmod -R u+rwX {path.parent}'."
    return None


def find_damage(
    path: Path, *, patience_s: float, should_be_there: bool = False, wait_s: float = _WAIT_S, steps: int = _STEPS
) -> str:
    """What is wrong with the content, in words for a sentence; empty when it is whole as far as could be seen within
    the time, or nothing is there. ``should_be_there``: that nothing is there is wrong; ``steps`` of SQLite's are done
    between two looks at the clock. Raises Unavailable when somebody keeps it locked for ``wait_s``."""
    if not path.exists() or not path.stat().st_size:
        state = "empty" if path.exists() else "missing"
        if _size(Path(f"{path}-wal")):
            return f"{path.name} is {state}, and its log is not"
        return f"{path.name} is {state}" if should_be_there else ""
    deadline = time.monotonic() + patience_s
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=wait_s)) as db:
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            db.set_progress_handler(lambda: time.monotonic() > deadline, steps)
            said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        whole_code = getattr(error, "sqlite_errorcode", 0)
        code = whole_code & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Unavailable(f"Another program keeps {path} locked. Close it, then try again.") from error
        # The rest is of the moment (no time left, no room for the log's index): who opens it for good will say it.
        return str(error) if code in _TELLING or whole_code in _UNREADABLE else ""
    return "" if said == "ok" else " ".join(said.removeprefix("*** in database main ***").split())


def keep_aside(path: Path, folder: Path, *, now: float) -> Path:
    """A copy of the database's files as they are, in a new folder within ``folder``; or the one that has these already.
    Raises OSError."""
    for before in sorted(folder.glob(_KEPT.format("[0-9]*")), reverse=True):
        if _marks(before / path.name) == _marks(path):
            return before
    kept = folder / _KEPT.format(time.strftime("%Y-%m-%d-%H%M%S", time.gmtime(now)))
    fresh = kept.with_name(f".{kept.name}.new")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    try:
        for file in _files(path):
            if file.exists():
                shutil.copy2(file, fresh / file.name)
                with (fresh / file.name).open("rb") as copied:
                    os.fsync(copied.fileno())
        fresh.rename(kept)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return kept


def _files(path: Path) -> tuple[Path, ...]:
    return tuple(Path(f"{path}{ending}") for ending in _BESIDE)


def _marks(path: Path) -> list[tuple[int, int]]:
    """Sizes and times of the file and its log: the third is made anew by whoever reads, and so is an empty log."""
    return [(_size(file), file.stat().st_mtime_ns) if _size(file) else (0, 0) for file in _files(path)[:2]]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
