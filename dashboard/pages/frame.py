"""What pages are given beside their own: what stands around every page, and around an agent's the agent and the way
between its pages."""

from __future__ import annotations

from typing import Any

from dashboard.auth import asker
from dashboard.house import services
from dashboard.pages.asking import pending
from dashboard.pages.views import agent_views
from orchestrator.core.models import CubicleKey


def around() -> dict[str, Any]:
    """For `shell.html`: the list of all agents, and what waits for the viewer."""
    return {"agents": agent_views(), "waiting": pending()}


def own_key(name: str) -> CubicleKey:
    """The viewer's own part of an agent; raises NotFound for an unknown one."""
    return CubicleKey(services().agents.get(name).name, asker().user.id)


def frame(name: str, tab: str) -> dict[str, Any]:
    """For `agent.html`; raises NotFound."""
    return {
        "agent": services().agents.get(name),
        "tab": tab,
        **around(),
        "has_terminal": services().settings.terminal and asker().is_operator,
    }
