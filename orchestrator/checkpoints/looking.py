"""Looking at a workspace from descriptors: what each name in a folder stands for, in all folders or in some.

No link is followed, nothing is opened but folders, and no path is ever built for the kernel. What is moved about
meanwhile is seen in one place, in both or in none; the next look sees what is there then.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from orchestrator.checkpoints.models import COVERED, EntryKind, Parts
from orchestrator.files.safe_open import FOLDER, Opening

VANISHED = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE, errno.EXDEV, errno.ENXIO, errno.ENODEV}
"""What a call says of a name that is something else by now."""
CLOSED = {errno.EACCES, errno.EPERM}
_SKIPPED = VANISHED | CLOSED | {errno.ENAMETOOLONG}


class Seen(NamedTuple):
    """What the kernel says of a name. Of a folder only what no write in it changes."""

    kind: int
    mode: int
    size: int
    modified_ns: int
    changed_ns: int
    """By the kernel's own clock, which no owner can set."""
    inode: int
    is_shared: bool
    """The file has other names too."""


@dataclass(frozen=True, slots=True)
class Below:
    """A folder that was seen in another one."""

    name: bytes
    place: int
    is_new: bool
    """It was not there before, or is another one than before."""


class Comparer(Protocol):
    """Whoever takes in what is seen."""

    def compare(self, folder: int, place: int, parts: Parts, *, only: tuple[bytes, ...] | None = None) -> list[Below]:
        """Take in all names of an open folder, or some alone; says which folders can be looked into."""

    def compare_folder(self, parts: Parts, seen: Seen) -> int | None:
        """Take in the mode of a folder that is known; its place, None when it is not known as one (any more)."""

    def find_known(self, parts: Parts) -> Parts:
        """The nearest folder on the way to this one that is known, or this one itself."""


def see(facts: os.stat_result) -> Seen | None:
    """What counts of it; None for pipes, sockets and devices."""
    mode = facts.st_mode
    bits, kind = mode & 0o7777, stat.S_IFMT(mode)
    if kind == stat.S_IFDIR:
        return Seen(EntryKind.FOLDER, bits, 0, 0, 0, facts.st_ino, is_shared=False)
    times = facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino
    if kind == stat.S_IFREG:
        return Seen(EntryKind.FILE, bits, facts.st_size, *times, facts.st_nlink > 1)
    if kind == stat.S_IFLNK:
        return Seen(EntryKind.LINK, 0, facts.st_size, *times, facts.st_nlink > 1)
    return None


def list_seen(folder: int) -> Iterator[tuple[bytes, Seen]]:
    """Every name in an open folder that is not left out. Raises OSError."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                seen = see(entry.stat(follow_symlinks=False))
            except FileNotFoundError:  # gone since
                continue
            if seen is not None:
                yield os.fsencode(entry.name), seen


def look_everywhere(comparer: Comparer, opening: Opening, top: int) -> None:
    """Look into every folder beneath ``top``, the folder of a cubicle. Raises OSError."""
    _look_below(comparer, opening, top, [((), below) for below in comparer.compare(top, 0, (), only=COVERED)])


def look_into(comparer: Comparer, opening: Opening, top: int, folders: Iterable[Parts]) -> None:
    """Look into these folders alone, and into all of those that are new in them. Raises OSError.

    A folder that is not known lies in one that is, and that one is looked into instead.
    """
    for parts in sorted({comparer.find_known(parts) for parts in folders}):  # those above come first
        if not parts:
            found = comparer.compare(top, 0, (), only=COVERED)
        else:
            with _open_folder(opening, top, parts) as folder:
                if folder.descriptor is None:
                    continue
                seen = see(os.fstat(folder.descriptor))
                place = None if seen is None else comparer.compare_folder(parts, seen)
                if place is None:
                    continue
                found = comparer.compare(folder.descriptor, place, parts)
        _look_below(comparer, opening, top, [(parts, below) for below in found if below.is_new])


def _look_below(comparer: Comparer, opening: Opening, top: int, waiting: list[tuple[Parts, Below]]) -> None:
    """Each folder is opened from the top, so that however deep or wide a tree is, one descriptor is enough."""
    while waiting:
        above, below = waiting.pop()
        parts = (*above, below.name)
        with _open_folder(opening, top, parts) as folder:
            if folder.descriptor is not None:
                found = comparer.compare(folder.descriptor, below.place, parts)
                waiting += [(parts, inner) for inner in found]


class _open_folder:  # noqa: N801 - it is used as a function
    """A context in which a folder is open; its descriptor is None when there is no such folder, or none may enter it.

    A class, since a generator would cost as much as the look itself.
    """

    __slots__ = ("descriptor",)

    def __init__(self, opening: Opening, top: int, parts: Parts) -> None:
        """Raises OSError when the system itself is in trouble."""
        self.descriptor: int | None = None
        try:
            self.descriptor = opening(top, parts, FOLDER)
        except OSError as error:
            if error.errno not in _SKIPPED:
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
