"""The bytes of a backup: a tar archive of folders and plain files alone, which any ``tar`` can unpack.

Reading takes less than ``tar`` does: no link, no device, no owner, no extension but long names and times. It trusts no
number and keeps no more than a piece in memory.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from orchestrator.core.errors import BadInput
from orchestrator.operations.backup.manifest import Member, not_a_backup

BLOCK = 512
CHUNK = 1 << 18
END = b"\0" * (2 * BLOCK)
_MOST_EXTENSION = 64 * 1024
_FILE, _FOLDER, _EXTENSION = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE
_KNOWN = {b"path", b"mtime", b"hdrcharset", b"size"}
_LAST_SECOND = 253_402_300_799.0


def member_header(member: Member) -> bytes:
    """What stands before a member's bytes."""
    info = tarfile.TarInfo((b"/".join(member.parts)).decode("utf-8", "surrogateescape"))
    info.type = _FOLDER if member.is_folder else _FILE
    info.size = member.size
    info.mode = member.mode & 0o777
    info.mtime = _sane(member.modified)
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def member_padding(size: int) -> bytes:
    """What stands behind ``size`` bytes."""
    return b"\0" * (-size % BLOCK)


class TarReader:
    """Reads one archive from its beginning to its end, once."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = 0

    def read_members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Each member with its bytes, which must be read before the next. Raises BadInput; OSError and what the
        stream raises for a damaged file come through."""
        while (found := self._next_member()) is not None:
            self._left = found.size
            yield found, self._read_bytes()
            if self._left:
                raise not_a_backup()
            self._read_exactly(len(member_padding(found.size)))
        if self._read_exactly(BLOCK) != END[:BLOCK] or self._stream.read(1):
            raise not_a_backup()

    def _next_member(self) -> Member | None:
        block = self._read_exactly(BLOCK)
        if block == END[:BLOCK]:
            return None
        info, extra = _parsed(block), dict[bytes, bytes]()
        if info.type == _EXTENSION:
            if not 0 < info.size <= _MOST_EXTENSION:
                raise not_a_backup()
            extra = _extension(self._read_exactly(info.size))
            self._read_exactly(len(member_padding(info.size)))
            info = _parsed(self._read_exactly(BLOCK))
        if info.type not in (_FILE, _FOLDER):
            raise BadInput("This backup contains a link or a device, which no HermitShell backup does. Don't use it.")
        name = extra.get(b"path", info.name.encode("utf-8", "surrogateescape")).removesuffix(b"/")
        size = _number(extra[b"size"]) if b"size" in extra else info.size
        if size < 0 or (info.type == _FOLDER and size):
            raise not_a_backup()
        modified = _time(extra[b"mtime"]) if b"mtime" in extra else float(info.mtime)
        return Member(tuple(name.split(b"/")), info.type == _FOLDER, size, info.mode & 0o777, _sane(modified))

    def _read_bytes(self) -> Iterator[bytes]:
        while self._left:
            piece = self._stream.read(min(CHUNK, self._left))
            if not piece:
                raise truncated_error()
            self._left -= len(piece)
            yield piece

    def _read_exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = self._stream.read(count - len(found))
            if not piece:
                raise truncated_error()
            found += piece
        return found


def truncated_error() -> BadInput:
    """The error for a file that ends too early."""
    return BadInput("This backup is cut off: its end is missing. Copy it again, or use another one.")


def read_small(chunks: Iterable[bytes], most: int) -> bytes:
    """All of a small member. Raises BadInput when it is not small."""
    found = bytearray()
    for piece in chunks:
        found += piece
        if len(found) > most:
            raise not_a_backup()
    return bytes(found)


def _parsed(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise not_a_backup() from error


def _extension(data: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    while data:
        length, _, _ = data.partition(b" ")
        count = _number(length)
        if not len(length) + 3 < count <= len(data) or data[count - 1 : count] != b"\n":
            raise not_a_backup()
        key, equals, value = data[len(length) + 1 : count - 1].partition(b"=")
        if key not in _KNOWN or not equals or key in found:
            raise not_a_backup()
        found[key] = value
        data = data[count:]
    return found


def _number(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise not_a_backup()
    return int(text)


def _time(text: bytes) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise not_a_backup() from error


def _sane(seconds: float) -> float:
    return seconds if 0 <= seconds <= _LAST_SECOND else 0.0  # no number at all neither
