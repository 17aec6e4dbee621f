"""An agent's own log, ``work/.hermit.log`` and the older part beside it, read in pages from its end, and followed.

The file is the agent's: it may hold anything, be cut, replaced or gone between two looks. So a place in it is only a
number of bytes that is tried again, a page is bounded in bytes and in lines, and whatever can't be opened is empty.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import datetime

from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces

PAGE_LINES = 200
_WINDOW = 256 * 1024
_FAR = 4 * _WINDOW
"""Whoever is so far behind begins again at the end."""
_MOST_CHARS = 20_000
"""Of one record; the crab itself writes 65,536 at most, and the file can be downloaded."""
_PARTS = ((b"work", b".hermit.log"), (b"work", b".hermit.log.1"))
"""The log, and what it was before it grew too long."""
_RECORD = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<step>[\d.]{1,24}|-) (?P<kind>[a-z]{1,16}) (?P<text>.*)",
    re.DOTALL,
)
_PLACE = re.compile(r"([01]):(\d{1,12})")


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where in the log: which part, and how many bytes into it."""

    part: int
    at: int

    def __str__(self) -> str:
        """As ``place_of`` reads it."""
        return f"{self.part}:{self.at}"


@dataclass(frozen=True, slots=True)
class Record:
    """One line. What is no record of the crab's has no kind, and is shown as it is."""

    place: LogPosition
    at: float | None
    """Unix seconds."""
    step: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines one after the other."""

    records: tuple[Record, ...]
    earlier: LogPosition | None
    """Before what there is more; None at the very beginning."""
    end: LogPosition
    """After what new lines come."""
    is_fresh: bool = False
    """The log is another one than before: what was shown of it is to go."""
    has_more: bool = False
    """There are newer lines already."""


def place_of(text: str) -> LogPosition:
    """The place that was written so; raises BadInput."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise BadInput("before, after: send what a page gave as its place.")
    return LogPosition(int(found[1]), int(found[2]))


def read_latest(workspaces: Workspaces, key: CubicleKey) -> LogPage:
    """The newest lines."""
    page = read_before(workspaces, key, LogPosition(0, _log_size(workspaces, key, 0)))
    return LogPage(page.records, page.earlier, page.end, is_fresh=True)


def read_before(workspaces: Workspaces, key: CubicleKey, place: LogPosition) -> LogPage:
    """The lines before a place, as many as a page has; the older part goes on where the newer one begins."""
    if place.at == 0 and place.part == 0 and (older := _log_size(workspaces, key, 1)):
        place = LogPosition(1, older)
    start = max(0, place.at - _WINDOW)
    data = _read_log(workspaces, key, place.part, start, place.at - start)
    if start and b"\n" in data[:-1]:  # the first line is cut, unless there is no other
        cut = data.index(b"\n") + 1
        start, data = start + cut, data[cut:]
    lines = _parse_lines(data, LogPosition(place.part, start))[-PAGE_LINES:]
    first = lines[0][0] if lines else LogPosition(place.part, 0)
    has_earlier = first.at > 0 or (first.part == 0 and _log_size(workspaces, key, 1) > 0)
    end = LogPosition(place.part, start + len(data))
    return LogPage(tuple(_parse_record(at, line) for at, line in lines), first if has_earlier else None, end)


def read_after(workspaces: Workspaces, key: CubicleKey, place: LogPosition) -> LogPage:
    """The lines that were written since, whole ones; of another log than before, its end."""
    size = _log_size(workspaces, key, 0)
    if place.part != 0 or size < place.at or size - place.at > _FAR:
        return read_latest(workspaces, key)
    data = _read_log(workspaces, key, 0, place.at, _WINDOW)
    whole = data[: data.rfind(b"\n") + 1] if b"\n" in data or len(data) < _WINDOW else data
    end = LogPosition(0, place.at + len(whole))
    records = tuple(_parse_record(at, line) for at, line in _parse_lines(whole, place))
    return LogPage(records, None, end, has_more=bool(whole) and size > end.at)


def _parse_lines(data: bytes, start: LogPosition) -> list[tuple[LogPosition, bytes]]:
    """Each line with its place, split at line feeds alone."""
    found, at = [], start.at
    for line in io.BytesIO(data):
        found.append((LogPosition(start.part, at), line))
        at += len(line)
    return found


def _parse_record(place: LogPosition, line: bytes) -> Record:
    text = line.removesuffix(b"\n").decode("utf-8", "replace")
    found = _RECORD.fullmatch(text)
    if found is None:
        return Record(place, None, "", "", _cut_text(text))
    return Record(place, _parse_time(found["time"]), found["step"], found["kind"], _cut_text(found["text"]))


def _cut_text(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} [… {len(text) - _MOST_CHARS:,} more characters]"


def _parse_time(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:  # the 31st of February: somebody else than the crab wrote it
        return None


def _log_size(workspaces: Workspaces, key: CubicleKey, part: int) -> int:
    try:
        file, facts = workspaces.open_inside(key, _PARTS[part])
    except OrchestratorError:  # not there yet, or something that nobody opens
        return 0
    file.close()
    return facts.st_size


def _read_log(workspaces: Workspaces, key: CubicleKey, part: int, start: int, count: int) -> bytes:
    try:
        file, _ = workspaces.open_inside(key, _PARTS[part])
    except OrchestratorError:
        return b""
    with file:
        try:
            file.seek(start)
            return file.read(count)
        except OSError:  # a disk that fails, or a network's that went away
            return b""
