"""Whole trees that an agent made: looking at one folder's names, measuring all that lies beneath, deleting it.

Nothing here recurses, builds a path, follows a link or opens a file, and everything ends, however deep, wide or
unreadable the tree is and whatever is moved about in it meanwhile.
"""

from __future__ import annotations

import errno
import heapq
import os
import secrets
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path

from orchestrator.core.errors import TooLarge, Unavailable
from orchestrator.files.models import Use

MOST_NAMES = 1_000_000
"""Names of one folder that are looked at."""
MOST_REMOVED = 20_000_000
"""Names that one deletion takes away before it gives up on somebody who makes more."""
_IDLE_PASSES = 20
_BATCH = 50_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOVED = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY}
"""What a call says when somebody else changed the tree between two of ours: the next pass sees what is there now."""


def names_after(folder: int, after: bytes, count: int) -> list[bytes]:
    """The first ``count`` names of a folder in byte order that come after ``after``.

    Raises TooLarge for a folder with more names than anybody looks at.
    """
    return heapq.nsmallest(count, (name for name in _bounded_names(folder) if name > after))


def _bounded_names(folder: int) -> Iterator[bytes]:
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number >= MOST_NAMES:
                raise TooLarge(f"This folder holds more than {MOST_NAMES:,} names. Delete it, or have the agent do so.")
            yield os.fsencode(entry.name)


# --- what is new -----------------------------------------------------------------------------------------------


def is_newer(top: int, since: float, *, max_entries: int, max_depth: int = 12) -> bool:
    """Something beneath ``top``, or ``top`` itself, was made or changed after ``since``, by the time that the kernel
    keeps and nobody can set. Nearer ones are looked at first, and what lies beyond the limits not at all.
    """
    if os.fstat(top).st_ctime >= since:
        return True
    left = max_entries
    waiting: deque[tuple[str, ...]] = deque([()])
    while waiting and left > 0:
        way = waiting.popleft()
        with suppress(OSError), open_way(top, way) as folder, os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                if entry.stat(follow_symlinks=False).st_ctime >= since:
                    return True
                if len(way) < max_depth and entry.is_dir(follow_symlinks=False):
                    waiting.append((*way, entry.name))
                if left <= 0:
                    break
    return False


