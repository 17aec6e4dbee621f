"""Contents, each kept once however often it is there: hashed, deflated where that helps, appended to a pack.

A file is read in pieces, so none is ever in memory as a whole but a small one.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.capture import KeptContent
from orchestrator.checkpoints.models import MOST_FILE_BYTES
from orchestrator.checkpoints.packs import OutOfRoomError, PackFolder, PackWriter, Span
from orchestrator.core.errors import Unavailable

_SMALL = 1 << 20
"""Up to this a file is read once; a larger one is hashed first, and read again only if it is not there yet."""
_CHUNK = 1 << 18
_SAMPLE = 4096
_WORTH = 0.9
"""Deflating random bytes is slow and gains nothing; the first few show which ones they are."""
_LEVEL = 1
_NOT_KEPT = KeptContent(None, 0)


class Hash(Protocol):
    """What ``hashlib`` makes."""

    def update(self, data: bytes, /) -> None:
        """Take this in."""

    def digest(self) -> bytes:
        """The hash of all so far."""


class BlobKeeper:
    """Keeps contents during one transaction."""

    def __init__(self, db: sqlite3.Connection, writer: PackWriter, *, room: Callable[[], int]) -> None:
        self._db = db
        self._writer = writer
        self._room = room
        self._last: Span | None = None

    def keep_file(self, file: int, facts: os.stat_result) -> KeptContent:
        """Keep what an open file holds, as far as it claims to be. Raises OSError."""
        if facts.st_size > MOST_FILE_BYTES:
            return _NOT_KEPT
        is_sparse = facts.st_blocks * 512 < facts.st_size // 2
        if facts.st_size <= _SMALL:
            return self._keep(b"".join(_read_pieces(file, facts.st_size)), is_sparse=is_sparse)
        return self._keep_large(file, facts.st_size, is_sparse=is_sparse)

    def keep_bytes(self, content: bytes) -> KeptContent:
        """Keep this."""
        return self._keep(content, is_sparse=False)

    def drop(self, kept: KeptContent) -> None:
        """What was just kept is not needed."""
        if kept.is_new and kept.blob is not None:
            rows.delete_blob(self._db, kept.blob)
            if self._last is not None:
                self._writer.take_back(self._last)
                self._last = None

    def _keep(self, content: bytes, *, is_sparse: bool) -> KeptContent:
        digest = hashlib.sha256(content).digest()
        blob = rows.find_blob(self._db, digest)
        if blob is not None:
            return KeptContent(blob, len(content))
        stored = zlib.compress(content, _LEVEL) if is_sparse or _is_worth_it(content[:_SAMPLE]) else content
        is_deflated = len(stored) < len(content)
        try:
            span = self._writer.append([stored if is_deflated else content], expected=len(stored))
        except OutOfRoomError:
            return KeptContent(None, len(content), is_final=False)
        return self._note(digest, span, len(content), is_deflated=is_deflated)

    def _keep_large(self, file: int, claimed: int, *, is_sparse: bool) -> KeptContent:
        digest, size = hashlib.sha256(), 0
        for piece in _read_pieces(file, claimed):
            digest.update(piece)
            size += len(piece)
        blob = rows.find_blob(self._db, digest.digest())
        if blob is not None:
            return KeptContent(blob, size)
        is_deflated = is_sparse or _is_worth_it(os.pread(file, _SAMPLE, 0))
        if not is_deflated and claimed > self._room():
            return KeptContent(None, size, is_final=False)
        return self._write_large(file, claimed, is_deflated=is_deflated)

    def _write_large(self, file: int, claimed: int, *, is_deflated: bool) -> KeptContent:
        """What counts is what is read now, whatever was hashed before."""
        counted = _Counted(_read_pieces(file, claimed))
        pieces = _deflate(counted) if is_deflated else counted
        try:
            span = self._writer.append(pieces, expected=claimed)
        except OutOfRoomError:
            return KeptContent(None, claimed, is_final=False)
        digest = counted.digest.digest()
        blob = rows.find_blob(self._db, digest)
        if blob is not None:
            self._writer.take_back(span)
            return KeptContent(blob, counted.size)
        return self._note(digest, span, counted.size, is_deflated=is_deflated)

    def _note(self, digest: bytes, span: Span, size: int, *, is_deflated: bool) -> KeptContent:
        self._last = span
        blob = rows.insert_blob(
            self._db,
            digest,
            pack=span.pack,
            offset=span.offset,
            stored=span.size,
            size=size,
            is_deflated=is_deflated,
        )
        return KeptContent(blob, size, is_new=True)


class _Counted:
    """Pieces that are hashed and counted on their way."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.digest: Hash = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.digest.update(piece)
            self.size += len(piece)
            yield piece


def read_blob(folder: PackFolder, blob: rows.BlobRow) -> Iterator[bytes]:
    """The content, in pieces. Raises FileNotFoundError when its file has just been rewritten; Unavailable, at the end
    at the latest, when it is not what was kept."""
    pieces = folder.read(Span(blob.pack, blob.offset, blob.stored))
    counted = _Counted(_inflate(pieces) if blob.is_deflated else pieces)
    yield from counted
    if counted.digest.digest() != blob.sha256:
        raise Unavailable("A part of this history is damaged on the disk. Other points may still be whole.")


def _read_pieces(file: int, claimed: int) -> Iterator[bytes]:
    offset = 0
    while offset < claimed:
        piece = os.pread(file, min(_CHUNK, claimed - offset), offset)
        if not piece:  # it has shrunk meanwhile
            return
        offset += len(piece)
        yield piece


def _is_worth_it(sample: bytes) -> bool:
    return len(sample) > 64 and len(zlib.compress(sample, _LEVEL)) < len(sample) * _WORTH


def _deflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    deflating = zlib.compressobj(_LEVEL)
    for piece in pieces:
        if small := deflating.compress(piece):
            yield small
    yield deflating.flush()


def _inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """In bounded pieces, whatever they were deflated from."""
    inflating = zlib.decompressobj()
    try:
        for piece in pieces:
            waiting = piece
            while waiting:
                yield inflating.decompress(waiting, _CHUNK)
                waiting = inflating.unconsumed_tail
        while large := inflating.decompress(inflating.unconsumed_tail, _CHUNK):
            yield large
    except zlib.error as error:
        raise Unavailable("A part of this history is damaged on the disk. Other points may still be whole.") from error
