"""The backups of a running install: made one at a time into ``HERMIT_HOME/backups``, listed, handed out, deleted. A
backup under way has no name yet, and none when it fails or the install stops.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from orchestrator.core.audit import Audit
from orchestrator.core.db import copies
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Conflict, NotFound, OrchestratorError, Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.home import Home
from orchestrator.core.models import Event, Stage, User
from orchestrator.files.free_space import Reserve
from orchestrator.operations.backup import create as making
from orchestrator.operations.backup import staged
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup.staged import RestoreOutcome, StagedRestore
from orchestrator.operations.backup.write import PACKED, PLAIN, Written

logger = logging.getLogger(__name__)

MOST_LISTED = 500
PLANNED = "hermit-planned-"
"""What the names of backups begin with that a plan made."""
_PLANNED = re.compile(rf"{PLANNED}\d{{4}}-\d\d-\d\d-\d{{6}}\.tar\.gz")
CHECKING = "checking"
_TELL_EVERY_S = 0.5
_STOP_S = 20.0
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GIVEN_UP = "HermitShell is being stopped, so the backup was cancelled. Nothing of it is left."


@dataclass(frozen=True, slots=True)
class BackupProgress:
    """The backup under way, or how the last one ended."""

    stage: Stage = Stage.NONE
    file: str = ""
    doing: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    """About."""
    started_at: float | None = None
    ended_at: float | None = None
    problem: str = ""
    remarks: tuple[str, ...] = ()
    """What is not in it, a sentence each."""
    is_restore: bool = False
    """It is only read, to be restored at the next start."""

    @property
    def percent(self) -> int:
        """Of what is being done."""
        return min(99, 100 * self.done_bytes // max(self.total_bytes, 1))


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A backup that is there."""

    name: str
    size_bytes: int
    made_at: float


