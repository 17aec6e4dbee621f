"""Points of time around turns: one before a turn's first command, one after each command, one at its end. They are
taken while the model thinks; a command waits only for what has not been looked at by then, so that each has its own
changes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import Checkpoint, EntryKind, PointKind
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks, StepMoment, TurnMoment
from orchestrator.core.models import CubicleKey, Event, Turn
from orchestrator.core.serial_work import SerialWork
from orchestrator.turns import point_rows as rows
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.serialize import turn_json

logger = logging.getLogger(__name__)

_PATIENCE_S = 60.0
"""A command is held back at most so long for the point before it; then it runs without one."""

Result = TypeVar("Result")


class TurnPoints:
    """Takes them, in order for each cubicle."""

    def __init__(self, store: Store, checkpoints: Checkpoints, broker: Broker, hooks: Hooks) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._broker = broker
        self._work = SerialWork("points")
        self._lock = threading.Lock()  # protects the two below
        self._before: dict[int, Future[None]] = {}
        """By turn: its first point, taken or on its way."""
        self._ended_steps: dict[CubicleKey, StepMoment] = {}
        """The newest command of each cubicle that no point was taken after."""
        hooks.turn_started.subscribe(self._on_turn_started)
        hooks.step_starting.subscribe(self._await_points)
        hooks.step_ended.subscribe(self._on_step_ended)
        hooks.turn_ended.subscribe(self._on_turn_ended)
        hooks.files_changed.subscribe(self._on_files_changed)

    def reconcile(self) -> None:
        """After a start: turns that ended when we did get the point after them."""
        with self._store.reading() as db:
            unfinished = rows.list_unfinished(db)
        for key, turn in unfinished:
            self._work.add(key, partial(self._end_span, key, turn))

    def run_between(self, key: CubicleKey, work: Callable[[], Result]) -> Result:
        """Do something with the cubicle's history between two points, and wait for it. Raises what it raises."""
        return self._work.add(key, work).result()

    def note_changes(self, key: CubicleKey) -> None:
        """The points on their way are taken, and one of what has changed by itself or by a person's hand, where no turn
        is under way. Raises as ``Checkpoints.take``."""
        self.run_between(key, partial(self._take_between_turns, key))

    def _take_between_turns(self, key: CubicleKey) -> None:
        with self._store.reading() as db:
            is_busy = bool(turn_rows.list_running(db, key))
        if not is_busy:
            self._checkpoints.take(key, PointKind.PERSON)

    def close(self) -> None:
        """What is under way is done."""
        self._work.close()

    def _on_turn_started(self, turn: Turn) -> None:
        """Where everything has to be looked at, that is done while the model thinks."""
        if not self._checkpoints.has_journal:
            self._begin_span(turn.cubicle, turn.id)

    def _await_points(self, moment: StepMoment) -> None:
        try:
            self._begin_span(moment.cubicle, moment.turn).result(_PATIENCE_S)
            self._work.await_all(moment.cubicle, _PATIENCE_S)  # the point after the command before is taken
        except TimeoutError:
            logger.warning("turn %s goes on without a point before it: that takes too long", moment.turn)
        except OrchestratorError as error:
            logger.warning("turn %s goes on without a point before it: %s", moment.turn, error.message)

    def _begin_span(self, key: CubicleKey, turn: int) -> Future[None]:
        with self._lock:
            if turn not in self._before:
                self._before[turn] = self._work.add(key, partial(self._take_first, key, turn))
            return self._before[turn]

    def _take_first(self, key: CubicleKey, turn: int) -> None:
        with self._store.reading() as db:
            if rows.get_span(db, turn) is not None:
                return  # it goes on after a restart
        point = self._checkpoints.take(key, PointKind.BEFORE, turn=turn)
        with self._store.writing() as db:
            rows.insert_span(db, turn, point.id, point.at)

    def _on_step_ended(self, ended: StepMoment) -> None:
        with self._lock:
            self._ended_steps[ended.cubicle] = ended
        self._add(ended.cubicle, lambda: self._take_after_step(ended.cubicle))

    def _take_after_step(self, key: CubicleKey) -> None:
        """One point for all commands that have ended since the last, named by the newest."""
        with self._lock:
            ended = self._ended_steps.pop(key, None)
        if ended is not None:
            self._checkpoints.take(key, PointKind.COMMAND, turn=ended.turn, step=ended.n)

    def _on_turn_ended(self, ended: TurnMoment) -> None:
        with self._lock:
            self._before.pop(ended.turn, None)
        # Whether it had a command, the rows say: it may have begun before a restart.
        self._add(ended.cubicle, partial(self._end_span, ended.cubicle, ended.turn))

    def _end_span(self, key: CubicleKey, turn: int) -> None:
        with self._store.reading() as db:
            span = rows.get_span(db, turn)
        if span is None:
            return
        point = self._checkpoints.take(key, PointKind.AFTER, turn=turn)
        changed = self._count_changes(key, span.before, point)
        with self._store.writing() as db:
            rows.end_span(db, turn, point.id, changed)
            ended = turn_rows.get_turn(db, turn)
        if changed and ended is not None:
            self._broker.publish(Event("turn", key, turn_json(ended)))

    def _count_changes(self, key: CubicleKey, before: int, after: Checkpoint) -> int:
        changes = self._checkpoints.diff(key, before, after.id)
        facts = [change.new or change.old for change in changes]
        return sum(one is not None and one.kind is not EntryKind.FOLDER for one in facts)

    def _on_files_changed(self, key: CubicleKey) -> None:
        self._add(key, lambda: self._checkpoints.take(key, PointKind.PERSON))

    def _add(self, key: CubicleKey, work: Callable[[], object]) -> None:
        """Nobody waits for it; what the disk or the history refuses is told in the log."""

        def guarded() -> None:
            try:
                work()
            except OrchestratorError as error:
                logger.warning("no point of %s could be taken: %s", key, error.message)

        try:
            self._work.add(key, guarded)
        except OrchestratorError as error:
            logger.info("no point of %s is taken any more: %s", key, error.message)
