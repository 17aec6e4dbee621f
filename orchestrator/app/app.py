"""The composition root: the one place that names concrete classes. It starts the parts in order and stops them in
reverse."""

from __future__ import annotations

import logging

from dashboard.app import MAX_BODY_BYTES, create_app
from orchestrator.agents.access import Access
from orchestrator.agents.agents import Agents
from orchestrator.agents.install_settings import InstallSettings
from orchestrator.agents.users import Users
from orchestrator.agents.waker import Waker
from orchestrator.app.wiring import (
    AppContext,
    Edges,
    build_agents,
    build_bots,
    build_cubicles,
    build_disk,
    build_gates,
    build_mcp_servers,
    build_metrics,
    build_outgoing,
    build_previews,
    build_providers,
    build_proxy,
    build_steps,
    build_summaries,
    build_terminals,
    build_thumbnails,
    build_users,
    build_views,
)
from orchestrator.app.wiring_capabilities import Capabilities
from orchestrator.app.wiring_history import WorkspaceHistory, build_checkpoints
from orchestrator.app.wiring_logins import build_logins
from orchestrator.app.wiring_push import build_push
from orchestrator.app.wiring_upkeep import build_upkeep
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.lock_files import LockFiles
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.browser.page_looks import LOOK_WITHIN_S
from orchestrator.capabilities.delivery.watcher import WatchedDoors
from orchestrator.channels.chat.contact_rows import KnownStranger
from orchestrator.channels.services import DashboardServices
from orchestrator.channels.telegram.channel import TelegramChannel
from orchestrator.core.audit import Audit
from orchestrator.core.config import Settings
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError, Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.home import Home
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, Event, ModelRequest, User
from orchestrator.core.ports import open_listener
from orchestrator.door.api import DoorContext, add_door_routes
from orchestrator.door.http.server import HttpServer, ServerLimits
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import DoorRoutes
from orchestrator.door.sockets import DoorSockets
from orchestrator.files.folder_looks import FolderLooks
from orchestrator.files.free_space import Reserve
from orchestrator.files.models import MOST_FILE_BYTES
from orchestrator.files.workspace import Workspaces
from orchestrator.languages.answering import language_note
from orchestrator.llm.budget import Budget
from orchestrator.llm.budget_notifications import BudgetNotifications
from orchestrator.llm.price_table import Prices
from orchestrator.llm.provider_check import ProviderCheck
from orchestrator.operations.closing import Closing
from orchestrator.operations.deletion import Deletion
from orchestrator.operations.idle_stop import IdleStop
from orchestrator.operations.recaps import Recaps
from orchestrator.operations.retention import Retention
from orchestrator.operations.usage_samples import UsageSamples
from orchestrator.operations.watchdog import Watchdog
from orchestrator.services import Health
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.history import History
from orchestrator.turns.queue import Turns
from orchestrator.turns.read_marks import ReadMarks
from orchestrator.turns.step_approvals import StepApprovals

logger = logging.getLogger(__name__)

FIRST_AGENT = "crab"
DASHBOARD_LIMITS = ServerLimits(
    connections=256,
    makes_room=True,
    header_bytes=32 * 1024,
    body_bytes=MAX_BODY_BYTES,
    upload_bytes=MOST_FILE_BYTES,
    read_s=120.0,
    idle_s=75.0,
    write_s=60.0,
)