class Backups:
    """All of them. May be used from any thread."""

    def __init__(self, home: Home, audit: Audit, broker: Broker, *, now: Callable[[], float] = time.time) -> None:
        self._home = home
        self._audit = audit
        self._broker = broker
        self._now = now
        self._reserve = Reserve(home.path, ballast=home.reserve_file)
        self._progress = BackupProgress()
        self._told_at = 0.0
        self._lock = threading.Lock()  # protects _progress, _told_at and _thread
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    # --- looking -------------------------------------------------------------------------------------------------

    def get_progress(self) -> BackupProgress:
        """How the backup under way stands, or the last one ended."""
        with self._lock:
            return self._progress

    def list_backups(self) -> list[BackupFile]:
        """Those that are there, newest first. What lies there and is not a regular file with such a name is none."""
        found = []
        with os.scandir(self._home.backups) as entries:
            for entry in entries:
                if entry.name.endswith((*PACKED, *PLAIN)) and entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    found.append(BackupFile(entry.name, facts.st_size, facts.st_mtime))
        return sorted(found, key=lambda kept: (-kept.made_at, kept.name))[:MOST_LISTED]

    def free_bytes(self) -> int:
        """What a backup may take of the disk. Raises Unavailable."""
        room = self._reserve.measure_room()
        return max(0, room.free_bytes - room.reserve_bytes)

    # --- doing ---------------------------------------------------------------------------------------------------

    def begin_backup(self, by: User) -> BackupProgress:
        """A backup is made from now on. Raises Conflict while one is being made."""
        begun, _ = self._begin("hermit-", by.name)
        return begun

    def make_planned(self, keep: int) -> bool:
        """Make a backup by plan, and let those that a plan made go but for the last ``keep``; False when it failed.
        Waits for it. Raises Conflict while one is being made, Unavailable when old ones can't be deleted."""
        begun, thread = self._begin(PLANNED, "The plan")
        thread.join()
        ended = self.get_progress()
        if ended.stage is not Stage.DONE or ended.file != begun.file:
            return False
        self._remove_planned(keep)
        return True

    def _begin(self, prefix: str, by: str) -> tuple[BackupProgress, threading.Thread]:
        name = time.strftime(f"{prefix}%Y-%m-%d-%H%M%S.tar.gz", time.gmtime(self._now()))
        with self._lock:
            if self._progress.stage is Stage.RUNNING:
                raise Conflict("A backup is already being made. Wait until it is finished.")
            self._progress = begun = BackupProgress(Stage.RUNNING, name, making.WRITING, started_at=self._now())
            self._thread = thread = threading.Thread(
                target=self._run_backup, args=(name, by), name="backup", daemon=True
            )
            thread.start()
        self._publish_progress()
        return begun, thread

    def _remove_planned(self, keep: int) -> None:
        """By their names, which say when they were made, whatever became of their dates."""
        planned = sorted((kept.name for kept in self.list_backups() if _PLANNED.fullmatch(kept.name)), reverse=True)
        wanted = self.get_staged()
        for name in (old for old in planned[keep:] if wanted is None or wanted.file != old):
            self._audit.record_event("backup.deleted", f"The plan deleted the backup {name}.", None, file=name)
            try:
                (self._home.backups / name).unlink(missing_ok=True)
            except OSError as error:
                raise Unavailable(f"{name} can't be deleted ({error.strerror}).") from error
        if planned[keep:]:
            self._publish_progress()

    def begin_restore(self, name: str, by: User) -> BackupProgress:
        """A backup is read as a whole from now on; if it is good, the next start restores it. Raises NotFound, Conflict
        while something is under way or where nothing can be restored."""
        self._path_of(name)
        if os.path.ismount(self._home.path):
            raise Conflict(
                "HERMIT_HOME is a mount point, which can't be replaced. Stop HermitShell and use './hermit restore'."
            )
        with self._lock:
            if self._progress.stage is Stage.RUNNING:
                raise Conflict("A backup is being made or checked. Wait until that is finished.")
            self._progress = begun = BackupProgress(
                Stage.RUNNING, name, CHECKING, started_at=self._now(), is_restore=True
            )
            self._thread = threading.Thread(target=self._run_check, args=(name, by), name="backup", daemon=True)
            self._thread.start()
        self._publish_progress()
        return begun

    def cancel_restore(self, by: User) -> None:
        """The next start restores nothing. Raises NotFound."""
        if not staged.cancel_restore(self._home.path):
            raise NotFound("No backup is waiting to be restored.")
        self._audit.record_event("restore.cancelled", f"{by.name} cancelled the restore.", None)
        self._publish_progress()

    def get_staged(self) -> StagedRestore | None:
        """What the next start restores."""
        return staged.get_staged(self._home.path)

    def get_outcome(self) -> RestoreOutcome | None:
        """What came of the last restore that was asked for on a page."""
        return staged.get_outcome(self._home.path)

    def open_backup(self, name: str, by: User) -> tuple[BinaryIO, int]:
        """A backup for reading, and its size. Raises NotFound."""
        try:
            file = os.fdopen(os.open(self._path_of(name), _OPEN), "rb")
        except OSError as error:
            raise _unknown() from error
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            file.close()
            raise _unknown()
        self._audit.record_event("backup.downloaded", f"{by.name} downloaded the backup {name}.", None, file=name)
        return file, facts.st_size

    def remove_backup(self, name: str, by: User) -> None:
        """A backup is gone. Raises NotFound, Unavailable."""
        path, wanted = self._path_of(name), self.get_staged()
        if wanted is not None and wanted.file == name:
            raise Conflict("This backup is waiting to be restored. Cancel that first.")
        self._audit.record_event("backup.deleted", f"{by.name} deleted the backup {name}.", None, file=name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"{name} can't be deleted ({error.strerror}).") from error
        self._publish_progress()

    def remove_older(self, before: float) -> int:
        """Backups made before then go, but for the newest; returns how many. Raises Unavailable."""
        old = [kept.name for kept in self.list_backups()[1:] if kept.made_at < before]
        try:
            for name in old:
                (self._home.backups / name).unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"Old backups can't be deleted ({error.strerror}).") from error
        if old:
            self._publish_progress()
        return len(old)

    def close(self) -> None:
        """A backup under way is given up."""
        self._closing.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_STOP_S)

    # --- the thread ----------------------------------------------------------------------------------------------

    def _run_backup(self, name: str, by: str) -> None:
        try:
            path = self._home.backups / name
            written = making.create_backup(
                self._home, path, self._on_progress, may_replace=False, fits=self._check_room
            )
            size = path.stat().st_size
            self._audit.record_event(
                "backup.made", f"{by} made the backup {name}.", None, file=name, bytes=size, files=written.files
            )
        except OrchestratorError as error:
            self._end_backup(error.message)
        except Exception:  # the top of a thread: whoever waits must hear that it ended
            logger.exception("the backup broke off")
            self._end_backup("The backup failed, and nothing of it is left; the orchestrator's log says why.")
        else:
            self._end_backup("", written)

    def _run_check(self, name: str, by: User) -> None:
        try:
            with reading.from_path(self._path_of(name)) as file:
                size = os.fstat(file.fileno()).st_size
                checked = reading.check_backup(file, lambda done: self._on_progress(CHECKING, done, size))
            copies.raise_if_newer(list(checked.manifest.migrations), migrations)
            self._check_room(checked.bytes)
            staged.stage_restore(self._home.path, StagedRestore(name, by.name, self._now()))
            self._audit.record_event("restore.staged", f"{by.name} asked for {name} to be restored.", None, file=name)
        except OrchestratorError as error:
            self._end_backup(error.message)
        except Exception:  # the top of a thread: whoever waits must hear that it ended
            logger.exception("the check of a backup broke off")
            self._end_backup("The backup could not be checked; the orchestrator's log says why.")
        else:
            self._end_backup("")

    def _check_room(self, needed: int) -> None:
        free = self.free_bytes()
        if free < needed:
            raise Unavailable(
                f"A backup may take up to {_size(needed)}, and {_size(free)} are free for it on the disk of "
                "HERMIT_HOME. Free some space, delete an older backup, or write it to another disk: "
                "'./hermit backup /other/disk/hermit.tar.gz'."
            )

    def _on_progress(self, doing: str, done: int, total: int) -> None:
        if self._closing.is_set():
            raise Unavailable(_GIVEN_UP)
        now = time.monotonic()
        with self._lock:
            is_due = doing != self._progress.doing or now - self._told_at >= _TELL_EVERY_S
            if not is_due:
                return
            self._told_at = now
            self._progress = replace(self._progress, doing=doing, done_bytes=done, total_bytes=total)
        self._publish_progress()

    def _end_backup(self, problem: str, written: Written | None = None) -> None:
        remarks = () if written is None else tuple(making.describe_gaps(written))
        with self._lock:
            stage = Stage.FAILED if problem else Stage.DONE
            ended = replace(self._progress, stage=stage, ended_at=self._now(), problem=problem, remarks=remarks)
            self._progress = replace(ended, doing="", done_bytes=0, total_bytes=0)
        self._publish_progress()

    def _publish_progress(self) -> None:
        self._broker.publish(Event("backup", None, {}))

    def _path_of(self, name: str) -> Path:
        """Where a backup of the list lies; a name that is not on it leads nowhere."""
        if not any(kept.name == name for kept in self.list_backups()):
            raise _unknown()
        return self._home.backups / name


def _unknown() -> NotFound:
    return NotFound("There is no backup of this name. GET /api/backups lists them.")


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
