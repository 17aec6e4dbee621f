"""The builders of the composition root: parts that take more than a line to put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from orchestrator.agents.access import Access
from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.agents.install_settings import InstallSettings
from orchestrator.agents.users import Users
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.notifications import Notifications
from orchestrator.approvals.scripts import ScriptHashes
from orchestrator.apps.page_pictures import PagePictures
from orchestrator.apps.pdf_pages import PdfPages
from orchestrator.apps.previews.changed_apps import AppChanges
from orchestrator.apps.previews.previews import Previews
from orchestrator.apps.sheets import Sheets
from orchestrator.apps.terminals.terminals import Terminals
from orchestrator.apps.thumbnails.renderer import ThumbnailRenderer
from orchestrator.apps.thumbnails.thumbnails import Thumbnails
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.capabilities.delivery.watcher import OutboxWatcher, WatchedDoors
from orchestrator.capabilities.lessons.advice import FailureAdvice
from orchestrator.capabilities.memory.embedder import Embedder
from orchestrator.capabilities.packages.indexes import PackageIndexes
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.checkpoints.checkpoints import Checkpoints
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
from orchestrator.gate.gate import Gates
from orchestrator.gate.traffic_log import TrafficLog
from orchestrator.gate.upstream_proxy import UpstreamProxies
from orchestrator.jobs.pool import Jobs
from orchestrator.llm.budget import Budget
from orchestrator.llm.key_store import KeyStore
from orchestrator.llm.price_table import Prices
from orchestrator.llm.providers import Build, Providers
from orchestrator.llm.proxy import Proxy, Remember
from orchestrator.llm.retry import RetryPolicy
from orchestrator.llm.upstreams.catalog import build_own
from orchestrator.mcp_servers.rows import list_toolsets
from orchestrator.mcp_servers.secrets import McpSecrets
from orchestrator.mcp_servers.servers import McpServers
from orchestrator.operations.metrics import Gauges, Metrics
from orchestrator.operations.proof.proofs import ProofParts, Proofs
from orchestrator.operations.proof.watch import find_address
from orchestrator.operations.quota.monitor import QuotaMonitor
from orchestrator.operations.usage_samples import UsageSamples
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
    """What approved downloads come through, and whatever a gate lets through."""
    blot: Callable[[str], None] = lambda _: None
    """Keeps a text out of the log from now on."""
    outside: PackageIndexes = field(default_factory=PackageIndexes)
    """Which indexes of packages are asked."""
    upstream_proxies: UpstreamProxies = field(default_factory=UpstreamProxies)
    """By which proxies this machine reaches the internet."""
    examine: Callable[[], list[Finding]] = no_doctor
    """The doctor's look at every part."""
    find_address: Callable[[], str] = find_address
    """What address this computer has towards others."""
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
    users: Users
    agents: Agents
    access: Access
    workspaces: Workspaces
    notifications: Notifications
    budget: Budget
    reserve: Reserve
    grants: Grants
    install_settings: InstallSettings
    gates: Gates
    mcp_servers: McpServers


def build_gates(settings: Settings, parts: Edges, store: Store) -> Gates:
    """The way out of helper containers."""
    return Gates(
        parts.internet.network,
        proxies=parts.upstream_proxies,
        named=settings.private_hosts,
        write=TrafficLog(store).write_rows,
    )


def build_agents(store: Store, providers: Providers, hooks: Hooks) -> Agents:
    """The agents. One that is new has every toolset but those of MCP servers."""
    return Agents(store, providers=providers, toolsets=TOOLSETS, hooks=hooks, more_toolsets=list_toolsets)


def build_mcp_servers(
    settings: Settings, home: Home, parts: Edges, store: Store, *, agents: Agents, hooks: Hooks
) -> McpServers:
    """The MCP servers that operators added. Raises ConfigError."""
    secrets = McpSecrets(home.mcp_secrets)
    return McpServers(store, agents, secrets, hooks, private_hosts=settings.private_hosts, blot=parts.blot)


def build_users(settings: Settings, home: Home, store: Store, hooks: Hooks) -> Users:
    """The people, with the tokens that are the operator's whatever the database says."""
    fixed_tokens = (settings.secrets.get("HERMIT_API_TOKEN"), home.command_token)
    return Users(store, fixed_tokens=fixed_tokens, hooks=hooks)


