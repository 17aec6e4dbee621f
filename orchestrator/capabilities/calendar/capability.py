"""The calendar: at its time, an entry's prompt becomes a turn of its agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Cleared, FieldKind, When
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset


@dataclass(frozen=True, slots=True)
class CalendarCreate:
    """A new entry: at ``start``, and again by ``repeat``, its prompt becomes a turn."""

    title: str = field(metadata=field_metadata(FieldKind.LINE))
    prompt: str = field(metadata=field_metadata(FieldKind.TEXT, 4000))
    start: When = field(metadata=field_metadata(FieldKind.WHEN, 40))
    end: When | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40))
    color: str = field(default="", metadata=field_metadata(FieldKind.COLOR, 20))
    repeat: str = field(default="", metadata=field_metadata(FieldKind.LINE, 300))


@dataclass(frozen=True, slots=True)
class CalendarUpdate:
    """A change of an entry; what is None stays as it is."""

    id: int = field(metadata=field_metadata(FieldKind.ID))
    title: str | None = field(default=None, metadata=field_metadata(FieldKind.LINE))
    prompt: str | None = field(default=None, metadata=field_metadata(FieldKind.TEXT, 4000))
    start: When | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40))
    end: When | Cleared | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40, may_clear=True))
    color: str | Cleared | None = field(default=None, metadata=field_metadata(FieldKind.COLOR, 20, may_clear=True))
    repeat: str | Cleared | None = field(default=None, metadata=field_metadata(FieldKind.LINE, 300, may_clear=True))


@dataclass(frozen=True, slots=True)
class CalendarDelete:
    """An entry goes."""

    id: int = field(metadata=field_metadata(FieldKind.ID))


@dataclass(frozen=True, slots=True)
class CalendarList:
    """The entries that come due within a time, which is open where an end is None."""

    from_: When | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40))
    to: When | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40))


_WHEN = "2026-02-28T09:00 (the person's clock), or with Z or an offset"
_END = Option("end", "when it ends, for show", value="WHEN")
_COLOR = Option("color", "a name such as red, or #rrggbb", value="COLOR")
_REPEAT = Option(
    "repeat",
    "such as 'FREQ=WEEKLY;BYDAY=MO' or a cron line '0 9 * * 1'; ';EXDATE=20261224' behind it leaves a day out",
    value="RULE",
)

CREATE = Action(
    "CALENDAR_CREATE",
    CalendarCreate,
    Policy.FREE,
    cost=5,
    commands=(
        Command(
            "calendar add",
            "At START, and again by --repeat, you are given PROMPT as a message of its own.",
            places=("title", "prompt"),
            options=(Option("start", _WHEN, value="WHEN"), _REPEAT, _END, _COLOR),
            needs=("start",),
            example="hermit calendar add 'Weekly report' 'Write the report on ../in/sales.csv' --start 2026-03-02T09:00"
            " --repeat 'FREQ=WEEKLY;BYDAY=MO'",
        ),
    ),
)
LIST = Action(
    "CALENDAR_LIST",
    CalendarList,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "calendar list",
            "What is in the calendar, with the numbers that update and rm take.",
            options=(
                Option("from", f"from then on: {_WHEN}", value="WHEN"),
                Option("to", "until then", value="WHEN"),
            ),
        ),
    ),
)
UPDATE = Action(
    "CALENDAR_UPDATE",
    CalendarUpdate,
    Policy.FREE,
    cost=5,
    commands=(
        Command(
            "calendar update",
            "Changes what is given; '-' empties --end, --repeat or --color.",
            places=("id",),
            options=(
                Option("title", "another title", value="TEXT"),
                Option("prompt", "another prompt", value="TEXT"),
                Option("start", _WHEN, value="WHEN"),
                _REPEAT,
                _END,
                _COLOR,
            ),
            example="hermit calendar update 12 --start 2026-03-02T10:00",
        ),
    ),
    is_change=True,
)
DELETE = Action(
    "CALENDAR_DELETE",
    CalendarDelete,
    Policy.FREE,
    cost=2,
    commands=(Command("calendar rm", "The entry goes.", places=("id",)),),
)

CAPABILITY = Capability(
    "calendar",
    (CREATE, LIST, UPDATE, DELETE),
    toolset=Toolset(
        "calendar",
        "Calendar",
        "Schedule messages to itself, once or repeating. You are told about each one and can cancel it.",
    ),
    prompt=Prompt(
        action="CALENDAR_CREATE:title|prompt|start|end|color|repeat. At start, by the person's clock (or with Z), you "
        "get the prompt as a message; repeat is an RRULE or a cron line. Also CALENDAR_UPDATE:id|title|…, "
        "CALENDAR_DELETE:id, CALENDAR_LIST:",
        rule='When a calendar prompt comes with nothing to tell, answer {"message": ""}. After INTERNAL: the '
        "person gets no reply.",
        example="Example. Person: sum up ../in/feed.txt every Monday at 9\n"
        'You: {"message": "Done.", "panelActions": ["CALENDAR_CREATE:Feed|Sum up ../in/feed.txt.|'
        '2026-03-02T09:00|||FREQ=WEEKLY;BYDAY=MO"]}',
    ),
)
