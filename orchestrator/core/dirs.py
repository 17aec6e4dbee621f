"""The program's own folders: made and opened from descriptors, so that a link in the place of one is refused.

What lies deeper, of an agent's making, is opened by ``beneath``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.errors import UnsafePath

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_child(folder: int, name: str) -> Iterator[int]:
    """A descriptor of a folder in another one; raises as ``open_folder``."""
    child = open_folder(folder, name)
    try:
        yield child
    finally:
        os.close(child)


def open_folder(parent: int, name: str) -> int:
    """A descriptor of a real folder, to be closed; raises UnsafePath for a link, a file or a name that leads elsewhere,
    OSError."""
    _check_name(name)
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafePath(
                f"{name} in the workspace is a link or a file where a folder must be. Remove it."
            ) from error
        raise


def make_folder(parent: int, name: str, mode: int) -> None:
    """The folder is there, with this mode if it was not. Raises UnsafePath as ``open_folder``."""
    _check_name(name)
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    with open_child(parent, name) as made:
        os.fchmod(made, mode)


def _check_name(name: str) -> None:
    """Names come out of a database that somebody may have edited: one step is one name, never a path."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UnsafePath(f"{name[:80]!r} can't be the name of a folder.")


def flush_folder(path: Path) -> None:
    """The names in a folder are on the disk as they are now."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_owner(folder: int, uid: int, gid: int) -> None:
    """It belongs to them."""
    now = os.fstat(folder)
    if (now.st_uid, now.st_gid) != (uid, gid):
        os.fchown(folder, uid, gid)
