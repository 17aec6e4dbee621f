"""The calendar: at its time, an entry's prompt becomes a turn of its agent."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Cleared, Kind, When
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.capability import Action, Capability, Place, Policy, PromptLine, Toolset


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


_TITLE = "what it is called in the calendar"
_PROMPT = "what you are told to do then"
_START = "when: 2026-02-28T09:00 is the person's own clock, with Z or an offset it is that moment"
_END = "when it ends, for show"
_COLOR = "a name, or #rrggbb"
_REPEAT = "an RRULE such as FREQ=WEEKLY;BYDAY=MO, or a cron line such as 0 9 * * 1"
_NUMBER = Field("id", Kind.ID, "the entry's number", is_required=True)

_WHEN_OPTION = "2026-02-28T09:00 (the person's clock), or with Z or an offset"
_END_OPTION = Option("end", _END, value="WHEN")
_COLOR_OPTION = Option("color", "a name such as red, or #rrggbb", value="COLOR")
_REPEAT_OPTION = Option(
    "repeat",
    "such as 'FREQ=WEEKLY;BYDAY=MO' or a cron line '0 9 * * 1'; ';EXDATE=20261224' behind it leaves a day out",
    value="RULE",
)

CREATE = Action(
    "CALENDAR_CREATE",
    CalendarCreate,
    (
        Field("title", Kind.LINE, _TITLE, is_required=True),
        Field("prompt", Kind.TEXT, _PROMPT, max_chars=4000, is_required=True),
        Field("start", Kind.WHEN, _START, max_chars=40, is_required=True),
        Field("end", Kind.WHEN, _END, max_chars=40),
        Field("color", Kind.COLOR, _COLOR, max_chars=20),
        Field("repeat", Kind.LINE, _REPEAT, max_chars=300),
    ),
    Policy.FREE,
    cost=5,
    commands=(
        Command(
            "calendar add",
            "CALENDAR_CREATE",
            "At START, and again by --repeat, you are given PROMPT as a message of its own.",
            places=("title", "prompt"),
            options=(Option("start", _WHEN_OPTION, value="WHEN"), _REPEAT_OPTION, _END_OPTION, _COLOR_OPTION),
            needs=("start",),
            example="hermit calendar add 'Weekly report' 'Write the report on ../in/sales.csv' --start 2026-03-02T09:00"
            " --repeat 'FREQ=WEEKLY;BYDAY=MO'",
        ),
    ),
)
LIST = Action(
    "CALENDAR_LIST",
    CalendarList,
    (
        Field("from", Kind.WHEN, "entries from then on", max_chars=40),
        Field("to", Kind.WHEN, "entries until then", max_chars=40),
    ),
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "calendar list",
            "CALENDAR_LIST",
            "What is in the calendar, with the numbers that update and rm take.",
            options=(
                Option("from", f"from then on: {_WHEN_OPTION}", value="WHEN"),
                Option("to", "until then", value="WHEN"),
            ),
        ),
    ),
)
UPDATE = Action(
    "CALENDAR_UPDATE",
    CalendarUpdate,
    (
        _NUMBER,
        Field("title", Kind.LINE, _TITLE),
        Field("prompt", Kind.TEXT, _PROMPT, max_chars=4000),
        Field("start", Kind.WHEN, _START, max_chars=40),
        Field("end", Kind.WHEN, _END, max_chars=40, may_clear=True),
        Field("color", Kind.COLOR, _COLOR, max_chars=20, may_clear=True),
        Field("repeat", Kind.LINE, _REPEAT, max_chars=300, may_clear=True),
    ),
    Policy.FREE,
    cost=5,
    commands=(
        Command(
            "calendar update",
            "CALENDAR_UPDATE",
            "Changes what is given; '-' empties --end, --repeat or --color.",
            places=("id",),
            options=(
                Option("title", "another title", value="TEXT"),
                Option("prompt", "another prompt", value="TEXT"),
                Option("start", _WHEN_OPTION, value="WHEN"),
                _REPEAT_OPTION,
                _END_OPTION,
                _COLOR_OPTION,
            ),
            example="hermit calendar update 12 --start 2026-03-02T10:00",
        ),
    ),
    is_change=True,
)
DELETE = Action(
    "CALENDAR_DELETE",
    CalendarDelete,
    (_NUMBER,),
    Policy.FREE,
    cost=2,
    commands=(Command("calendar rm", "CALENDAR_DELETE", "The entry goes.", places=("id",)),),
)

CAPABILITY = Capability(
    "calendar",
    (CREATE, LIST, UPDATE, DELETE),
    toolset=Toolset(
        "calendar",
        "Calendar",
        "Schedule messages to itself, once or repeating. You are told about each one and can cancel it.",
    ),
    prompt=(
        PromptLine(
            Place.ACTION,
            "CALENDAR_CREATE:title|prompt|start|end|color|repeat. At start, by the person's clock (or with Z), you get "
            "the prompt as a message; repeat is an RRULE or a cron line. Also CALENDAR_UPDATE:id|title|…, "
            "CALENDAR_DELETE:id, CALENDAR_LIST:",
        ),
        PromptLine(
            Place.RULE,
            'When a calendar prompt comes and there is nothing to tell, answer {"message": ""}. After INTERNAL: the '
            "person gets no reply.",
        ),
        PromptLine(
            Place.EXAMPLE,
            "Example. Person: sum up ../in/feed.txt every Monday at 9\n"
            'You: {"message": "I set it up.", "panelActions": ["CALENDAR_CREATE:Feed|Sum up ../in/feed.txt.|'
            '2026-03-02T09:00|||FREQ=WEEKLY;BYDAY=MO"]}',
        ),
    ),
)
