"""Reading a backup that anybody may have made or cut: what it says is checked as it goes by, and at its end the whole.

It writes nothing. Whoever unpacks reads it twice: once to know that it is good, once to take it.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from orchestrator.core.errors import BadInput, Unavailable
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup import tar_format as tape
from orchestrator.operations.backup.manifest import Manifest, Member

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Checked:
    """A backup that is whole."""

    manifest: Manifest
    files: int
    bytes: int
    digest: str
    """Of the list of hashes, and so of everything."""


def check_backup(file: BinaryIO, meter: Callable[[int], None] = lambda _: None) -> Checked:
    """Read all of a backup. Raises BadInput or UnsafePath for one that is cut, changed or none; Unavailable."""
    with open_backup(file) as reading:
        for _, chunks in reading.read_members():
            for _piece in chunks:
                meter(file.tell())
        return reading.checked


@contextmanager
def open_backup(file: BinaryIO) -> Iterator[BackupCheck]:
    """A backup at its beginning, packed or not. What reading it raises becomes a sentence."""
    try:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        if not is_packed:
            yield BackupCheck(file)
            return
        with gzip.GzipFile(fileobj=file, mode="rb") as stream:
            yield BackupCheck(cast("BinaryIO", stream))
    except EOFError as error:
        raise tape.truncated_error() from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise layout.not_a_backup() from error


@contextmanager
def from_path(path: Path) -> Iterator[BinaryIO]:
    """The file, open for reading. Raises BadInput, Unavailable."""
    try:
        file = path.open("rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise BadInput(f"There is no file {path}.") from error
    except OSError as error:
        raise Unavailable(f"{path} can't be read ({error.strerror}).") from error
    with file:
        if not path.is_file():
            raise BadInput(f"{path} is not a regular file.")
        yield file


class BackupCheck:
    """One passage through a backup."""

    def __init__(self, stream: BinaryIO) -> None:
        self._members = tape.TarReader(stream).read_members()
        self._sums = hashlib.sha256()
        self._files = self._bytes = 0
        self.manifest = self._first()
        self._checked: Checked | None = None

    @property
    def checked(self) -> Checked:
        """What it was, once all of it went by and was good."""
        if self._checked is None:
            raise tape.truncated_error()
        return self._checked

    def read_members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Each folder and file with its bytes, which are to be read before the next one is asked for."""
        order = layout.MemberOrder()
        for count, (member, chunks) in enumerate(self._members, start=1):
            if member.parts == layout.SUMS:
                self._check_hashes(chunks)
                return
            order.check_member(member)
            self._bytes += member.size
            if count > self.manifest.most_members or self._bytes > self.manifest.most_bytes:
                raise BadInput("This backup contains more than it lists. Don't use it.")
            digest = hashlib.sha256()
            yield member, _hashed(chunks, digest)
            self._files += not member.is_folder
            self._sums.update(layout.sum_line(member, digest.hexdigest()))
        raise tape.truncated_error()

    def _first(self) -> Manifest:
        found = next(self._members, None)
        if found is None or found[0].parts != layout.MANIFEST:
            raise layout.not_a_backup()
        text = tape.read_small(found[1], layout.MOST_MANIFEST)
        manifest = layout.parse_manifest(text)
        self._sums.update(layout.sum_line(found[0], hashlib.sha256(text).hexdigest()))
        return manifest

    def _check_hashes(self, chunks: Iterator[bytes]) -> None:
        """The list of hashes is exactly the one that this passage comes to, and nothing stands behind it."""
        listed = hashlib.sha256()
        for piece in chunks:
            listed.update(piece)
        if listed.digest() != self._sums.digest():
            raise BadInput("This backup was changed or damaged after it was made. Use another one.")
        if next(self._members, None) is not None:
            raise layout.not_a_backup()
        self._checked = Checked(self.manifest, self._files, self._bytes, listed.hexdigest())


def _hashed(chunks: Iterator[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for piece in chunks:
        digest.update(piece)
        yield piece
