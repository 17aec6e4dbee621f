"""What surfaces (dashboard, API, chat apps) may call. A frozen bundle without behaviour; ``app`` fills it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.agents.access import Access
from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.agents.install_settings import InstallSettings
from orchestrator.agents.oidc.logins import OidcLogins
from orchestrator.agents.passkeys import Passkeys
from orchestrator.agents.second_factors import SecondFactors
from orchestrator.agents.users import Users
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.notifications import Notifications
from orchestrator.apps.page_pictures import PagePictures
from orchestrator.apps.pdf_pages import PdfPages
from orchestrator.apps.previews.previews import Previews
from orchestrator.apps.sheets import Sheets
from orchestrator.apps.terminals.terminals import Terminals
from orchestrator.apps.thumbnails.thumbnails import Thumbnails
from orchestrator.capabilities.ask.questions import Questions
from orchestrator.capabilities.browser.kept_logins import KeptLogins
from orchestrator.capabilities.browser.live_view import LiveViews
from orchestrator.capabilities.browser.page_secrets import PageSecrets
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.downloads.downloads import DownloadRequests
from orchestrator.capabilities.lessons.lessons import Lessons
from orchestrator.capabilities.memory.memory import Memories
from orchestrator.capabilities.packages.installs import Packages
from orchestrator.capabilities.search.chain import SearchChain
from orchestrator.capabilities.search.engine_keys import SearchEngines
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.core.audit import Audit
from orchestrator.core.config import Settings
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey
from orchestrator.files.folder_looks import FolderLooks
from orchestrator.files.workspace import Workspaces
from orchestrator.llm.budget import Budget
from orchestrator.llm.price_table import Prices
from orchestrator.llm.provider_check import ProviderCheck
from orchestrator.llm.providers import Providers
from orchestrator.mcp_servers.checks import McpChecks
from orchestrator.mcp_servers.servers import McpServers
from orchestrator.operations.agent_import.imports import Imports
from orchestrator.operations.backup.backups import Backups
from orchestrator.operations.backup.schedule import BackupSchedule
from orchestrator.operations.doctor.runner import DoctorRunner
from orchestrator.operations.metrics import Metrics
from orchestrator.operations.new_version import VersionWatch
from orchestrator.operations.proof.proofs import Proofs
from orchestrator.operations.quota.monitor import QuotaMonitor
from orchestrator.operations.recaps import Recaps
from orchestrator.operations.undo import Undo
from orchestrator.operations.usage_samples import UsageSamples
from orchestrator.turns.branches import Branches
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.history import History
from orchestrator.turns.plans import Plans
from orchestrator.turns.queue import Turns
from orchestrator.turns.read_marks import ReadMarks
from orchestrator.turns.restores import Restores


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
    """What the surfaces of an install may call."""

    settings: Settings
    users: Users
    second_factors: SecondFactors
    passkeys: Passkeys
    oidc: OidcLogins
    agents: Agents
    access: Access
    """Who may use which agent: every surface asks it."""
    turns: Turns
    plans: Plans
    conversations: Conversations
    branches: Branches
    checkpoints: Checkpoints
    restores: Restores
    undo: Undo
    files_changed: Callable[[CubicleKey], None]
    """A person has changed something in a workspace."""
    history: History
    prestart: Callable[[CubicleKey], None]
    """Has a cubicle up ahead of a message."""
    approvals: Approvals
    grants: Grants
    cubicles: Cubicles
    quota: QuotaMonitor
    usage_samples: UsageSamples
    budget: Budget
    prices: Prices
    audit: Audit
    workspaces: Workspaces
    folder_looks: FolderLooks
    broker: Broker
    notifications: Notifications
    previews: Previews
    thumbnails: Thumbnails
    pdf_pages: PdfPages
    sheets: Sheets
    page_pictures: PagePictures
    terminals: Terminals
    live_views: LiveViews
    calendar: CalendarEntries
    downloads: DownloadRequests
    packages: Packages
    page_secrets: PageSecrets
    kept_logins: KeptLogins
    mcp_servers: McpServers
    mcp_checks: McpChecks
    memories: Memories
    lessons: Lessons
    questions: Questions
    deliveries: Deliveries
    read_marks: ReadMarks
    recaps: Recaps
    is_settling: Callable[[CubicleKey], bool]
    """Something in the cubicle's ``out/`` is on its way to becoming a delivery."""
    version_watch: VersionWatch
    doctor: DoctorRunner
    proofs: Proofs
    backups: Backups
    backup_schedule: BackupSchedule
    imports: Imports
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
    provider_check: ProviderCheck
    search_engines: SearchEngines
    search_chain: SearchChain
    install_settings: InstallSettings
    metrics: Metrics
