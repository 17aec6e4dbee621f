"""Taking in what a look sees: it is compared with how things were, and what differs is kept as a new point.

It lives for one transaction. The point itself is made with the first thing that differs, so a look at which nothing has
changed leaves nothing behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.capture import Captured, ContentKeeper, Trust, capture_file, capture_link
from orchestrator.checkpoints.looking import Below, Seen, list_seen
from orchestrator.checkpoints.models import MOST_DEPTH, MOST_PATH_BYTES, OWN_LOG, EntryFacts, EntryKind, Parts
from orchestrator.checkpoints.packs import OutOfRoomError

_ROWS_A_CHECK = 64


class Recorder:
    """What one look finds."""

    def __init__(
        self,
        db: sqlite3.Connection,
        keeper: ContentKeeper,
        *,
        make_point: Callable[[sqlite3.Connection], int],
        room: Callable[[], int],
    ) -> None:
        """``make_point`` makes the point's row; ``room``: how much more may be written."""
        self._db = db
        self._keeper = keeper
        self._make_point = make_point
        self._room = room
        self.point: int | None = None
        self.changed = self.torn = self.unkept = 0
        self.has_met_second_name = False
        """A file has another name since it was looked at last; who knows where."""

    def ensure_point(self) -> int:
        """The point, made when it is first needed."""
        if self.point is None:
            self.point = self._make_point(self._db)
        return self.point

    def compare(self, folder: int, place: int, parts: Parts, *, only: tuple[bytes, ...] | None = None) -> list[Below]:
        """Take in all names of an open folder, or some alone; says which folders can be looked into.

        Raises OutOfRoomError when the list itself is too long, OSError.
        """
        was = rows.list_now(self._db, place)
        below: list[Below] = []
        for name, seen in list_seen(folder):
            if only is not None and (name not in only or seen.kind != EntryKind.FOLDER):
                continue
            if seen.kind == EntryKind.FILE and (*parts, name) in OWN_LOG:
                continue
            old = was.pop(name, None)
            if seen.kind == EntryKind.FOLDER:
                found = self._take_in_folder(place, parts, name, seen, old)
                if found is not None:
                    below.append(found)
            elif old is None or not old.is_as(seen):
                self._take_in(folder, place, name, seen, old)
        for old in was.values():
            self._end(old)
        return below

    def compare_folder(self, parts: Parts, seen: Seen) -> int | None:
        """Take in the mode of a folder that is known; its place, None when it is not known as one (any more)."""
        above = rows.find_place(self._db, parts[:-1])
        old = None if above is None else rows.get_now(self._db, above, parts[-1])
        if above is None or old is None or old.kind != EntryKind.FOLDER or not old.is_kept:
            return None
        if old.mode != seen.mode:
            self._replace(above, parts[-1], Captured(seen, None, Trust.FULL), old, place=old.place)
        return old.place

    def find_known(self, parts: Parts) -> Parts:
        """The nearest folder on the way to this one that is known, or this one itself."""
        place = 0
        for depth, part in enumerate(parts):
            row = rows.get_now(self._db, place, part)
            if row is None or row.kind != EntryKind.FOLDER or row.place is None or not row.is_kept:
                return parts[:depth]
            place = row.place
        return parts

    def _take_in_folder(
        self, above: int, parts: Parts, name: bytes, seen: Seen, old: rows.NowRow | None
    ) -> Below | None:
        """The folder, if it can be looked into."""
        is_kept = len(parts) < MOST_DEPTH and sum(map(len, parts)) + len(parts) + len(name) <= MOST_PATH_BYTES
        if old is not None and old.kind == EntryKind.FOLDER and old.place is not None:
            place, is_new = old.place, old.inode != seen.inode
            if old.mode != seen.mode:
                self._replace(above, name, Captured(seen, None, Trust.FULL), old, place=place, is_kept=is_kept)
            elif is_new:
                rows.refresh_entry(self._db, old.id, Captured(seen, None, Trust.FULL))
        else:
            if old is not None:
                self._end(old)
            place, is_new = rows.ensure_place(self._db, above, name), True
            self._insert(above, name, Captured(seen, None, Trust.FULL), place=place, is_kept=is_kept)
        return Below(name, place, is_new) if is_kept else None

    def _take_in(self, folder: int, place: int, name: bytes, seen: Seen, old: rows.NowRow | None) -> None:
        """A file or a link that is new, or may differ from what it was."""
        capture = capture_file if seen.kind == EntryKind.FILE else capture_link
        captured = capture(folder, name, seen, self._keeper)
        if captured is None:
            if old is not None:
                self._end(old)
            return
        if captured.seen.is_shared and (old is None or old.trust == Trust.FULL):
            self.has_met_second_name = True
        is_kept = captured.blob is not None
        if old is not None and _facts_of(captured, is_kept=is_kept) == old.get_facts():
            rows.refresh_entry(self._db, old.id, captured)
            return
        self.torn += captured.is_torn
        self.unkept += not is_kept
        if old is not None and old.kind != EntryKind.FOLDER:
            self._replace(place, name, captured, old, is_kept=is_kept)
            return
        if old is not None:
            self._end(old)
        self._insert(place, name, captured, is_kept=is_kept)

    def _replace(
        self,
        folder: int,
        name: bytes,
        captured: Captured,
        old: rows.NowRow,
        *,
        place: int | None = None,
        is_kept: bool = True,
    ) -> None:
        """It is another one now; what lies beneath it stays as it is."""
        rows.end_entry(self._db, old, self.ensure_point())
        self._insert(folder, name, captured, place=place, is_kept=is_kept)

    def _insert(
        self, folder: int, name: bytes, captured: Captured, *, place: int | None = None, is_kept: bool = True
    ) -> None:
        rows.insert_entry(self._db, self.ensure_point(), folder, name, captured, place=place, is_kept=is_kept)
        self._count()

    def _end(self, old: rows.NowRow) -> None:
        """It is gone, with all that was beneath it."""
        waiting, point = [old], self.ensure_point()
        while waiting:
            row = waiting.pop()
            rows.end_entry(self._db, row, point)
            self._count()
            if row.place is not None:
                waiting += rows.list_now(self._db, row.place).values()

    def _count(self) -> None:
        self.changed += 1
        if self.changed % _ROWS_A_CHECK == 0 and self._room() < 0:
            raise OutOfRoomError


def _facts_of(captured: Captured, *, is_kept: bool) -> EntryFacts:
    seen = captured.seen
    return EntryFacts(EntryKind(seen.kind), seen.mode, seen.size, seen.modified_ns, captured.blob, is_kept=is_kept)
