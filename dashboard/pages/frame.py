"""What pages are given beside their own: what stands around every page, and around an agent's the agent and the way
between its pages."""

from __future__ import annotations

from typing import Any

from dashboard.auth import require_asker
from dashboard.diagrams import hold_diagrams
from dashboard.pages.asking import pending
from dashboard.pages.views import agent_views
from dashboard.services import get_services
from orchestrator.core.models import CubicleKey


def shell_frame() -> dict[str, Any]:
    """For `shell.html`: the list of all agents, what waits for the viewer, and where diagrams are drawn: all pages have
    one policy, so that one can go from one to the other without loading it anew."""
    return {"agents": agent_views(), "waiting": pending(), "diagram_frame": hold_diagrams()}


def own_key(name: str) -> CubicleKey:
    """The viewer's own part of an agent; raises NotFound for an unknown one."""
    return CubicleKey(get_services().agents.get(name).name, require_asker().user.id)


def agent_frame(name: str, tab: str) -> dict[str, Any]:
    """For `agent.html`; raises NotFound."""
    return {
        "agent": get_services().agents.get(name),
        "tab": tab,
        **shell_frame(),
        "has_terminal": get_services().settings.terminal and require_asker().is_operator,
    }
