"""The disk use of each cubicle: measured as seldom as will do, acted on within seconds.

A look at a workspace walks through all of it, so looks are rationed (``sampling``). Between them only the file system's
free space is read, a few times a second: while it does not fall, nothing has grown. Once so much was written that a
workspace may be half way to its next mark, it is looked at. A workspace at its limit has its turn ended and its
container stopped; the rule for what comes then is in ``files.quota``. What the host keeps for itself is guarded in the
same pass.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.core.audit import Audit
from orchestrator.core.errors import Conflict, OrchestratorError, Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, Event, TurnStatus
from orchestrator.core.periodic import Periodic
from orchestrator.files import quota as rules
from orchestrator.files.free_space import Reserve
from orchestrator.files.quota import Allowance, QuotaLevel, QuotaState, Room
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.quota.sampling import URGENT_SHARE, WRITES_BYTES, Gauge, Moment, SamplingPlan
from orchestrator.turns.queue import Turns
from orchestrator.turns.rows import TurnClaim

logger = logging.getLogger(__name__)

PERIOD_S, HASTY_PERIOD_S = 0.25, 0.05
"""Between two readings of the free space: as a rule, and while it falls."""
_RECOUNT_S = 60.0
_AFTER_FAILURE_S = 1.0
_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What a cubicle's workspace takes, as surfaces show it."""

    used_bytes: int
    limit_bytes: int
    inodes: int
    inode_limit: int
    level: QuotaLevel
    measured_at: float


