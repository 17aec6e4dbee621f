"""Bringing a database that is in use to the shape of this version: first on a copy, then for real, all or nothing.

A copy from before stays, for the three last shapes. When anything goes wrong, the database is as it was. It never looks
at what the rows mean.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from orchestrator.core.db import copies
from orchestrator.core.db.migration_list import MigrationList
from orchestrator.core.errors import Unavailable

_KEPT = 3
_COPY = "before-upgrade-{}.db"


def bring_up(connection: sqlite3.Connection, steps: MigrationList, *, keep_in: Path) -> None:
    """The database has every one of the steps; a copy from before lies in ``keep_in``, made if missing, unless there
    was nothing yet or nothing to do.

    Raises Unavailable when it is a newer version's, or the steps fail, or there is no room to try them; and what
    opening a broken file raises. The database is as it was then.
    """
    done = steps.list_applied(connection)
    copies.raise_if_newer(done, steps)
    if set(done) == set(steps.list_names()):
        return
    if not done:
        _apply_steps(connection, steps)
        return
    kept = _copy_before(connection, keep_in, len(done))
    _try_steps(kept, steps)
    try:
        _apply_steps(connection, steps)
    except (sqlite3.Error, OSError) as error:
        raise _explain_failure(kept, error) from error
    _forget_old(keep_in)


def _apply_steps(db: sqlite3.Connection, steps: MigrationList) -> None:
    """One transaction for all of them; nobody writes in between."""
    db.execute("BEGIN IMMEDIATE")
    try:
        steps.apply(db)
        _raise_if_dangling(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _raise_if_dangling(db: sqlite3.Connection) -> None:
    broken = db.execute("PRAGMA foreign_key_check").fetchone()
    if broken is not None:
        raise sqlite3.IntegrityError(f"a row of {broken[0]} would point nowhere")


def _copy_before(connection: sqlite3.Connection, folder: Path, number: int) -> Path:
    """The copy from before; it has its name once it is whole and on the disk."""
    kept = folder / _COPY.format(number)
    fresh = kept.with_suffix(".new")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        copies.copy_database(connection, fresh)
        fresh.replace(kept)
    except (sqlite3.Error, OSError) as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise Unavailable(
            f"The database could not be copied to {folder} before its upgrade ({_error_text(error)}). It is as it was: "
            "make room there, then try again."
        ) from error
    return kept


def _try_steps(kept: Path, steps: MigrationList) -> None:
    """The steps go through on a copy of the copy."""
    trial = kept.with_suffix(".trial")
    try:
        with closing(sqlite3.connect(kept)) as source:
            copies.copy_database(source, trial)
        with closing(sqlite3.connect(trial, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys=ON")
            _apply_steps(connection, steps)
    except (sqlite3.Error, OSError) as error:
        raise _explain_failure(kept, error) from error
    finally:
        for path in (trial, Path(f"{trial}-journal")):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    numbers = sorted((int(path.stem.rpartition("-")[2]) for path in folder.glob(_COPY.format("[0-9]*"))), reverse=True)
    for number in numbers[_KEPT:]:
        with suppress(OSError):
            (folder / _COPY.format(number)).unlink()


def _explain_failure(kept: Path, error: Exception) -> Unavailable:
    return Unavailable(
        f"The database could not be upgraded ({_error_text(error)}). It is as it was, and {kept} is a copy: go back to "
        "the version that you had, and report this."
    )


def _error_text(error: Exception) -> str:
    return (error.strerror or "it refuses") if isinstance(error, OSError) else str(error)
