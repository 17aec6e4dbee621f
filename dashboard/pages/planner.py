"""The calendar of all agents: a month, a week or a list of days by the viewer's clock, with what is planned and what
came of it. Everybody sees their own entries; an operator may look at everybody's."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import Blueprint, render_template, request

from dashboard import ages
from dashboard.auth import own_agents, require_asker
from dashboard.languages import say, say_many, speech, to_say
from dashboard.pages.calendar import CHOICES, EntryView, RunView, entry_view
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.capabilities.calendar.day_view import FIRST, LAST, CalendarDay, CalendarScope, DayItem
from orchestrator.languages.dates import write_clock, write_date

pages = Blueprint("planner", __name__)

VIEWS = (("month", to_say("Month")), ("week", to_say("Week")), ("list", to_say("List")))
LIST_DAYS = 14
MOST = {"month": 3, "week": 12, "list": 40}
"""How many things of a day are shown."""
MOST_OF_A_DAY = 60
"""Of the day that is chosen in a month."""
_PATH = "/calendar"


@dataclass(frozen=True, slots=True)
class PlannerQuery:
    """What the address asks for."""

    view: str
    at: date
    everybody: bool
    agent: str

    @property
    def first(self) -> date:
        """The first day that is shown."""
        if self.view == "list":
            return self.at
        start = self.at.replace(day=1) if self.view == "month" else self.at
        return start - timedelta(days=start.weekday())

    @property
    def count(self) -> int:
        """How many days are shown."""
        if self.view != "month":
            return 7 if self.view == "week" else LIST_DAYS
        return -(-(self.next_at.replace(day=1) - self.first).days // 7) * 7

    @property
    def last(self) -> date:
        """The last day that is shown."""
        return self.first + timedelta(days=self.count - 1)

    @property
    def next_at(self) -> date:
        """A day of what comes after."""
        if self.view == "month":
            return (self.at.replace(day=28) + timedelta(days=4)).replace(day=1)
        return self.at + timedelta(days=7 if self.view == "week" else LIST_DAYS)

    @property
    def previous_at(self) -> date:
        """A day of what came before."""
        if self.view == "month":
            return (self.at.replace(day=1) - timedelta(days=1)).replace(day=1)
        return self.at - timedelta(days=7 if self.view == "week" else LIST_DAYS)

    @property
    def title(self) -> str:
        """Which time it is."""
        if self.view == "month":
            return write_date(self.at, "%B %Y", "yMMMM", speech().language)
        language, is_one_year = speech().language, self.first.year == self.last.year
        begin = write_date(
            self.first, "%-d %b" if is_one_year else "%-d %b %Y", "MMMd" if is_one_year else "yMMMd", language
        )
        return f"{begin} – {write_date(self.last, '%-d %b %Y', 'yMMMd', language)}"

    def url(self, view: str = "", at: date | None = None) -> str:
        """The same elsewhere, or otherwise."""
        given = {"view": view or self.view, "at": str(at or self.at)}
        given |= {"agent": self.agent} if self.agent else {}
        return f"{_PATH}?{urlencode(given | ({'who': 'all'} if self.everybody else {}))}"

    @property
    def part(self) -> str:
        """Where what is shown is made again."""
        return self.url().replace(_PATH, "/parts/planner", 1)


@dataclass(frozen=True, slots=True)
class ItemView:
    """An entry on a day."""

    item: DayItem
    entry: EntryView
    zone: str
    whose: str
    """The person, where it is another one's."""

    @property
    def clock(self) -> str:
        """``09:00`` by the viewer's clock, and until when."""
        if self.run or not self.entry.minutes:
            return self.begin
        end = self.item.at + timedelta(minutes=self.entry.minutes)
        return f"{self.begin}–{write_clock(end.astimezone(ZoneInfo(self.zone)), speech().language)}"

    @property
    def begin(self) -> str:
        """``09:00`` by the viewer's clock."""
        return write_clock(self.item.at.astimezone(ZoneInfo(self.zone)), speech().language)

    @property
    def exact(self) -> str:
        """The whole of it, for whoever asks."""
        return ages.format_exact(self.item.at.timestamp(), self.zone, speech())

    @property
    def times(self) -> str:
        """How often on this day; empty for once."""
        return f"{self.item.count}{'+' * self.item.is_more}" if self.item.count > 1 or self.item.is_more else ""

    @property
    def run(self) -> RunView | None:
        """What came of it."""
        return None if self.item.run is None else RunView(self.item.run)

    @property
    def url(self) -> str:
        """Where there is more about it; empty for what is another person's."""
        entry, run = self.item.entry, self.item.run
        home = f"/agents/{entry.cubicle.agent}"
        if self.whose:
            return ""
        return f"{home}/calendar/{entry.id}" if run is None or run.turn is None else f"{home}/turns/{run.turn}"

    @property
    def end_wall(self) -> str:
        """Its end by the clock of its zone; empty when it has none."""
        minutes = self.entry.minutes
        if not minutes:
            return ""
        return (datetime.fromisoformat(self.entry.start_wall) + timedelta(minutes=minutes)).isoformat("T", "minutes")

    @property
    def is_movable(self) -> bool:
        """It can be put on another day."""
        return not self.whose and self.item.run is None


