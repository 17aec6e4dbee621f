"""What is done about a database that is damaged: it is kept aside as it is, what to go back to is named, and what can
still be read is put into a fresh one when a person asks for that. Nothing is fixed by itself.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core import dirs as folders
from orchestrator.core.db import copies
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound, OrchestratorError, Unavailable
from orchestrator.core.home import hold_unused
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup.db_check import find_damage, keep_aside, why_unreadable
from orchestrator.operations.backup.db_salvage import Salvaged, salvage_database
from orchestrator.operations.backup.write import PACKED, PLAIN

START_PATIENCE_S, PATIENCE_S = 3.0, 120.0
"""How long the database is looked through: at a start, of about a gigabyte in this time; when somebody asks."""
_READ_FOR_S = 20.0
"""How long backups are read for one that is whole; then the newest is named without that."""
_MOST_READ = 5
_FRESH = "hermit.recovering.db"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A database that can't be used, as it is told."""

    text: str
    fix: str
    is_damaged: bool
    """Else it is whole, as far as anybody can tell, and can't be read or written."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """A database that can be used again."""

    kept: Path | None
    """Where the damaged one is; None when there was none any more."""
    salvaged: Salvaged | None
    """None: a copy took its place, whole."""


def database_path(home: Path) -> Path:
    """Where the database of an install is."""
    return home / "db" / "hermit.db"


def check_database(home: Path, *, now: float) -> None:
    """Before anything opens the database: it can be used. One that is damaged is kept aside and otherwise left as it
    is. Raises Unavailable with what to do."""
    found = find_trouble(home, patience_s=START_PATIENCE_S)
    if found is None:
        return
    aside = _kept_aside(home, now) if found.is_damaged else ""
    raise Unavailable(" ".join(filter(None, (found.text, aside, found.fix))))


def find_trouble(home: Path, *, patience_s: float = PATIENCE_S) -> Trouble | None:
    """What is wrong with the database of an install, and the fix; None when nothing is, or there is none yet. Changes
    nothing. Raises Unavailable when somebody keeps it locked."""
    path = database_path(home)
    barred = why_unreadable(path)
    if barred is not None:
        return Trouble(f"The database can't be used: {barred[0]}", barred[1], is_damaged=False)
    said = find_damage(path, patience_s=patience_s, should_be_there=_is_lived_in(home))
    return None if not said else Trouble(f"The database is damaged ({said}).", _fix(home), is_damaged=True)


def recover_database(home: Path, copy: Path | None, *, now: float) -> Recovered:
    """The install has a database again that can be used: what can be read of the damaged one, or ``copy`` of one. The
    damaged one is kept.

    Raises Conflict when the install runs or its database is whole, NotFound, Unavailable; it is as it was then.
    """
    path = database_path(home)
    if not path.parent.is_dir() or (copy is None and not _has_content(path)):
        raise NotFound(f"There is no database in {home} to recover. {_fix(home)}")
    with hold_unused(home):
        if barred := why_unreadable(path):
            raise Unavailable(f"{barred[0]} {barred[1]}")
        if _has_content(path) and not find_damage(path, patience_s=PATIENCE_S):
            raise Conflict("The database is intact: there is nothing to recover.")
        fresh = path.with_name(_FRESH)
        try:
            kept = _keep(home, now)
            salvaged = None
            if copy is None and kept is not None:
                salvaged = _salvaged(kept / path.name, fresh)
            else:
                _copied(copy, fresh)
            _put_in_place(fresh, path)
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(f"The database can't be recovered ({error}). Is the disk full, or broken?") from error
        finally:
            with suppress(OSError):
                _forget(fresh)
        return Recovered(kept, salvaged)


def _salvaged(damaged: Path, fresh: Path) -> Salvaged:
    _forget(fresh)
    Store(fresh).close()
    try:
        return salvage_database(damaged, fresh)
    except Unavailable as error:
        raise Unavailable(f"{error.message} {_fix(damaged.parents[2], is_hopeless=True)}") from error


def _copied(copy: Path | None, fresh: Path) -> None:
    if copy is None or not copy.is_file():
        raise NotFound(f"There is no file {copy}.")
    _forget(fresh)
    with closing(sqlite3.connect(f"{copy.resolve().as_uri()}?mode=ro", uri=True)) as source:
        copies.copy_database(source, fresh)
    copies.look_into(fresh)


def _put_in_place(fresh: Path, path: Path) -> None:
    """The log goes first: it is of the damaged file, and would be read into the other. It is kept aside by now."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    fresh.replace(path)
    folders.flush_folder(path.parent)


def _forget(fresh: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{fresh}{ending}").unlink(missing_ok=True)


def _keep(home: Path, now: float) -> Path | None:
    path = database_path(home)
    is_there = _has_content(path) or _has_content(Path(f"{path}-wal"))
    return keep_aside(path, home / "backups", now=now) if is_there else None


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _kept_aside(home: Path, now: float) -> str:
    try:
        kept = _keep(home, now)
    except OSError as error:
        return f"It stays as it is, and could not be copied ({error.strerror}): copy {home / 'db'} before you go on."
    return f"It stays as it is, and a copy of it is in {kept}." if kept else ""


def _fix(home: Path, *, is_hopeless: bool = False) -> str:
    """What there is to go back to, by its command."""
    can_salvage = _has_content(database_path(home)) and not is_hopeless
    backup, copy = newest_backup(home / "backups"), None
    ways = []
    if backup is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(backup.stat().st_mtime))
        ways.append(f"go back to your newest backup, of {when} UTC: './hermit restore {backup} --force'")
    elif (copy := _newest_copy(home / "backups")) is not None:
        when = time.strftime("%Y-%m-%d", time.gmtime(copy.stat().st_mtime))
        ways.append(f"go back to the copy of {when}, from before an upgrade: './hermit recover {copy}'")
    if backup is None:
        ways.append("go back to a backup that you have elsewhere: './hermit restore FILE --force'")
    if can_salvage:
        ways.append("save what can be read: './hermit recover'")
    if backup is None and copy is None and not can_salvage:
        ways.append(f"move {home} away, to start over")
    said = ", or ".join(ways)
    return f"{said[0].upper()}{said[1:]}."


def newest_backup(folder: Path) -> Path | None:
    """The newest backup there that is whole, as far as could be read within the time."""
    found = [path for path in _plain_files(folder) if path.name.endswith((*PACKED, *PLAIN))]
    deadline = time.monotonic() + _READ_FOR_S

    def hurry(_done: int) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    for path in found[:_MOST_READ]:
        try:
            with reading.from_path(path) as file:
                reading.check_backup(file, hurry)
        except TimeoutError:
            return path
        except (OrchestratorError, OSError):
            continue
        return path
    return None


def _newest_copy(folder: Path) -> Path | None:
    """The newest copy from before an upgrade that is whole."""
    for path in _plain_files(folder):
        if path.suffix == ".db" and not find_damage(path, patience_s=START_PATIENCE_S):
            return path
    return None


def _plain_files(folder: Path) -> list[Path]:
    """Newest first."""
    if not folder.is_dir():
        return []
    files = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)


def _is_lived_in(home: Path) -> bool:
    """Some agent has a folder here, so there was a database."""
    workspaces = home / os.fsdecode(layout.WORKSPACES)
    return workspaces.is_dir() and any(workspaces.iterdir())
