"""The panel actions, one frozen class each, with values that were read and found in order.

Owns what an action holds, not whether it may happen: whose calendar it is, whether a repeat ever comes due and whether
an address may be fetched is decided by who carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Final

When = date | datetime
"""A moment with its offset, a time of a clock on some wall (a datetime without one), or a whole day (a date)."""


class Cleared(Enum):
    """A change that empties a field, which leaving the field out does not."""

    CLEARED = "-"


CLEARED: Final = Cleared.CLEARED


@dataclass(frozen=True, slots=True)
class CalendarCreate:
    """A new entry: at ``start``, and again by ``repeat``, its prompt becomes a turn."""

    title: str
    prompt: str
    start: When
    end: When | None = None
    color: str = ""
    repeat: str = ""


@dataclass(frozen=True, slots=True)
class CalendarUpdate:
    """A change of an entry; what is None stays as it is."""

    id: int
    title: str | None = None
    prompt: str | None = None
    start: When | None = None
    end: When | Cleared | None = None
    color: str | Cleared | None = None
    repeat: str | Cleared | None = None


@dataclass(frozen=True, slots=True)
class CalendarDelete:
    """An entry goes."""

    id: int


@dataclass(frozen=True, slots=True)
class CalendarList:
    """The entries that come due within a time, which is open where an end is None."""

    from_: When | None = None
    to: When | None = None


@dataclass(frozen=True, slots=True)
class AssetRequest:
    """A wish for a file from the internet, for a person to decide."""

    description: str
    url: str
    file_type: str = ""


@dataclass(frozen=True, slots=True)
class MemoryAdd:
    """A fact to keep."""

    text: str


@dataclass(frozen=True, slots=True)
class MemoryDelete:
    """A fact to forget."""

    id: int


@dataclass(frozen=True, slots=True)
class Clawmotion:
    """A video to make."""

    prompt: str
    duration: float
    """Seconds."""
    output_file: str = ""
    """A name within ``out/``; empty lets the host choose."""


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """A question to what is remembered; an empty one lists the newest."""

    query: str = ""
    limit: int = 10


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the person, who answers by one of the choices or, where that is allowed, by a text."""

    question: str
    choices: tuple[str, ...] = ()
    free_text: bool = False
    timeout: int | None = None
    """Seconds until nobody is waited for any more; None for the agent's own time."""


@dataclass(frozen=True, slots=True)
class Send:
    """A file to hand to the person."""

    file: str
    """Its name within ``out/``."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Install:
    """A wish for packages, for a person to decide."""

    system: str
    """``pip`` or ``npm``."""
    packages: tuple[str, ...]
    """``NAME`` or ``NAME==VERSION`` (of npm also ``NAME@VERSION``)."""


@dataclass(frozen=True, slots=True)
class Status:
    """How the agent stands: budget, disk, what it may do, what is waiting for a person."""


Action = (
    CalendarCreate
    | CalendarUpdate
    | CalendarDelete
    | CalendarList
    | AssetRequest
    | MemoryAdd
    | MemoryDelete
    | Clawmotion
    | MemorySearch
    | Ask
    | Send
    | Install
    | Status
)
