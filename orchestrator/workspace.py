"""Workspaces: the folders that a cubicle sees. This is the only module of the host that opens a path an agent can
touch.

Every step goes from a directory descriptor with ``O_NOFOLLOW``, so no link that an agent made is ever followed. Names
are data. Layout: ``HOME/workspaces/AGENT/USER/{work,in,out,www,data}`` and ``HOME/run/AGENT/USER`` for the door.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import Unavailable, UnsafePath
from orchestrator.nouns import CubicleKey, Mounts

NOTE = Path(__file__).resolve().parents[1] / "workspace_template" / "README.txt"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AGENT_OWNED = ("work", "out", "www")
_HOST_OWNED = ("in", "data")


class Workspaces:
    """The folders of all cubicles of one install."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def prepare(self, key: CubicleKey, *, uid: int, gid: int) -> Mounts:
        """The cubicle's folders exist, are real folders all the way, and belong to whom they must.

        Raises UnsafePath when one is a link or no folder, Unavailable when the disk refuses.
        """
        base, run = ("workspaces", key.agent, str(key.user)), ("run", key.agent, str(key.user))
        try:
            with self._folder(*base, create=True, mode=0o711) as folder:
                for name in (*_AGENT_OWNED, *_HOST_OWNED):
                    is_theirs = name in _AGENT_OWNED
                    _make(folder, name, 0o700 if is_theirs else 0o755)
                    with _child(folder, name) as child:
                        _own(child, uid if is_theirs else os.geteuid(), gid if is_theirs else os.getegid())
                self._leave_note(folder)
            with self._folder(*run, create=True, mode=0o755):
                pass
        except OSError as error:
            raise _explained(error, key) from error
        work, inbox, out, www, data = (
            self._home.joinpath(*base, name) for name in ("work", "in", "out", "www", "data")
        )
        return Mounts(work=work, inbox=inbox, out=out, www=www, data=data, run=self._home.joinpath(*run))

    @contextmanager
    def run_folder(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the folder that holds the cubicle's door and lock files; made if missing."""
        with self._folder("run", key.agent, str(key.user), create=True, mode=0o755) as folder:
            yield folder

    def _leave_note(self, folder: int) -> None:
        """A word to whoever finds the folder on the host. It lies beside the five, where no cubicle sees it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(NOTE.name, flags, 0o644, dir_fd=folder)
        except FileExistsError:
            return
        with os.fdopen(descriptor, "wb") as note:
            note.write(NOTE.read_bytes())

    def log_text(self, key: CubicleKey, *, max_bytes: int = 1 << 20) -> str:
        """The end of the agent's own log, ``work/.hermit.log``; empty when there is none or it is no plain file."""
        try:
            with self._folder("workspaces", key.agent, str(key.user), "work") as work:
                return _tail(work, ".hermit.log", max_bytes).decode("utf-8", "replace")
        except (OSError, UnsafePath):  # whatever the agent made of it: a link, a folder, a socket, unreadable
            return ""

    def remove(self, key: CubicleKey) -> None:
        """Nothing is left of the cubicle's folders, whatever the agent made of them. Already gone is success."""
        for top in ("workspaces", "run"):
            try:
                with self._folder(top, key.agent) as parent:
                    _remove_tree(parent, str(key.user))
            except FileNotFoundError:
                continue

    def remove_agent(self, agent: str) -> None:
        """Nothing is left of an agent's folders, for any person. Already gone is success."""
        for top in ("workspaces", "run"):
            try:
                with self._folder(top) as parent:
                    _remove_tree(parent, agent)
            except FileNotFoundError:
                continue

    @contextmanager
    def _folder(self, *names: str, create: bool = False, mode: int = 0o700) -> Iterator[int]:
        """A descriptor of HOME/names…, each step taken without following a link."""
        folder = os.open(self._home, _DIRECTORY)
        try:
            for name in names:
                if create:
                    _make(folder, name, mode)
                below = _open_folder(folder, name)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


@contextmanager
def _child(folder: int, name: str) -> Iterator[int]:
    child = _open_folder(folder, name)
    try:
        yield child
    finally:
        os.close(child)


def _open_folder(parent: int, name: str) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafePath(
                f"{name} in the workspace is a link or a file where a folder must be. Remove it."
            ) from error
        raise


def _make(parent: int, name: str, mode: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    with _child(parent, name) as made:
        os.fchmod(made, mode)


def _own(folder: int, uid: int, gid: int) -> None:
    now = os.fstat(folder)
    if (now.st_uid, now.st_gid) != (uid, gid):
        os.fchown(folder, uid, gid)


def _tail(folder: int, name: str, max_bytes: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            raise UnsafePath(f"{name} is not a plain file.")
        os.lseek(descriptor, max(0, facts.st_size - max_bytes), os.SEEK_SET)
        chunks, left = [], max_bytes
        while left and (chunk := os.read(descriptor, min(left, 1 << 16))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def _remove_tree(parent: int, name: str) -> None:
    """Delete ``name`` below ``parent`` iteratively: whole levels are lifted up, so depth costs no recursion and no
    path."""
    while True:
        try:
            top = os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError:
            os.unlink(name, dir_fd=parent)
            return
        try:
            _empty_once(top)
        finally:
            os.close(top)
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return


def _empty_once(top: int) -> None:
    """One pass: files go; a child's own folders are lifted into ``top`` under fresh names, then it goes too."""
    for entry in _names(top):
        if not _is_folder(top, entry):
            os.unlink(entry, dir_fd=top)
            continue
        with _opened_up(top, entry) as child:
            for below in _names(child):
                if _is_folder(child, below):
                    _lift(child, below, top)
                else:
                    os.unlink(below, dir_fd=child)
        os.rmdir(entry, dir_fd=top)


def _lift(child: int, below: bytes, top: int) -> None:
    with _opened_up(child, below):
        os.rename(below, f".removing-{secrets.token_hex(8)}", src_dir_fd=child, dst_dir_fd=top)


def _names(folder: int) -> list[bytes]:
    return [os.fsencode(name) for name in os.listdir(folder)]


def _is_folder(parent: int, name: bytes) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


@contextmanager
def _opened_up(parent: int, name: bytes) -> Iterator[int]:
    """A descriptor of a folder that may have been made unreadable; it is readable and writable meanwhile."""
    if os.geteuid():  # root needs no permission bits
        os.chmod(name, 0o700, dir_fd=parent)
    child = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield child
    finally:
        os.close(child)


def _explained(error: OSError, key: CubicleKey) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable("The disk is full: free some space where HERMIT_HOME lies, then send the message again.")
    return Unavailable(f"The workspace of {key} cannot be prepared ({error.strerror}). Check who owns HERMIT_HOME.")
