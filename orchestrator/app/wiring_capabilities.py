"""The part of the composition root for what agents may set in motion: a builder for each noun, and the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypedDict

from crab.hermit_commands import FILE, CommandList, write_commands
from orchestrator.agents import agent_rows
from orchestrator.agents.publisher import Publisher
from orchestrator.app.wiring import AppContext
from orchestrator.app.wiring_calendar import Calendar
from orchestrator.app.wiring_downloads import build_assets
from orchestrator.app.wiring_mcp import McpNouns
from orchestrator.approvals.approvals import Approvals
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.ask import rows as question_rows
from orchestrator.capabilities.ask.questions import Questions
from orchestrator.capabilities.browser.accesses import BrowserAccesses
from orchestrator.capabilities.browser.browsing import Browsing, PageRequest
from orchestrator.capabilities.browser.browsing_parts import JOB, BrowsingParts
from orchestrator.capabilities.browser.held_files import HeldFiles
from orchestrator.capabilities.browser.kept_logins import KeptLogins
from orchestrator.capabilities.browser.live_view import LiveViewParts, LiveViews
from orchestrator.capabilities.browser.page_looks import AskModel, PageLooks
from orchestrator.capabilities.browser.page_saving import PageSaving
from orchestrator.capabilities.browser.page_secrets import PageSecrets
from orchestrator.capabilities.browser.page_uploads import PageUploads, is_awaited
from orchestrator.capabilities.browser.person_holds import PersonHolds
from orchestrator.capabilities.browser.remote_backend import RemoteBackend, refuse_files
from orchestrator.capabilities.browser.saved_file import SAVE_JOB
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.checkpoint.agent_points import AgentPoints, PointHistory
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.send_file import SendFile
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.capabilities.lessons.lessons import Lessons
from orchestrator.capabilities.memory.memory import Memories
from orchestrator.capabilities.memory.vector_search import VectorSearch
from orchestrator.capabilities.packages.installs import Packages
from orchestrator.capabilities.packages.resolver import PackageResolver
from orchestrator.capabilities.plan.deeds import PlanDeeds
from orchestrator.capabilities.recall.recall import Recall
from orchestrator.capabilities.search.chain import SearchChain
from orchestrator.capabilities.search.engine_keys import SearchEngines
from orchestrator.capabilities.search.searches import Searches
from orchestrator.capabilities.status.report import Space, StatusReport
from orchestrator.capabilities.table import REGISTRY
from orchestrator.capabilities.video.renderer import VideoRenderer
from orchestrator.capabilities.video.videos import Videos
from orchestrator.core.audit import Audit
from orchestrator.core.config import REMOTE_BROWSER
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event, Turn
from orchestrator.engine.browser_sandbox import BrowserSandbox
from orchestrator.jobs.pool import Jobs
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserParts
from orchestrator.llm.key_store import KeyStore
from orchestrator.llm.price_table import Prices
from orchestrator.llm.pricing import price_of
from orchestrator.mcp_servers.checks import McpChecks
from orchestrator.mcp_servers.servers import McpServers
from orchestrator.operations.quota.monitor import QuotaMonitor
from orchestrator.turns.history import History
from orchestrator.turns.plans import Plans
from orchestrator.turns.queue import Turns


class WebServices(TypedDict):
    """What people see and set up of how agents use the web."""

    search_engines: SearchEngines
    search_chain: SearchChain
    page_secrets: PageSecrets
    kept_logins: KeptLogins
    mcp_servers: McpServers
    mcp_checks: McpChecks
    live_views: LiveViews


class Capabilities:
    """Every noun behind the table, with what they need started and stopped."""

    def __init__(
        self,
        context: AppContext,
        approvals: Approvals,
        turns: Turns,
        intake: Intake,
        disk: QuotaMonitor,
        *,
        history: PointHistory,
        ask_model: AskModel,
    ) -> None:
        store, self.mcp_servers = context.store, context.mcp_servers
        self._store, self._approvals, self._disk, self._ask_model = store, approvals, disk, ask_model
        self.calls = Calls(store=store, agents=context.agents)
        self.questions = self._build_questions(context)
        self.memories = self._build_memories(context)
        self.jobs = Jobs(store, context.notifications, finish=self.calls.finish_calls)
        self.packages = self._build_packages(context)
        videos = self._build_videos(context)
        self.search_engines = self._build_search_engines(context)
        self.search_chain = SearchChain(self.search_engines, context.parts.internet)
        self.downloads = build_assets(context, approvals, self.jobs)
        self.browsers, browsing, self.live_views = self._build_browsing(context)
        self._mcp = McpNouns(context, approvals, self.jobs)
        points = AgentPoints(store=store, agents=context.agents, approvals=approvals, jobs=self.jobs, history=history)
        self._calendar = Calendar(context, turns)
        self.calendar = self._calendar.calendar
        sending = SendFile(store=store, intake=intake, jobs=self.jobs)
        offering = (
            self._build_status(context),
            sending,
            self.questions,
            self.memories,
            *self._build_knowledge(context),
            self.packages,
            self.downloads,
            videos,
            points,
            Searches(jobs=self.jobs, chain=self.search_chain),
            browsing,
            self._mcp.deeds,
        )
        deeds = REGISTRY.collect_deeds(*(noun.deeds for noun in offering), self._calendar.handlers.deeds)
        self.calls.set_registry(REGISTRY, deeds)
        self._commands = Publisher(
            FILE, _write_commands, store=store, workspaces=context.workspaces, scratch=context.home.scratch
        )
        context.hooks.cubicle_starting.subscribe(self._commands.publish_now)
        self.notes: tuple[Callable[[Turn], str], ...] = (
            lambda turn: disk.turn_note(turn.cubicle),
            self._calendar.handlers.turn_note,
            self.packages.turn_note,
            self.downloads.turn_note,
            videos.turn_note,
            self._saving.turn_note,
        )
        """What an agent should know at the start of a turn."""

    @property
    def web_services(self) -> WebServices:
        """For the surfaces."""
        return {
            "search_engines": self.search_engines,
            "search_chain": self.search_chain,
            "page_secrets": self.page_secrets,
            "kept_logins": self.kept_logins,
            "mcp_servers": self._mcp.servers,
            "mcp_checks": self._mcp.checks,
            "live_views": self.live_views,
        }

    def start(self) -> None:
        """Workers run, and what a crash left half done is taken up."""
        self.calls.forget_old()
        self.questions.reconcile()
        with self._store.reading() as db:
            cubicles = agent_rows.list_cubicles(db)
        self._commands.start(cubicles)  # another version may have other commands
        self.memories.start()
        self.page_secrets.start()
        self._mcp.start()
        self.browsers.start()
        self.live_views.start()
        self.jobs.start()
        self._calendar.start()

    def stop_for(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Nothing is done any more for cubicles that are being deleted. Raises Unavailable when that takes long."""
        self._approvals.abandon(is_theirs)
        for key in filter(is_theirs, self.browsers.list_alive()):
            self.browsers.end(key)
        self._mcp.end_for(is_theirs)
        self.jobs.await_end(is_theirs)

    def close(self) -> None:
        """Nothing of it runs any more."""
        self._calendar.close()
        self._commands.close()
        self.live_views.close()
        self.jobs.close()
        self.browsers.close()
        self._mcp.close()
        self.memories.close()

    def _build_knowledge(self, context: AppContext) -> tuple[PlanDeeds, Lessons, Recall]:
        store = context.store
        self.plans = Plans(store, context.broker)
        self.lessons = Lessons(store, context.broker, context.notifications)
        recall = Recall(History(store), lambda key: context.users.get(key.user).time_zone)
        return PlanDeeds(self.plans), self.lessons, recall

    def _build_questions(self, context: AppContext) -> Questions:
        return Questions(
            store=context.store,
            agents=context.agents,
            broker=context.broker,
            hooks=context.hooks,
            finish=self.calls.finish_calls,
        )

    def _build_status(self, context: AppContext) -> StatusReport:
        return StatusReport(
            money=context.budget.get_standing,
            space=self._space_of,
            upcoming=self._calendar.next_due,
            toolsets=lambda agent: context.agents.get(agent).toolsets,
            open_questions=question_rows.count_pending,
            commands=self.calls.offered_names,
        )

    def _space_of(self, key: CubicleKey) -> Space | None:
        gauge = self._disk.last_gauge(key)
        return None if gauge is None else Space(gauge.use.bytes, gauge.limit.bytes)

    def _build_memories(self, context: AppContext) -> Memories:
        return Memories(
            store=context.store,
            broker=context.broker,
            hooks=context.hooks,
            agents=context.agents,
            workspaces=context.workspaces,
            scratch=context.home.scratch,
            finish=self.calls.finish_calls,
            meaning=_meaning(context),
        )

    def _build_search_engines(self, context: AppContext) -> SearchEngines:
        settings, blot = context.settings, context.parts.blot
        given = {**settings.secrets.search_keys(), "HERMIT_SEARXNG_URL": settings.searxng_url}
        return SearchEngines(given, KeyStore(context.home.search_keys), context.install_settings, blot=blot)

    def _build_packages(self, context: AppContext) -> Packages:
        parts = context.parts
        return Packages(
            store=context.store,
            agents=context.agents,
            approvals=self._approvals,
            grants=context.grants,
            jobs=self.jobs,
            workspaces=context.workspaces,
            resolver=PackageResolver(
                parts.engine.helpers,
                context.gates,
                folder=context.home.helpers,
                image=lambda: parts.engine.images.ensure_image("resolver"),
                outside=parts.outside,
            ),
            most_an_hour=context.settings.rates.installs_per_hour,
        )

    def _build_browsing(self, context: AppContext) -> tuple[LiveBrowsers[BrowserSession], Browsing, LiveViews]:
        folder, private_hosts = context.home.browsers, context.settings.private_hosts
        self.page_secrets = PageSecrets(
            context.store, context.agents, private_hosts=private_hosts, blot=context.parts.blot
        )
        accesses = BrowserAccesses(
            context.gates,
            allows_static=context.settings.browser_static,
            find_secret=self.page_secrets.use_secret,
        )
        remote = _remote_backend(context, accesses)
        browsers = LiveBrowsers(_browser_parts(context, accesses, self._keep_logins, remote))
        context.hooks.door_closed.subscribe(browsers.end_soon)
        holds = PersonHolds()
        changed = partial(_tell_of_browser, context.broker)
        parts = BrowsingParts(
            context.store,
            context.agents,
            self._approvals,
            context.grants,
            self.jobs,
            context.workspaces,
            browsers,
            accesses,
            holds,
            changed,
            private_hosts,
            remote.address.host if remote else "",
        )
        landing = WorkspaceStore(context.workspaces, context.agents, context.reserve, context.home.path)
        self._saving = PageSaving(parts, landing, HeldFiles(folder / "saved", context.store, SAVE_JOB))
        uploads = PageUploads(parts, HeldFiles(folder / "given", context.store, JOB))
        saves = {"save": self._saving.request} if remote is None else {"save": refuse_files, "upload": refuse_files}
        others: dict[str, PageRequest] = {**saves, "secrets": self.page_secrets.request_list}
        self.kept_logins = KeptLogins(context.store, browsers, accesses, has_private_hosts=bool(private_hosts))
        browsing = Browsing(parts, uploads, self.kept_logins, PageLooks(self._ask_model), others)
        audit = Audit(context.store)
        seen = LiveViewParts(
            browsers,
            accesses,
            holds,
            audit,
            private_hosts,
            changed,
            self.kept_logins,
            browsing.resume_held,
            parts.remote_host,
        )
        return browsers, browsing, LiveViews(seen)

    async def _keep_logins(self, key: CubicleKey, session: BrowserSession) -> None:
        await self.kept_logins.keep_last(key, session)

    def _build_videos(self, context: AppContext) -> Videos:
        parts = context.parts
        return Videos(
            agents=context.agents,
            jobs=self.jobs,
            workspaces=context.workspaces,
            studio=VideoRenderer(
                parts.engine.helpers,
                folder=context.home.studio,
                image=lambda: parts.engine.images.ensure_image("studio"),
            ),
            check_room=context.reserve.check_room,
        )


