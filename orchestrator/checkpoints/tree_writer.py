"""Putting back what was: each file is written beside its place and renamed into it, whole or not at all.

Every step goes from the descriptor of a folder that was opened without following a link, so nothing outside is ever
touched, whatever is swapped meanwhile. What is not as it was when the step was planned is left alone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from orchestrator.checkpoints.looking import CLOSED, VANISHED, see
from orchestrator.checkpoints.models import Change, EntryFacts, EntryKind, LeftAlone, Parts
from orchestrator.checkpoints.planning import Stamps, split_steps
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.files.safe_open import FOLDER, Opening

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PREFIX = ".hermit-restoring-"
"""Of a file that is being written; what a death leaves of it goes when the going back is finished."""
_REFUSED = VANISHED | CLOSED | {errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ETXTBSY, errno.EBUSY}
_HOLE = 4096

NOT_KEPT_THEN = "Its content was not kept at that point."
NOT_KEPT_NOW = "What is there now is not kept, so it could not be brought back, and stays."
CHANGED = "It has changed since the point that was just taken."
NOT_EMPTY = "It holds something that points of time leave out."
REFUSED = "It can't be written: something else is in its place, or its permissions keep HermitShell out."


class TreeWriter:
    """Carries out the steps of one going back."""

    def __init__(
        self, opening: Opening, top: int, read: Callable[[int], Iterator[bytes]], stamps: Stamps | None = None
    ) -> None:
        """``top`` is the cubicle's folder; ``read`` gives a content by its number; ``stamps`` are the kernel's signs
        of what is there now. What is made belongs to whom the folder belongs that it is in."""
        self._stamps = stamps or {}
        self._opening = opening
        self._top = top
        self._read = read
        self._folder: tuple[Parts, int] | None = None
        self._opened_up: dict[Parts, int] = {}
        """Folders that their owner could not write in, and the modes that they had."""
        self.changed: list[Parts] = []
        self.left: list[LeftAlone] = []

    def carry_out(self, steps: list[Change]) -> None:
        """Do them all; what can't be done is in ``left``. Raises Unavailable when the disk refuses."""
        away, there, folders = split_steps(step for step in steps if self._may(step))
        try:
            for deed, wanted in ((self._take_away, away), (self._put, there), (self._set_folder_mode, folders)):
                refused = {left.path for left in self.left}
                for step in wanted:
                    if step.path not in refused:
                        self._try(step, deed)
            self._close_up({step.path for step in folders})
        finally:
            self._close()
        self.changed = sorted(set(self.changed) - {left.path for left in self.left})

    def _may(self, step: Change) -> bool:
        """Nothing is lost by it that no point has."""
        why = ""
        if step.new is not None and not step.new.is_kept:
            why = NOT_KEPT_NOW
        elif step.old is not None and not step.old.is_kept:
            why = NOT_KEPT_THEN
        if why:
            self.left.append(LeftAlone(step.path, why))
        return not why

    def _try(self, step: Change, deed: Callable[[int, bytes, Change], str]) -> None:
        why = ""
        try:
            folder = self._enter(step.path[:-1])
            why = deed(folder, step.path[-1], step)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Unavailable("The disk is full: free some space, then have it finished.") from error
            if error.errno not in _REFUSED and error.errno != errno.ENOTEMPTY:
                raise
            why = NOT_EMPTY if error.errno == errno.ENOTEMPTY else REFUSED
        except (NotFound, Unavailable) as error:  # of the history: this content is gone or damaged
            why = error.message
        if why:
            self.left.append(LeftAlone(step.path, why))
        else:
            self.changed.append(step.path)

    def _take_away(self, folder: int, name: bytes, step: Change) -> str:
        if len(step.path) == 1 or step.new is None:  # the covered folders themselves stay
            return ""
        if not _is_still(folder, name, step.new, self._stamps.get(step.path)):
            return CHANGED
        if step.new.kind == EntryKind.FOLDER:
            os.rmdir(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
        return ""

    def _put(self, folder: int, name: bytes, step: Change) -> str:
        then = step.old
        if then is None or len(step.path) == 1:
            return ""
        has_gone = (
            step.new is not None and EntryKind.FOLDER in (then.kind, step.new.kind) and then.kind != step.new.kind
        )
        now = None if has_gone else step.new
        if not _is_still(folder, name, now, self._stamps.get(step.path)):
            return CHANGED
        if then.kind == EntryKind.FOLDER:
            if now is None:
                self._make_folder(folder, name)
        elif then.kind == EntryKind.LINK:
            self._put_link(folder, name, then)
        elif not (_is_same_file(now, then) and _set_facts(folder, name, then)):
            self._put_file(folder, name, then)
        return ""

    def _make_folder(self, folder: int, name: bytes) -> None:
        os.mkdir(name, 0o700, dir_fd=folder)
        made = os.open(name, FOLDER | _FILE, dir_fd=folder)
        try:
            _give(made, folder)
        finally:
            os.close(made)

    def _put_link(self, folder: int, name: bytes, then: EntryFacts) -> None:
        beside = _clear_beside(folder, name)
        os.symlink(b"".join(self._content(then)), beside, dir_fd=folder)
        owner, ours = os.fstat(folder), os.stat(beside, dir_fd=folder, follow_symlinks=False)
        if (owner.st_uid, owner.st_gid) != (ours.st_uid, ours.st_gid):
            os.chown(beside, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
        os.utime(beside, ns=(then.modified_ns, then.modified_ns), dir_fd=folder, follow_symlinks=False)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _put_file(self, folder: int, name: bytes, then: EntryFacts) -> None:
        beside = _clear_beside(folder, name)
        file = os.open(beside, _NEW, 0o600, dir_fd=folder)
        try:
            _write(file, self._content(then))
            os.ftruncate(file, then.size_bytes)
            _give(file, folder)
            os.fchmod(file, then.mode)
            os.utime(file, ns=(then.modified_ns, then.modified_ns))
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _unlink_if_there(folder, beside)
            raise
        finally:
            os.close(file)

    def _set_folder_mode(self, folder: int, name: bytes, step: Change) -> str:
        if step.old is not None:
            opened = os.open(name, FOLDER | _FILE, dir_fd=folder)
            try:
                os.fchmod(opened, step.old.mode)
            finally:
                os.close(opened)
        return ""

    def _content(self, then: EntryFacts) -> Iterator[bytes]:
        if then.content is None:
            raise Unavailable("A part of this history is damaged on the disk. Other points may still be whole.")
        return self._read(then.content)

    def _enter(self, parts: Parts) -> int:
        """The folder at this path. The last one stays open, since most steps are in the same one as the step before."""
        if self._folder is None or self._folder[0] != parts:
            self._close()
            self._folder = parts, self._opening(self._top, parts, FOLDER)
            if os.geteuid():  # root needs no permission bits
                self._open_up(parts, self._folder[1])
        return self._folder[1]

    def _open_up(self, parts: Parts, folder: int) -> None:
        """Its owner may write in it from now on."""
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        if parts and mode & 0o700 != 0o700:
            os.fchmod(folder, mode | 0o700)
            self._opened_up[parts] = mode

    def _close_up(self, settled: set[Parts]) -> None:
        """Those whose mode was not set have the one that they had."""
        for parts in sorted(self._opened_up.keys() - settled, reverse=True):
            try:
                os.fchmod(self._enter(parts), self._opened_up[parts])
            except OSError as error:
                if error.errno not in _REFUSED:
                    raise

    def _close(self) -> None:
        if self._folder is not None:
            os.close(self._folder[1])
            self._folder = None


def _is_still(folder: int, name: bytes, now: EntryFacts | None, stamp: tuple[int, int] | None) -> bool:
    """What is there is what the last point has; pipes, sockets and devices count as nothing."""
    try:
        seen = see(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return now is None
    if seen is None or now is None:
        return seen is None and now is None
    if now.kind == EntryKind.FOLDER or seen.kind != now.kind:
        return seen.kind == now.kind
    if stamp is not None and (seen.changed_ns, seen.inode) != stamp:
        return False
    return (seen.mode, seen.size, seen.modified_ns) == (now.mode, now.size_bytes, now.modified_ns)


def _is_same_file(now: EntryFacts | None, then: EntryFacts) -> bool:
    return now is not None and (now.kind, now.content) == (then.kind, then.content)


def _write(file: int, pieces: Iterator[bytes]) -> None:
    """Holes stay holes."""
    for piece in pieces:
        if len(piece) >= _HOLE and piece == bytes(len(piece)):
            os.lseek(file, len(piece), os.SEEK_CUR)
            continue
        left = memoryview(piece)
        while left:
            left = left[os.write(file, left) :]


def _set_facts(folder: int, name: bytes, then: EntryFacts) -> bool:
    """The content is the same already; False where the file has other names, which are not to be changed with it."""
    file = os.open(name, _FILE, dir_fd=folder)
    try:
        if os.fstat(file).st_nlink != 1:
            return False
        os.fchmod(file, then.mode)
        os.utime(file, ns=(then.modified_ns, then.modified_ns))
    finally:
        os.close(file)
    return True


def _give(made: int, folder: int) -> None:
    """It belongs to whom the folder belongs that it is in."""
    owner, ours = os.fstat(folder), os.fstat(made)
    if (owner.st_uid, owner.st_gid) != (ours.st_uid, ours.st_gid):
        os.fchown(made, owner.st_uid, owner.st_gid)


def _clear_beside(folder: int, name: bytes) -> bytes:
    """The name to write under; what a death left there is gone."""
    beside = os.fsencode(_PREFIX + hashlib.sha256(name).hexdigest()[:16])
    _unlink_if_there(folder, beside)
    return beside


def _unlink_if_there(folder: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
