"""A journal of the folders in which something was made, changed or taken away, told by the kernel (fanotify), so that a
point costs what changed and not what is there.

One mark hears the whole file system, writes through the bind mounts of containers too. It tells nothing of writes
through a mapping, and says so when it has dropped something: whoever uses it looks everywhere then, and now and then
anyway. It needs root and Linux 5.9; elsewhere there is none.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import struct
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from orchestrator.checkpoints.models import COVERED, MOST_DEPTH, OWN_LOG, Parts
from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

_CLOEXEC, _NONBLOCK, _REPORT_DIR_NAME = 0x1, 0x2, 0xC00
_ADD, _FILESYSTEM, _AT_FDCWD = 0x1, 0x100, -100
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE, _ON_FOLDERS = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200, 0x40000000
_HEARD = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _ON_FOLDERS
_OVERFLOW = 0x4000
_EVENT = struct.Struct("=IBBHQii")
_HANDLE_AT = _EVENT.size + 12
"""Behind the event: four bytes that say what follows, eight that say of which file system, then the folder's handle."""
_HANDLE_HEAD = 8
_BUFFER = 1 << 18
_LOG_NAMES = frozenset(path[-1] for path in OWN_LOG)
_OF_LOGS = (b"work",)
"""Where the crab's own log lies, to which it writes in every turn."""
_MOST_FOLDERS = 20_000
"""Of one cubicle; for more of them looking everywhere is as quick."""
_MOST_CLIMBS = 50
"""So many folders that are too deep to be named are looked for at once, lest one deep tree keep all others waiting.
What happened in further ones is found when everything is looked at, which is done now and then anyway."""
_LEVELS_AT_ONCE = 1_000
"""As many as a path of "../" may hold."""
_GONE = (errno.ESTALE, errno.ENOENT, errno.ENOTDIR)


