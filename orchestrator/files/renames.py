"""Renaming in folders that an agent can write, from descriptors: to a name that nothing has, and two names exchanged at
one instant. No link is followed; whatever has the name gets the other.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from functools import cache

_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.EPERM}
"""What a kernel, or a file system, says that knows no such renaming; EINVAL also a folder that goes into itself."""


def rename_to_new(source: int, name: str | bytes, target: int, new: str | bytes) -> None:
    """What is ``name`` in one folder is ``new`` in another. Raises FileExistsError when ``new`` is there, whatever it
    is, OSError."""
    if _call_renameat2(source, name, target, new, _NOREPLACE):
        return
    if stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        _rename_folder(source, name, target, new)
        return
    os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    os.unlink(name, dir_fd=source)


def exchange_names(folder: int, one: str | bytes, other: str | bytes) -> bool:
    """Each is what the other was; False where that can't be done at one instant. Raises OSError."""
    return _call_renameat2(folder, one, folder, other, _EXCHANGE)


def _rename_folder(source: int, name: str | bytes, target: int, new: str | bytes) -> None:
    """A folder can't be linked. Should an empty one appear at ``new`` just now, it is replaced."""
    try:
        os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _call_renameat2(source: int, name: str | bytes, target: int, new: str | bytes, flag: int) -> bool:
    call = _load_renameat2()
    if call is None:
        return False
    if call(source, os.fsencode(name), target, os.fsencode(new), ctypes.c_uint(flag)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code))


@cache
def _load_renameat2() -> Callable[..., int] | None:
    """The C library's call, where it has it."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return found
