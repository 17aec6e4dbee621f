"""Points of time of all cubicles: what turns, people and agents ask for, each in the history of its own cubicle.

A history is opened when it is first needed and closed when many others were since. Whoever goes back keeps the cubicle
from writing meanwhile; nothing here knows of containers.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orchestrator.checkpoints.journal import ChangeJournal, open_journal
from orchestrator.checkpoints.models import (
    Change,
    Checkpoint,
    EntryFacts,
    FolderItem,
    Parts,
    PendingRestore,
    PointKind,
    RestoreResult,
    RevertPlan,
)
from orchestrator.checkpoints.store import CheckpointStore, NoNews, PointWish
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import FilePath
from orchestrator.files.workspace import Workspaces

_MOST_OPEN = 32


@dataclass(slots=True)
class _Slot:
    """One cubicle's history, and how many use it just now."""

    lock: threading.Lock = field(default_factory=threading.Lock)  # protects store
    store: CheckpointStore | None = None
    users: int = 0


@dataclass(frozen=True, slots=True)
class _NewsOf:
    """What the journal hears of one cubicle."""

    journal: ChangeJournal
    key: CubicleKey

    def collect(self) -> set[Parts] | None:
        """The folders in which something happened."""
        return self.journal.collect(self.key)

    def distrust(self) -> None:
        """What was told last got lost."""
        self.journal.distrust(self.key)


