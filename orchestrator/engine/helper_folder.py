"""A helper container's private folders: one with what it is given, another for what it brings, and where it has a way
out a third with sockets. What it brought is
opened once, as a plain file, and judged by whoever started it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from orchestrator.core.errors import OrchestratorError
from orchestrator.engine.helpers import HelperKind, HelperSpec

_OUR_UID: Final = 19_999
"""No cubicle has this one, nor anything else that we start."""


class Failed(OrchestratorError):
    """The helper came to nothing; the message is for the agent and its person, and says why."""

    code = "failed"


def make_folder(
    folder: Path,
    name: str,
    kind: HelperKind,
    image: str,
    files: Mapping[str, bytes],
    *,
    time_s: float,
    max_bytes: int,
    has_sockets: bool = False,
) -> HelperSpec:
    """A helper with its two folders in ``folder/name``, and these files in the one that it is given; with
    ``has_sockets`` there is a third, empty one. Raises OSError."""
    remove_folder(folder, name)
    is_root = os.geteuid() == 0
    uid, gid = (_OUR_UID, _OUR_UID) if is_root else (os.geteuid(), os.getegid())
    given, brought = (folder / name / which for which in ("in", "out"))
    sockets = folder / name / "run" if has_sockets else None
    folders = (given, brought, sockets) if sockets else (given, brought)
    for path in folders:
        path.mkdir(mode=0o700, parents=True)
    for file, content in files.items():
        path = given / file
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o400)
    if is_root:
        for path in (*folders, *given.rglob("*")):
            os.chown(path, uid, gid)
    return HelperSpec(name, kind, image, uid, gid, given, brought, time_s, max_bytes, sockets)


def remove_folder(folder: Path, name: str) -> None:
    """Nothing of that helper is left."""
    shutil.rmtree(folder / name, ignore_errors=True)


def empty_all(folder: Path) -> None:
    """Nothing of any helper is left; what can't be removed is overwritten by nothing of ours."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def open_result(path: Path) -> BinaryIO:
    """Open for reading; raises OSError for all but a plain file. Its container is gone, so it stays what it is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return os.fdopen(descriptor, "rb")