class QuotaMonitor:
    """Looks after the disk in a thread of its own; ``check_start`` and what surfaces ask may come from any other."""

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        reserve: Reserve,
        agents: Agents,
        cubicles: Cubicles,
        turns: Turns,
        audit: Audit,
        broker: Broker,
        hooks: Hooks,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workspaces = workspaces
        self._reserve = reserve
        self._agents = agents
        self._cubicles = cubicles
        self._turns = turns
        self._audit = audit
        self._broker = broker
        self._clock = clock
        self._gauges: dict[CubicleKey, Gauge] = {}
        self._running: dict[CubicleKey, float] = {}
        """Which cubicles are looked after, and when they were last seen to start or run."""
        self._changes = 0
        self._table_lock = threading.Lock()  # protects the three above; nothing is waited for under it
        self._walking = threading.Lock()  # one look at a time, whoever wants it
        self._rota = SamplingPlan(clock)
        self._fallen = Allowance(0, 0)
        self._room: Room | None = None
        self._was_short = self._is_falling = False
        self._recount_at = float("-inf")
        self._rounds = Periodic("disk", self.run_once, every_s=self._pause_s, after_failure_s=_AFTER_FAILURE_S)
        hooks.cubicle_starting.subscribe(self.check_start)

    def start(self) -> None:
        """Begin the passes."""
        self._rounds.start()

    def close(self) -> None:
        """End after the current pass."""
        self._rounds.close()

    # --- for others --------------------------------------------------------------------------------------------

    def check_start(self, key: CubicleKey) -> None:
        """The cubicle may start, and is looked after from now on. Raises Unavailable when the host's disk is almost
        full, Conflict when only a person can make room in the workspace."""
        self._reserve.check_room()
        gauge = self.last_gauge(key)
        if gauge is None or gauge.standing.level is QuotaLevel.FULL:
            gauge = self._measure_workspace(key)
            standing = rules.with_room_to_clean_up(gauge.standing, gauge.use, gauge.limit)
            gauge = replace(gauge, standing=standing)
            if gauge.standing.is_out_of_tries:
                raise Conflict(self._describe_gauge(key, gauge))
        with self._table_lock:
            self._gauges[key] = gauge
            self._running[key] = self._clock()
            self._changes += 1

    def use_of(self, key: CubicleKey) -> DiskUse:
        """What the workspace takes, looked at just now or a moment ago. Raises NotFound, UnsafePath, Unavailable."""
        gauge = self._recent_gauge(key)
        limit = rules.get_allowance(self._agents.get(key.agent).limits)
        return DiskUse(
            used_bytes=gauge.use.bytes,
            limit_bytes=limit.bytes,
            inodes=gauge.use.inodes,
            inode_limit=limit.inodes,
            level=rules.judge_usage(QuotaState(), gauge.use, limit)[0].level,
            measured_at=gauge.measured_at,
        )

    def used_bytes(self, key: CubicleKey) -> int | None:
        """What the workspace took at the last look, if there was one."""
        gauge = self.last_gauge(key)
        return None if gauge is None else gauge.use.bytes

    def last_gauge(self, key: CubicleKey) -> Gauge | None:
        """The last look at a workspace, if there was one."""
        with self._table_lock:
            return self._gauges.get(key)

    def turn_note(self, key: CubicleKey) -> str:
        """What the agent should know of its disk before its turn; empty while there is room."""
        try:
            gauge = self.last_gauge(key) or self._measure_workspace(key)
            if gauge.limit.get_share(gauge.use) < rules.WARN_SHARE:
                return ""
            gauge = self._recent_gauge(key)
            return rules.for_the_agent(gauge.use, gauge.limit, self._workspaces.list_largest(key))
        except OrchestratorError as error:
            logger.warning("the workspace of %s can't be measured: %s", key, error.message)
            return ""

    def forget_agent(self, agent: str) -> None:
        """The agent was deleted."""
        with self._table_lock:
            self._gauges = {key: gauge for key, gauge in self._gauges.items() if key.agent != agent}
            self._running = {key: seen for key, seen in self._running.items() if key.agent != agent}

    # --- the pass ----------------------------------------------------------------------------------------------

    def run_once(self) -> None:
        """One pass."""
        room = self._read_room()
        if self._clock() >= self._recount_at or (room.is_short and not self._was_short):
            self._recount_running()
        self._guard_reserve(room)
        while (key := self._most_pressing(room)) is not None and not self._rounds.is_ending:
            self._check_workspace(key, room)

    def _recount_running(self) -> None:
        """Ask the engine what runs. What passed by ``check_start`` lately may be about to start, so it stays."""
        running, now = self._cubicles.list_running(), self._clock()
        with self._table_lock:
            starting = {key: seen for key, seen in self._running.items() if now - seen < _RECOUNT_S}
            self._running = starting | dict.fromkeys(running, now)
            self._changes += 1
        self._recount_at = now + _RECOUNT_S

    def _read_room(self) -> Room:
        """What is left; all that goes is counted up, so that what others free meanwhile hides nothing."""
        room, before = self._reserve.measure_room(), self._room
        if before is not None:
            fell_bytes, fell_inodes = before.free_bytes - room.free_bytes, before.free_inodes - room.free_inodes
            fallen = self._fallen
            self._fallen = Allowance(fallen.bytes + max(0, fell_bytes), fallen.inodes + max(0, fell_inodes))
            self._is_falling = fell_bytes >= WRITES_BYTES // 4
        self._room = room
        return room

    def _most_pressing(self, room: Room) -> CubicleKey | None:
        """Whom to look at now, as far as the ration allows."""
        with self._table_lock:
            moment = Moment(self._fallen, room.is_short, self._changes)
            if self._rota.is_calm(moment):
                return None
            running = {key: self._gauges.get(key) for key in self._running}
        return self._rota.next_due(running, moment)

    def _check_workspace(self, key: CubicleKey, room: Room) -> None:
        """Look at one workspace and do what follows."""
        fallen, before = self._fallen, self.last_gauge(key)
        try:
            gauge = self._measure_workspace(key)
        except OrchestratorError as error:  # deleted meanwhile, or something of it is no folder any more
            logger.info("the workspace of %s can't be measured: %s", key, error.message)
            with self._table_lock:
                self._running.pop(key, None)
            return
        standing, must_stop = rules.judge_usage(gauge.standing, gauge.use, gauge.limit)
        gauge = replace(gauge, standing=standing, judged_fallen=fallen)
        self._store_gauge(key, gauge)
        if must_stop:
            self._stop_full(key, gauge)
        elif room.is_short and before is not None and gauge.use.bytes - before.use.bytes >= WRITES_BYTES:
            self._stop_for_the_host({key})
        elif standing.level is QuotaLevel.NEARLY_FULL and (before is None or before.standing.level is QuotaLevel.OK):
            used = rules.in_words(gauge.use, gauge.limit)
            text = f"The workspace of {key.agent} is nearly full: {used} are used."
            self._post_notification("disk.warning", text, key, standing.level)

    def _guard_reserve(self, room: Room) -> None:
        if room.is_critical:
            with self._table_lock:
                running = set(self._running)
            self._stop_for_the_host(running)
        self._reserve.keep_reserve(room)
        if room.is_short and not self._was_short:
            self._audit.record_event("disk.host_full", rules.of_the_host(room), None)
        self._was_short = room.is_short

    def _stop_full(self, key: CubicleKey, gauge: Gauge) -> None:
        """The workspace is at its limit: the turn fails with the reason, and nothing in the cubicle runs any more."""
        sentence = self._describe_gauge(key, gauge)
        self._halt_cubicle(key, self._turns.list_running(), sentence)
        after = self._measure_workspace(key)  # it may have grown until it was stopped
        standing = rules.with_room_to_clean_up(gauge.standing, after.use, after.limit)
        self._store_gauge(key, replace(after, standing=standing, judged_fallen=self._fallen))
        self._post_notification("disk.full", sentence, key, QuotaLevel.FULL)

    def _stop_for_the_host(self, keys: set[CubicleKey]) -> None:
        """Nothing happens when there is room again. The turns are read before the disk: one that was begun after a
        person made room is not ended for a disk that was full before."""
        claims = self._turns.list_running()
        room = self._reserve.measure_room()
        if room.is_short:
            for key in keys:
                self._halt_cubicle(key, claims, rules.of_the_host(room))

    def _halt_cubicle(self, key: CubicleKey, claims: list[tuple[CubicleKey, TurnClaim]], why: str) -> None:
        """The turn first, so that nobody else ends it with a worse reason; but whatever happens, the container."""
        turns = [claim.turn for holder, claim in claims if holder == key]
        try:
            self._end_turns(key, turns, why)
        except Unavailable:  # the disk is so full that not even this can be written
            self._stop_cubicle(key)
            self._reserve.release_reserve()
            self._end_turns(key, turns, why)
        else:
            self._stop_cubicle(key)

    def _end_turns(self, key: CubicleKey, turns: list[int], why: str) -> None:
        for turn in turns:
            self._turns.end_turn(key, turn, TurnStatus.FAILED, error=why)

    def _stop_cubicle(self, key: CubicleKey) -> None:
        with self._table_lock:  # before, as a start that waits for the stop's end makes it one that runs again
            self._running.pop(key, None)
        try:
            self._cubicles.stop(key, grace_s=0)
        except Unavailable:
            with self._table_lock:
                self._running.setdefault(key, self._clock())
                self._changes += 1
            raise

    # --- looking -----------------------------------------------------------------------------------------------

    def _recent_gauge(self, key: CubicleKey) -> Gauge:
        """What was seen a moment ago; a workspace that takes long to look at is looked at more seldom."""
        gauge = self.last_gauge(key)
        if gauge is not None and self._clock() - gauge.seen_at < max(1.0, gauge.cost_s / URGENT_SHARE):
            return gauge
        return self._measure_workspace(key)

    def _measure_workspace(self, key: CubicleKey) -> Gauge:
        """Walk through the workspace. How it stands is another question. Raises UnsafePath, Unavailable."""
        with self._walking:
            started, before = self._clock(), self.last_gauge(key)
            limit = rules.get_allowance(self._agents.get(key.agent).limits)
            use = self._workspaces.measure_usage(key, max_entries=_MOST_ENTRIES)
            now = self._clock()
        cost = now - started
        self._rota.note_cost(started, cost)
        standing, fallen = (QuotaState(), self._fallen) if before is None else (before.standing, before.judged_fallen)
        gauge = Gauge(use, limit, standing, time.time(), now, cost, fallen)
        self._store_gauge(key, gauge)
        return gauge

    def _store_gauge(self, key: CubicleKey, gauge: Gauge) -> None:
        with self._table_lock:
            self._gauges[key] = gauge
            self._changes += 1

    # --- telling -----------------------------------------------------------------------------------------------

    def _describe_gauge(self, key: CubicleKey, gauge: Gauge) -> str:
        return rules.for_the_person(
            key.agent,
            gauge.use,
            gauge.limit,
            self._workspaces.list_largest(key),
            may_try=not gauge.standing.is_out_of_tries,
        )

    def _post_notification(self, kind: str, text: str, key: CubicleKey, level: QuotaLevel) -> None:
        self._audit.record_event(kind, text, key)
        self._broker.publish(Event("cubicle", key, {"state": level.value, "text": text}))

    def _pause_s(self) -> float:
        return HASTY_PERIOD_S if self._is_falling else PERIOD_S
