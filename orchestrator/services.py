"""What surfaces (dashboard, API, chat apps) may call. A frozen bundle without behaviour; ``app`` fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.agenda.agenda import Agenda
from orchestrator.agents import Agents
from orchestrator.approvals import Approvals
from orchestrator.assets.assets import Assets
from orchestrator.audit import Audit
from orchestrator.backup.keeping import Backups
from orchestrator.budget import Budget
from orchestrator.channels.chat.contact_rows import KnownStranger
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.checkups import Checkups
from orchestrator.config import Settings
from orchestrator.cubicles import Cubicles
from orchestrator.delivery.deliveries import Deliveries
from orchestrator.disk.metering import Disk
from orchestrator.events import Broker
from orchestrator.grants import Grants
from orchestrator.history import History
from orchestrator.llm.providers import Providers
from orchestrator.llm.trials import Trials
from orchestrator.memories.memory import Memories
from orchestrator.metrics import Metrics
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, User
from orchestrator.packages.installations import Packages
from orchestrator.pdf_pages import PdfPages
from orchestrator.people import People
from orchestrator.preferences import Preferences
from orchestrator.previews.previews import Previews
from orchestrator.prices import Prices
from orchestrator.questions import Questions
from orchestrator.samples import Samples
from orchestrator.seen import Seen
from orchestrator.terminals.terminals import Terminals
from orchestrator.thumbnails.thumbnails import Thumbnails
from orchestrator.turns import Turns
from orchestrator.workspace import Workspaces


@dataclass(frozen=True, slots=True)
class Health:
    """How the parts are."""

    engine: str
    """``ok``, or one sentence that says what is wrong."""
    database: str
    doors: str

    @property
    def is_ok(self) -> bool:
        """Messages can be answered."""
        return self.engine == self.database == self.doors == "ok"


@dataclass(frozen=True, slots=True)
class Services:
    """The house, for its surfaces."""

    settings: Settings
    people: People
    agents: Agents
    turns: Turns
    history: History
    rouse: Callable[[CubicleKey], None]
    """Has a cubicle up ahead of a message."""
    approvals: Approvals
    grants: Grants
    cubicles: Cubicles
    disk: Disk
    samples: Samples
    budget: Budget
    prices: Prices
    audit: Audit
    workspaces: Workspaces
    broker: Broker
    bots: Bots
    notices: Notices
    previews: Previews
    thumbnails: Thumbnails
    pdf_pages: PdfPages
    terminals: Terminals
    agenda: Agenda
    assets: Assets
    packages: Packages
    memories: Memories
    questions: Questions
    deliveries: Deliveries
    seen: Seen
    is_settling: Callable[[CubicleKey], bool]
    """Something in the cubicle's ``out/`` is on its way to becoming a delivery."""
    strangers: Callable[[], list[KnownStranger]]
    """Who wrote to a bot and waits for the operator's word, newest first."""
    decide_stranger: Callable[[str, int, str, User], User | None]
    """An agent, a stranger's number, ``allow``, ``ignore`` or ``block``, and who says so; the member, where there is
    one now. Raises Forbidden, NotFound, Conflict."""
    checkups: Checkups
    backups: Backups
    webhooks: Mapping[str, Callable[[str, dict[str, Any]], None]]
    """By channel: take over an update that the app posted for this agent's bot; it is on disk when this returns. Raises
    Unavailable, and the app posts it again."""
    health: Callable[[], Health]
    remove_agent: Callable[[str], None]
    """An agent with its cubicles, doors and workspaces is gone; raises NotFound."""
    remove_user: Callable[[int], None]
    """A person with every cubicle of theirs is gone; raises NotFound, or Conflict for the operator."""
    log_text: Callable[[Any], str]
    """The end of a cubicle's own log, by its key."""
    models: Callable[[], dict[str, Any]]
    """``{"default": provider, "providers": [{"name", "default_model"}]}``: which models there are to choose from."""
    providers: Providers
    trials: Trials
    preferences: Preferences
    metrics: Metrics
