"""Private copies of files that an agent still has its hands on: bounded, hashed while copied, all or nothing.

It reads from a descriptor that somebody else opened safely, and writes only where the agent has no access. It knows no
workspace.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from orchestrator.core.errors import Changing, Unavailable
from orchestrator.files.models import PrivateCopy
from orchestrator.files.names import display_path
from orchestrator.files.safe_open import Opened, explain_failure, too_large

_CHUNK = 1 << 18
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ANONYMOUS = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}


def make_copy(
    source: Opened, parts: tuple[bytes, ...], *, max_bytes: int, keep_in: Path | None, home: Path
) -> PrivateCopy:
    """A copy of ``source``: kept as a new file in ``keep_in``, or nameless on the disk of ``home``.

    Raises TooLarge when it grows past ``max_bytes``, Changing when it was written meanwhile, Unavailable when the disk
    refuses. Then nothing is left of the copy.

    A change is seen by size and times. An owner bent on it can hide one from those; what is handed over is one copy
    with its own hash all the same.
    """
    try:
        with _open_target(keep_in, home) as (file, path):
            size, digest = _copy_bytes(source, file, parts, max_bytes)
            if path is not None:
                os.fsync(file.fileno())
            file.seek(0)
            return PrivateCopy(parts[-1], size, digest, file, path)
    except OSError as error:
        raise explain_failure(error, parts) from error


def _copy_bytes(source: Opened, file: BinaryIO, parts: tuple[bytes, ...], max_bytes: int) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(source.descriptor, min(_CHUNK, max_bytes + 1 - size)):
        size += len(chunk)
        if size > max_bytes:
            raise too_large(parts, max_bytes)
        digest.update(chunk)
        file.write(chunk)
    file.flush()
    now = os.fstat(source.descriptor)
    if size != now.st_size or _read_state(source.facts) != _read_state(now):
        raise Changing(f"{display_path(*parts)} is still being written. Try again when it is finished.")
    return size, digest.hexdigest()


def _read_state(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_nlink


def read_tail(source: Opened, max_bytes: int) -> bytes:
    """The end of ``source``; raises OSError."""
    os.lseek(source.descriptor, max(0, source.facts.st_size - max_bytes), os.SEEK_SET)
    chunks, left = [], max_bytes
    while left and (chunk := os.read(source.descriptor, min(left, 1 << 16))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


@contextmanager
def _open_target(keep_in: Path | None, home: Path) -> Iterator[tuple[BinaryIO, Path | None]]:
    """A new private file. It stays open when all went well; else it is closed and gone."""
    try:
        descriptor, path = (_open_unnamed(home), None) if keep_in is None else _open_named(keep_in)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable(f"No copy can be made in HERMIT_HOME ({error.strerror}). Check who owns it.") from error
    file = os.fdopen(descriptor, "w+b")
    try:
        yield file, path
    except BaseException:
        with suppress(OSError):  # what could not be written before can't be now either
            file.close()
        if path is not None:
            path.unlink(missing_ok=True)
        raise


def _open_named(folder: Path) -> tuple[int, Path]:
    path = folder / f"copy-{secrets.token_hex(16)}"
    return os.open(path, _NEW, 0o600), path


def _open_unnamed(folder: Path) -> int:
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _NO_ANONYMOUS:
            raise
    descriptor, path = _open_named(folder)
    path.unlink()
    return descriptor
