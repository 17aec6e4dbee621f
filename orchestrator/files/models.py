"""The words for what lies in a workspace, as frozen data. Nothing here opens anything.

Names are bytes, because that is what an agent may give a file. Sizes and times are what the file claims: good to look
at, never to decide by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Protocol, Self

MOST_FILE_BYTES = 2 * 1024**3
"""What one file may have on its way between a person and a workspace, in either direction."""

FilePath = str | bytes | tuple[str | bytes, ...]
"""Where something lies within a workspace: ``out/report.pdf``, or its components."""

Kind = Literal["file", "folder", "other"]


class Readable(Protocol):
    """Where bytes come from: an upload's body, a download, an open file."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


class Writable(Protocol):
    """Where the bytes of a download go; may block."""

    def write(self, data: bytes, /) -> object:
        """Take all of them."""


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One name in a folder."""

    name: str
    """To be shown to a person: on one line, everything invisible written out. Never to be opened."""
    raw: bytes
    """The name itself."""
    kind: Kind
    """``other`` is whatever nobody opens: links, pipes, sockets, devices, files with several names."""
    size_bytes: int
    modified: float
    """Unix seconds between 1970 and the year 9999, whatever the file claims."""
    changed: float
    """Unix seconds: when it last changed, by the kernel's own clock, which no agent can set."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a folder, in the order of the raw names."""

    entries: tuple[DirEntry, ...]
    next: bytes | None
    """The name after which the next page begins; None at the end."""


@dataclass(frozen=True, slots=True)
class OutFile:
    """One name in ``out/`` as it stands now."""

    raw: bytes
    kind: Kind
    size_bytes: int
    inode: int
    changed_ns: int
    """When it last changed, by the kernel's own clock, which no agent can set."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A folder in ``out/`` with all that is in it, as far as one looks."""

    files: tuple[tuple[bytes, ...], ...]
    """The plain files, by their parts within the folder, in order."""
    left_out: int
    """Links, pipes, files with two names: nothing that anybody opens."""
    changed_ns: int
    """When anything in it last changed, by the kernel's own clock."""
    is_complete: bool
    """False when there is more in it, or deeper, than one looks at."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that came in."""

    name: str
    """What it is called now, within ``in/``."""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Use:
    """What a workspace takes up on the disk."""

    bytes: int
    inodes: int
    is_complete: bool
    """False when there is more than was looked at, or it changed while being looked at: at least that much."""


@dataclass(frozen=True, slots=True)
class PrivateCopy:
    """A private copy of one file, which nobody else can change. Close it when done; it is a context manager."""

    name: bytes
    """The last component of where it came from."""
    size_bytes: int
    sha256: str
    file: BinaryIO = field(repr=False)
    """Open for reading, at its beginning."""
    path: Path | None = None
    """Where the copy stays, when the caller said where to keep it; without a path it is gone when closed."""

    def close(self) -> None:
        """The descriptor is free again."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
