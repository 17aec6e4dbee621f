"""The files that contents lie in, one after the other: ``packs/00000042``. They are only ever appended to.

The database says how much of each file is real. What a death or a refused write left behind that is cut off before
anything is appended, and files that the database does not know are deleted when a history is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.checkpoints.history_rows import PackRow
from orchestrator.core import dirs as folders
from orchestrator.core.errors import Unavailable

_CHUNK = 1 << 18
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class OutOfRoomError(Exception):
    """What was to be written is more than there is room for; nothing of it counts."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where some bytes are."""

    pack: int
    offset: int
    size: int


class PackFolder:
    """The files of one history."""

    def __init__(self, path: Path) -> None:
        """The folder is made if missing."""
        path.mkdir(mode=0o700, exist_ok=True)
        self.path = path

    def clear_unknown(self, known: Iterable[PackRow]) -> None:
        """Nothing is there but these, none longer than it is said to be. Raises OSError."""
        sizes = {_name(pack.number): pack.size for pack in known}
        for file in self.path.iterdir():
            if file.name not in sizes:
                file.unlink()
            elif file.stat().st_size > sizes[file.name]:
                os.truncate(file, sizes[file.name])

    def delete(self, number: int) -> None:
        """A file is gone. Gone already is success."""
        (self.path / _name(number)).unlink(missing_ok=True)

    def read(self, span: Span) -> Iterator[bytes]:
        """The bytes of a span, in pieces. Raises FileNotFoundError for a file that is gone, Unavailable when the bytes
        are."""
        file = os.open(self.path / _name(span.pack), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            offset, end = span.offset, span.offset + span.size
            while offset < end:
                piece = os.pread(file, min(_CHUNK, end - offset), offset)
                if not piece:
                    raise Unavailable("A part of this history is gone from the disk. Other points may still be whole.")
                offset += len(piece)
                yield piece
        finally:
            os.close(file)


class PackWriter:
    """Appends during one transaction. What it wrote counts once ``finish`` is through and the rows are committed."""

    def __init__(
        self, folder: PackFolder, newest: PackRow | None, last: int, *, most_bytes: int, room: Callable[[], int]
    ) -> None:
        """``newest`` is appended to until it has ``most_bytes``; new files come after the number ``last``; ``room``:
        how many more bytes may be written at all."""
        self._folder = folder
        self._most = most_bytes
        self._room = room
        self._last = last
        self._number, self._size = (0, 0) if newest is None else newest[:2]
        self._file: int | None = None
        self.grown: dict[int, int] = {}
        """How long each file that was written to is by now."""
        self._written: list[int] = []
        self._is_new = False

    def append(self, pieces: Iterable[bytes], *, expected: int) -> Span:
        """Write them one after the other; about so many bytes. Raises OutOfRoomError, and OSError."""
        file = self._open_file(expected)
        start, left = self._size, self._room()
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                self._cut(file, start)
                raise OutOfRoomError
            _write_at(file, piece, self._size)
            self._size += len(piece)
        self.grown[self._number] = self._size
        return Span(self._number, start, self._size - start)

    def take_back(self, span: Span) -> None:
        """The span that was written last is not needed."""
        if self._file is not None and (span.pack, span.offset + span.size) == (self._number, self._size):
            self._cut(self._file, span.offset)

    def begin_other_than(self, pack: int) -> None:
        """What is written next is not in this file."""
        if self._number == pack:
            self._number, self._file = 0, None

    def finish(self) -> None:
        """All of it is on the disk. Raises OSError."""
        for file in self._written:
            os.fdatasync(file)
        if self._is_new:
            folders.flush_folder(self._folder.path)

    def close(self) -> None:
        """Descriptors are free again, whether it went well or not."""
        for file in self._written:
            os.close(file)
        self._written, self._file = [], None

    def _open_file(self, expected: int) -> int:
        """The file to append to; what lies behind its known end is cut off."""
        is_full = self._size > 0 and self._size + expected > self._most
        if self._file is None or is_full:
            if is_full or not self._number:
                self._last += 1
                self._number, self._size, self._is_new = self._last, 0, True
            self._file = os.open(self._folder.path / _name(self._number), _APPEND, 0o600)
            self._written.append(self._file)
            os.ftruncate(self._file, self._size)
        return self._file

    def _cut(self, file: int, size: int) -> None:
        os.ftruncate(file, size)
        self._size = size
        self.grown[self._number] = size


def _name(number: int) -> str:
    return f"{number:08}"


def _write_at(file: int, piece: bytes, offset: int) -> None:
    left = memoryview(piece)
    while left:
        count = os.pwrite(file, left, offset)
        left, offset = left[count:], offset + count
