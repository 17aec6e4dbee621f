"""The agents on the first page, each at a glance: what it does now, what comes next and what is new; and what the
calendar has next over all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dashboard.auth import require_asker
from dashboard.languages import say
from dashboard.pages.asking import NAMELESS
from dashboard.pages.views import AgentView
from dashboard.rhythms import describe_rhythm
from dashboard.services import get_services
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.core.models import CubicleKey

MOST_AHEAD = 5
"""Entries of the calendar on the first page."""


@dataclass(frozen=True, slots=True)
class Doing:
    """What an agent does for the viewer just now."""

    words: str
    """``Running``, ``Writing``."""
    command: str = ""
    """The command that runs, where one does."""


@dataclass(frozen=True, slots=True)
class CardView:
    """An agent on its card."""

    view: AgentView
    doing: Doing | None
    ahead: CalendarEntry | None
    """What its calendar has next for the viewer."""


@dataclass(frozen=True, slots=True)
class AheadView:
    """An entry of the calendar that comes due."""

    entry: CalendarEntry

    @property
    def repeats(self) -> str:
        """``every weekday at 09:00``; empty for what comes once."""
        return describe_rhythm(self.entry) if self.entry.repeat else ""


def card_views(agents: Iterable[AgentView]) -> list[CardView]:
    """These agents."""
    services, user = get_services(), require_asker().user.id
    under_way = {key: claim.turn for key, claim in services.turns.list_running()}
    ahead: dict[str, CalendarEntry] = {}
    for entry in _coming_due():
        ahead.setdefault(entry.cubicle.agent, entry)
    return [
        CardView(view, _doing(view, under_way, CubicleKey(view.agent.name, user)), ahead.get(view.agent.name))
        for view in agents
    ]


def next_entries(agents: Collection[str]) -> list[AheadView]:
    """What the calendars of these agents have next for the viewer, in order, each entry once."""
    found = [AheadView(entry) for entry in _coming_due() if entry.cubicle.agent in agents]
    return found[:MOST_AHEAD]


def _doing(view: AgentView, under_way: dict[CubicleKey, int], key: CubicleKey) -> Doing | None:
    if view.waits_for:
        return Doing(say("Waiting for your answer") if view.waits_for == "answer" else say("Waiting for your approval"))
    if key in under_way:
        return _doing_in(under_way[key])
    if not require_asker().is_operator or not any(other.agent == view.agent.name for other in under_way):
        return None
    names = {user.id: user.name for user in get_services().users.list_users()}
    others = sorted({names.get(other.user, NAMELESS) for other in under_way if other.agent == view.agent.name})
    return Doing(say("Working for %(people)s", people=", ".join(others)))


def _doing_in(turn: int) -> Doing:
    step = get_services().turns.get_last_step(turn)
    is_running = step is not None and step.status == "running"
    return Doing(say("Running"), step.command) if step and is_running else Doing(say("Writing"))


def _coming_due() -> list[CalendarEntry]:
    """The viewer's entries that will come due, in order."""
    entries = get_services().calendar.list_entries(None, require_asker().user.id)
    active = [entry for entry in entries if entry.status is EntryStatus.ACTIVE and entry.next_at is not None]
    return sorted(active, key=lambda entry: entry.next_at or 0.0)
