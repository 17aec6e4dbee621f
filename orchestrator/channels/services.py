"""What the dashboard may call beside what every surface may: who uses which chat app, and the bots there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.channels.chat.contact_rows import KnownStranger
from orchestrator.channels.push.channel import PushChannel
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.core.models import User
from orchestrator.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardServices(Services):
    """The install, for its dashboard."""

    bots: Bots
    push: PushChannel
    strangers: Callable[[], list[KnownStranger]]
    """Who wrote to a bot and waits for the operator's word, newest first."""
    decide_stranger: Callable[[str, int, str, User], User | None]
    """An agent, a stranger's number, ``allow``, ``ignore`` or ``block``, and who says so; the member, where there is
    one now. Raises Forbidden, NotFound, Conflict."""
    webhooks: Mapping[str, Callable[[str, dict[str, Any]], None]]
    """By channel: take over an update that the app posted for this agent's bot; it is on disk when this returns. Raises
    Unavailable, and the app posts it again."""
