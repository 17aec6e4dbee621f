"""How much a history takes, and what goes when that is too much: the oldest points, and bytes that nobody needs.

The cap may be passed by what the last point brought, and is kept again right after it; twice the cap is passed at no
instant, as nothing is written without room for the database's log and for one file of contents being rewritten.
Every step is on the disk before the file that it makes needless is deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.history_db import HistoryDb
from orchestrator.checkpoints.packs import OutOfRoomError, PackFolder, PackWriter, Span
from orchestrator.core.errors import Conflict, NotFound

KEPT_NEWEST = 3
"""These stay: how it is now, and both sides of the last going back."""
LEAST_CAP_BYTES = 1 << 20
_MOST_PACK_BYTES, _LEAST_PACK_BYTES, _PACKS_A_CAP = 64 << 20, 64 << 10, 8
_MOST_LOG_BYTES, _LOGS_A_CAP = 4 << 20, 8
_DOWN_TO = 0.9
"""When points go, so many that it is some time until the next go."""
_LEAST_ROOM, _ROWS_DOWN_TO = 1 / 4, 1.25
"""Shares of the cap. A row counts twice, as it may be in the database and in its log: so much room there is for the
next point, and when there is less, so many points go that rows and contents are down to the other."""
_DEAD_SHARE, _DEAD_SHARE_IN_NEED = 1 / 2, 1 / 8
"""A file of contents is rewritten when more of it is dead; there are two measures, for when all else was not enough."""


class SizeCap:
    """Looks after the size of one history. The store holds its lock around every call."""

    def __init__(self, db: HistoryDb, packs: PackFolder, cap: Callable[[], int]) -> None:
        self._db = db
        self._packs = packs
        self._cap = cap

    @property
    def cap_bytes(self) -> int:
        """What the history may take."""
        return max(LEAST_CAP_BYTES, self._cap())

    @property
    def pack_bytes(self) -> int:
        """From here on another file of contents is begun."""
        return min(_MOST_PACK_BYTES, max(_LEAST_PACK_BYTES, self.cap_bytes // _PACKS_A_CAP))

    def measure(self) -> int:
        """What the history takes, in bytes."""
        with self._db.reading() as db:
            packs = rows.sum_packs(db)
        return packs + self._db.measure_file() + self._db.measure_log()

    def begin_room(self, db: sqlite3.Connection) -> Callable[[int], int]:
        """How many more bytes may be written in this transaction, after so many that it has already added to packs."""
        rest = 2 * self.cap_bytes - self.pack_bytes - rows.sum_packs(db) - self._db.measure_log()
        return lambda grown: rest - grown - 2 * rows.measure_pages(db)

    def make_writer(self, db: sqlite3.Connection, room: Callable[[], int]) -> PackWriter:
        """Appends to the newest file of contents."""
        newest = max(rows.list_packs(db), default=None)
        return PackWriter(self._packs, newest, rows.get_last_pack(db), most_bytes=self.pack_bytes, room=room)

    def keep_cap(self, *, spared: frozenset[int] = frozenset()) -> None:
        """The history is within its cap, as far as what must stay and what is ``spared`` allow. Raises Unavailable,
        OSError."""
        if self._db.measure_log() > min(_MOST_LOG_BYTES, self.cap_bytes // _LOGS_A_CAP):
            self._db.flush_log()
        if self.measure() <= self.cap_bytes and self._has_room():
            return
        self._forget_oldest(spared, _DOWN_TO, _ROWS_DOWN_TO)
        for share in (_DEAD_SHARE, _DEAD_SHARE_IN_NEED):
            self._rewrite_packs(share)
            self._db.shrink()
            if self.measure() <= self.cap_bytes:
                return

    def forget_what_may_go(self, *, spared: frozenset[int]) -> None:
        """Only the points that must stay are left. Raises as ``keep_cap``."""
        self._forget_oldest(spared, 0.0, 0.0)
        self._db.shrink()

    def _has_room(self) -> bool:
        with self._db.reading() as db:
            return self.begin_room(db)(0) >= self.cap_bytes * _LEAST_ROOM

    def forget(self, point: int) -> None:
        """One point can't be gone back to any more. Raises NotFound, Conflict for the newest and for one that is being
        gone back to."""
        with self._db.writing(is_durable=True) as db:
            newest, pending = rows.get_newest(db), rows.get_pending(db)
            if rows.get_point(db, point) is None:
                raise NotFound("There is no such point any more.")
            if (newest and newest.id == point) or (pending and pending.target == point):
                raise Conflict("This point is needed: it is how things are, or is being gone back to.")
            rows.delete_point(db, point)
        self._delete_dead_packs()

    def _forget_oldest(self, spared: frozenset[int], share: float, rows_share: float) -> None:
        """Until what is needed is down to these shares of the cap, rows counted once and twice."""
        with self._db.writing(is_durable=True) as db:
            pending = rows.get_pending(db)
            stay = spared if pending is None else spared | {pending.target}
            cap = self.cap_bytes
            while True:
                live, pages = rows.measure_needed(db)
                if live + pages <= cap * share and live + 2 * pages <= cap * rows_share:
                    break
                oldest = rows.get_oldest_but(db, stay, newest=KEPT_NEWEST)
                if oldest is None:
                    break
                rows.delete_point(db, oldest)
        self._delete_dead_packs()

    def _delete_dead_packs(self) -> None:
        with self._db.writing(is_durable=True) as db:
            dead = rows.list_dead_packs(db)
            for number in dead:
                rows.delete_pack(db, number)
        for number in dead:
            self._packs.delete(number)

    def _rewrite_packs(self, share: float) -> None:
        """Those of which more than this share is dead; the worst first, as that needs the least room."""
        with self._db.reading() as db:
            worn = [pack for pack in rows.list_packs(db) if pack.size - pack.live > pack.size * share]
        for pack in sorted(worn, key=lambda pack: pack.live / pack.size):
            if not self._rewrite(pack.number):
                return

    def _rewrite(self, number: int) -> bool:
        """What is needed of a file is at the end of another one, and the file is gone; False when there is no room."""
        room = 2 * self.cap_bytes - self.measure()
        try:
            with self._db.writing(is_durable=True) as db:
                self._move_blobs(db, number, room)
        except OutOfRoomError:
            with self._db.reading() as db:
                self._packs.clear_unknown(rows.list_packs(db))
            return False
        self._packs.delete(number)
        return True

    def _move_blobs(self, db: sqlite3.Connection, number: int, room: int) -> None:
        writer = self.make_writer(db, lambda: room - written)
        written = 0
        try:
            writer.begin_other_than(number)
            for blob in rows.list_blobs_of(db, number):
                pieces = self._packs.read(Span(blob.pack, blob.offset, blob.stored))
                span = writer.append(pieces, expected=blob.stored)
                written += span.size
                rows.move_blob(db, blob, span.pack, span.offset)
            for pack, size in writer.grown.items():
                rows.set_pack_size(db, pack, size)
            rows.delete_pack(db, number)
            writer.finish()
        finally:
            writer.close()