class App:
    """A running install."""

    def __init__(self, settings: Settings, home: Home, parts: Edges) -> None:
        """Opens the database and puts the parts together; nothing runs yet. Raises Unavailable."""
        self._settings, self._parts, self._store = settings, parts, Store(home.database, keep_in=home.backups)
        self._broker, hooks = Broker(), Hooks()
        self._locks = LockFiles(workspaces := Workspaces(home.path))
        users = build_users(settings, home, self._store, hooks)
        self._install_settings = InstallSettings(self._store, is_arranged=settings.is_arranged)
        self._providers = build_providers(home, parts, self._install_settings)
        agents = build_agents(self._store, self._providers, hooks)
        notifications = Notifications(self._store, self._broker)
        told = BudgetNotifications(self._store, notifications, agents, hooks)
        self._budget = Budget(self._store, booked=told.notify_booking)
        self._prices, self._audit = Prices(home.prices, self._store), Audit(self._store)
        context = AppContext(
            settings=settings,
            home=home,
            parts=parts,
            store=self._store,
            broker=self._broker,
            hooks=hooks,
            users=users,
            agents=agents,
            access=Access(self._store, agents, hooks),
            workspaces=workspaces,
            notifications=notifications,
            budget=self._budget,
            reserve=Reserve(home.path, ballast=home.reserve_file),
            grants=Grants(store=self._store, agents=agents, broker=self._broker),
            install_settings=self._install_settings,
            gates=build_gates(settings, parts, self._store),
            mcp_servers=build_mcp_servers(settings, home, parts, self._store, agents=agents, hooks=hooks),
        )
        self._gates, self._approvals = context.gates, Approvals(self._store, self._broker, context.grants, hooks)
        self._step_approvals = StepApprovals(self._store, self._approvals, self._locks, hooks)
        self._server, self._reverse_tunnel, door = HttpServer(), ReverseTunnel(), DoorRoutes(hooks.door_called.fire)
        self._doors = DoorSockets(self._server, workspaces, door, on_close=hooks.door_closed.fire)
        self._deliveries, self._intake, self._outbox_watcher = build_outgoing(context)
        checkpoints = build_checkpoints(context)
        self._cubicles = build_cubicles(context, WatchedDoors(self._doors, self._outbox_watcher), checkpoints)
        self._waker = Waker(self._cubicles, hooks)
        self._turns = self._build_turns(context)
        self._history = WorkspaceHistory(context, checkpoints, self._cubicles, self._turns)
        self._quota = build_disk(context, self._cubicles, self._turns)
        self._capabilities = self._build_capabilities(context)
        inject = self._capabilities.memories.inject_memories
        self._proxy = build_proxy(context, self._prices, self._providers, remember=inject)
        self._summaries = build_summaries(context, self._proxy, self._capabilities.jobs)
        self._usage_samples = UsageSamples(self._store, self._cubicles, self._quota.used_bytes)
        self._metrics = build_metrics(context, self._cubicles, self._quota, self._usage_samples)
        self._deletion = self._build_deletion(agents, users)
        self._closing, self._watchdog = self._build_closing(context), self._build_watchdog(context)
        self._idle_stop = self._build_idle_stop()
        self._previews = build_previews(context, self._reverse_tunnel, self._deliveries)
        self._thumbnails = build_thumbnails(context, self._previews, self._capabilities.jobs)
        self._terminals = build_terminals(context, self._cubicles)
        self._steps = build_steps(context, self._step_approvals, self._turns)
        add_door_routes(door, self._behind_the_door(context))
        self.services = self._build_services(context)
        self._publish_agents(hooks)
        self._retention = Retention(self._store, settings.keep, expire_backups=self.services.backups.remove_older)
        self._telegram = TelegramChannel(self.services, self.services.bots, self._store, folder=home.path / "telegram")

    def _build_idle_stop(self) -> IdleStop:
        after_s, is_waking = self._settings.sleep_after_s, self._waker.is_waking
        return IdleStop(self._cubicles, self._store, after_s=after_s, is_waking=is_waking)

    def _build_capabilities(self, context: AppContext) -> Capabilities:
        return Capabilities(
            context,
            self._approvals,
            self._turns,
            self._intake,
            self._quota,
            history=self._history.for_agents,
            ask_model=self._ask_model,
        )

    def _ask_model(self, key: CubicleKey, request: ModelRequest, turn: int | None) -> str:
        """A capability asks; the proxy, which needs capabilities itself, is there by then."""
        return self._proxy.on_behalf(key, request, within_s=LOOK_WITHIN_S, turn=turn)

    def _build_services(self, context: AppContext) -> DashboardServices:
        return DashboardServices(
            settings=self._settings,
            users=context.users,
            agents=context.agents,
            access=context.access,
            turns=self._turns,
            history=History(self._store),
            plans=self._capabilities.plans,
            lessons=self._capabilities.lessons,
            prestart=self._waker.prestart,
            approvals=self._approvals,
            grants=context.grants,
            cubicles=self._cubicles,
            quota=self._quota,
            usage_samples=self._usage_samples,
            budget=self._budget,
            prices=self._prices,
            audit=self._audit,
            workspaces=context.workspaces,
            broker=self._broker,
            bots=build_bots(context),
            push=build_push(context, self._approvals, self._capabilities),
            notifications=context.notifications,
            calendar=self._capabilities.calendar,
            downloads=self._capabilities.downloads,
            packages=self._capabilities.packages,
            memories=self._capabilities.memories,
            questions=self._capabilities.questions,
            previews=self._previews,
            thumbnails=self._thumbnails,
            terminals=self._terminals,
            deliveries=self._deliveries,
            read_marks=ReadMarks(self._store, self._broker),
            recaps=Recaps(self._store),
            folder_looks=FolderLooks(self._store),
            conversations=Conversations(self._store, self._broker),
            branches=self._history.branches,
            checkpoints=self._history.checkpoints,
            restores=self._history.restores,
            undo=self._history.build_undo(self._deliveries, self._approvals, self._capabilities),
            files_changed=context.hooks.files_changed.fire,
            is_settling=self._outbox_watcher.is_settling,
            strangers=self._list_strangers,
            decide_stranger=self._decide_stranger,
            webhooks={"telegram": self._take_update},
            health=self._health_report,
            remove_agent=self._deletion.remove_agent,
            remove_user=self._deletion.remove_user,
            log_text=context.workspaces.log_text,
            models=self._providers.as_json,
            providers=self._providers,
            provider_check=ProviderCheck(self._providers, self._proxy, context.agents),
            install_settings=self._install_settings,
            metrics=self._metrics,
            **self._capabilities.web_services,
            **build_views(context, self._capabilities.jobs),
            **build_logins(context),
            **build_upkeep(context, self._cubicles, self._turns, self._capabilities),
        )

    def _publish_agents(self, hooks: Hooks) -> None:
        for changed in (hooks.agent_changed, hooks.access_changed):
            changed.subscribe(lambda name: self._broker.publish(Event("agent", None, {"agent": name})))

    def _behind_the_door(self, context: AppContext) -> DoorContext:
        return DoorContext(
            self._turns,
            self._steps,
            self._proxy,
            context.agents,
            context.users,
            calls=self._capabilities.calls,
            reverse_tunnel=self._reverse_tunnel,
            told=self._summaries.history_messages,
            notes=(
                *self._capabilities.notes,
                lambda turn: self._history.restores.turn_note(turn.cubicle, turn.id),
                lambda turn: language_note(context.users.get(turn.cubicle.user).language),
            ),
            memories=self._capabilities.memories.for_the_door,
            missing=self._intake.missing_files,
        )

    def _build_deletion(self, agents: Agents, users: Users) -> Deletion:
        store, turns, cubicles = self._store, self._turns, self._cubicles
        forget, cease = self._quota.forget_agent, self._capabilities.stop_for
        return Deletion(store, turns, cubicles, agents, users, forget=forget, cease=cease)

    def _build_turns(self, context: AppContext) -> Turns:
        return Turns(
            store=self._store,
            broker=self._broker,
            hooks=context.hooks,
            locks=self._locks,
            wake=self._waker.wake,
            is_fresh=self._cubicles.is_fresh,
            check_room=context.reserve.check_room,
            check_open=context.access.check_open,
        )

    def _build_closing(self, context: AppContext) -> Closing:
        closing = Closing(
            access=context.access,
            users=context.users,
            turns=self._turns,
            approvals=self._approvals,
            questions=self._capabilities.questions,
            calendar=self._capabilities.calendar,
            notifications=context.notifications,
            cubicles=self._cubicles,
        )
        context.hooks.cubicle_starting.subscribe(context.access.check_open)
        context.hooks.access_changed.subscribe(lambda _agent: closing.end_closed())
        return closing

    def _build_watchdog(self, context: AppContext) -> Watchdog:
        questions, calls = self._capabilities.questions, self._capabilities.calls
        tidy = (
            self._step_approvals.tell_again,
            questions.end_expired,
            calls.forget_old,
            self._audit.index_records,
            self._store.checkpoint_log,
            lambda: self._closing.end_work(),  # noqa: PLW0108 - it is made later
        )
        return Watchdog(
            turns=self._turns,
            cubicles=self._cubicles,
            approvals=self._approvals,
            agents=context.agents,
            hooks=context.hooks,
            wake=self._waker.wake,
            is_waking=self._waker.is_waking,
            is_busy=self._proxy.is_busy,
            tidy=tidy,
        )

    def start(self) -> None:
        """Everything runs and answers when this returns. Raises Unavailable, e.g. when the port is taken."""
        services = self.services
        self._budget.reconcile()
        services.users.ensure_operator(
            self._settings.admin_user,
            self._settings.secrets.get("HERMIT_ADMIN_PASSWORD"),
            telegram_id=self._settings.telegram_operator_id,
        )
        if not services.agents.list_agents():
            services.agents.create({"name": FIRST_AGENT})
        listening = open_listener(self._settings.host, self._settings.port)
        services.bots.reconcile(self._settings.secrets.get("TELEGRAM_BOT_TOKEN"))
        self._deliveries.add_carrier(self._telegram.carrier)
        self._deliveries.reconcile()
        self._outbox_watcher.start(self._cubicles.list_cubicles())
        self._sweep()
        self._history.start(services.undo)
        self._cubicles.reconcile()
        self._terminals.reconcile()
        services.proofs.reconcile()
        self._approvals.reconcile()
        self._step_approvals.reconcile()
        self._deletion.reconcile()
        self._closing.end_closed()
        services.imports.lay_files()
        for views in (services.pdf_pages, services.sheets, services.page_pictures):
            views.start()
        for rounds in (self._watchdog, self._idle_stop, self._quota, self._usage_samples, self._retention):
            rounds.start()
        services.backup_schedule.start()
        services.version_watch.start()
        self._gates.start()
        for workers in (self._capabilities, self._previews):
            workers.start()
        self.dashboard = create_app(services)
        self._server.add_listener(listening, self.dashboard, limits=DASHBOARD_LIMITS, environ={})
        self._telegram.start()
        services.push.start()
        logger.info("HermitShell answers at %s", self._settings.url)

    def stop(self, *, stop_cubicles: bool) -> None:
        """Nothing of the app runs any more. Cubicles go on, to be adopted at the next start, unless told otherwise."""
        self.services.backups.close()
        self.services.backup_schedule.close()
        self.services.version_watch.close()
        self.services.doctor.close()
        self.services.proofs.close()
        self.services.push.close()
        self._telegram.stop()
        self._terminals.close()
        self._previews.close()
        self._capabilities.close()
        self._gates.close()
        self._retention.close()
        self._usage_samples.close()
        self._quota.close()
        self._outbox_watcher.close()
        self._idle_stop.close()
        self._watchdog.close()
        self._history.close()
        self._waker.close()
        # The doors first: a crab whose model call is cut must not be told that somebody stopped its turn, but ask
        # again.
        self._reverse_tunnel.close()
        self._server.close()
        self._turns.close()
        self._broker.close()
        self._proxy.close()
        self._server.await_quiet()
        self._doors.close_all()
        if stop_cubicles:
            self._cubicles.stop_all()
        self._store.close()

    def _sweep(self) -> None:
        """What a death left beside the doors goes; what is still needed of it is made again right after."""
        for key in self._cubicles.list_cubicles():
            self._doors.remove_stale(key)
            self._locks.remove_stale(key, under_way=self._turns.list_held(key))

    def _take_update(self, agent: str, update: dict[str, object]) -> None:
        self._telegram.receive_update(agent, update)  # made after the services that it needs

    def _list_strangers(self) -> list[KnownStranger]:
        return self._telegram.access_requests.list_waiting()

    def _decide_stranger(self, agent: str, person: int, kind: str, by: User) -> User | None:
        return self._telegram.access_requests.decide_request(agent, person, kind, by)

    def _health_report(self) -> Health:
        return Health(engine=self._engine_health(), database=self._database_health(), doors=self._doors_health())

    def _engine_health(self) -> str:
        try:
            self._parts.engine.cubicles.poll("hermit-health")
        except OrchestratorError as error:
            return error.message
        return "ok"

    def _database_health(self) -> str:
        try:
            self.services.users.get_operator()
        except (NotFound, Unavailable) as error:
            return error.message
        return self._store.trouble or "ok"

    def _doors_health(self) -> str:
        return "ok" if self._server.is_accepting else "The doors no longer answer: restart with './hermit up'."