@contextmanager
def open_way(top: int, way: Iterable[str | bytes]) -> Iterator[int]:
    """A folder beneath ``top``, each step taken without following a link. Raises OSError."""
    here = os.open(".", _FOLDER, dir_fd=top)
    try:
        for name in way:
            below = os.open(name, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


# --- measuring -------------------------------------------------------------------------------------------------


def measure_tree(top: int, *, max_entries: int) -> Use:
    """What lies beneath ``top`` takes, ``top`` itself left out; at most ``max_entries`` names are looked at.

    It goes down by name and up by ``..``, which counts only while it leads to the folder that it came from; so it
    needs one descriptor, however deep it goes.
    """
    walk = _Walk(max_entries)
    here = os.open(".", _FOLDER, dir_fd=top)
    try:
        walk.look_at(here)
        while (way := walk.next_step()) is not None:
            there = _step_into(here, way)
            if there is None:
                walk.is_complete = False
                if way == "..":
                    break
                continue
            os.close(here)
            here = there
            if way != "..":
                walk.look_at(here)
            elif not walk.is_back_at(here):
                break
    finally:
        os.close(here)
    return Use(walk.bytes, walk.inodes, is_complete=walk.is_complete)


def find_largest(top: int, folders: Iterable[bytes], count: int) -> list[tuple[tuple[bytes, bytes], int]]:
    """What takes the most in some folders of ``top``, each with all that lies beneath it: its path and its bytes."""
    found: list[tuple[tuple[bytes, bytes], int]] = []
    for name in folders:
        with suppress(OSError):  # not made yet, or no folder: nothing of it is to be shown
            folder = os.open(name, _FOLDER, dir_fd=top)
            try:
                heaviest = heapq.nlargest(count, _list_weights(folder), key=itemgetter(1))
            finally:
                os.close(folder)
            found += [((name, below), size) for below, size in heaviest if size]
    return heapq.nlargest(count, found, key=itemgetter(1))


def _list_weights(folder: int) -> Iterator[tuple[bytes, int]]:
    left = MOST_NAMES
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                size = entry.stat(follow_symlinks=False).st_blocks * 512
                if left > 0 and entry.is_dir(follow_symlinks=False):
                    use = _measure_below(folder, entry.name, left)
                    size, left = size + use.bytes, left - use.inodes
            except OSError:  # gone or closed meanwhile: what could be seen of it was counted
                continue
            left -= 1
            yield os.fsencode(entry.name), size


def _measure_below(top: int, name: str, max_entries: int) -> Use:
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        return measure_tree(folder, max_entries=max_entries)
    finally:
        os.close(folder)


@dataclass(slots=True)
class _Level:
    """A folder on the way down: what it is, and its folders that were not yet looked into."""

    identity: tuple[int, int]
    waiting: list[str] = field(default_factory=list)


class _Walk:
    """Where a measuring stands and what it has counted."""

    def __init__(self, max_entries: int) -> None:
        self.bytes = self.inodes = 0
        self.is_complete = True
        self._left = max_entries
        self._levels: list[_Level] = []
        self._waiting = 0
        self._linked: set[tuple[int, int]] = set()

    def next_step(self) -> str | None:
        """Into which folder to go from here; None when nothing is left to see, or enough was seen."""
        if not self._waiting or self._left < 0:
            return None
        if self._levels[-1].waiting:
            self._waiting -= 1
            return self._levels[-1].waiting.pop()
        self._levels.pop()
        return ".."

    def look_at(self, folder: int) -> None:
        """Count what a folder holds, and remember which folders are in it."""
        level = _Level(_get_identity(folder))
        self._levels.append(level)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        self.is_complete = False
                        return
                    self._count(entry, level)
        except OSError:  # unreadable, or taken away just now; said by ``is_complete``
            self.is_complete = False

    def is_back_at(self, folder: int) -> bool:
        """``..`` led to where we came from. If not, somebody moved the folder, and where we are is none of ours."""
        is_back = _get_identity(folder) == self._levels[-1].identity
        self.is_complete = self.is_complete and is_back
        return is_back

    def _count(self, entry: os.DirEntry[str], level: _Level) -> None:
        """Blocks, since a file may claim any size; a file with several names once."""
        try:
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since: takes nothing
            return
        if stat.S_ISDIR(facts.st_mode):
            level.waiting.append(entry.name)
            self._waiting += 1
        elif facts.st_nlink > 1:
            if (facts.st_dev, facts.st_ino) in self._linked:
                return
            self._linked.add((facts.st_dev, facts.st_ino))
        self.bytes += facts.st_blocks * 512
        self.inodes += 1


def _get_identity(folder: int) -> tuple[int, int]:
    facts = os.fstat(folder)
    return facts.st_dev, facts.st_ino


def _step_into(here: int, way: str) -> int | None:
    """The folder one step from here; None when it can't be entered any more."""
    try:
        return os.open(way, _FOLDER, dir_fd=here)
    except OSError as error:
        if error.errno in _MOVED or error.errno in (errno.EACCES, errno.EPERM):
            return None
        raise


# --- deleting --------------------------------------------------------------------------------------------------


def remove_tree(parent: int, name: str | bytes) -> None:
    """Nothing is at ``name`` any more, whatever it was; a link goes and what it leads to stays. Gone is success.

    Whole levels are lifted up, one a pass, so depth costs no recursion and no path. Raises OSError when the disk or the
    permissions refuse, Unavailable when somebody makes more as fast as it goes.
    """
    name, removed, idle = os.fsencode(name), 0, 0
    while idle < _IDLE_PASSES and removed < MOST_REMOVED:
        if not _is_folder(parent, name):
            if _is_gone(os.unlink, name, parent):
                return
            idle += 1
            continue
        with suppress(FileNotFoundError, NotADirectoryError), _opened_up(parent, name) as top:
            done = _empty_once(top)
            removed += done
            idle = 0 if done else idle + 1
        if _is_gone(os.rmdir, name, parent):
            return
    raise Unavailable("It can't be deleted because a program keeps writing into it. Stop the agent, then try again.")


def _is_gone(call: Callable[..., None], name: bytes, folder: int) -> bool:
    """Whether the name is gone after ``os.unlink`` or ``os.rmdir``; False when it is not what it was a moment ago."""
    try:
        call(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in _MOVED:
            return False
        raise
    return True


def _empty_once(top: int) -> int:
    """One pass: files go; a child's own folders are lifted into ``top`` under fresh names, then it goes too.

    Says how many names went or moved.
    """
    done = 0
    for entry, is_folder in _list_batch(top):
        if not is_folder:
            done += _is_gone(os.unlink, entry, top)
            continue
        with suppress(FileNotFoundError, NotADirectoryError), _opened_up(top, entry) as child:
            for below, is_folder_too in sorted(_list_batch(child), key=itemgetter(1)):  # files first: that frees space
                done += _move_up(child, below, top) if is_folder_too else _is_gone(os.unlink, below, child)
        done += _is_gone(os.rmdir, entry, top)
    return done


def _list_batch(folder: int) -> list[tuple[bytes, bool]]:
    """Some names and whether each is a folder; what is more than a batch is for the next pass."""
    with os.scandir(folder) as entries:
        return [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _BATCH)]


def _move_up(child: int, below: bytes, top: int) -> bool:
    try:
        with _opened_up(child, below):
            os.rename(below, f".removing-{secrets.token_hex(8)}", src_dir_fd=child, dst_dir_fd=top)
    except OSError as error:
        if error.errno in _MOVED or error.errno == errno.ENOSPC:  # there is room when the others are gone
            return False
        raise
    return True


def _is_folder(parent: int, name: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _opened_up(parent: int, name: bytes) -> Iterator[int]:
    """A descriptor of a folder that may have been made unreadable; it is readable and writable from now on."""
    if os.geteuid():  # root needs no permission bits
        _make_writable(parent, name)
    child = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield child
    finally:
        os.close(child)


def _make_writable(parent: int, name: bytes) -> None:
    """The owner may do everything in the folder. By its descriptor, so that no link put in its place is changed."""
    folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if os.fstat(folder).st_mode & 0o700 != 0o700:
            Path(f"/proc/self/fd/{folder}").chmod(0o700)  # fchmod refuses a descriptor of this kind
    finally:
        os.close(folder)
