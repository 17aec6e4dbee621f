"""The builders of the composition root: parts that take more than a line to put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.agents.install_settings import Preferences
from orchestrator.agents.users import Users
from orchestrator.agents.waker import Waker
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.notifications import Notifications
from orchestrator.approvals.scripts import ScriptHashes
from orchestrator.apps.pdf_pages import PdfPages
from orchestrator.apps.previews.changed_apps import AppChanges
from orchestrator.apps.previews.previews import Previews
from orchestrator.apps.terminals.terminals import Terminals
from orchestrator.apps.thumbnails.renderer import ThumbnailRenderer
from orchestrator.apps.thumbnails.thumbnails import Thumbnails
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.capabilities.delivery.watcher import OutboxWatcher, WatchedDoors
from orchestrator.capabilities.memory.embedder import Embedder
from orchestrator.capabilities.packages.indexes import PackageIndexes
from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.core.audit import Audit
from orchestrator.core.config import Settings
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.finding import Finding
from orchestrator.core.home import Home
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Upstream
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.engine.protocol import Engine
from orchestrator.files.free_space import Reserve
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.pool import Jobs
from orchestrator.llm.budget import Budget
from orchestrator.llm.key_store import KeyStore
from orchestrator.llm.price_table import Prices
from orchestrator.llm.providers import Build, Providers
from orchestrator.llm.proxy import Proxy, Remember
from orchestrator.llm.upstreams.catalog import build_own
from orchestrator.operations.metrics import Gauges, Metrics
from orchestrator.operations.quota.monitor import QuotaMonitor
from orchestrator.operations.usage_samples import UsageSamples
from orchestrator.operations.watchdog import Watchdog
from orchestrator.turns.partial_replies import PartialReplies
from orchestrator.turns.queue import Turns
from orchestrator.turns.step_approvals import StepApprovals
from orchestrator.turns.steps import Steps
from orchestrator.turns.summaries import Summaries
from orchestrator.web.limits import Internet


def no_doctor() -> list[Finding]:
    """Where nobody examines. Raises Unavailable."""
    raise Unavailable("Diagnostics are not available here. Run './hermit doctor' in a terminal.")


@dataclass(frozen=True, slots=True)
class Edges:
    """What an app is made from, where tests may put others in."""

    engine: Engine
    upstreams: Mapping[str, Upstream]
    default_provider: str
    """Both as the settings say; the operator adds to them in the dashboard."""
    backoff_s: float = 0.5
    build_provider: Build = build_own
    """How a provider is made of a key that was given in the dashboard."""
    internet: Internet = field(default_factory=Internet)
    """What approved downloads come through."""
    blot: Callable[[str], None] = lambda _: None
    """Keeps a text out of the log from now on."""
    outside: PackageIndexes = field(default_factory=PackageIndexes)
    """How couriers get to the indexes of packages."""
    examine: Callable[[], list[Finding]] = no_doctor
    """The doctor's look at every part."""
    embedder: Embedder | None = None
    """The embedding model for memories, where one is set up."""


@dataclass(frozen=True, slots=True)
class AppContext:
    """What nearly every noun stands on, for the builders."""

    settings: Settings
    home: Home
    parts: Edges
    store: Store
    broker: Broker
    hooks: Hooks
    people: Users
    agents: Agents
    workspaces: Workspaces
    notices: Notifications
    budget: Budget
    reserve: Reserve
    grants: Grants


def build_providers(home: Home, parts: Edges, preferences: Preferences) -> Providers:
    """The models' providers, those of the settings and those that were added in the dashboard."""
    return Providers(
        parts.upstreams,
        parts.default_provider,
        KeyStore(home.keyring),
        preferences,
        build=parts.build_provider,
        blot=parts.blot,
    )


def build_steps(ground: AppContext, approvals: StepApprovals, turns: Turns) -> Steps:
    """What rules on commands, and records them."""
    return Steps(
        store=ground.store,
        broker=ground.broker,
        hooks=ground.hooks,
        agents=ground.agents,
        approvals=approvals,
        grants=ground.grants,
        scripts=ScriptHashes(ground.workspaces),
        outputs=turns.outputs,
    )


def build_proxy(ground: AppContext, prices: Prices, providers: Providers, *, remember: Remember) -> Proxy:
    """The way to the models."""
    proxy = Proxy(
        agents=ground.agents,
        budget=ground.budget,
        broker=ground.broker,
        upstreams=providers,
        default_provider=providers.default,
        prices=prices.table,
        backoff_s=ground.parts.backoff_s,
        remember=remember,
        keep=PartialReplies(ground.store).keep,
    )
    for over in (ground.hooks.turn_stopping, ground.hooks.turn_ended):
        over.subscribe(lambda moment: proxy.abort(moment.turn))
    return proxy


def build_watch(
    ground: AppContext,
    turns: Turns,
    cubicles: Cubicles,
    approvals: Approvals,
    waker: Waker,
    *,
    proxy: Proxy,
    tidy: Sequence[Callable[[], None]],
) -> Watchdog:
    """Who looks after turns, questions and cubicles."""
    return Watchdog(
        turns=turns,
        cubicles=cubicles,
        approvals=approvals,
        agents=ground.agents,
        hooks=ground.hooks,
        wake=waker.wake,
        is_waking=waker.is_waking,
        is_busy=proxy.is_busy,
        tidy=tidy,
    )


def build_disk(ground: AppContext, cubicles: Cubicles, turns: Turns) -> QuotaMonitor:
    """Who looks after the room on the disk."""
    return QuotaMonitor(
        workspaces=ground.workspaces,
        reserve=ground.reserve,
        agents=ground.agents,
        cubicles=cubicles,
        turns=turns,
        audit=Audit(ground.store),
        broker=ground.broker,
        hooks=ground.hooks,
    )


