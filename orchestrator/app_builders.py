"""The builders of the composition root: parts that take more than a line to put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.agents import Agents
from orchestrator.approvals import Approvals
from orchestrator.audit import Audit
from orchestrator.budget import Budget
from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.config import Settings
from orchestrator.cubicles import Cubicles, Install
from orchestrator.delivery.deliveries import Deliveries
from orchestrator.delivery.download_links import DownloadLinks
from orchestrator.delivery.out_watch import OutWatch, WatchedDoors
from orchestrator.delivery.taking import Taking
from orchestrator.delivery.trays import Trays
from orchestrator.disk.metering import Disk
from orchestrator.disk.reserve import Reserve
from orchestrator.errors import Unavailable
from orchestrator.events import Broker
from orchestrator.examine.finding import Finding
from orchestrator.fetch.internet import Internet
from orchestrator.grants import Grants
from orchestrator.home import Home
from orchestrator.live.harbour import Harbour
from orchestrator.llm.keyring import Keyring
from orchestrator.llm.providers import Build, Providers
from orchestrator.llm.proxy import Proxy, Remember
from orchestrator.llm.upstreams.catalog import build_own
from orchestrator.memories.embedder import Embedder
from orchestrator.metrics import Gauges, Metrics
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, Engine, Upstream
from orchestrator.packages.errand import Errands, NoErrands
from orchestrator.packages.outside import Outside
from orchestrator.partial_replies import PartialReplies
from orchestrator.pdf_pages import PdfPages
from orchestrator.people import People
from orchestrator.preferences import Preferences
from orchestrator.previews.changes import AppChanges
from orchestrator.previews.previews import Previews
from orchestrator.prices import Prices
from orchestrator.row_worker import RowWorker
from orchestrator.samples import Samples
from orchestrator.scripts import Scripts
from orchestrator.steps import Steps
from orchestrator.store.database import Store
from orchestrator.summaries import Summaries
from orchestrator.terminals.lines import Lines
from orchestrator.terminals.terminals import Terminals
from orchestrator.thumbnails.photographer import Photographer
from orchestrator.thumbnails.thumbnails import Thumbnails
from orchestrator.turns import Turns
from orchestrator.wake import Waker
from orchestrator.watch import Watch
from orchestrator.workspace import Workspaces


def no_doctor() -> list[Finding]:
    """Where nobody examines. Raises Unavailable."""
    raise Unavailable("Diagnostics are not available here. Run './hermit doctor' in a terminal.")


@dataclass(frozen=True, slots=True)
class Parts:
    """What an app is made from, where tests may put others in."""

    engine: Engine
    image_tag: Callable[[str], str]
    """The image for ``base``, ``studio``, ``courier`` or ``browser``, built first where it is missing."""
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
    errands: Errands = field(default_factory=NoErrands)
    """Who fetches packages."""
    studio: Errands = field(default_factory=NoErrands)
    """Who animates texts, without network."""
    browser: Errands | None = None
    """Who takes pictures of web apps, without network; None where nobody does."""
    pages: Errands | None = None
    """Who draws the pages of PDFs, without network; None where nobody does."""
    lines: Lines | None = None
    """Who lays the lines of terminals; None where there are none."""
    outside: Outside = field(default_factory=Outside)
    """How they get to the indexes of packages."""
    examine: Callable[[], list[Finding]] = no_doctor
    """The doctor's look at every part."""
    embedder: Embedder | None = None
    """The embedding model for memories, where one is set up."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What nearly every noun stands on, for the builders."""

    settings: Settings
    home: Home
    parts: Parts
    store: Store
    broker: Broker
    people: People
    agents: Agents
    workspaces: Workspaces
    budget: Budget
    reserve: Reserve
    grants: Grants


def build_providers(home: Home, parts: Parts, preferences: Preferences) -> Providers:
    """The models' providers, those of the settings and those that were added in the dashboard."""
    return Providers(
        parts.upstreams,
        parts.default_provider,
        Keyring(home.keyring),
        preferences,
        build=parts.build_provider,
        blot=parts.blot,
    )


def build_steps(ground: Ground, approvals: Approvals, turns: Turns, *, ended: Callable[[CubicleKey], None]) -> Steps:
    """What rules on commands, records them, and tells of their ends."""
    return Steps(
        store=ground.store,
        broker=ground.broker,
        agents=ground.agents,
        approvals=approvals,
        grants=ground.grants,
        scripts=Scripts(ground.workspaces),
        outputs=turns.outputs,
        ended=ended,
    )


