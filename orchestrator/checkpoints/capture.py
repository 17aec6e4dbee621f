"""Reading what an agent has its hands on, so that what is kept is one moment's content, or is known not to be.

A file is opened by name in an open folder, never through a link, and judged by its descriptor. The kernel's time of
change tells whether it was written meanwhile, but for writers through a mapping, who are seen by the lease that the
kernel then refuses.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from orchestrator.checkpoints.looking import CLOSED, VANISHED, Seen, see
from orchestrator.core.errors import Changing
from orchestrator.files.safe_open import Opened, check_finished

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_TRIES = 3
_FILE_CLOCK = 5
"""``CLOCK_REALTIME_COARSE`` of Linux, which Python does not name."""
_YOUNG_NS = 20_000_000
"""A clock tick of any kernel is shorter: a time of change that is older than this is changed by the next write. It is
counted by the kernel's own clock for files, which may stand still for longer on a busy machine."""


class Trust(IntEnum):
    """What an unchanged look of the kernel's at a file is worth."""

    NONE = 0
    """Read again: somebody can still write, or it changed just now, or it was not read."""
    LOOK = 1
    """Look again, whether its folder was heard of or not: it has other names, and a write through one of those is
    heard from elsewhere."""
    FULL = 2


class ContentKeeper(Protocol):
    """Where content goes."""

    def keep_file(self, file: int, facts: os.stat_result) -> KeptContent:
        """Keep what an open file holds. Raises OSError."""

    def keep_bytes(self, content: bytes) -> KeptContent:
        """Keep this."""

    def drop(self, kept: KeptContent) -> None:
        """What was just kept is not needed."""


@dataclass(frozen=True, slots=True)
class KeptContent:
    """What became of a content."""

    blob: int | None
    """None when it is not kept."""
    size: int
    is_final: bool = True
    """False when it was not kept for want of room, which there may be the next time."""
    is_new: bool = False
    """Nothing of the same content was kept before."""


@dataclass(frozen=True, slots=True)
class Captured:
    """One file or link, as it is kept."""

    seen: Seen
    blob: int | None
    trust: Trust
    is_torn: bool = False


def capture_link(folder: int, name: bytes, seen: Seen, keeper: ContentKeeper) -> Captured | None:
    """A link, and not what it leads to; None when it is none any more. Raises OSError."""
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in VANISHED or error.errno in CLOSED or not _is_link(folder, name):
            return None
        raise
    kept = keeper.keep_bytes(target)
    return Captured(seen._replace(size=len(target)), kept.blob, _trust(seen, is_sure=kept.is_final))


def capture_file(folder: int, name: bytes, seen: Seen, keeper: ContentKeeper) -> Captured | None:
    """A regular file; None when there is none of that name any more. Raises OSError."""
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in VANISHED:
            return None
        if error.errno in CLOSED or isinstance(error, BlockingIOError):  # its owner keeps us out, or holds a lease
            return Captured(seen, None, Trust.NONE)
        raise
    try:
        return _read_still(file, name, keeper)
    finally:
        os.close(file)


def _read_still(file: int, name: bytes, keeper: ContentKeeper) -> Captured | None:
    """Read until nothing has changed meanwhile, a few times at most.

    Whoever opens the file after the question about writers has to change its times before their first write is there.
    """
    is_still = is_open = False
    kept = KeptContent(None, 0)
    after = os.fstat(file)
    for _ in range(_TRIES):
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            return None
        is_open = _has_writer(file, before, name)
        keeper.drop(kept)
        kept = keeper.keep_file(file, before)
        after = os.fstat(file)
        is_still = _state(before) == _state(after) and (kept.blob is None or kept.size == after.st_size)
        if is_still:
            break
    seen = see(after)
    if seen is None:
        return None
    size = seen.size if kept.blob is None else kept.size
    trust = _trust(seen, is_sure=is_still and not is_open and kept.is_final)
    return Captured(seen._replace(size=size), kept.blob, trust, is_torn=not is_still)


def _state(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode, facts.st_nlink


def _has_writer(file: int, facts: os.stat_result, name: bytes) -> bool:
    try:
        check_finished(Opened(file, facts), (name,))
    except Changing:
        return True
    return False


def _trust(seen: Seen, *, is_sure: bool) -> Trust:
    if not is_sure or seen.changed_ns > time.clock_gettime_ns(_FILE_CLOCK) - _YOUNG_NS:
        return Trust.NONE
    return Trust.LOOK if seen.is_shared else Trust.FULL


def _is_link(folder: int, name: bytes) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:  # gone, or behind something that it was not behind a moment ago
        return False
