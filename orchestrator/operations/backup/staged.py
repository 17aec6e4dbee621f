"""Staged restores: a backup that was chosen on a page, checked there as a whole, and is put in the place of the install
before the next start opens anything.

What is wanted, and what came of it, are files in ``backups``, which no backup holds. The install that was there is kept
under another name; its backups move on to the restored one. A restore that fails leaves the install as it was, which
then starts.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.core.atomic_files import replace_file
from orchestrator.core.errors import OrchestratorError
from orchestrator.operations.backup.restore import finish_restore, restore_backup
from orchestrator.operations.backup.write import PACKED, PLAIN

logger = logging.getLogger(__name__)

WANTED, OUTCOME = "restore-wanted.json", "restore-outcome.json"
_MOST_TRIES = 3
"""Starts that try; one that dies of it each time must come up in the end."""


@dataclass(frozen=True, slots=True)
class StagedRestore:
    """What the next start restores."""

    file: str
    """A name in ``backups``."""
    asked_by: str
    asked_at: float
    tries: int = 0


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """What came of the last one."""

    file: str
    at: float
    problem: str
    """Why nothing was restored, as a sentence; else empty."""
    before: str
    """Where the install that was there is kept; empty after a failure."""


def stage_restore(home: Path, wanted: StagedRestore) -> None:
    """The next start restores this."""
    _write(home, WANTED, asdict(wanted))


def cancel_restore(home: Path) -> bool:
    """The next start restores nothing; False when it wouldn't have."""
    path = home / "backups" / WANTED
    is_there = path.exists()
    path.unlink(missing_ok=True)
    return is_there


def get_staged(home: Path) -> StagedRestore | None:
    """What the next start restores."""
    found = _read(home, WANTED)
    return None if found is None else StagedRestore(**found)


def get_outcome(home: Path) -> RestoreOutcome | None:
    """What came of the last one, since it was last chosen."""
    found = _read(home, OUTCOME)
    return None if found is None else RestoreOutcome(**found)


def apply_staged(home: Path, *, make_way: Callable[[], None], now: float) -> RestoreOutcome | None:
    """Restore what was staged; None when nothing was. Called before anything of the install is opened. What goes wrong
    is written down, and the install stays as it was."""
    finish_restore(home)
    wanted = get_staged(home)
    if wanted is None:
        return None
    if wanted.tries >= _MOST_TRIES:
        return _end(home, RestoreOutcome(wanted.file, now, "Each start that tried it broke off.", ""))
    stage_restore(home, replace(wanted, tries=wanted.tries + 1))
    try:
        restored = restore_backup(
            home / "backups" / wanted.file, home, may_replace=True, meter=lambda *_: None, make_way=make_way
        )
    except OrchestratorError as error:
        logger.warning("the staged restore failed: %s", error.message)
        return _end(home, RestoreOutcome(wanted.file, now, error.message, ""))
    before = restored.before
    if before is not None:
        (before / "backups" / WANTED).unlink(missing_ok=True)
        _move_backups(before, home)
    return _end(home, RestoreOutcome(wanted.file, now, "", "" if before is None else str(before)))


def _move_backups(before: Path, home: Path) -> None:
    (home / "backups").mkdir(mode=0o700, exist_ok=True)
    for path in (before / "backups").iterdir():
        target = home / "backups" / path.name
        if path.name.endswith((*PACKED, *PLAIN)) and not target.exists():
            path.rename(target)


def _end(home: Path, outcome: RestoreOutcome) -> RestoreOutcome:
    _write(home, OUTCOME, asdict(outcome))
    (home / "backups" / WANTED).unlink(missing_ok=True)
    return outcome


def _write(home: Path, name: str, content: dict[str, object]) -> None:
    (home / "backups").mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(home / "backups" / name, json.dumps(content))


def _read(home: Path, name: str) -> dict[str, Any] | None:
    try:
        content = json.loads((home / "backups" / name).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, OSError) as error:
        logger.warning("%s can't be read: %s", os.fspath(home / "backups" / name), error)
        return None
    return content if isinstance(content, dict) else None