def build_proxy(ground: Ground, prices: Prices, providers: Providers, *, remember: Remember) -> Proxy:
    """The way to the models."""
    return Proxy(
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


def build_watch(
    turns: Turns,
    cubicles: Cubicles,
    approvals: Approvals,
    agents: Agents,
    waker: Waker,
    *,
    proxy: Proxy,
    tidy: Callable[[], None],
) -> Watch:
    """Who looks after turns, questions and cubicles."""
    return Watch(
        turns=turns,
        cubicles=cubicles,
        approvals=approvals,
        agents=agents,
        wake=waker.wake,
        is_waking=waker.is_waking,
        is_busy=proxy.is_busy,
        tidy=tidy,
    )


def build_disk(
    workspaces: Workspaces,
    reserve: Reserve,
    agents: Agents,
    cubicles: Cubicles,
    turns: Turns,
    *,
    store: Store,
    broker: Broker,
) -> Disk:
    """Who looks after the room on the disk."""
    return Disk(
        workspaces=workspaces,
        reserve=reserve,
        agents=agents,
        cubicles=cubicles,
        turns=turns,
        audit=Audit(store),
        broker=broker,
    )


def build_cubicles(ground: Ground, doors: WatchedDoors, *, check_start: Callable[[CubicleKey], None]) -> Cubicles:
    """The containers, with their doors."""
    return Cubicles(
        install=build_install(ground.home, ground.settings),
        store=ground.store,
        engine=ground.parts.engine,
        workspaces=ground.workspaces,
        doors=doors,
        agents=ground.agents,
        broker=ground.broker,
        image_tag=ground.parts.image_tag,
        check_start=check_start,
    )


def build_outgoing(ground: Ground) -> tuple[Deliveries, Taking, OutWatch]:
    """What leaves ``out/``: the deliveries, who takes files over, and who notices them."""
    home, settings, store, broker = ground.home, ground.settings, ground.store, ground.broker
    workspaces, reserve = ground.workspaces, ground.reserve
    links = DownloadLinks(home.link_key)
    deliveries = Deliveries(store=store, broker=broker, outbox=home.outbox, links=links, base_url=settings.link_url)
    trays = Trays(workspaces, home.outbox)
    taking = Taking(
        store=store,
        trays=trays,
        deliveries=deliveries,
        outbox=home.outbox,
        rates=settings.rates,
        check_room=reserve.check,
    )
    return deliveries, taking, OutWatch(workspaces, taking, tidy=deliveries.tidy)


def build_previews(ground: Ground, harbour: Harbour, turns: Turns) -> Previews:
    """The preview origin, which is told of every turn that ends."""
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
    turns.when_ended(AppChanges(ground.store, previews.apps, ground.workspaces).note)
    return previews


def build_thumbnails(ground: Ground, previews: Previews, turns: Turns) -> tuple[Thumbnails, RowWorker]:
    """Pictures of web apps, and who sees to them."""
    home, parts = ground.home, ground.parts
    photographer = None
    if parts.browser is not None and ground.settings.app_pictures:
        photographer = Photographer(
            parts.browser, ground.workspaces, folder=home.browser, image=lambda: parts.image_tag("browser")
        )
    thumbnails = Thumbnails(
        ground.store, previews.apps, ground.broker, folder=home.thumbnails, photographer=photographer
    )
    turns.when_ended(thumbnails.note)
    return thumbnails, RowWorker("pictures", thumbnails)


def build_pdf_pages(ground: Ground) -> PdfPages:
    """Pages of PDFs, drawn where pictures of apps are taken."""
    home, parts = ground.home, ground.parts
    errands = parts.pages if ground.settings.app_pictures else None
    return PdfPages(errands, ground.workspaces, folder=home.pages, image=lambda: parts.image_tag("browser"))


def build_summaries(ground: Ground, proxy: Proxy, notices: Notices, turns: Turns) -> tuple[Summaries, RowWorker]:
    """What stands for the older parts of conversations, and who sees to it."""
    summaries = Summaries(ground.store, proxy, notices)
    turns.when_ended(summaries.note)
    return summaries, RowWorker("summaries", summaries)


def build_terminals(ground: Ground, cubicles: Cubicles) -> Terminals:
    """Shells for operators. Without the setting none is opened, but those that an earlier run left are still ended."""
    return Terminals(cubicles, Audit(ground.store), ground.parts.lines, folder=ground.home.path / "terminals")


def build_bots(ground: Ground) -> Bots:
    """The registry of bots."""
    settings = ground.settings
    return Bots(
        ground.store,
        ground.agents,
        ground.people,
        ground.broker,
        prove=lambda token: lazy_import.prove(token, settings.telegram_api_url),
        blot=ground.parts.blot,
        trusted_operator=settings.telegram_operator_id,
        has_own_server=settings.has_own_bot_server,
    )


def build_metrics(
    ground: Ground, cubicles: Cubicles, disk_bytes: Callable[[CubicleKey], int | None], samples: Samples
) -> Metrics:
    """The house in numbers."""
    gauges = Gauges(
        running=lambda: samples.running, streams=ground.broker.clients, disk_bytes=disk_bytes, cubicles=cubicles.known
    )
    return Metrics(ground.store, ground.home.path, ground.home.database, gauges)


def build_install(home: Home, settings: Settings) -> Install:
    """Whose containers these are."""
    return Install(
        id=home.install,
        home=str(home.path),
        runtime=settings.runtime,
        is_root=os.geteuid() == 0,
        uid=os.geteuid(),
        gid=os.getegid(),
    )
