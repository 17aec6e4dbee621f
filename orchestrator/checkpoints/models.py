"""The words for points of time, as frozen data. Nothing here opens anything.

A path is its parts, as bytes, from one of the covered folders on: ``(b"work", b"a", b"b.txt")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal

COVERED = (b"out", b"work", b"www")
"""The folders of a workspace that agents write, and that points of time are about. The others are the host's."""
OWN_LOG = frozenset({(b"work", b".hermit.log"), (b"work", b".hermit.log.1")})
"""Files that are left out: what the crab writes down of itself, in every turn. Going back must not cut it."""
MOST_FILE_BYTES = 256 << 20
"""A file over this is in the list of its point, and its content is not kept."""
MOST_DEPTH = 2_000
MOST_PATH_BYTES = 16_384
"""Folders below these are in the list, and what is in them is not looked at."""

Parts = tuple[bytes, ...]


class EntryKind(IntEnum):
    """What a name stands for. Pipes, sockets and devices are left out."""

    FILE = 1
    LINK = 2
    FOLDER = 3


class PointKind(StrEnum):
    """Why a point was taken."""

    BEFORE = "before"
    """Before the first deed of a turn."""
    COMMAND = "command"
    AFTER = "after"
    """At the end of a turn."""
    PERSON = "person"
    """A person changed something themselves."""
    RESTORE = "restore"
    """On both sides of going back."""
    NAMED = "named"
    """Somebody gave it a name; it stays until they let it go."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A point of time that can be gone back to."""

    id: int
    kind: PointKind
    turn: int | None
    step: int | None
    label: str
    at: float
    """Unix seconds."""
    changed: int
    """Names that differ from the point before."""
    torn: int
    """Files that changed while they were read, so that what is kept may be of two moments."""
    unkept: int
    """Changed files that are listed without their content."""


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """What was at a path."""

    kind: EntryKind
    mode: int
    size_bytes: int
    modified_ns: int
    content: int | None
    """The same number is the same content. None for a folder, and for what is not kept."""
    is_kept: bool
    """False for a file that is too large, could not be read or had no room, and for a folder that is too deep."""

    def is_like(self, other: EntryFacts) -> bool:
        """The same but for when it was written."""
        if not (self.is_kept and other.is_kept):
            return self == other
        return (self.kind, self.mode, self.content) == (other.kind, other.mode, other.content)


ChangeKind = Literal["made", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two points."""

    path: Parts
    old: EntryFacts | None
    new: EntryFacts | None

    @property
    def kind(self) -> ChangeKind:
        """In a word."""
        if self.old is None:
            return "made"
        return "deleted" if self.new is None else "changed"


@dataclass(frozen=True, slots=True)
class FolderItem:
    """One name in a folder, as it was at a point."""

    name: bytes
    facts: EntryFacts


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A path that is as it was, although it was to be gone back to."""

    path: Parts
    why: str
    """A sentence for a person."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What going back did."""

    before: Checkpoint
    """Going back to this one undoes it."""
    after: Checkpoint
    changed: tuple[Parts, ...]
    left: tuple[LeftAlone, ...]


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """What the undo of one turn would do."""

    changes: tuple[Change, ...]
    """What the turn changed and nobody has since: ``new`` is what is there now, ``old`` what will be."""
    conflicts: tuple[Change, ...]
    """What it changed and somebody has changed again since; these stay unless they are named. ``new`` is what is there
    now."""


@dataclass(frozen=True, slots=True)
class PendingRestore:
    """A going back that a death cut short; finishing it may be tried again and again."""

    target: int
    """The point."""
    label: str
    turn: int | None
    is_exact: bool
    """Only the paths themselves are meant, not what lies beneath them."""
    paths: tuple[Parts, ...]
    """None of them means everything."""
