"""Opening what lies beneath a folder that an agent can write, exactly once, and never anything else.

No link is followed on the way nor at the end, whatever is swapped meanwhile; a pipe or a lease never makes anybody
wait; what is opened is judged by its descriptor and not by its name. Two ways lead there: ``openat2`` where the kernel
has it, else a step for each component. This module only opens; it reads, writes and deletes nothing.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from orchestrator.core.errors import Changing, NotFound, OrchestratorError, TooLarge, Unavailable, UnsafePath
from orchestrator.files.names import display_path

FOLDER = os.O_RDONLY | os.O_DIRECTORY
FILE = os.O_RDONLY
_ALWAYS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2 = 437
"""The call's number, the same on every kind of machine that we run on."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LONGEST = 4000
"""A path that the kernel takes in one piece has less than 4,096 bytes."""

_NO_PLAIN = {errno.ELOOP, errno.ENOTDIR, errno.EXDEV, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP}
_CLOSED = {errno.EACCES, errno.EPERM}


class Opening(Protocol):
    """A way to open one path beneath a folder. Raises OSError and nothing else."""

    def __call__(self, folder: int, parts: tuple[bytes, ...], flags: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A regular file with one name, and what its descriptor said of it."""

    descriptor: int
    facts: os.stat_result


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextmanager
def open_file(
    opening: Opening, folder: int, parts: tuple[bytes, ...], *, max_bytes: int | None = None
) -> Iterator[Opened]:
    """The regular file at ``parts``, open for reading.

    Raises NotFound, UnsafePath for anything but a regular file with one name, TooLarge, Changing when its owner holds
    it, Unavailable.

    The names are counted when it is open: one that was a second name until then passes. That no name here can ever be
    one of a file elsewhere is the doing of the mounts, across which the kernel makes no hard link.
    """
    descriptor = _open_parts(opening, folder, parts, FILE)
    try:
        facts = os.fstat(descriptor)
        _check_plain(facts, parts)
        if max_bytes is not None and facts.st_size > max_bytes:
            raise too_large(parts, max_bytes)
        yield Opened(descriptor, facts)
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(opening: Opening, folder: int, parts: tuple[bytes, ...]) -> Iterator[int]:
    """The folder at ``parts``, open for reading; no parts means ``folder`` itself. Raises as :func:`open_file`."""
    descriptor = _open_parts(opening, folder, parts, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def check_finished(opened: Opened, parts: tuple[bytes, ...]) -> None:
    """Raises Changing when some program has the file open for writing.

    The kernel says so when it refuses a lease on reading. It is given back at once; should a program begin to write in
    between, we are sent a signal, so it is made one that nobody minds.
    """
    try:
        fcntl.fcntl(opened.descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(opened.descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(opened.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            raise Changing(f"{display_path(*parts)} is still being written. Try again when it is finished.") from error
        # Not every file system has leases, and not every owner may take one: then quiet alone tells.


def by_steps(folder: int, parts: tuple[bytes, ...], flags: int) -> int:
    """One component after the other, each from the descriptor of the one before, none of them a link."""
    here = folder
    try:
        for part in parts[:-1]:
            below = os.open(part, _STEP, dir_fd=here)
            if here != folder:
                os.close(here)
            here = below
        return os.open(parts[-1] if parts else b".", flags | _ALWAYS, dir_fd=here)
    finally:
        if here != folder:
            os.close(here)


def in_one_call(folder: int, parts: tuple[bytes, ...], flags: int) -> int:
    """With ``openat2``: the kernel itself refuses links and whatever leads out. A path that is too long for one call
    is gone in several."""
    here = folder
    while True:
        piece, rest = _split_parts(parts)
        try:
            below = _call_openat2(here, piece or (b".",), _STEP if rest else flags | _ALWAYS)
        finally:
            if here != folder:
                os.close(here)
        if not rest:
            return below
        here, parts = below, rest


@cache
def best_opening() -> Opening:
    """``in_one_call`` where kernel and its filters allow it, ``by_steps`` else."""
    root = os.open("/", _STEP)
    try:
        os.close(_call_openat2(root, (b".",), FOLDER | _ALWAYS))
    except OSError:  # an old kernel (ENOSYS) or an old filter around us (EPERM)
        return by_steps
    finally:
        os.close(root)
    return in_one_call


def explain_failure(error: OSError, parts: tuple[bytes, ...]) -> OrchestratorError:
    """What a failed call on ``parts`` means, as the error and the sentence that a person gets."""
    name = display_path(*parts) or "The folder"
    if error.errno in (errno.ENOENT, errno.ESTALE, errno.ENAMETOOLONG):
        return NotFound(f"{name} is not there.")
    if error.errno in _NO_PLAIN:
        return UnsafePath(f"{name} is, or lies behind, a link or something else that is not a regular file or folder.")
    if error.errno in _CLOSED:
        return UnsafePath(
            f"{name} has permissions that keep HermitShell out. Have the agent change them (chmod u+rwX)."
        )
    if error.errno == errno.EAGAIN:
        return Changing(f"{name} is held by a program of the agent. Try again in a minute.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable("The disk is full: free some space where HERMIT_HOME lies, then try again.")
    return Unavailable(f"{name} can't be used ({error.strerror}). Try again; if it stays so, check the disk.")


def too_large(parts: tuple[bytes, ...], max_bytes: int) -> TooLarge:
    """The error for a file that is over its cap."""
    return TooLarge(f"{display_path(*parts)} is larger than the {_format_size(max_bytes)} that are allowed here.")


def _format_size(count: int) -> str:
    return f"{count / 1_000_000:,.10g} MB" if count >= 1_000_000 else f"{count:,} bytes"


def _open_parts(opening: Opening, folder: int, parts: tuple[bytes, ...], flags: int) -> int:
    try:
        return opening(folder, parts, flags)
    except OSError as error:
        raise explain_failure(error, parts) from error


def _check_plain(facts: os.stat_result, parts: tuple[bytes, ...]) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise UnsafePath(f"{display_path(*parts)} is not a file.")
    if facts.st_nlink == 0:
        raise NotFound(f"{display_path(*parts)} is not there any more.")
    if facts.st_nlink != 1:
        raise UnsafePath(
            f"{display_path(*parts)} has several names (hard links), so it is left alone. Copy it to a new file."
        )


def _split_parts(parts: tuple[bytes, ...]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """As many parts as fit into one call, and the rest."""
    length = 0
    for index, part in enumerate(parts):
        length += len(part) + 1
        if length > _LONGEST:
            return parts[:index], parts[index:]
    return parts, ()


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call_openat2(folder: int, parts: tuple[bytes, ...], flags: int) -> int:
    how = _How(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    number = ctypes.c_long(_OPENAT2)
    while True:
        opened: int = _load_libc().syscall(number, folder, b"/".join(parts), ctypes.byref(how), ctypes.sizeof(how))
        if opened >= 0:
            return opened
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))
