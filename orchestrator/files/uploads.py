"""Putting a file into a folder, whole or not at all: one from outside under a safe name, where it replaces nothing, or
one that the host keeps there, which replaces the one before.

The folder is given by descriptor. It is written under a random name first, so nothing that lies there already, link or
file, is ever written to.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from orchestrator.core.errors import Conflict, TooLarge, Unavailable
from orchestrator.files.models import Readable, Stored
from orchestrator.files.names import add_number, safe_name
from orchestrator.files.renames import rename_to_new
from orchestrator.files.safe_open import explain_failure
from orchestrator.languages.told import worded

_CHUNK = 1 << 18
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
PREFIX = ".arriving-"
"""How a file is called until it is whole."""
_FORGOTTEN_S = 86_400.0
_NUMBERS = 100


def store_upload(
    folder: int, name: str | bytes, stream: Readable, *, max_bytes: int, is_numbered: bool = True
) -> Stored:
    """The bytes of ``stream`` are a new file in ``folder``, readable for everybody who sees the folder.

    Its name is made safe, and numbered if it is taken; unless ``is_numbered`` it raises Conflict then. Raises TooLarge
    over ``max_bytes`` and Unavailable when the disk refuses; what reading the stream raises goes through. Then nothing
    is left behind.
    """
    wanted = safe_name(name)

    def settle(temporary: str) -> str:
        return _give_free_name(folder, temporary, wanted) if is_numbered else _settled_as(folder, temporary, wanted)

    return _receive_file(folder, wanted, stream, max_bytes, settle)


def replace_upload(folder: int, name: str, stream: Readable, *, max_bytes: int) -> Stored:
    """The bytes of ``stream`` are ``name`` in ``folder``, in the place of what was there; raises as
    ``store_upload``.
    """

    def settle(temporary: str) -> str:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return name

    return _receive_file(folder, name, stream, max_bytes, settle)


def lay_hidden(folder: int, hidden: str, stream: Readable, *, max_bytes: int) -> Stored:
    """The bytes of ``stream`` are ``hidden`` in ``folder``, a new file of the folder's owner, in the place of what a
    death left there. Raises as ``store_upload``; then nothing is left behind."""
    with _explain_errors(hidden):
        with suppress(FileNotFoundError):
            os.unlink(hidden, dir_fd=folder)
        descriptor = os.open(hidden, _NEW, 0o600, dir_fd=folder)
    try:
        try:
            size, digest = _write_stream(descriptor, hidden, stream, max_bytes)
            owner, ours = os.fstat(folder), os.fstat(descriptor)
            if (owner.st_uid, owner.st_gid) != (ours.st_uid, ours.st_gid):
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(hidden, dir_fd=folder)
        raise
    return Stored(hidden, size, digest)


def publish_upload(folder: int, hidden: str, name: str, *, chosen: Callable[[str], None]) -> str | None:
    """What lies hidden has a name that people see: this one, or numbered the first free one, which ``chosen`` hears
    before it is taken. None when nothing lies there, as after a death that came later. Raises Unavailable."""
    for candidate in _candidate_names(name):
        with _explain_errors(name), suppress(FileExistsError, FileNotFoundError):
            if not _is_there(folder, hidden):
                return None
            if _is_there(folder, candidate):
                continue
            chosen(candidate)
            _rename_to_new(folder, hidden, candidate)
            os.fsync(folder)
            return candidate
    raise Unavailable(
        worded("%(name)s could not be stored: too many files of that name. Give it another one.", name=name)
    )


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _receive_file(folder: int, wanted: str, stream: Readable, max_bytes: int, settle: Callable[[str], str]) -> Stored:
    """``settle`` gives the whole file, which lies under the name that it is handed, its own name."""
    temporary = f"{PREFIX}{secrets.token_hex(16)}"
    clear_forgotten(folder)
    with _explain_errors(wanted):
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
    try:
        try:
            size, digest = _write_stream(descriptor, wanted, stream, max_bytes)
        finally:
            os.close(descriptor)
        with _explain_errors(wanted):
            final = settle(temporary)
            os.fsync(folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return Stored(final, size, digest)


def _write_stream(descriptor: int, wanted: str, stream: Readable, max_bytes: int) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while chunk := stream.read(min(_CHUNK, max_bytes + 1 - size)):
        size += len(chunk)
        if size > max_bytes:
            raise TooLarge(
                worded(
                    "%(name)s is larger than the %(bytes)s bytes that a file may have here.",
                    name=wanted,
                    bytes=f"{max_bytes:,}",
                )
            )
        digest.update(chunk)
        with _explain_errors(wanted):
            write_all(descriptor, chunk)
    with _explain_errors(wanted):
        os.fchmod(descriptor, 0o644)
        os.fsync(descriptor)
    return size, digest.hexdigest()


def write_all(descriptor: int, chunk: bytes) -> None:
    """Raises OSError."""
    left = memoryview(chunk)
    while left:
        left = left[os.write(descriptor, left) :]


def _give_free_name(folder: int, temporary: str, wanted: str) -> str:
    """The first free name, which the file has now."""
    for name in _candidate_names(wanted):
        with suppress(FileExistsError):
            _rename_to_new(folder, temporary, name)
            return name
    raise Unavailable(
        worded("%(name)s could not be stored: too many files of that name. Give it another one.", name=wanted)
    )


def _settled_as(folder: int, temporary: str, wanted: str) -> str:
    try:
        _rename_to_new(folder, temporary, wanted)
    except FileExistsError:
        raise Conflict(worded("There is something called %(name)s already.", name=wanted)) from None
    return wanted


def _candidate_names(wanted: str) -> Iterator[str]:
    yield wanted
    yield from (add_number(wanted, str(number)) for number in range(2, _NUMBERS))
    yield from (add_number(wanted, secrets.token_hex(8)) for _ in range(3))


def _rename_to_new(folder: int, name: str, new: str) -> None:
    """Raises FileExistsError when ``new`` is there, whatever it is."""
    rename_to_new(folder, name, folder, new)


def clear_forgotten(folder: int) -> None:
    """Half a file, left by a death in the middle of an upload, goes after a day. In an agent's folder, too: the
    prefix is ours."""
    with os.scandir(folder) as entries:
        forgotten = [entry.name for entry in entries if entry.name.startswith(PREFIX) and _is_forgotten(entry)]
    for name in forgotten:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _is_forgotten(entry: os.DirEntry[str]) -> bool:
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime < time.time() - _FORGOTTEN_S


@contextmanager
def _explain_errors(wanted: str) -> Iterator[None]:
    """What the disk says, as a sentence."""
    try:
        yield
    except OSError as error:
        raise explain_failure(error, (os.fsencode(wanted),)) from error