def _browser_parts(
    context: AppContext,
    accesses: BrowserAccesses,
    keep_last: Callable[[CubicleKey, BrowserSession], Awaitable[None]],
    remote: RemoteBackend | None,
) -> BrowserParts[BrowserSession]:
    engine, folder = context.parts.engine, context.home.browsers
    return BrowserParts(
        engine.helpers,
        folder / "live",
        lambda: engine.images.ensure_image("browser"),
        BrowserSandbox(engine.helpers, folder / "trials").choose_kind,
        accesses.open_gate,
        remote.make_driver if remote else lambda key: BrowserSession(accesses.get_access(key)),
        lambda key: is_awaited(context.store, key),
        keep_last,
        remote.parts if remote else None,
    )


def _remote_backend(context: AppContext, accesses: BrowserAccesses) -> RemoteBackend | None:
    """The browser of somebody else's that the operator named."""
    url = context.settings.secrets.get(REMOTE_BROWSER)
    if not url:
        return None
    return RemoteBackend(
        RemoteAddress(url),
        context.parts.internet,
        context.home.browsers / "remote.json",
        get_access=accesses.get_access,
        private_hosts=context.settings.private_hosts,
    )


def _tell_of_browser(broker: Broker, key: CubicleKey) -> None:
    broker.publish(Event("browser", key, {"agent": key.agent}))


def _write_commands(_: CubicleKey, path: Path) -> None:
    path.write_text(write_commands(CommandList(REGISTRY.commands)), encoding="utf-8")


def _meaning(context: AppContext) -> VectorSearch | None:
    """What finds memories by their meaning, where an embedding model is set up. Only then numpy is loaded."""
    embedder = context.parts.embedder
    if embedder is None:
        return None
    near = import_module("orchestrator.capabilities.memory.numpy_index").Nearest(context.store, embedder.model)
    prices = Prices(context.home.prices)
    return VectorSearch(
        embedder,
        near,
        store=context.store,
        agents=context.agents,
        budget=context.budget,
        price=lambda provider, model: price_of(provider, model, prices.get_table()),
    )
