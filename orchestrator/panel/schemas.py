"""The one table of panel actions: name → what it holds, in which order, what of it is needed and how long it may be.

Whoever offers the same actions in another way, such as a command inside the cubicle, reads this table too; a new action
is a line here and a class in ``actions``.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.panel.actions import (
    Action,
    Ask,
    AssetRequest,
    CalendarCreate,
    CalendarDelete,
    CalendarList,
    CalendarUpdate,
    Clawmotion,
    Install,
    MemoryAdd,
    MemoryDelete,
    MemorySearch,
    Send,
    Status,
)
from orchestrator.panel.kinds import Kind


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an action, as a model names it."""

    name: str
    kind: Kind
    help: str
    """A few words for who fills it in."""
    max_chars: int = 200
    is_required: bool = False
    may_clear: bool = False
    """A ``-`` empties it, where an empty text leaves it as it is."""

    @property
    def attribute(self) -> str:
        """Its name in the action's class."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


@dataclass(frozen=True, slots=True)
class Schema:
    """One action: its name, its class, and its fields in the order of the text form."""

    name: str
    build: Callable[..., Action]
    """Its class, by the fields' attributes."""
    fields: tuple[Field, ...]
    is_panel: bool = True
    """It may stand in an answer's ``panelActions``; otherwise it is a command alone."""

    @property
    def form(self) -> str:
        """How it is written, e.g. ``ASSET_REQUEST:description|url|[file_type]``."""
        return f"{self.name}:" + "|".join(f.name if f.is_required else f"[{f.name}]" for f in self.fields)


_TITLE = "what it is called in the calendar"
_PROMPT = "what you are told to do then"
_START = "when: 2026-02-28T09:00 is the person's own clock, with Z or an offset it is that moment"
_END = "when it ends, for show"
_COLOR = "a name, or #rrggbb"
_REPEAT = "an RRULE such as FREQ=WEEKLY;BYDAY=MO, or a cron line such as 0 9 * * 1"

_TABLE = (
    Schema(
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
    ),
    Schema(
        "CALENDAR_UPDATE",
        CalendarUpdate,
        (
            Field("id", Kind.ID, "the entry's number", is_required=True),
            Field("title", Kind.LINE, _TITLE),
            Field("prompt", Kind.TEXT, _PROMPT, max_chars=4000),
            Field("start", Kind.WHEN, _START, max_chars=40),
            Field("end", Kind.WHEN, _END, max_chars=40, may_clear=True),
            Field("color", Kind.COLOR, _COLOR, max_chars=20, may_clear=True),
            Field("repeat", Kind.LINE, _REPEAT, max_chars=300, may_clear=True),
        ),
    ),
    Schema("CALENDAR_DELETE", CalendarDelete, (Field("id", Kind.ID, "the entry's number", is_required=True),)),
    Schema(
        "CALENDAR_LIST",
        CalendarList,
        (
            Field("from", Kind.WHEN, "entries from then on", max_chars=40),
            Field("to", Kind.WHEN, "entries until then", max_chars=40),
        ),
    ),
    Schema(
        "ASSET_REQUEST",
        AssetRequest,
        (
            Field("description", Kind.TEXT, "what it is and what for", max_chars=500, is_required=True),
            Field("url", Kind.URL, "the whole address", max_chars=2000, is_required=True),
            Field("file_type", Kind.FILE_TYPE, "such as pdf", max_chars=100),
        ),
    ),
    Schema("MEMORY_ADD", MemoryAdd, (Field("text", Kind.TEXT, "one fact", max_chars=2000, is_required=True),)),
    Schema("MEMORY_DELETE", MemoryDelete, (Field("id", Kind.ID, "the memory's number", is_required=True),)),
    Schema(
        "CLAWMOTION",
        Clawmotion,
        (
            Field("prompt", Kind.TEXT, "what the video shows", max_chars=4000, is_required=True),
            Field("duration", Kind.SECONDS, "how long it is", max_chars=20, is_required=True),
            Field("output_file", Kind.FILE_NAME, "a name such as intro.mp4", max_chars=100),
        ),
    ),
    Schema(
        "MEMORY_SEARCH",
        MemorySearch,
        (
            Field("query", Kind.LINE, "what it is about; nothing lists the newest", max_chars=500),
            Field("limit", Kind.COUNT, "the most to find", max_chars=5),
        ),
        is_panel=False,
    ),
    Schema(
        "ASK",
        Ask,
        (
            Field("question", Kind.TEXT, "what the person is asked", max_chars=1000, is_required=True),
            Field("choices", Kind.LINES, "the answers to choose from, commas between them", max_chars=60),
            Field("free_text", Kind.FLAG, "whether the person may write something else", max_chars=5),
            Field("timeout", Kind.COUNT, "seconds to wait", max_chars=7),
        ),
        is_panel=False,
    ),
    Schema(
        "SEND",
        Send,
        (
            Field("file", Kind.LINE, "its path", max_chars=1000, is_required=True),
            Field("caption", Kind.TEXT, "a line to go with it", max_chars=900),
        ),
        is_panel=False,
    ),
    Schema(
        "INSTALL",
        Install,
        (
            Field("system", Kind.SYSTEM, "pip or npm", max_chars=10, is_required=True),
            Field(
                "packages", Kind.LINES, "NAME or NAME==VERSION, commas between them", max_chars=200, is_required=True
            ),
        ),
        is_panel=False,
    ),
    Schema("STATUS", Status, (), is_panel=False),
)

SCHEMAS: Mapping[str, Schema] = MappingProxyType({schema.name: schema for schema in _TABLE})
BY_CLASS: Mapping[object, Schema] = MappingProxyType({schema.build: schema for schema in _TABLE})
