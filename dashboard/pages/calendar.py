"""An agent's calendar for the viewer: what is planned and what came of it, with a form for each entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from flask import Blueprint, render_template

from dashboard.auth import require_asker
from dashboard.languages import say, speech, to_say
from dashboard.pages.frame import agent_frame, own_key
from dashboard.rhythms import describe_rhythm
from dashboard.services import get_services
from orchestrator.capabilities.calendar.rows import BY_AGENT, CalendarEntry, EntryStatus, Run, RunResult
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Conversation, CubicleKey
from orchestrator.languages.dates import write_clock, write_date

pages = Blueprint("calendar", __name__)

MOST_RUNS = 50
MOST_PAST = 100
PRESETS = (
    ("", to_say("Once")),
    ("FREQ=DAILY", to_say("Every day")),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", to_say("Every weekday")),
    ("FREQ=WEEKLY", to_say("Every week")),
    ("FREQ=MONTHLY", to_say("Every month")),
    ("FREQ=YEARLY", to_say("Every year")),
)
COLORS = (
    ("", to_say("None")),
    ("tomato", to_say("Red")),
    ("orange", to_say("Orange")),
    ("gold", to_say("Yellow")),
    ("mediumseagreen", to_say("Green")),
    ("teal", to_say("Teal")),
    ("dodgerblue", to_say("Blue")),
    ("mediumpurple", to_say("Violet")),
    ("hotpink", to_say("Pink")),
    ("slategray", to_say("Grey")),
)
"""As calendar apps know them by name, and what people call them."""
LENGTHS = (
    (0, to_say("None")),
    (15, to_say("15 minutes")),
    (30, to_say("Half an hour")),
    (60, to_say("An hour")),
    (120, to_say("2 hours")),
    (240, to_say("4 hours")),
)
CHOICES = {"presets": PRESETS, "colors": COLORS, "lengths": LENGTHS}
"""What the form of a new entry offers."""
_UNTIL = re.compile(r";UNTIL=([0-9]{4})([0-9]{2})([0-9]{2})(?=;|$)")
_SAID = {
    RunResult.CLAIMED: ("running", to_say("about to start")),
    RunResult.RUNNING: ("running", to_say("running")),
    RunResult.DONE: ("ok", to_say("done")),
    RunResult.FAILED: ("bad", to_say("failed")),
    RunResult.STOPPED: ("refused", to_say("stopped")),
    RunResult.MISSED: ("refused", to_say("missed: HermitShell couldn't run it then")),
    RunResult.OVERLAP: ("refused", to_say("skipped: the previous run was still going")),
}


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry."""

    entry: CalendarEntry
    words: str
    """``every weekday at 09:00``."""
    minutes: int
    """How long each time takes; 0 when nobody said."""
    place: Conversation | None
    """Where its next run goes, of the viewer's own."""

    @property
    def by(self) -> str:
        """Who made it."""
        return self.entry.cubicle.agent if self.entry.by == BY_AGENT else self.entry.by

    @property
    def is_paused(self) -> bool:
        """It does not come due until somebody says so."""
        return self.entry.status is EntryStatus.PAUSED

    @property
    def is_ended(self) -> bool:
        """It does not come due any more."""
        return self.entry.status is EntryStatus.ENDED

    @property
    def start_wall(self) -> str:
        """The start by the clock of its zone, as a form's field has it."""
        start = datetime.fromisoformat(self.entry.start)
        wall = start if start.tzinfo is None else start.astimezone(ZoneInfo(self.entry.time_zone))
        return (
            f"{wall.replace(tzinfo=None):%Y-%m-%dT%H:%M}" if len(self.entry.start) > 10 else f"{self.entry.start}T09:00"
        )

    @property
    def lengths(self) -> tuple[tuple[int, str], ...]:
        """How long it may take, its own among them."""
        own = self.minutes
        return LENGTHS if own in dict(LENGTHS) else (*LENGTHS, (own, say("%(count)s minutes", count=own)))

    @property
    def colors(self) -> tuple[tuple[str, str], ...]:
        """Which colours it may have, its own among them."""
        own = self.entry.color
        return COLORS if own in dict(COLORS) else (*COLORS, (own, own))

    @property
    def last_day(self) -> str:
        """The day after which it does not repeat, as a form's field has it."""
        found = _UNTIL.search(self.entry.repeat)
        if found:
            return "-".join(found.groups())
        return self.entry.end[:10] if self.entry.repeat and self.entry.end and not self.minutes else ""

    @property
    def left_out(self) -> list[tuple[str, list[str]]]:
        """The days and times that it leaves out and that are still to come, each in words with the list without it."""
        today = f"{datetime.now(ZoneInfo(self.entry.time_zone)):%Y-%m-%d}"
        every = self.entry.without.split(",") if self.entry.without else []
        return [
            (_left_out_words(one, self.entry.time_zone), [other for other in every if other != one])
            for one in every
            if one >= today
        ]

    def without(self, at: float | None = None) -> list[str]:
        """What it leaves out, with the day of this time of it."""
        known = set(filter(None, self.entry.without.split(",")))
        if at is not None:
            known.add(datetime.fromtimestamp(at, ZoneInfo(self.entry.time_zone)).date().isoformat())
        return sorted(known)

    @property
    def rule(self) -> str:
        """How it repeats, without the last day, which has a field of its own."""
        return _UNTIL.sub("", self.entry.repeat)

    @property
    def is_preset(self) -> bool:
        """How it repeats is one of the common ways."""
        return self.rule in dict(PRESETS)