@dataclass(frozen=True, slots=True)
class DayView:
    """A day with what is on it."""

    day: CalendarDay
    items: tuple[ItemView, ...]
    is_today: bool
    is_past: bool

    @property
    def words(self) -> str:
        """``Monday 23 November``."""
        return write_date(self.day.day, "%A %-d %B", "MMMMEEEEd", speech().language)

    @property
    def count(self) -> str:
        """``3 entries``, for whoever doesn't see them."""
        total = self.day.total
        return say_many("%(count)s entry", "%(count)s entries", total) if total else say("nothing")


@pages.get(_PATH)
def planner() -> str:
    """The whole page."""
    wanted = _wanted()
    return render_template(
        "planner.html",
        **shell_frame(),
        views=VIEWS,
        choices=CHOICES,
        known_agents=[agent.name for agent in own_agents()],
        **_shown(wanted),
    )


@pages.get("/parts/planner")
def planner_now() -> str:
    """The days as they stand."""
    return render_template("parts/planner.html", views=VIEWS, **_shown(_wanted()))


def _shown(wanted: PlannerQuery) -> dict[str, object]:
    who, calendar = require_asker().user, get_services().calendar
    scope = CalendarScope(wanted.agent or None, None if wanted.everybody else who.id)
    found = calendar.view_days(scope, who.time_zone, wanted.first, wanted.count, most_a_day=MOST[wanted.view])
    chosen = None
    if wanted.view == "month":
        chosen = calendar.view_days(scope, who.time_zone, wanted.at, 1, most_a_day=MOST_OF_A_DAY).days[0]
    names = {user.id: user.name for user in get_services().users.list_users()} if wanted.everybody else {}
    days = [_day(day, names) for day in found.days]
    paused = [entry for entry in calendar.list_paused(scope) if entry.cubicle.user == who.id]
    return {
        "wanted": wanted,
        "days": days,
        "chosen": None if chosen is None else _day(chosen, names),
        "paused": [entry_view(entry) for entry in paused],
        "is_cut": found.is_cut,
        "today": _today(),
    }


def _day(day: CalendarDay, names: dict[int, str]) -> DayView:
    who, today = require_asker().user, _today()
    views: dict[int, EntryView] = {}
    for item in day.items:
        views.setdefault(item.entry.id, entry_view(item.entry))
    items = tuple(
        ItemView(
            item,
            views[item.entry.id],
            who.time_zone,
            "" if item.entry.cubicle.user == who.id else names.get(item.entry.cubicle.user, "somebody else"),
        )
        for item in day.items
    )
    return DayView(day, items, day.day == today, day.day < today)


def _wanted() -> PlannerQuery:
    view = request.args.get("view", "")
    agent = request.args.get("agent", "")[:64]
    is_known = any(known.name == agent for known in own_agents())
    found = PlannerQuery(
        view=view if view in MOST else "month",
        at=_date(request.args.get("at", "")) or _today(),
        everybody=require_asker().is_operator and request.args.get("who") == "all",
        agent=agent if is_known else "",
    )
    return found if FIRST <= found.at <= LAST else replace(found, at=_today())


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _today() -> date:
    return datetime.fromtimestamp(time.time(), UTC).astimezone(ZoneInfo(require_asker().user.time_zone)).date()
