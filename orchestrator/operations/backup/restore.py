"""Putting a backup in the place of an install: checked as a whole, unpacked beside it, and moved there in one step.

A restore that is killed has not begun, or is finished by the next one: the stage remembers which folder it made, so the
next one sees whether that folder is the install by now. What was there before is kept under another name.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.db import copies
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Conflict, Unavailable
from orchestrator.core.home import hold_unused
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup.unpack import unpack_backup
from orchestrator.operations.backup.verify import Checked

_AT_WORKING_FOLDER, _EXCHANGE = -100, 2
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}
_MARK = "complete.json"

Meter = Callable[[str, int, int], None]
"""Told what is being done, how many bytes are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Restored:
    """An install that is there again."""

    checked: Checked
    before: Path | None
    """Where the install that was there before is now."""


def restore_backup(
    archive: Path, home: Path, *, may_replace: bool, meter: Meter, make_way: Callable[[], None] = lambda: None
) -> Restored:
    """The install of the backup is in ``home``. ``make_way`` is called right before it is moved there.

    Raises BadInput or UnsafePath for a backup that is none, Conflict when the install runs or is there and may not be
    replaced, Unavailable; then ``home`` is as it was.
    """
    with reading.from_path(archive) as file:
        size = os.fstat(file.fileno()).st_size
        checked = reading.check_backup(file, lambda done: meter("checking", done, size))
        copies.raise_if_newer(list(checked.manifest.migrations), migrations)
        try:
            with _stage(home) as stage, hold_unused(home):
                earlier = _settled(stage, home)
                if earlier is not None and earlier[0] == checked.digest:
                    return Restored(checked, earlier[1])
                is_empty = _is_empty(home)
                if not is_empty and not may_replace:
                    raise Conflict(
                        f"{home} is not empty. Choose another HERMIT_HOME, or add --force: what is there is then kept "
                        "under another name."
                    )
                _check_room(home, checked.bytes)
                file.seek(0)
                unpack_backup(file, stage / "home", checked, lambda done: meter("unpacking", done, checked.bytes))
                make_way()
                before = None if is_empty else _free_name(home)
                _mark(stage, checked.digest, before)
                _exchange(stage, home, before)
                return Restored(checked, before)
        except OSError as error:
            raise _explained(home, error) from error


def finish_restore(home: Path) -> None:
    """A restore that was killed while it moved things is finished; without one nothing happens."""
    if home.with_name(f"{home.name}.restoring").exists():
        with _stage(home), hold_unused(home):
            pass


@contextmanager
def _stage(home: Path) -> Iterator[Path]:
    """The folder beside the install in which one restore at a time works; it is gone at the end."""
    stage = home.with_name(f"{home.name}.restoring")
    home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    stage.mkdir(mode=0o700, exist_ok=True)
    folder = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(f"Another restore into {home} is in progress.") from error
        try:
            yield stage
        finally:
            _settled(stage, home)  # never just thrown away: the install that was there before may lie in it
            stage.rmdir()
    finally:
        os.close(folder)


def _settled(stage: Path, home: Path) -> tuple[str, Path | None] | None:
    """What an earlier restore left is finished where it had begun to move, and else gone. When it is finished: which
    backup that was, and where the install before it is."""
    fresh, mark = stage / "home", _read_mark(stage)
    finished = None
    if mark is not None:
        inode, digest, before = mark
        if not home.exists() and fresh.exists():
            fresh.rename(home)
        if home.exists() and home.stat().st_ino == inode:
            if fresh.exists() and before is not None:
                fresh.rename(before)
            finished = digest, before
    for left in stage.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return finished


def _mark(stage: Path, digest: str, before: Path | None) -> None:
    """From here on a restore that is killed is finished by the next one. All of it is on the disk by now."""
    os.sync()
    content = {"inode": (stage / "home").stat().st_ino, "digest": digest, "before": before.name if before else None}
    fresh = stage / f"{_MARK}.new"
    fresh.write_text(json.dumps(content), encoding="utf-8")
    fresh.rename(stage / _MARK)
    os.sync()


def _read_mark(stage: Path) -> tuple[int, str, Path | None] | None:
    try:
        content = json.loads((stage / _MARK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    before = content["before"]
    return int(content["inode"]), str(content["digest"]), stage.with_name(before) if before else None


def _exchange(stage: Path, home: Path, before: Path | None) -> None:
    """The new install is at its place, the old one at its new name, if it gets one."""
    fresh = stage / "home"
    if not home.exists():
        fresh.rename(home)
        return
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    if exchange(_AT_WORKING_FOLDER, os.fsencode(fresh), _AT_WORKING_FOLDER, os.fsencode(home), _EXCHANGE):
        code = ctypes.get_errno()
        if code not in _NO_EXCHANGE:
            raise OSError(code, os.strerror(code))
        home.rename(before or stage / "empty")
        fresh.rename(home)
    elif before is not None:
        fresh.rename(before)


def _is_empty(home: Path) -> bool:
    """Nothing is there but folders with nothing in them."""
    return not home.exists() or not any(files for _, _, files in os.walk(home))


def _free_name(home: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    name = home.with_name(f"{home.name}.before-restore-{stamp}")
    return name if not name.exists() else name.with_name(f"{name.name}-{secrets.token_hex(4)}")


def _check_room(home: Path, size: int) -> None:
    facts = os.statvfs(home.parent)
    if facts.f_bavail * facts.f_frsize < size:
        raise Unavailable(f"The backup needs {size / 1e6:,.0f} MB beside {home}, and there is less. Free some space.")


def _explained(home: Path, error: OSError) -> Unavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(f"There is no room beside {home}. Nothing has changed: free some space, then try again.")
    if error.errno in (errno.EBUSY, errno.EXDEV):
        return Unavailable(
            f"{home} is a mount point, which can't be replaced. Set HERMIT_HOME to a folder within it, then try again."
        )
    return Unavailable(f"{home} can't be restored ({error.strerror}). Check who owns the folder that it lies in.")
