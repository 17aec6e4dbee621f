"""Going back to a point of time: the cubicle is kept still meanwhile, the agent is told before its next turn, and what
was there can be gone back to as well.

The note for the agent is written first, so that a death in the middle leaves nobody in the dark.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from orchestrator.agents.cubicles import Cubicles
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import COVERED, Checkpoint, Parts, PointKind, RestoreResult
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event
from orchestrator.core.text import one_line
from orchestrator.files.models import FilePath
from orchestrator.files.names import display_path, parts_of
from orchestrator.turns import point_rows, rows
from orchestrator.turns.turn_points import TurnPoints

logger = logging.getLogger(__name__)

MAX_NAME_CHARS = 100
_MOST_NAMED, _MOST_RECORDED = 5, 100
"""Paths that a sentence names, and a row of the audit log."""


class Restores:
    """Puts files back, for a person or for an agent in its turn."""

    def __init__(
        self, store: Store, checkpoints: Checkpoints, points: TurnPoints, cubicles: Cubicles, broker: Broker
    ) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._points = points
        self._cubicles = cubicles
        self._broker = broker

    def note_changes(self, key: CubicleKey) -> None:
        """The newest point is what is there now, where no turn is under way. Raises NotFound, TooLarge, Unavailable."""
        self._points.note_changes(key)

    def create_point(self, key: CubicleKey, name: str, *, turn: int | None = None) -> Checkpoint:
        """Give the files as they are now a name, under which they stay until it is deleted. Raises BadInput, NotFound
        for a cubicle without a workspace, TooLarge, Unavailable."""
        name = " ".join(name.split())
        if not name or one_line(name, MAX_NAME_CHARS) != name:
            raise BadInput(f"name: use 1 to {MAX_NAME_CHARS} visible characters.")
        take = partial(self._checkpoints.take, key, PointKind.NAMED, turn=turn, label=name)
        made = self._points.run_between(key, take)
        self._publish(key)
        return made

    def delete_point(self, key: CubicleKey, point: int) -> None:
        """It can't be gone back to any more. Raises NotFound, Conflict for the newest."""
        self._points.run_between(key, lambda: self._checkpoints.forget(key, point))
        self._publish(key)

    def restore(
        self, key: CubicleKey, point: int, paths: Sequence[FilePath] = (), *, by: str, turn: int | None = None
    ) -> RestoreResult:
        """Put these files and folders back as they were at a point, or everything without any.

        Args:
            key: whose workspace.
            point: which point.
            paths: from ``work``, ``out`` or ``www`` on.
            by: who wants it, as it is written down.
            turn: the agent's own turn, where the agent wants it.

        Raises BadInput for other folders, NotFound for a point that is gone, Conflict while the agent works on another
        turn, UnsafePath, TooLarge, or Unavailable.
        """
        for path in paths:
            if parts_of(path)[:1] not in {(covered,) for covered in COVERED}:
                raise BadInput("paths: name files or folders in work/, out/ or www/, which the history is about.")
        label = f"Back to point {point}"
        work = partial(self._checkpoints.restore, key, point, paths, label=label, turn=turn)
        what = f"the files of point {point}" if not paths else _name_paths(paths)
        return self._go_back(key, work, f"{by} put back {what}", turn=turn)

    def revert(
        self, key: CubicleKey, before: int, after: int, *, including: Sequence[FilePath] = (), by: str, what: str
    ) -> RestoreResult:
        """Take back what happened between two points, and nothing else; what was changed again since stays unless it is
        among ``including``. Raises as ``restore``."""
        work = partial(self._checkpoints.revert, key, before, after, including=including, label=what)
        return self._go_back(key, work, f"{by} took back {what}", turn=None)

    def turn_note(self, key: CubicleKey, turn: int) -> str:
        """What the agent should know before its turn of what was put back since the last; mostly nothing."""
        with self._store.reading() as db:
            if not point_rows.has_notes(db, key, turn):
                return ""
        with self._store.writing() as db:
            return "\n".join(point_rows.take_notes(db, key, turn))

    def finish_pending(self) -> None:
        """Before cubicles go on after a start: what a death cut short is done."""
        for key in self._checkpoints.list_cubicles():
            try:
                if self._checkpoints.get_pending(key) is not None:
                    with self._cubicles.hold_still(key):
                        done = self._checkpoints.finish_restore(key)
                    self._record(key, "What was being put back when HermitShell ended is put back", done, turn=None)
            except OrchestratorError as error:
                logger.error("the files of %s could not be put back to the end: %s", key, error.message)

    def _go_back(
        self, key: CubicleKey, work: Callable[[], RestoreResult], what: str, *, turn: int | None
    ) -> RestoreResult:
        note = self._insert_note(key, what) if turn is None else None
        try:
            done = self._points.run_between(key, partial(self._work_alone, key, work, turn))
        except BaseException:
            if note is not None and not self._is_pending(key):
                self._delete_note(note)
            raise
        if note is not None and not done.changed:
            self._delete_note(note)
        self._record(key, what, done, turn=turn)
        return done

    def _record(self, key: CubicleKey, what: str, done: RestoreResult, *, turn: int | None) -> None:
        with self._store.writing() as db:
            audit_rows.insert_record(
                db,
                "files.restored",
                f"{what}: {_count_files(done.changed)}.",
                now=time.time(),
                agent=key.agent,
                user=key.user,
                turn=turn,
                detail={
                    "before": done.before.id,
                    "after": done.after.id,
                    "files": [display_path(*path) for path in done.changed[:_MOST_RECORDED]],
                    "left": [display_path(*one.path) for one in done.left[:_MOST_RECORDED]],
                },
            )
        self._publish(key)

    def _insert_note(self, key: CubicleKey, what: str) -> int:
        text = f"Since your last turn {what}. Look at files again before you rely on what you know of them."
        with self._store.writing() as db:
            return point_rows.insert_note(db, key, text, time.time())

    def _delete_note(self, note: int) -> None:
        with self._store.writing() as db:
            point_rows.delete_note(db, note)

    def _is_pending(self, key: CubicleKey) -> bool:
        """What failed did so in the middle."""
        try:
            return self._checkpoints.get_pending(key) is not None
        except OrchestratorError:
            return True

    def _work_alone(self, key: CubicleKey, work: Callable[[], RestoreResult], turn: int | None) -> RestoreResult:
        with self._cubicles.hold_still(key):
            with self._store.reading() as db:
                running = [claim.turn for _, claim in rows.list_running(db, key)]
            if any(one != turn for one in running):
                raise Conflict(f"{key.agent} is working. Stop it, or wait until it is done, then try again.")
            if turn is not None and turn not in running:
                raise NotFound("This turn has ended.")
            return work()

    def _publish(self, key: CubicleKey) -> None:
        self._broker.publish(Event("files", key, {}))


def _count_files(paths: Sequence[Parts]) -> str:
    return f"{len(paths):,} {'file' if len(paths) == 1 else 'files'} changed"


def _name_paths(paths: Sequence[FilePath]) -> str:
    """The first few paths, and how many more there are."""
    names = [display_path(*parts_of(path)) for path in paths[:_MOST_NAMED]]
    more = len(paths) - len(names)
    return ", ".join(one_line(name, 200) for name in names) + (f" and {more:,} more" if more > 0 else "")
