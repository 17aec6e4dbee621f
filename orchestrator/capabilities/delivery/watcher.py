"""The out watch: notices what agents put into ``out/``, waits until it has settled, and has it taken.

Events tell at once; a look through the whole outbox folder finds what they missed: at the start, when the kernel
dropped events, when a turn ended, and every minute. A few threads serve all cubicles, one of them a cubicle at a time
and never for long, so that no agent can keep the others waiting. Nothing here opens a file.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from orchestrator.agents.cubicles import SocketOpener
from orchestrator.capabilities.delivery.folder_state import FolderState
from orchestrator.capabilities.delivery.inotify import OutEvents
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.messages import is_ignored
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.core.periodic import guarded
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)

PERIOD_S = 60.0
_DEAF_PERIOD_S = 2.0
_DEAF_SHARE = 20.0
_TIDY_S = 600.0
_THREADS = 3
_MOST_HEARD = 50_000
"""Events that wait to be sorted; of more, the outbox folders are looked through instead."""


class OutboxWatcher:
    """Watches every outbox folder whose cubicle was opened."""

    def __init__(self, workspaces: Workspaces, intake: Intake, *, tidy: Callable[[float], None]) -> None:
        """``tidy`` is called now and then, with the time."""
        self._workspaces = workspaces
        self._out_folders = intake.out_folders
        self._intake = intake
        self._tidy = tidy
        self._changed = threading.Condition()  # protects all below; notified when there is something to do
        self._heard: deque[tuple[CubicleKey, bytes, bool, float, float]] = deque()
        self._watches: dict[CubicleKey, FolderState] = {}
        self._astir: dict[CubicleKey, FolderState] = {}
        """Those that were told something and may have work: what idles costs a turn of another cubicle nothing."""
        self._busy: set[CubicleKey] = set()
        self._is_closing = False
        self._has_missed = False
        self._next_look = self._next_tidy = time.monotonic()
        self._events = OutEvents(self._on_event, self._on_overflow)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="out-take")
        self._thread = threading.Thread(target=self._run_loop, name="out-watch", daemon=True)

    @property
    def problem(self) -> str:
        """Why new files may be noticed late; empty when all is well."""
        return self._events.problem

    def start(self, cubicles: list[CubicleKey]) -> None:
        """Look through these outbox folders, then go on watching."""
        self._events.start()
        self._thread.start()
        for key in cubicles:
            self._watch_folder(key)
        for key, turn, path in self._intake.list_unanswered(since=time.time() - 24 * 3600):
            self._ask_file(key, turn, path)

    def close(self) -> None:
        """Nothing is taken any more; what is being taken is finished first."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=30)
        self._events.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add_cubicle(self, key: CubicleKey) -> None:
        """The cubicle's outbox folder is watched; again is fine, and right when its folder may be another."""
        try:
            with self._workspaces.out_folder(key) as folder:
                is_heard = self._events.add_folder(key, folder)
        except (OSError, OrchestratorError) as error:
            logger.warning("%s: out/ can't be watched: %s", key, error)
            is_heard = False
        watch = self._watch_folder(key)
        with self._changed:
            watch.is_heard = is_heard
            watch.look_soon()  # for what came before there were events
            if key in self._watches:  # else it was dropped meanwhile
                self._astir[key] = watch
            watch.next_look = min(watch.next_look, time.monotonic() + _period_s(watch))
            self._next_look = min(self._next_look, watch.next_look)
            self._changed.notify()

    def drop_cubicle(self, key: CubicleKey) -> None:
        """The cubicle's outbox folder is not watched any more; again is fine."""
        self._events.drop_folder(key)
        with self._changed:
            watch = self._watches.pop(key, None)
            self._astir.pop(key, None)
            if watch is not None:
                watch.close()

    def command_ended(self, key: CubicleKey) -> None:
        """A command has ended: the files that it left in the outbox folder, closed, are taken at once. Returns at
        once.
        """
        now = time.monotonic()
        with self._changed:
            watch = self._watches.get(key)
            if watch is None or self._is_closing:
                return
            watch.end_command(now)
            if watch.is_due(now):
                self._astir[key] = watch
                self._changed.notify()

    def turn_ended(self, key: CubicleKey, turn: int) -> None:
        """A turn has its outcome: what its answer named is sent, and its outbox folder is looked through. Returns
        at once.
        """
        with self._changed:
            watch = self._watches.get(key)
            if watch is None or self._is_closing:
                return
            watch.end_turn(turn, time.monotonic())
            self._astir[key] = watch
            self._changed.notify()

    def is_settling(self, key: CubicleKey) -> bool:
        """Something in this cubicle's outbox folder is on its way to being taken."""
        with self._changed:
            watch = self._watches.get(key)
            return watch is not None and (key in self._busy or watch.has_work or any(h[0] == key for h in self._heard))

    # --- hearing -----------------------------------------------------------------------------------------------

    def _on_event(self, key: CubicleKey, name: bytes, is_whole: bool) -> None:  # noqa: FBT001 - an event's own form
        if is_ignored(name):
            return
        with self._changed:
            if len(self._heard) >= _MOST_HEARD:
                self._has_missed = True
                return
            self._heard.append((key, name, is_whole, time.monotonic(), time.time()))
            self._changed.notify()

    def _on_overflow(self) -> None:
        with self._changed:
            self._has_missed = True
            self._changed.notify()

    # --- the rounds --------------------------------------------------------------------------------------------

    def _run_loop(self) -> None:
        while True:
            with self._changed:
                if self._is_closing:
                    return
                ready = self._sort_events(time.monotonic())
                if not ready:
                    self._changed.wait(self._pause_s(time.monotonic()))
                    continue
            for key, watch in ready:
                self._pool.submit(self._work_folder, key, watch)

    def _sort_events(self, now: float) -> list[tuple[CubicleKey, FolderState]]:
        """Hand what was heard to its outbox folders; the outbox folders with work to do that nobody is at, in turn."""
        while self._heard:
            key, name, is_whole, heard, at = self._heard.popleft()
            watch = self._watches.get(key)
            if watch is not None:
                watch.on_event(name, heard, at=at, is_whole=is_whole)
                self._astir[key] = watch
        if self._has_missed or now >= self._next_look:
            self._look_at_all(now)
        self._astir = {k: w for k, w in self._astir.items() if k in self._busy or w.next_due() is not None}
        ready = [(key, watch) for key, watch in self._astir.items() if key not in self._busy and watch.is_due(now)]
        self._busy |= {key for key, _ in ready}
        return ready

    def _look_at_all(self, now: float) -> None:
        for key, watch in self._watches.items():
            if self._has_missed or now >= watch.next_look:
                self._astir[key] = watch
                watch.look_soon(is_thorough=self._has_missed)
                watch.next_look = now + _period_s(watch)
        self._has_missed = False
        self._next_look = min((w.next_look for w in self._watches.values()), default=now + PERIOD_S)
        if now >= self._next_tidy:
            self._next_tidy = now + _TIDY_S
            self._pool.submit(guarded, "tidying deliveries", lambda: self._tidy(time.time()))

    def _pause_s(self, now: float) -> float:
        dues = [
            due for key, watch in self._astir.items() if key not in self._busy and (due := watch.next_due()) is not None
        ]
        return max(0.001, min([self._next_look, *dues]) - now)

    def _work_folder(self, key: CubicleKey, watch: FolderState) -> None:
        """A part of what there is to do in one outbox folder."""
        guarded(f"{key}: looking through out/", watch.run_slice)
        with self._changed:
            self._busy.discard(key)
            self._changed.notify()

    def _watch_folder(self, key: CubicleKey) -> FolderState:
        with self._changed:
            watch = self._watches.get(key)
            if watch is None:
                watch = self._watches[key] = FolderState(key, self._out_folders, self._intake, self._changed)
                watch.next_look = time.monotonic() + PERIOD_S
                watch.look_soon(is_thorough=True)
                self._astir[key] = watch
            self._next_look = min(self._next_look, watch.next_look)
            self._changed.notify()
            return watch

    def _ask_file(self, key: CubicleKey, turn: int, path: bytes) -> None:
        with self._changed:
            watch = self._watches.get(key)
            if watch is not None:
                watch.ask_file(turn, path, time.monotonic())
                self._astir[key] = watch
                self._changed.notify()


def _period_s(watch: FolderState) -> float:
    """How often an outbox folder is looked through: where nothing is heard of it often, but never for much of the
    time.
    """
    return PERIOD_S if watch.is_heard else min(PERIOD_S, max(_DEAF_PERIOD_S, watch.look_took_s * _DEAF_SHARE))


class WatchedDoors:
    """Doors whose cubicles' outbox folders are watched from when they open."""

    def __init__(self, doors: SocketOpener, watch: OutboxWatcher) -> None:
        self._doors = doors
        self._watch = watch

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """The door answers and the outbox folder is watched; again is fine."""
        self._doors.open(key, uid=uid, gid=gid)
        self._watch.add_cubicle(key)

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Another door, the same outbox folder."""
        self._doors.renew(key, uid=uid, gid=gid)

    def close(self, key: CubicleKey) -> None:
        """Neither is any more; again is fine."""
        self._watch.drop_cubicle(key)
        self._doors.close(key)