class ChangeJournal:
    """Hears of all cubicles of a home. All methods may be called from any thread."""

    def __init__(self, top: Path) -> None:
        """``top`` is the folder in which the workspaces are. Raises OSError where the kernel has no such journal for
        it, or not for us."""
        self._top = os.fsencode(top.resolve())
        self._lock = threading.Lock()  # protects all below
        self._heard: dict[bytes, set[Parts]] = {}
        """What changed in a cubicle since somebody last asked; one that is not here has to be looked at as a whole."""
        self._mount = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._events = _call("fanotify_init", _CLOEXEC | _NONBLOCK | _REPORT_DIR_NAME, os.O_RDONLY)
        except OSError:
            os.close(self._mount)
            raise
        try:
            mask = ctypes.c_uint64(_HEARD)
            _call("fanotify_mark", self._events, _ADD | _FILESYSTEM, mask, _AT_FDCWD, self._top)
        except OSError:
            self.close()
            raise

    def collect(self, key: CubicleKey) -> set[Parts] | None:
        """The folders of this cubicle in which something happened since this was asked before; None means that it has
        to be looked at as a whole. What happens from now on is told the next time."""
        with self._lock:
            self._drain()
            found = self._heard.get(_name(key))
            self._heard[_name(key)] = set()
            return found

    def distrust(self, key: CubicleKey) -> None:
        """What was told last got lost: the cubicle has to be looked at as a whole."""
        with self._lock:
            self._heard.pop(_name(key), None)

    def close(self) -> None:
        """Nothing is heard any more."""
        os.close(self._events)
        os.close(self._mount)

    def _drain(self) -> None:
        handles: dict[bytes, bool] = {}
        for mask, handle, name in self._read_events():
            if mask & _OVERFLOW:
                logger.info("the kernel dropped news of changed files: workspaces are looked at as a whole")
                self._heard.clear()
            elif handle:
                handles[handle] = handles.get(handle, True) and name in _LOG_NAMES
        climbs = _MOST_CLIMBS
        try:
            for handle, is_log in handles.items():
                climbs -= self._note_folder(handle, is_log=is_log, may_climb=climbs > 0)
        except OSError:
            self._heard.clear()  # what was read of the others is lost, too
            raise

    def _read_events(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Each with the handle of the folder that it happened in, and the name there."""
        while True:
            try:
                buffer = os.read(self._events, _BUFFER)
            except BlockingIOError:
                return
            start = 0
            while start < len(buffer):
                length, _, _, _, mask, _, _ = _EVENT.unpack_from(buffer, start)
                handle = name = b""
                if length > _HANDLE_AT:
                    (size,) = struct.unpack_from("=I", buffer, start + _HANDLE_AT)
                    end = start + _HANDLE_AT + _HANDLE_HEAD + size
                    handle = buffer[start + _HANDLE_AT : end]
                    name = buffer[end : start + length].partition(b"\0")[0]
                yield mask, handle, name
                start += length

    def _note_folder(self, handle: bytes, *, is_log: bool, may_climb: bool) -> bool:
        """Something happened in the folder of this handle; nothing is noted of one that is gone. Whether it was looked
        for from below, since its path is too long to be named: then all of its cubicle is in doubt."""
        buffer = ctypes.create_string_buffer(handle, len(handle))
        try:
            folder = _call("open_by_handle_at", self._mount, buffer, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise
        try:
            path = _path_of(folder)
            if path is not None:
                self._note(path, is_log=is_log)
            elif may_climb:
                self._heard.pop(b"/".join(self._find_above(folder)[:2]), None)
            return path is None
        finally:
            os.close(folder)

    def _find_above(self, folder: int) -> list[bytes]:
        """The parts of a path in the cubicle of a folder too deep to be named; none when it is gone, elsewhere, or
        deeper than what is kept."""
        low, high, found = 0, 1, _path_above(folder, 1)
        while found is None and high < MOST_DEPTH:
            low, high = high, high * 2
            found = _path_above(folder, high)
        while found is not None and len(self._split(found)) < 2 and high - low > 1:  # that was above the cubicle
            middle = (low + high) // 2
            nearer = _path_above(folder, middle)
            low, high, found = (middle, high, found) if nearer is None else (low, middle, nearer)
        return self._split(found or b"")

    def _split(self, path: bytes) -> list[bytes]:
        """The parts of a path below the workspaces; none for one elsewhere."""
        return path[len(self._top) + 1 :].split(b"/") if path.startswith(self._top + b"/") else []

    def _note(self, path: bytes, *, is_log: bool) -> None:
        """Something happened in this folder; with ``is_log`` to files alone that are called like the crab's own log."""
        parts = self._split(path)
        if not parts:
            return
        name, inner = b"/".join(parts[:2]), tuple(parts[2:])
        heard = self._heard.get(name)
        if heard is None or (inner and inner[0] not in COVERED) or (is_log and inner == _OF_LOGS):
            return
        heard.add(inner)
        if len(heard) > _MOST_FOLDERS:
            del self._heard[name]


def open_journal(top: Path) -> ChangeJournal | None:
    """The journal; None where there can be none, which is said in the log."""
    try:
        return ChangeJournal(top)
    except OSError as error:
        logger.info("no journal of changed files (%s): workspaces are looked at as a whole", error.strerror)
        return None


def _path_of(folder: int) -> bytes | None:
    """Where an open folder is; None when its path is longer than the kernel names (4,096 bytes)."""
    try:
        return os.fsencode(Path(f"/proc/self/fd/{folder}").readlink())
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise


def _path_above(folder: int, levels: int) -> bytes | None:
    """The path so many levels above; None when it is too long, or the folder is gone."""
    here = os.dup(folder)
    try:
        while levels:
            count = min(levels, _LEVELS_AT_ONCE)
            above = os.open("../" * count, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here, levels = above, levels - count
        return _path_of(here)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    finally:
        os.close(here)


def _name(key: CubicleKey) -> bytes:
    return f"{key.agent}/{key.user}".encode()


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> int:
    """One call of the C library. Raises OSError, also where it has no such call."""
    try:
        call = getattr(_load_libc(), name)
    except AttributeError as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    result: int = call(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
