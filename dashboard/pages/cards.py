"""The cards of the first page: each agent at a glance, with what it does now, what comes next and what is new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.auth import require_asker
from dashboard.pages.asking import NAMELESS
from dashboard.pages.views import AgentView, agent_views
from dashboard.services import get_services
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.core.models import CubicleKey


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


def card_views() -> list[CardView]:
    """Every agent."""
    services, user = get_services(), require_asker().user.id
    under_way = {key: claim.turn for key, claim in services.turns.list_running()}
    ahead = _next_of(services.calendar.list_entries(None, user))
    return [
        CardView(view, _doing(view, under_way, CubicleKey(view.agent.name, user)), ahead.get(view.agent.name))
        for view in agent_views()
    ]


def _doing(view: AgentView, under_way: dict[CubicleKey, int], key: CubicleKey) -> Doing | None:
    if view.waits_for:
        return Doing(f"Waiting for your {view.waits_for}")
    if key in under_way:
        return _doing_in(under_way[key])
    if not require_asker().is_operator or not any(other.agent == view.agent.name for other in under_way):
        return None
    names = {user.id: user.name for user in get_services().users.list_users()}
    others = sorted({names.get(other.user, NAMELESS) for other in under_way if other.agent == view.agent.name})
    return Doing(f"Working for {', '.join(others)}")


def _doing_in(turn: int) -> Doing:
    step = get_services().turns.get_last_step(turn)
    is_running = step is not None and step.status == "running"
    return Doing("Running", step.command) if step and is_running else Doing("Writing")


def _next_of(entries: Iterable[CalendarEntry]) -> dict[str, CalendarEntry]:
    """The entry of each agent that comes due first."""
    found: dict[str, CalendarEntry] = {}
    for entry in entries:
        known = found.get(entry.cubicle.agent)
        if entry.status is not EntryStatus.ACTIVE or entry.next_at is None:
            continue
        if known is None or known.next_at is None or entry.next_at < known.next_at:
            found[entry.cubicle.agent] = entry
    return found