class Checkpoints:
    """All methods may be called from any thread. Each raises Unavailable when its history can't be used."""

    def __init__(
        self, history: Path, workspaces: Workspaces, *, cap: Callable[[CubicleKey], int], has_journal: bool = True
    ) -> None:
        """``history`` is the folder in HERMIT_HOME for it; ``cap`` says how many bytes a cubicle's history may take;
        ``has_journal``: the kernel is asked for news of changed files, where it has them for us."""
        self._history = history
        self._workspaces = workspaces
        self._cap = cap
        self._journal = open_journal(workspaces.root) if has_journal else None
        self._table_lock = threading.Lock()  # protects _slots, the users of each, and _is_closed
        self._slots: dict[CubicleKey, _Slot] = {}
        self._is_closed = False

    @property
    def has_journal(self) -> bool:
        """A point costs what changed, and not what is there."""
        return self._journal is not None

    # --- points ----------------------------------------------------------------------------------------------------

    def take(
        self, key: CubicleKey, kind: PointKind, *, turn: int | None = None, step: int | None = None, label: str = ""
    ) -> Checkpoint:
        """The point that is now: a new one, or the newest where nothing has changed since. A named one is always new.

        Raises NotFound when the cubicle has no workspace, TooLarge when the list of its files alone is more than its
        history may be.
        """
        with self._using(key) as store:
            return store.take_checkpoint(PointWish(kind, turn, step, label))

    def list_checkpoints(self, key: CubicleKey, *, limit: int = 100, before: int | None = None) -> list[Checkpoint]:
        """Points, newest first; those before the point ``before`` with one."""
        with self._using(key) as store:
            return store.list_checkpoints(limit=limit, before=before)

    def get_checkpoint(self, key: CubicleKey, point: int) -> Checkpoint:
        """The point with this id. Raises NotFound when it is gone."""
        with self._using(key) as store:
            return store.get_checkpoint(point)

    def diff(self, key: CubicleKey, older: int, newer: int | None = None) -> list[Change]:
        """What differs between two points, by path; without ``newer`` between one and the newest. Raises NotFound."""
        with self._using(key) as store:
            return store.diff(older, newer)

    def get_entry(self, key: CubicleKey, point: int, path: FilePath) -> EntryFacts:
        """What was at a path at a point. Raises NotFound."""
        with self._using(key) as store:
            return store.get_entry(point, path)

    def list_folder(
        self, key: CubicleKey, point: int, path: FilePath = (), *, after: bytes = b"", limit: int = 200
    ) -> list[FolderItem]:
        """What was in a folder at a point, by name, those after ``after``. Raises NotFound."""
        with self._using(key) as store:
            return store.list_folder(point, path, after=after, limit=limit)

    def read_content(self, key: CubicleKey, point: int, path: FilePath, *, max_bytes: int) -> bytes:
        """The beginning of a file at a point, or where a link led. Raises NotFound, also for what was not kept."""
        with self._using(key) as store:
            return store.read_content(point, path, max_bytes=max_bytes)

    def forget(self, key: CubicleKey, point: int) -> None:
        """One point can't be gone back to any more, a named one too. Raises NotFound, Conflict for the newest."""
        with self._using(key) as store:
            store.forget_checkpoint(point)

    def measure(self, key: CubicleKey) -> int:
        """What a history takes, in bytes."""
        with self._using(key) as store:
            return store.measure()

    # --- going back ------------------------------------------------------------------------------------------------

    def restore(
        self,
        key: CubicleKey,
        point: int,
        paths: Iterable[FilePath] = (),
        *,
        label: str = "",
        turn: int | None = None,
    ) -> RestoreResult:
        """These files and folders, or everything without any, are as at this point; see ``CheckpointStore.restore``.
        The caller keeps the cubicle frozen."""
        with self._using(key) as store:
            return store.restore(point, paths, label=label, turn=turn)

    def preview_revert(self, key: CubicleKey, before: int, after: int) -> RevertPlan:
        """What undoing all that happened between two points would change, as of the newest point. Raises NotFound."""
        with self._using(key) as store:
            return store.preview_revert(before, after)

    def revert(
        self,
        key: CubicleKey,
        before: int,
        after: int,
        *,
        including: Iterable[FilePath] = (),
        label: str = "",
        turn: int | None = None,
    ) -> RestoreResult:
        """What happened between two points is undone; see ``CheckpointStore.revert_changes``. The caller keeps the
        cubicle frozen."""
        with self._using(key) as store:
            return store.revert_changes(before, after, including=including, label=label, turn=turn)

    def get_pending(self, key: CubicleKey) -> PendingRestore | None:
        """The going back that was cut short."""
        with self._using(key) as store:
            return store.pending_restore

    def finish_restore(self, key: CubicleKey) -> RestoreResult:
        """What was cut short is done. Raises Conflict when nothing was. The caller keeps the cubicle frozen."""
        with self._using(key) as store:
            return store.finish_restore()

    def list_cubicles(self) -> list[CubicleKey]:
        """Those that have a history. After a start, ask ``get_pending`` of each."""
        found = self._history.glob("*/*/history.db")
        return [CubicleKey(path.parts[-3], int(path.parts[-2])) for path in found if path.parts[-2].isdecimal()]

    # --- the end ---------------------------------------------------------------------------------------------------

    def delete_cubicle(self, key: CubicleKey) -> None:
        """Nothing is left of a cubicle's history. Gone is success. Raises Unavailable when the disk refuses."""
        with self._table_lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if slot.store is not None:
                slot.store.close()
                slot.store = None
            if self._journal is not None:
                self._journal.distrust(key)
            _remove(self._history / key.agent / str(key.user))

    def delete_agent(self, agent: str) -> None:
        """Nothing is left of an agent's histories, for any person. Gone is success. Raises Unavailable."""
        for key in [key for key in self.list_cubicles() if key.agent == agent]:
            self.delete_cubicle(key)
        _remove(self._history / agent)

    def close(self) -> None:
        """Nobody may use it afterwards; what is under way is waited for."""
        with self._table_lock:
            self._is_closed = True
            slots = list(self._slots.values())
        for slot in slots:
            with slot.lock:
                if slot.store is not None:
                    slot.store.close()
                    slot.store = None
        if self._journal is not None:
            self._journal.close()

    @contextmanager
    def _using(self, key: CubicleKey) -> Iterator[CheckpointStore]:
        """The cubicle's history, open for as long as it is used."""
        with self._table_lock:
            if self._is_closed:
                raise Unavailable("HermitShell is being stopped. Try again when it runs.")
            slot = self._slots.pop(key, None) or _Slot()
            self._slots[key] = slot  # at the end: it was used last
            slot.users += 1
        try:
            with slot.lock:
                if slot.store is None:
                    slot.store = self._open(key)
                store = slot.store
            yield store
        finally:
            with self._table_lock:
                slot.users -= 1
            self._close_others()

    def _open(self, key: CubicleKey) -> CheckpointStore:
        return CheckpointStore(
            self._history / key.agent / str(key.user),
            open_top=partial(self._workspaces.cubicle_folder, key),
            cap=partial(self._cap, key),
            news=NoNews() if self._journal is None else _NewsOf(self._journal, key),
        )

    def _close_others(self) -> None:
        """Not more are open than so many, but for those that are used; the first ones were not used for longest."""
        with self._table_lock:
            spare = [slot for slot in self._slots.values() if slot.store is not None][:-_MOST_OPEN]
            idle = [slot for slot in spare if not slot.users and slot.lock.acquire(blocking=False)]
            for slot in idle:
                if slot.store is not None:
                    slot.store.close()
                    slot.store = None
                slot.lock.release()


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Unavailable(f"The history in {folder} can't be deleted ({error.strerror}). Check who owns it.") from error
