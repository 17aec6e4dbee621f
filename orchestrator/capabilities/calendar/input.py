"""What somebody wants in the calendar: read from a panel action or from named fields, and found in order. Pure.

An ``end`` within a day of the start says how long each time takes, and of what happens once it always does; a later one
is the last moment at which a series comes due. Only a series leaves days and times out. A start without an offset is a
time of the entry's own zone, which is the person's unless it is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from orchestrator.capabilities.actions.field_types import CLEARED, Unfit, When, read_value, write_value
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.calendar.capability import CREATE, CalendarCreate, CalendarUpdate
from orchestrator.capabilities.calendar.recurrence.input import make_plan, parse_moment
from orchestrator.capabilities.calendar.recurrence.missed import Missed
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan
from orchestrator.capabilities.calendar.recurrence.zones import moment_of, zone_named
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.core.errors import BadInput

NAMED = ("title", "prompt", "start", "end", "time_zone", "repeat", "color", "missed", "without")
"""The fields that a person may give, in the order in which they are shown."""
LONGEST = timedelta(days=1)
"""An end no later than this after the start is the end of each time, not of the series."""

MOST_LEFT_OUT = 100
"""So many days or times a series leaves out."""

_DAYS_OUT = re.compile(r";?\s*\bEXDATE(?:;VALUE=DATE)?[=:]([0-9TZ:,\s-]*)", re.IGNORECASE)
"""``;EXDATE=20261224,20261231``"""
_DEFAULTED = ("time_zone", "missed")
_DAY_ENDS = time(23, 59, 59)
_FIELDS: Mapping[str, Field] = {field.name: field for field in CREATE.fields}


@dataclass(frozen=True, slots=True)
class EntryInput:
    """An entry's own words, in order each for itself."""

    title: str
    prompt: str
    start: str
    time_zone: str
    end: str = ""
    repeat: str = ""
    color: str = ""
    missed: str = Missed.RUN.value
    without: str = ""

    @classmethod
    def from_entry(cls, entry: CalendarEntry) -> EntryInput:
        """As the entry has it."""
        return cls(**{field.name: getattr(entry, field.name) for field in fields(cls)})

    def apply_to(self, entry: CalendarEntry) -> CalendarEntry:
        """The entry with these words."""
        return replace(entry, **asdict(self))

    @property
    def when(self) -> tuple[str, ...]:
        """All that decides when it is due."""
        return self.start, self.end, self.time_zone, self.repeat, self.without

    @property
    def length(self) -> timedelta | None:
        """How long each time takes; None when nobody said. Raises BadInput for an end before the start."""
        return length_of(self.start, self.end, self.time_zone, self.repeat)


def input_from_action(action: CalendarCreate, time_zone: str) -> EntryInput:
    """What a panel action wants; ``time_zone`` is the person's. Raises BadInput."""
    return _sorted_out(
        EntryInput(
            title=action.title,
            prompt=action.prompt,
            start=write_value(action.start),
            time_zone=time_zone,
            end="" if action.end is None else write_value(action.end),
            repeat=action.repeat,
            color=action.color,
        )
    )


def amend_input(request: EntryInput, action: CalendarUpdate) -> EntryInput:
    """What a panel action wants otherwise; raises BadInput."""
    given = {field.name: getattr(action, field.name) for field in fields(action) if field.name != "id"}
    texts = {name: "" if value is CLEARED else write_value(value) for name, value in given.items() if value is not None}
    return _sorted_out(replace(request, **texts))


def read_new(given: Mapping[str, Any], time_zone: str) -> EntryInput:
    """What named fields want; raises BadInput. ``time_zone`` is the person's."""
    texts = _read({name: value for name, value in given.items() if value or name not in _DEFAULTED}, "")
    for name in ("title", "prompt", "start"):
        if not texts.get(name):
            raise BadInput(f"{name} is needed.")
    return _sorted_out(EntryInput(**{"time_zone": time_zone, **texts}))


def read_change(request: EntryInput, given: Mapping[str, Any]) -> EntryInput:
    """What named fields want otherwise, where null or an empty text takes something away; raises BadInput."""
    return _sorted_out(replace(request, **_read(given, request.repeat)))