def build_providers(home: Home, parts: Edges, install_settings: InstallSettings) -> Providers:
    """The models' providers, those of the settings and those that were added in the dashboard."""
    return Providers(
        parts.upstreams,
        parts.default_provider,
        KeyStore(home.keyring),
        install_settings,
        build=parts.build_provider,
        blot=parts.blot,
    )


def build_steps(context: AppContext, approvals: StepApprovals, turns: Turns) -> Steps:
    """What rules on commands, and records them."""
    return Steps(
        store=context.store,
        broker=context.broker,
        hooks=context.hooks,
        agents=context.agents,
        approvals=approvals,
        grants=context.grants,
        scripts=ScriptHashes(context.workspaces),
        outputs=turns.outputs,
        advise=FailureAdvice(context.store, lambda agent: "lessons" in context.agents.get(agent).toolsets).on_step_end,
    )


def build_proxy(context: AppContext, prices: Prices, providers: Providers, *, remember: Remember) -> Proxy:
    """The way to the models."""
    proxy = Proxy(
        agents=context.agents,
        budget=context.budget,
        broker=context.broker,
        upstreams=providers,
        default_provider=providers.default,
        prices=prices.get_table,
        retry=RetryPolicy(context.parts.backoff_s),
        remember=remember,
        keep=PartialReplies(context.store).save_reply,
    )
    for over in (context.hooks.turn_stopping, context.hooks.turn_ended):
        over.subscribe(lambda moment: proxy.abort_turn(moment.turn))
    context.hooks.door_closed.subscribe(proxy.abort_door_calls)
    return proxy


def build_disk(context: AppContext, cubicles: Cubicles, turns: Turns) -> QuotaMonitor:
    """Who looks after the room on the disk."""
    return QuotaMonitor(
        workspaces=context.workspaces,
        reserve=context.reserve,
        agents=context.agents,
        cubicles=cubicles,
        turns=turns,
        audit=Audit(context.store),
        broker=context.broker,
        hooks=context.hooks,
    )


def build_cubicles(context: AppContext, doors: WatchedDoors, checkpoints: Checkpoints) -> Cubicles:
    """The containers, with their doors."""
    return Cubicles(
        install=build_install(context.home, context.settings),
        store=context.store,
        engine=context.parts.engine.cubicles,
        workspaces=context.workspaces,
        histories=checkpoints,
        doors=doors,
        agents=context.agents,
        broker=context.broker,
        hooks=context.hooks,
        image_tag=context.parts.engine.images.ensure_image,
    )


def build_outgoing(context: AppContext) -> tuple[Deliveries, Intake, OutboxWatcher]:
    """What leaves ``out/``: the deliveries, who takes files over, and who notices them."""
    home, settings, store, broker = context.home, context.settings, context.store, context.broker
    workspaces, reserve = context.workspaces, context.reserve
    links = DownloadLinks(home.link_key)
    deliveries = Deliveries(
        store=store, broker=broker, hooks=context.hooks, outbox=home.outbox, links=links, base_url=settings.link_url
    )
    out_folders = OutboxFolders(workspaces, home.outbox)
    intake = Intake(
        store=store,
        out_folders=out_folders,
        deliveries=deliveries,
        outbox=home.outbox,
        rates=settings.rates,
        check_room=reserve.check_room,
    )
    watch = OutboxWatcher(workspaces, intake, tidy=deliveries.remove_old)
    context.hooks.step_ended.subscribe(lambda ended: watch.command_ended(ended.cubicle))
    context.hooks.turn_ended.subscribe(lambda ended: watch.turn_ended(ended.cubicle, ended.turn))
    return deliveries, intake, watch


def build_previews(context: AppContext, reverse_tunnel: ReverseTunnel, deliveries: Deliveries) -> Previews:
    """The preview origin, and who notes which apps a turn has changed."""
    settings = context.settings
    previews = Previews(
        context.store,
        context.workspaces,
        reverse_tunnel,
        users=context.users,
        agents=context.agents,
        access=context.access,
        key=context.home.link_key,
        address=(settings.host, settings.preview_port),
        configured=settings.preview_url,
        allowed_hosts=settings.allowed_hosts,
        copy_of=deliveries.copy_for,
    )
    context.hooks.door_closed.subscribe(reverse_tunnel.close_cubicle)
    changes = AppChanges(context.store, previews.apps, context.workspaces)
    context.hooks.turn_ended.subscribe(lambda ended: changes.on_turn_end(ended.turn))
    return previews