def build_cubicles(ground: AppContext, doors: WatchedDoors) -> Cubicles:
    """The containers, with their doors."""
    return Cubicles(
        install=build_install(ground.home, ground.settings),
        store=ground.store,
        engine=ground.parts.engine.cubicles,
        workspaces=ground.workspaces,
        doors=doors,
        agents=ground.agents,
        broker=ground.broker,
        hooks=ground.hooks,
        image_tag=ground.parts.engine.images.ensure_image,
    )


def build_outgoing(ground: AppContext) -> tuple[Deliveries, Intake, OutboxWatcher]:
    """What leaves ``out/``: the deliveries, who takes files over, and who notices them."""
    home, settings, store, broker = ground.home, ground.settings, ground.store, ground.broker
    workspaces, reserve = ground.workspaces, ground.reserve
    links = DownloadLinks(home.link_key)
    deliveries = Deliveries(
        store=store, broker=broker, hooks=ground.hooks, outbox=home.outbox, links=links, base_url=settings.link_url
    )
    trays = OutboxFolders(workspaces, home.outbox)
    taking = Intake(
        store=store,
        trays=trays,
        deliveries=deliveries,
        outbox=home.outbox,
        rates=settings.rates,
        check_room=reserve.check,
    )
    watch = OutboxWatcher(workspaces, taking, tidy=deliveries.remove_old)
    ground.hooks.step_ended.subscribe(lambda ended: watch.command_ended(ended.cubicle))
    ground.hooks.turn_ended.subscribe(lambda ended: watch.turn_ended(ended.cubicle, ended.turn))
    return deliveries, taking, watch


def build_previews(ground: AppContext, harbour: ReverseTunnel) -> Previews:
    """The preview origin, and who notes which apps a turn has changed."""
    settings = ground.settings
    previews = Previews(
        ground.store,
        ground.workspaces,
        harbour,
        people=ground.people,
        agents=ground.agents,
        key=ground.home.link_key,
        address=(settings.host, settings.preview_port),
        configured=settings.preview_url,
        allowed_hosts=settings.allowed_hosts,
    )
    changes = AppChanges(ground.store, previews.apps, ground.workspaces)
    ground.hooks.turn_ended.subscribe(lambda ended: changes.on_turn_end(ended.turn))
    return previews


def build_thumbnails(ground: AppContext, previews: Previews, jobs: Jobs) -> Thumbnails:
    """Pictures of web apps."""
    home, engine = ground.home, ground.parts.engine
    photographer = None
    if ground.settings.app_pictures:
        photographer = ThumbnailRenderer(
            engine.helpers, ground.workspaces, folder=home.browser, image=lambda: engine.images.ensure_image("browser")
        )
    thumbnails = Thumbnails(
        ground.store, previews.apps, ground.broker, jobs, folder=home.thumbnails, photographer=photographer
    )
    ground.hooks.turn_ended.subscribe(lambda ended: thumbnails.on_turn_end(ended.turn))
    return thumbnails


def build_pdf_pages(ground: AppContext, jobs: Jobs) -> PdfPages:
    """Pages of PDFs, drawn where pictures of apps are taken."""
    engine = ground.parts.engine
    helpers = engine.helpers if ground.settings.app_pictures else None
    return PdfPages(
        helpers,
        ground.workspaces,
        ground.store,
        jobs,
        folder=ground.home.pages,
        image=lambda: engine.images.ensure_image("browser"),
    )


def build_summaries(ground: AppContext, proxy: Proxy, jobs: Jobs) -> Summaries:
    """What stands for the older parts of conversations."""
    summaries = Summaries(ground.store, proxy, ground.notices, jobs)
    ground.hooks.turn_ended.subscribe(lambda ended: summaries.note(ended.turn))
    return summaries


def build_terminals(ground: AppContext, cubicles: Cubicles) -> Terminals:
    """Shells for operators. Without the setting none is opened, but those that an earlier run left are still ended."""
    return Terminals(cubicles, Audit(ground.store), ground.parts.engine.exec, folder=ground.home.path / "terminals")


def build_bots(ground: AppContext) -> Bots:
    """The registry of bots."""
    settings = ground.settings
    bots = Bots(
        ground.store,
        ground.agents,
        ground.people,
        ground.broker,
        prove=lambda token: lazy_import.check_token(token, settings.telegram_api_url),
        blot=ground.parts.blot,
        trusted_operator=settings.telegram_operator_id,
        has_own_server=settings.has_own_bot_server,
    )
    ground.hooks.agent_changed.subscribe(bots.on_agent_changed)
    return bots


def build_metrics(ground: AppContext, cubicles: Cubicles, disk: QuotaMonitor, samples: UsageSamples) -> Metrics:
    """The house in numbers."""
    gauges = Gauges(
        running=lambda: samples.running,
        streams=ground.broker.clients,
        disk_bytes=disk.used_bytes,
        cubicles=cubicles.known,
    )
    metrics = Metrics(ground.store, ground.home.path, ground.home.database, gauges)
    ground.hooks.door_called.subscribe(lambda key: metrics.door_request(key.agent))
    return metrics


def build_install(home: Home, settings: Settings) -> InstallId:
    """Whose containers these are."""
    return InstallId(
        id=home.install,
        home=str(home.path),
        runtime=settings.runtime,
        is_root=os.geteuid() == 0,
        uid=os.geteuid(),
        gid=os.getegid(),
    )
