"""The files of a backup in a new folder, with the owners and permissions that an install gives them, whoever made the
backup on whatever machine. Nothing that is there is ever written over.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from orchestrator.agents.cubicles import uid_of
from orchestrator.core.db import copies
from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup.manifest import Member
from orchestrator.operations.backup.verify import Checked

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack_backup(file: BinaryIO, target: Path, checked: Checked, meter: Callable[[int], None]) -> None:
    """All of a backup that was checked is in ``target``, which was not there. Raises BadInput when it is another one by
    now or without a sound database, Unavailable, OSError."""
    target.mkdir(mode=0o700)
    unpacking = _Unpacking(os.fsencode(target), meter)
    with reading.open_backup(file) as found:
        for member, chunks in found.read_members():
            unpacking.unpack_member(member, chunks)
        if found.checked != checked:
            raise BadInput("The backup was changed while it was read. Try again.")
    unpacking.finish(checked)


class _Unpacking:
    """Where an unpacking stands."""

    def __init__(self, target: bytes, meter: Callable[[int], None]) -> None:
        self._target = target
        self._meter = meter
        self._done = 0
        self._open: list[Member] = []
        self._inside: copies.Inside | None = None
        self._uids: dict[CubicleKey, int] = {}

    def unpack_member(self, member: Member, chunks: Iterable[bytes]) -> None:
        """One folder or file is there. Folders get their times and permissions when nothing more comes into them."""
        while self._open and self._open[-1].parts != member.parts[: len(self._open[-1].parts)]:
            self._close_folder(self._open.pop())
        if member.is_folder:
            os.mkdir(self._path_of(member), 0o700)  # noqa: PTH102 - names are bytes here
            self._open.append(member)
            for _ in chunks:
                pass
            return
        descriptor = os.open(self._path_of(member), _NEW, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            self._fill_file(file, chunks)
            self._set_owner(member, descriptor)
            os.fchmod(descriptor, layout.member_mode(member))
            os.utime(descriptor, (member.modified, member.modified))
        if member.parts == layout.DATABASE:
            self._look_into(Path(os.fsdecode(self._path_of(member))))

    def finish(self, checked: Checked) -> None:
        """The last folders are done. Raises BadInput when this was no install."""
        while self._open:
            self._close_folder(self._open.pop())
        if self._inside is None or self._inside.migrations != checked.manifest.migrations:
            raise BadInput("There is no database in this backup, or a different one than it says. Use another backup.")

    def _fill_file(self, file: BinaryIO, chunks: Iterable[bytes]) -> None:
        """Pieces of nothing but zeros take no room, as they may have taken none before."""
        for piece in chunks:
            if piece.count(0) == len(piece):
                file.seek(len(piece), os.SEEK_CUR)
            else:
                left = memoryview(piece)
                while left:
                    left = left[file.write(left) :]
            self._done += len(piece)
            self._meter(self._done)
        file.truncate()

    def _look_into(self, database: Path) -> None:
        """Whose cubicle has which user is in the database, which comes before what lies in the cubicles."""
        try:
            self._inside = copies.look_into(database)
        except sqlite3.Error as error:
            raise BadInput(f"The database in this backup is damaged ({error}). Use another backup.") from error
        self._uids = {key: uid_of(number) for key, number in self._inside.cubicles.items()}

    def _close_folder(self, folder: Member) -> None:
        descriptor = os.open(self._path_of(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._set_owner(folder, descriptor)
            os.fchmod(descriptor, layout.member_mode(folder))
            os.utime(descriptor, (folder.modified, folder.modified))
        finally:
            os.close(descriptor)

    def _set_owner(self, member: Member, descriptor: int) -> None:
        """As root, what lies in a cubicle's own folders belongs to its user; without root all is ours anyway."""
        key = layout.cubicle_of(member.parts)
        if os.geteuid() == 0 and key in self._uids:
            os.fchown(descriptor, self._uids[key], self._uids[key])

    def _path_of(self, member: Member) -> bytes:
        return b"/".join((self._target, *member.parts))
