"""The calendar as its agent may read it: what goes into ``data/calendar.db``. Nobody reads that file back."""

from __future__ import annotations

from pathlib import Path

from orchestrator.capabilities.calendar import published_db as calendar_file
from orchestrator.capabilities.calendar.entries import MOST_AHEAD, CalendarEntries
from orchestrator.capabilities.calendar.notifications import CalendarNotifications
from orchestrator.core.models import CubicleKey

NAME = "calendar.db"
RUNS_EACH = 20
_NOTE = (
    "A copy that HermitShell writes, with what comes due in the next 60 days. Changing it changes nothing: use the "
    "panel actions CALENDAR_CREATE, CALENDAR_UPDATE and CALENDAR_DELETE, or `hermit calendar`."
)


class PublishedCalendar:
    """Builds the file."""

    def __init__(self, calendar: CalendarEntries, announcer: CalendarNotifications) -> None:
        self._calendar = calendar
        self._announcer = announcer

    def build(self, key: CubicleKey, path: Path) -> None:
        """Write the cubicle's calendar to ``path``."""
        entries = self._calendar.list_entries(key.agent, key.user)
        calendar_file.write_calendar(
            path,
            [(entry, self._calendar.describe_entry(entry)) for entry in entries],
            self._calendar.list_upcoming(agent=key.agent, user=key.user, limit=MOST_AHEAD),
            [run for entry in entries for run in self._calendar.list_runs(entry.id, RUNS_EACH)],
            about={"note": _NOTE, "time_zone": self._announcer.zone_of(key)},
        )
