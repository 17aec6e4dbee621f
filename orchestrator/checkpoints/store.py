"""The history of one cubicle: points of time are taken, compared, read and gone back to.

It lies in a folder of the host's own, which no agent sees. Every step can be cut short by a death at any instant: the
database knows what counts, and what else is on the disk is cleared away when the history is opened again. A going back
that was cut short is known, and can be finished.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.blobs import BlobKeeper, read_blob
from orchestrator.checkpoints.history_db import HistoryDb
from orchestrator.checkpoints.looking import look_everywhere, look_into
from orchestrator.checkpoints.models import (
    Change,
    Checkpoint,
    EntryFacts,
    EntryKind,
    FolderItem,
    LeftAlone,
    Parts,
    PendingRestore,
    PointKind,
    RestoreResult,
    RevertPlan,
)
from orchestrator.checkpoints.packs import OutOfRoomError, PackFolder
from orchestrator.checkpoints.planning import choose_steps, list_changes, list_differences, list_stamps, plan_revert
from orchestrator.checkpoints.recorder import Recorder
from orchestrator.checkpoints.size_cap import SizeCap
from orchestrator.checkpoints.tree_writer import TreeWriter
from orchestrator.core.errors import Conflict, NotFound, TooLarge
from orchestrator.files.models import FilePath
from orchestrator.files.names import display_path, parts_of
from orchestrator.files.safe_open import best_opening, explain_failure

FULL_LOOK_S = 600.0
FULL_LOOK_POINTS = 50
"""The journal does not hear of writes through a mapping: after so long, or so many points, everything is looked at."""
_READ_TRIES = 3
CHANGED_SINCE = "It was changed again since; name it to have it put back all the same."


class News(Protocol):
    """Where it is heard which folders changed."""

    def collect(self) -> set[Parts] | None:
        """The folders in which something happened since this was asked before; None when all have to be looked at."""

    def distrust(self) -> None:
        """What was told last got lost."""


class NoNews:
    """Nothing is ever heard."""

    def collect(self) -> set[Parts] | None:
        """All have to be looked at."""
        return None

    def distrust(self) -> None:
        """That changes nothing."""


@dataclass(frozen=True, slots=True)
class PointWish:
    """What a point is to be called."""

    kind: PointKind
    turn: int | None = None
    step: int | None = None
    label: str = ""


class CheckpointStore:
    """All methods may be called from any thread; what changes something is done one after the other."""

    def __init__(
        self,
        folder: Path,
        *,
        open_top: Callable[[], AbstractContextManager[int]],
        cap: Callable[[], int],
        news: News | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``folder`` is made if missing; ``open_top`` opens the cubicle's folder, in which the covered ones lie;
        ``cap`` says how many bytes the history may take. Raises Unavailable, OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._open_top = open_top
        self._opening = best_opening()
        self._news = news or NoNews()
        self._clock = clock
        self._lock = threading.RLock()  # one change at a time; protects the three below
        self._full_at = -FULL_LOOK_S
        self._points_since_full = 0
        self._spared: frozenset[int] = frozenset()
        """Points that stay while they are gone back to."""
        self._db = HistoryDb(folder / "history.db")
        self._packs = PackFolder(folder / "packs")
        self._size_cap = SizeCap(self._db, self._packs, cap)
        with self._db.reading() as db:
            self._packs.clear_unknown(rows.list_packs(db))

    def close(self) -> None:
        """Nobody may use it afterwards."""
        with self._lock:
            self._db.close()

    # --- taking ----------------------------------------------------------------------------------------------------

    def take_checkpoint(self, wish: PointWish) -> Checkpoint:
        """The point that is now: the newest one where nothing has changed since, unless a name is wished for.

        Raises NotFound when the cubicle has no folder, TooLarge when the list of its files alone is more than its
        history may be, Unavailable.
        """
        with self._lock:
            try:
                with _explaining():
                    point = self._take_with_room(wish)
                    self._size_cap.keep_cap(spared=self._spared)
            except BaseException:
                self._news.distrust()
                raise
            return point

    def _take_with_room(self, wish: PointWish) -> Checkpoint:
        """A list of files that finds no room beside the points of before gets theirs."""
        try:
            return self._take(wish)
        except TooLarge:
            self._news.distrust()
            self._size_cap.forget_what_may_go(spared=self._spared)
            return self._take(wish)

    def _take(self, wish: PointWish) -> Checkpoint:
        folders = self._news.collect()
        if self._points_since_full >= FULL_LOOK_POINTS or self._clock() - self._full_at >= FULL_LOOK_S:
            folders = None
        if folders is not None and not folders and (same := self._find_same(wish)) is not None:
            self._points_since_full += 1
            return same
        began = self._clock()
        try:
            with self._open_workspace() as top, self._db.writing() as db:
                is_full = self._look(db, top, wish, folders)
                newest = _require_newest(db)
        except OutOfRoomError as error:
            self._clear_after_failure()
            raise TooLarge("There are too many files: their names alone are more than the history may hold.") from error
        except BaseException:
            self._clear_after_failure()
            raise
        if is_full:
            self._full_at, self._points_since_full = began, 0
        else:
            self._points_since_full += 1
        return newest

    def _find_same(self, wish: PointWish) -> Checkpoint | None:
        """The newest point, where nothing has happened since; None where there has to be a look all the same."""
        if wish.kind is PointKind.NAMED:
            return None
        with self._db.reading() as db:
            return None if rows.list_doubtful(db) else rows.get_newest(db)

    def _look(self, db: sqlite3.Connection, top: int, wish: PointWish, folders: set[Parts] | None) -> bool:
        """Take in what changed, and make the point if there is a reason to; True when everything was looked at."""
        left = self._size_cap.begin_room(db)
        sizes = {pack.number: pack.size for pack in rows.list_packs(db)}

        def room() -> int:
            return left(sum(size - sizes.get(number, 0) for number, size in writer.grown.items()))

        writer = self._size_cap.make_writer(db, room)
        make_point = partial(_insert_point, wish=wish)
        try:
            keeper = BlobKeeper(db, writer, room=room)
            recorder = Recorder(db, keeper, make_point=make_point, room=room)
            if folders is not None:
                known: dict[int, Parts] = {}
                doubtful = {rows.get_parts(db, place, known) for place in rows.list_doubtful(db)}
                look_into(recorder, self._opening, top, folders | doubtful)
            if folders is None or recorder.has_met_second_name:
                folders = None
                look_everywhere(recorder, self._opening, top)
            if wish.kind is PointKind.NAMED or rows.get_newest(db) is None:
                recorder.ensure_point()
            if recorder.point is not None:
                rows.set_counts(
                    db, recorder.point, changed=recorder.changed, torn=recorder.torn, unkept=recorder.unkept
                )
            for pack, size in writer.grown.items():
                rows.set_pack_size(db, pack, size)
            writer.finish()
        finally:
            writer.close()
        return folders is None

    @contextmanager
    def _open_workspace(self) -> Iterator[int]:
        with ExitStack() as stack:
            try:
                top = stack.enter_context(self._open_top())
            except FileNotFoundError as error:
                raise NotFound("This agent has no workspace yet.") from error
            yield top

    def _clear_after_failure(self) -> None:
        with self._db.reading() as db:
            self._packs.clear_unknown(rows.list_packs(db))
        self._db.flush_log()

    # --- looking back ----------------------------------------------------------------------------------------------

    def list_checkpoints(self, *, limit: int = 100, before: int | None = None) -> list[Checkpoint]:
        """Points, newest first; those before ``before`` with one."""
        with self._db.reading() as db:
            return rows.list_points(db, limit=limit, before=before)

    def get_checkpoint(self, point: int) -> Checkpoint:
        """The point with this id. Raises NotFound when it is gone."""
        with self._db.reading() as db:
            return _require_point(db, point)

    def diff(self, older: int, newer: int | None = None) -> list[Change]:
        """What differs between two points, by path; without ``newer`` between one and the newest. Raises NotFound."""
        with self._db.reading() as db:
            last = _require_newest(db).id if newer is None else _require_point(db, newer).id
            return list_changes(db, _require_point(db, older).id, last)

    def get_entry(self, point: int, path: FilePath) -> EntryFacts:
        """What was at a path at a point. Raises NotFound."""
        parts = parts_of(path)
        with self._db.reading() as db:
            _require_point(db, point)
            folder = rows.find_place(db, parts[:-1]) if parts else None
            found = None if folder is None else rows.get_at(db, point, folder, parts[-1])
        if found is None:
            raise NotFound(f"{display_path(*parts)} was not there.")
        return found

    def list_folder(self, point: int, path: FilePath, *, after: bytes = b"", limit: int = 200) -> list[FolderItem]:
        """What was in a folder at a point, by name; the covered folders for no path. Raises NotFound."""
        parts = parts_of(path)
        if parts and self.get_entry(point, parts).kind is not EntryKind.FOLDER:
            raise NotFound(f"{display_path(*parts)} was no folder.")
        with self._db.reading() as db:
            _require_point(db, point)
            folder = rows.find_place(db, parts)
            return [] if folder is None else rows.list_at(db, point, folder, after=after, limit=limit)

    def read_content(self, point: int, path: FilePath, *, max_bytes: int) -> bytes:
        """The beginning of a file at a point, or where a link led. Raises NotFound, also for what was not kept,
        Unavailable when it is damaged."""
        found = self.get_entry(point, path)
        if found.content is None:
            raise NotFound(f"The content of {display_path(*parts_of(path))} was not kept.")
        return self._read_head(found.content, max_bytes)

    def _read_head(self, content: int, max_bytes: int) -> bytes:
        pieces, left = [], max_bytes
        for piece in self._read_blob(content):
            pieces.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
        return b"".join(pieces)

    def _read_blob(self, content: int) -> Iterator[bytes]:
        """A content in pieces; its file may be rewritten elsewhere between a look for it and its opening."""
        for attempt in range(1, _READ_TRIES + 1):
            with self._db.reading() as db:
                blob = rows.get_blob(db, content)
            if blob is None:
                raise NotFound("This content is gone with the points that needed it.")
            pieces = read_blob(self._packs, blob)
            try:
                first = next(pieces, b"")
            except FileNotFoundError as error:
                if attempt == _READ_TRIES:
                    raise NotFound("This content is gone with the points that needed it.") from error
                continue
            yield first
            yield from pieces
            return

    # --- going back ------------------------------------------------------------------------------------------------

    def restore(
        self, point: int, paths: Iterable[FilePath] = (), *, label: str = "", turn: int | None = None
    ) -> RestoreResult:
        """These files and folders, or everything without any, are as at this point. A point of now is taken first, so
        that this too can be undone. Nobody should write meanwhile.

        Raises NotFound, UnsafePath for what is no path, and as ``take_checkpoint``. A death, or a disk that refuses,
        leaves each file as before or as then, and ``pending_restore`` says what is to be finished.
        """
        wanted = tuple(parts_of(path) for path in paths)
        with self._sparing(point):
            now = self._take_exactly(label, turn)
            return self._go_back(PendingRestore(point, label, turn, is_exact=False, paths=wanted), now)

    def preview_revert(self, before: int, after: int) -> RevertPlan:
        """What undoing all that happened between two points would change now, as of the newest point; and what was
        changed again since. Raises NotFound."""
        with self._db.reading() as db:
            points = (_require_point(db, before), _require_point(db, after), _require_newest(db))
            return plan_revert(db, *(point.id for point in points))

    def revert_changes(
        self,
        before: int,
        after: int,
        *,
        including: Iterable[FilePath] = (),
        label: str = "",
        turn: int | None = None,
    ) -> RestoreResult:
        """What happened between two points is undone: the paths that it changed are as before. One that was changed
        again since is left alone unless it is named. Raises as ``restore``."""
        named = {parts_of(path) for path in including}
        with self._sparing(before, after):
            now = self.take_checkpoint(PointWish(PointKind.RESTORE, turn, label=label))
            plan = self.preview_revert(before, after)
            refused = [change for change in plan.conflicts if change.path not in named]
            left = tuple(LeftAlone(change.path, CHANGED_SINCE) for change in refused)
            paths = [change.path for change in (*plan.changes, *plan.conflicts) if change not in refused]
            if not paths:
                return RestoreResult(now, now, (), left)
            done = self._go_back(PendingRestore(before, label, turn, is_exact=True, paths=tuple(paths)), now)
            return RestoreResult(done.before, done.after, done.changed, (*left, *done.left))

    @property
    def pending_restore(self) -> PendingRestore | None:
        """What a death, or a disk that refused, cut short."""
        with self._db.reading() as db:
            return rows.get_pending(db)

    def finish_restore(self) -> RestoreResult:
        """What was cut short is done. Raises Conflict when nothing was, and as ``restore``."""
        with self._lock:
            pending = self.pending_restore
            if pending is None:
                raise Conflict("There is nothing to be finished.")
            return self._go_back(pending, self._take_exactly(pending.label, pending.turn))

    @contextmanager
    def _sparing(self, *points: int) -> Iterator[None]:
        """These points are there, and stay; nobody else changes anything meanwhile. Raises NotFound."""
        with self._lock:
            for point in points:
                self.get_checkpoint(point)
            self._spared = frozenset(points)
            try:
                yield
            finally:
                self._spared = frozenset()

    def _take_exactly(self, label: str, turn: int | None) -> Checkpoint:
        """All that is there is known, whatever the journal did not hear of. Of the few paths that the undo of a turn
        touches that is seen by their stamps, so it needs no such look.
        """
        self._full_at = self._clock() - FULL_LOOK_S
        return self.take_checkpoint(PointWish(PointKind.RESTORE, turn, label=label))

    def _go_back(self, pending: PendingRestore, before: Checkpoint) -> RestoreResult:
        with self._db.writing(is_durable=True) as db:
            _require_point(db, pending.target)
            rows.set_pending(db, pending)
            differences = list_differences(db, pending.target, before.id)
            stamps = list_stamps(db, pending.target)
        steps = choose_steps(differences, pending.paths, is_exact=pending.is_exact)
        with _explaining(), self._open_workspace() as top:
            writer = TreeWriter(self._opening, top, self._read_blob, stamps)
            writer.carry_out(steps)
        after = self.take_checkpoint(PointWish(PointKind.RESTORE, pending.turn, label=pending.label))
        with self._db.writing(is_durable=True) as db:
            rows.clear_pending(db)
        return RestoreResult(before, after, tuple(writer.changed), tuple(writer.left))

    # --- letting go ------------------------------------------------------------------------------------------------

    def forget_checkpoint(self, point: int) -> None:
        """One point can't be gone back to any more, a named one too. Raises NotFound, Conflict for the newest."""
        with self._lock:
            self._size_cap.forget(point)

    def forget_oldest(self) -> None:
        """The history is within its cap, as far as the named points and the newest allow."""
        with self._lock:
            self._size_cap.keep_cap()

    def measure(self) -> int:
        """What the history takes, in bytes."""
        with self._lock:
            return self._size_cap.measure()


@contextmanager
def _explaining() -> Iterator[None]:
    """What the disk says, as a sentence."""
    try:
        yield
    except OSError as error:
        raise explain_failure(error, ()) from error


def _insert_point(db: sqlite3.Connection, *, wish: PointWish) -> int:
    return rows.insert_point(db, wish.kind, turn=wish.turn, step=wish.step, label=wish.label, now=time.time())


def _require_point(db: sqlite3.Connection, point: int) -> Checkpoint:
    found = rows.get_point(db, point)
    if found is None:
        raise NotFound("There is no such point any more: the oldest go when the history is full.")
    return found


def _require_newest(db: sqlite3.Connection) -> Checkpoint:
    found = rows.get_newest(db)
    if found is None:
        raise NotFound("There is no point yet.")
    return found