@dataclass(frozen=True, slots=True)
class RunView:
    """One time that an entry was due."""

    run: Run

    @property
    def sign(self) -> str:
        """Its icon."""
        return _SAID[self.run.outcome][0]

    @property
    def words(self) -> str:
        """What came of it."""
        return say(_SAID[self.run.outcome][1])


@pages.get("/agents/<name>/calendar")
def calendar(name: str) -> str:
    """The whole page."""
    key, framed = own_key(name), agent_frame(name, "calendar")
    has_calendar = "calendar" in framed["agent"].toolsets
    return render_template(
        "calendar.html",
        **framed,
        entries=_entries(key),
        choices=CHOICES,
        has_calendar=has_calendar,
        feed_url=get_services().calendar.feed_url(key),
    )


@pages.get("/parts/calendar/<name>")
def entries(name: str) -> str:
    """What is planned."""
    return render_template(
        "parts/calendar.html", agent=get_services().agents.get(name), entries=_entries(own_key(name))
    )


@pages.get("/agents/<name>/calendar/<id:entry>")
def one(name: str, entry: int) -> str:
    """One entry, what came of it, and a form to change it."""
    view, framed = _own(name, entry), agent_frame(name, "calendar")
    return render_template("entry.html", **framed, view=view, runs=_runs(entry), choices=CHOICES)


@pages.get("/parts/calendar/<name>/<id:entry>")
def one_now(name: str, entry: int) -> str:
    """One entry as it stands."""
    view = _own(name, entry)
    return render_template("parts/entry.html", agent=get_services().agents.get(name), view=view, runs=_runs(entry))


def entry_view(entry: CalendarEntry) -> EntryView:
    """The entry with its words."""
    calendar = get_services().calendar
    lasts = calendar.length_of(entry)
    minutes = 0 if lasts is None else round(lasts.total_seconds() / 60)
    place = calendar.conversation_of(entry) if entry.cubicle.user == require_asker().user.id else None
    return EntryView(entry, describe_rhythm(entry), minutes, place)


def _left_out_words(text: str, zone: str) -> str:
    """``Thu 24 Dec 2026``, with the time where it is one."""
    when = datetime.fromisoformat(text)
    when = when if when.tzinfo is None else when.astimezone(ZoneInfo(zone))
    day = write_date(when, "%a %-d %b %Y", "yMMMEd", speech().language)
    return f"{day}, {write_clock(when, speech().language)}" if len(text) > 10 else day


def _entries(key: CubicleKey) -> list[EntryView]:
    """What comes due first is first, then what is paused; the newest of what has ended last."""
    calendar = get_services().calendar
    found = calendar.list_entries(key.agent, key.user)
    open_ones = [entry for entry in found if entry.status is not EntryStatus.ENDED]
    ended = sorted((e for e in found if e.status is EntryStatus.ENDED), key=lambda e: e.settled_at, reverse=True)
    return [entry_view(entry) for entry in (*open_ones, *ended[:MOST_PAST])]


def _own(name: str, entry: int) -> EntryView:
    """The viewer's entry; raises NotFound."""
    found = get_services().calendar.get_entry(entry)
    if found.cubicle != CubicleKey(name, require_asker().user.id):
        raise NotFound(f"There is no entry {entry} in the calendar.")
    return entry_view(found)


def _runs(entry: int) -> list[RunView]:
    return [RunView(run) for run in get_services().calendar.list_runs(entry, MOST_RUNS)]