@lru_cache(maxsize=20_000)
def plan_of(start: str, end: str, time_zone: str, repeat: str, without: str = "") -> Plan:
    """When it is due; raises BadInput."""
    begins, ends = _when(start), _when(end) if end else None
    left_out = [_when(text) for text in without.split(",") if text]
    plan = make_plan(begins, time_zone, repeat=repeat, without=left_out)
    if ends is None or length_of(start, end, time_zone, repeat) is not None:
        return plan
    return make_plan(begins, time_zone, repeat=repeat, until=ends, without=left_out)


@lru_cache(maxsize=20_000)
def length_of(start: str, end: str, time_zone: str, repeat: str) -> timedelta | None:
    """How long each time takes; None when nobody said. Raises BadInput for an end before the start."""
    if not end:
        return None
    plan = make_plan(_when(start), time_zone, repeat=repeat)
    lasts = parse_moment("end", _when(end), time_zone, day_begins=_DAY_ENDS) - moment_of(
        plan.start, zone_named(time_zone)
    )
    if lasts < timedelta():
        raise BadInput("end: it lies before the start.")
    return lasts if lasts <= LONGEST or not repeat else None


def parse_bound(field: str, when: When | None, time_zone: str, *, is_last: bool = False) -> datetime | None:
    """The moment that begins or ends a time to look at: a day counts whole. Raises BadInput."""
    if when is None:
        return None
    return parse_moment(field, when, time_zone, day_begins=_DAY_ENDS if is_last else time())


def read_when(field: str, value: str) -> When:
    """A date or a time; raises BadInput."""
    try:
        found = read_value(_FIELDS["start"].kind, value, 40)
    except Unfit as unfit:
        raise BadInput(f"{field} {unfit}.") from unfit
    assert isinstance(found, date)  # noqa: S101 - that is what this kind holds
    return found


def time_of(seconds: float) -> datetime:
    """The moment of a row's time."""
    return datetime.fromtimestamp(seconds, UTC)


def _when(text: str) -> When:
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


def _read(given: Mapping[str, Any], repeat: str) -> dict[str, str]:
    """The fields as texts; ``repeat`` is what it was."""
    unknown = sorted(set(given) - set(NAMED))
    if unknown:
        raise BadInput(f"{unknown[0][:40]}: there is no such field here; there are {', '.join(NAMED)}.")
    texts = {name: _text(name, value) for name, value in given.items() if name != "without"}
    if "without" in given:
        texts["without"] = _left_out(given["without"] or (), texts.get("repeat", repeat))
    return texts


def _sorted_out(request: EntryInput) -> EntryInput:
    """Days that stand in the repeat itself, as calendar apps write them, have a place of their own; what happens once
    leaves nothing out. Raises BadInput."""
    found = _DAYS_OUT.search(request.repeat)
    if found:
        rest = request.repeat[: found.start()] + request.repeat[found.end() :]
        days = [day for day in re.split(r"[\s,]+", found[1]) if day]
        request = replace(request, repeat=rest.strip("; "), without=_left_out(days, rest.strip("; ")))
    return request if request.repeat else replace(request, without="")


def _left_out(given: object, repeat: str) -> str:
    """What a series leaves out, in order; raises BadInput."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise BadInput('without must be a list of days or times, such as ["2026-12-24"].')
    if given and not repeat:
        raise BadInput("without: this happens once. Give it another start, or delete it.")
    if len(given) > MOST_LEFT_OUT:
        raise BadInput(f"without: {MOST_LEFT_OUT} days or times are the most. Take out some that have passed.")
    return ",".join(sorted({write_value(read_when("without", one)) for one in given}))


def _text(name: str, value: Any) -> str:
    if name == "time_zone":
        return zone_named(value if isinstance(value, str) else "").key
    if name == "missed":
        if value not in tuple(Missed):
            raise BadInput('missed must be "run" (once, late) or "skip".')
        return str(value)
    field = _FIELDS[name]
    if value is None or (isinstance(value, str) and not value.strip()):
        if field.is_required:
            raise BadInput(f"{name} can't be empty.")
        return ""
    try:
        return write_value(read_value(field.kind, value, field.max_chars))
    except Unfit as unfit:
        raise BadInput(f"{name} {unfit}.") from unfit