def build_thumbnails(context: AppContext, previews: Previews, jobs: Jobs) -> Thumbnails:
    """Pictures of web apps."""
    home, engine = context.home, context.parts.engine
    photographer = None
    if context.settings.app_pictures:
        photographer = ThumbnailRenderer(
            engine.helpers, context.workspaces, folder=home.browser, image=lambda: engine.images.ensure_image("browser")
        )
    thumbnails = Thumbnails(
        context.store, previews.apps, context.broker, jobs, folder=home.thumbnails, photographer=photographer
    )
    context.hooks.turn_ended.subscribe(lambda ended: thumbnails.on_turn_end(ended.turn))
    return thumbnails


def build_terminals(context: AppContext, cubicles: Cubicles) -> Terminals:
    """Terminals in cubicles. Without the setting none is opened, but those that an earlier run left are still ended."""
    return Terminals(
        cubicles,
        Audit(context.store),
        context.parts.engine.exec,
        folder=context.home.path / "terminals",
        on_close=context.hooks.files_changed.fire,
    )


def build_proofs(context: AppContext, cubicles: Cubicles, turns: Turns) -> Proofs:
    """What lets agents try the ways out of their cubicles."""
    home, engine, given = context.home, context.parts.engine, context.settings.secrets
    return Proofs(
        ProofParts(
            store=context.store,
            broker=context.broker,
            agents=context.agents,
            cubicles=cubicles,
            programs=engine.exec,
            facts=engine.facts,
            folder=home.path / "proof",
            doors=home.path / "run",
            keys=lambda: (*given.list_values(), *(own.key for own in KeyStore(home.keyring).list_keys().values())),
            find_address=context.parts.find_address,
            is_busy=lambda key: any(busy == key for busy, _ in turns.list_running()),
        )
    )


class FileViews(TypedDict):
    """What helper containers make of files, to be looked at."""

    pdf_pages: PdfPages
    sheets: Sheets
    page_pictures: PagePictures


def build_views(context: AppContext, jobs: Jobs) -> FileViews:
    """Pages of PDFs and pictures of web pages, made where those of apps are; spreadsheets, read where cubicles run."""
    engine, folder, store = context.parts.engine, context.home.pages, context.store
    drawing = engine.helpers if context.settings.app_pictures else None

    def browser() -> str:
        return engine.images.ensure_image("browser")

    def base() -> str:
        return engine.images.ensure_image("base")

    return {
        "pdf_pages": PdfPages(drawing, context.workspaces, store, jobs, folder=folder, image=browser),
        "sheets": Sheets(engine.helpers, context.workspaces, store, jobs, folder=folder, image=base),
        "page_pictures": PagePictures(drawing, store, jobs, folder=folder, image=browser),
    }


def build_summaries(context: AppContext, proxy: Proxy, jobs: Jobs) -> Summaries:
    """What stands for the older parts of conversations."""
    summaries = Summaries(context.store, proxy, context.notifications, jobs)
    context.hooks.turn_ended.subscribe(lambda ended: summaries.on_turn_end(ended.turn))
    context.hooks.summary_dropped.subscribe(lambda dropped: summaries.on_turn_end(dropped.turn))
    return summaries


def build_bots(context: AppContext) -> Bots:
    """The registry of bots."""
    settings = context.settings
    bots = Bots(
        context.store,
        context.agents,
        context.users,
        context.broker,
        prove=lambda token: lazy_import.check_token(token, settings.telegram_api_url),
        blot=context.parts.blot,
        trusted_operator=settings.telegram_operator_id,
        has_own_server=settings.has_own_bot_server,
    )
    context.hooks.agent_changed.subscribe(bots.on_agent_changed)
    return bots


def build_metrics(context: AppContext, cubicles: Cubicles, disk: QuotaMonitor, samples: UsageSamples) -> Metrics:
    """The install in numbers."""
    gauges = Gauges(
        running=lambda: samples.running,
        streams=context.broker.count_clients,
        disk_bytes=disk.used_bytes,
        cubicles=cubicles.list_cubicles,
    )
    metrics = Metrics(context.store, context.home.path, context.home.database, gauges)
    context.hooks.door_called.subscribe(lambda key: metrics.door_request(key.agent))
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
