"""Rows of one cubicle's history. An entry is true from the point ``since`` on and until before the point ``until``; the
one without ``until`` is how it is now. So a point costs what changed, and not what is there.

A folder is a place: a number for its path, whatever folder it is at the time. The workspace itself is place 0.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import NamedTuple

from orchestrator.checkpoints.capture import Captured, Trust
from orchestrator.checkpoints.looking import Seen
from orchestrator.checkpoints.models import (
    Checkpoint,
    EntryFacts,
    EntryKind,
    FolderItem,
    Parts,
    PendingRestore,
    PointKind,
)

_ROW = "id, name, kind, mode, size, modified, changed, inode, blob, place, is_kept, trust, since"
_FACTS = "kind, mode, size, modified, blob, is_kept"
_PAGE_BYTES = 4096
"""What SQLite uses unless it is told otherwise."""
_POINT = "id, kind, turn, step, label, at, changed, torn, unkept"


class NowRow(NamedTuple):
    """An entry as it is now."""

    id: int
    name: bytes
    kind: int
    mode: int
    size: int
    modified: int
    changed: int
    inode: int
    blob: int | None
    place: int | None
    is_kept: int
    trust: int
    since: int

    def is_as(self, seen: Seen) -> bool:
        """The kernel says the same of it as when it was read."""
        return self[2:8] == seen[:6] and self.trust != Trust.NONE

    def get_facts(self) -> EntryFacts:
        """As others see it."""
        return EntryFacts(
            EntryKind(self.kind), self.mode, self.size, self.modified, self.blob, is_kept=bool(self.is_kept)
        )


class ChangedRow(NamedTuple):
    """An entry that began or ended between two points."""

    folder: int
    name: bytes
    facts: EntryFacts


class BlobRow(NamedTuple):
    """Where a content is."""

    id: int
    sha256: bytes
    pack: int
    offset: int
    stored: int
    size: int
    is_deflated: int


class PackRow(NamedTuple):
    """A file of contents."""

    number: int
    size: int
    live: int
    """Bytes in it that some entry needs."""


# --- points -------------------------------------------------------------------------------------------------------


def insert_point(
    db: sqlite3.Connection, kind: PointKind, *, turn: int | None, step: int | None, label: str, now: float
) -> int:
    """A point that nothing has changed at yet."""
    row = db.execute(
        "INSERT INTO points (kind, turn, step, label, at, changed, torn, unkept) VALUES (?, ?, ?, ?, ?, 0, 0, 0) "
        "RETURNING id",
        (kind, turn, step, label, now),
    ).fetchone()
    return int(row[0])


def set_counts(db: sqlite3.Connection, point: int, *, changed: int, torn: int, unkept: int) -> None:
    """What changed at it."""
    db.execute("UPDATE points SET changed = ?, torn = ?, unkept = ? WHERE id = ?", (changed, torn, unkept, point))


def get_point(db: sqlite3.Connection, point: int) -> Checkpoint | None:
    """The point with this id."""
    row = db.execute(f"SELECT {_POINT} FROM points WHERE id = ?", (point,)).fetchone()  # noqa: S608 - constant
    return None if row is None else _make_point(row)


def get_newest(db: sqlite3.Connection) -> Checkpoint | None:
    """The point that is now."""
    row = db.execute(f"SELECT {_POINT} FROM points ORDER BY id DESC LIMIT 1").fetchone()  # noqa: S608 - constant
    return None if row is None else _make_point(row)


def list_points(db: sqlite3.Connection, *, limit: int, before: int | None) -> list[Checkpoint]:
    """Points, newest first."""
    rows = db.execute(
        f"SELECT {_POINT} FROM points WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - constant
        (before, before, limit),
    )
    return [_make_point(row) for row in rows]


def get_oldest_but(db: sqlite3.Connection, stay: Collection[int], *, newest: int) -> int | None:
    """The oldest point that is neither named, nor one of so many newest, nor one of those that stay."""
    rows = db.execute(
        "SELECT id FROM points WHERE kind != 'named' AND id < "
        "(SELECT MIN(id) FROM (SELECT id FROM points ORDER BY id DESC LIMIT ?)) ORDER BY id LIMIT ?",
        (newest, len(stay) + 1),
    )
    return next((int(row[0]) for row in rows if row[0] not in stay), None)


def delete_point(db: sqlite3.Connection, point: int) -> None:
    """It can't be gone back to, and what only it saw is gone.

    What lies between it and its neighbours is all that is read.
    """
    before = db.execute("SELECT MAX(id) FROM points WHERE id < ?", (point,)).fetchone()[0] or 0
    after = db.execute("SELECT MIN(id) FROM points WHERE id > ?", (point,)).fetchone()[0]
    dead = db.execute(
        "DELETE FROM entries WHERE until > :point AND until <= :after AND since > :before AND since <= :point "
        "RETURNING folder, blob, place",
        {"point": point, "before": before, "after": after},
    ).fetchall()
    db.execute("DELETE FROM points WHERE id = ?", (point,))
    for blob in {row[1] for row in dead if row[1] is not None}:
        _delete_blob_if_unused(db, blob)
    for place in {row[0] for row in dead} | {row[2] for row in dead if row[2] is not None}:
        _delete_place_if_unused(db, place)


def _make_point(row: tuple[int, str, int | None, int | None, str, float, int, int, int]) -> Checkpoint:
    return Checkpoint(row[0], PointKind(row[1]), *row[2:])


# --- places -------------------------------------------------------------------------------------------------------


def ensure_place(db: sqlite3.Connection, above: int, name: bytes) -> int:
    """The number of a folder's path."""
    row = db.execute("SELECT id FROM places WHERE above = ? AND name = ?", (above, name)).fetchone()
    if row is None:
        row = db.execute("INSERT INTO places (above, name) VALUES (?, ?) RETURNING id", (above, name)).fetchone()
    return int(row[0])


def find_place(db: sqlite3.Connection, parts: Parts) -> int | None:
    """The number of a path that ever was a folder's."""
    place = 0
    for part in parts:
        row = db.execute("SELECT id FROM places WHERE above = ? AND name = ?", (place, part)).fetchone()
        if row is None:
            return None
        place = int(row[0])
    return place


def get_parts(db: sqlite3.Connection, place: int, known: dict[int, Parts]) -> Parts:
    """The path of a place. ``known`` are those that were found before, and those above them."""
    below: list[tuple[int, bytes]] = []
    while place and place not in known:
        above, name = db.execute("SELECT above, name FROM places WHERE id = ?", (place,)).fetchone()
        below.append((place, name))
        place = above
    parts = known.get(place, ())
    for number, name in reversed(below):
        parts = known[number] = (*parts, name)
    return parts


def _delete_place_if_unused(db: sqlite3.Connection, place: int) -> None:
    while place:
        row = db.execute(
            "DELETE FROM places WHERE id = :id AND NOT EXISTS (SELECT 1 FROM places WHERE above = :id) "
            "AND NOT EXISTS (SELECT 1 FROM entries WHERE folder = :id AND until IS NULL) "
            "AND NOT EXISTS (SELECT 1 FROM entries WHERE folder = :id AND until IS NOT NULL) "
            "AND NOT EXISTS (SELECT 1 FROM entries WHERE folder = places.above AND name = places.name "
            "AND until IS NULL AND place = :id) "
            "AND NOT EXISTS (SELECT 1 FROM entries WHERE folder = places.above AND name = places.name "
            "AND until IS NOT NULL AND place = :id) RETURNING above",
            {"id": place},
        ).fetchone()
        place = 0 if row is None else int(row[0])


# --- entries ------------------------------------------------------------------------------------------------------


def list_now(db: sqlite3.Connection, folder: int) -> dict[bytes, NowRow]:
    """What is in a folder now."""
    rows = db.execute(f"SELECT {_ROW} FROM entries WHERE folder = ? AND until IS NULL", (folder,))  # noqa: S608 - constant
    return {row[1]: NowRow._make(row) for row in rows}


def get_now(db: sqlite3.Connection, folder: int, name: bytes) -> NowRow | None:
    """What a name in a folder stands for now."""
    row = db.execute(
        f"SELECT {_ROW} FROM entries WHERE folder = ? AND name = ? AND until IS NULL",  # noqa: S608 - constant
        (folder, name),
    ).fetchone()
    return None if row is None else NowRow._make(row)


def list_doubtful(db: sqlite3.Connection) -> list[int]:
    """The folders in which something has to be looked at again, whether they were heard of or not."""
    return [int(row[0]) for row in db.execute("SELECT DISTINCT folder FROM entries WHERE until IS NULL AND trust < 2")]


def insert_entry(
    db: sqlite3.Connection,
    point: int,
    folder: int,
    name: bytes,
    captured: Captured,
    *,
    place: int | None,
    is_kept: bool,
) -> None:
    """So it is from this point on."""
    seen = captured.seen
    db.execute(
        "INSERT INTO entries (folder, name, kind, mode, size, modified, changed, inode, blob, place, is_kept, trust, "
        "since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (folder, name, *seen[:6], captured.blob, place, is_kept, captured.trust, point),
    )


def refresh_entry(db: sqlite3.Connection, entry: int, captured: Captured) -> None:
    """It is what it was, and the kernel says something else of it."""
    db.execute(
        "UPDATE entries SET changed = ?, inode = ?, trust = ? WHERE id = ?",
        (captured.seen.changed_ns, captured.seen.inode, captured.trust, entry),
    )


def end_entry(db: sqlite3.Connection, row: NowRow, point: int) -> None:
    """From this point on it is so no more. What began at the same point never was."""
    if row.since == point:
        db.execute("DELETE FROM entries WHERE id = ?", (row.id,))
    else:
        db.execute("UPDATE entries SET until = ? WHERE id = ?", (point, row.id))


def get_at(db: sqlite3.Connection, point: int, folder: int, name: bytes) -> EntryFacts | None:
    """What a name in a folder stood for at a point."""
    row = db.execute(
        f"SELECT {_FACTS} FROM entries WHERE folder = :folder AND name = :name AND since <= :point "  # noqa: S608
        f"AND until IS NULL UNION ALL SELECT {_FACTS} FROM entries WHERE folder = :folder AND name = :name "
        "AND since <= :point AND until > :point",
        {"folder": folder, "name": name, "point": point},
    ).fetchone()
    return None if row is None else _make_facts(row)


def list_at(db: sqlite3.Connection, point: int, folder: int, *, after: bytes, limit: int) -> list[FolderItem]:
    """What was in a folder at a point, by name."""
    rows = db.execute(
        f"SELECT name, {_FACTS} FROM entries WHERE folder = :folder AND name > :after AND since <= :point "  # noqa: S608
        f"AND until IS NULL UNION ALL SELECT name, {_FACTS} FROM entries WHERE folder = :folder AND name > :after "
        "AND since <= :point AND until > :point ORDER BY name LIMIT :limit",
        {"folder": folder, "after": after, "point": point, "limit": limit},
    )
    return [FolderItem(row[0], _make_facts(row[1:])) for row in rows]


def list_ended(db: sqlite3.Connection, older: int, newer: int) -> list[ChangedRow]:
    """What was so at the older point, and is so no more at the newer."""
    rows = db.execute(
        f"SELECT folder, name, {_FACTS} FROM entries WHERE until > :older AND until <= :newer "  # noqa: S608
        "AND since <= :older",
        {"older": older, "newer": newer},
    )
    return [ChangedRow(row[0], row[1], _make_facts(row[2:])) for row in rows]


def list_begun(db: sqlite3.Connection, older: int, newer: int) -> list[ChangedRow]:
    """What is so at the newer point, and was not at the older."""
    rows = db.execute(
        f"SELECT folder, name, {_FACTS} FROM entries WHERE since > :older AND since <= :newer "  # noqa: S608
        "AND (until IS NULL OR until > :newer)",
        {"older": older, "newer": newer},
    )
    return [ChangedRow(row[0], row[1], _make_facts(row[2:])) for row in rows]


def list_stamps(db: sqlite3.Connection, older: int) -> list[tuple[int, bytes, int, int]]:
    """Of the files and links that are so since a point, and have one name: folder, name, when the kernel says that it
    changed, inode."""
    return db.execute(
        "SELECT folder, name, changed, inode FROM entries "
        "WHERE since > ? AND until IS NULL AND trust = ? AND kind != ?",
        (older, Trust.FULL, EntryKind.FOLDER),
    ).fetchall()


def _make_facts(row: tuple[int, int, int, int, int | None, int]) -> EntryFacts:
    kind, mode, size, modified, blob, is_kept = row
    return EntryFacts(EntryKind(kind), mode, size, modified, blob, is_kept=bool(is_kept))


# --- contents -----------------------------------------------------------------------------------------------------


def find_blob(db: sqlite3.Connection, sha256: bytes) -> int | None:
    """The content with this hash."""
    row = db.execute("SELECT id FROM blobs WHERE sha256 = ?", (sha256,)).fetchone()
    return None if row is None else int(row[0])


def get_blob(db: sqlite3.Connection, blob: int) -> BlobRow | None:
    """Where a content is."""
    row = db.execute(
        "SELECT id, sha256, pack, offset, stored, size, is_deflated FROM blobs WHERE id = ?", (blob,)
    ).fetchone()
    return None if row is None else BlobRow._make(row)


def insert_blob(
    db: sqlite3.Connection, sha256: bytes, *, pack: int, offset: int, stored: int, size: int, is_deflated: bool
) -> int:
    """A content is there."""
    row = db.execute(
        "INSERT INTO blobs (sha256, pack, offset, stored, size, is_deflated) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (sha256, pack, offset, stored, size, is_deflated),
    ).fetchone()
    add_live(db, pack, stored)
    return int(row[0])


def delete_blob(db: sqlite3.Connection, blob: int) -> None:
    """Nobody needs it; its bytes are dead."""
    row = db.execute("DELETE FROM blobs WHERE id = ? RETURNING pack, stored", (blob,)).fetchone()
    add_live(db, row[0], -row[1])


def _delete_blob_if_unused(db: sqlite3.Connection, blob: int) -> None:
    if db.execute("SELECT 1 FROM entries WHERE blob = ? LIMIT 1", (blob,)).fetchone() is None:
        delete_blob(db, blob)


def list_blobs_of(db: sqlite3.Connection, pack: int) -> list[BlobRow]:
    """The contents in a file, in its order."""
    rows = db.execute(
        "SELECT id, sha256, pack, offset, stored, size, is_deflated FROM blobs WHERE pack = ? ORDER BY offset", (pack,)
    )
    return [BlobRow._make(row) for row in rows]


def move_blob(db: sqlite3.Connection, blob: BlobRow, pack: int, offset: int) -> None:
    """A content is in another file."""
    db.execute("UPDATE blobs SET pack = ?, offset = ? WHERE id = ?", (pack, offset, blob.id))
    add_live(db, blob.pack, -blob.stored)
    add_live(db, pack, blob.stored)


def list_packs(db: sqlite3.Connection) -> list[PackRow]:
    """The files of contents, oldest first."""
    return [PackRow._make(row) for row in db.execute("SELECT number, size, live FROM packs ORDER BY number")]


def list_dead_packs(db: sqlite3.Connection) -> list[int]:
    """The files in which no content lies, not even an empty one."""
    rows = db.execute(
        "SELECT number FROM packs WHERE live = 0 AND NOT EXISTS (SELECT 1 FROM blobs WHERE pack = packs.number)"
    )
    return [int(row[0]) for row in rows]


def get_last_pack(db: sqlite3.Connection) -> int:
    """The highest number that a file ever had; none is given twice."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'packs'").fetchone()
    return 0 if row is None else int(row[0])


def sum_packs(db: sqlite3.Connection) -> int:
    """Bytes of all of them."""
    return int(db.execute("SELECT COALESCE(SUM(size), 0) FROM packs").fetchone()[0])


def add_live(db: sqlite3.Connection, pack: int, count: int) -> None:
    """So many more bytes of a file are needed."""
    db.execute(
        "INSERT INTO packs (number, size, live) VALUES (:pack, 0, :count) "
        "ON CONFLICT (number) DO UPDATE SET live = live + :count",
        {"pack": pack, "count": count},
    )


def set_pack_size(db: sqlite3.Connection, pack: int, size: int) -> None:
    """A file has grown."""
    db.execute(
        "INSERT INTO packs (number, size, live) VALUES (:pack, :size, 0) "
        "ON CONFLICT (number) DO UPDATE SET size = :size",
        {"pack": pack, "size": size},
    )


def delete_pack(db: sqlite3.Connection, pack: int) -> None:
    """Nothing in it is needed."""
    db.execute("DELETE FROM packs WHERE number = ?", (pack,))


def measure_pages(db: sqlite3.Connection) -> int:
    """Bytes that the database takes with what this transaction has written so far."""
    return int(db.execute("PRAGMA page_count").fetchone()[0]) * _PAGE_BYTES


def measure_needed(db: sqlite3.Connection) -> tuple[int, int]:
    """Bytes that contents and rows would take if nothing in them were dead."""
    live = int(db.execute("SELECT COALESCE(SUM(live), 0) FROM packs").fetchone()[0])
    free = int(db.execute("PRAGMA freelist_count").fetchone()[0]) * _PAGE_BYTES
    return live, measure_pages(db) - free


# --- going back ---------------------------------------------------------------------------------------------------


def set_pending(db: sqlite3.Connection, pending: PendingRestore) -> None:
    """This going back is under way, and no other."""
    clear_pending(db)
    db.execute(
        "INSERT INTO pending (id, target, label, turn, is_exact) VALUES (1, ?, ?, ?, ?)",
        (pending.target, pending.label, pending.turn, pending.is_exact),
    )
    paths: Iterable[tuple[bytes]] = ((b"/".join(parts),) for parts in pending.paths)
    db.executemany("INSERT INTO pending_paths (path) VALUES (?)", paths)


def get_pending(db: sqlite3.Connection) -> PendingRestore | None:
    """The one that is under way, or that a death cut short."""
    row = db.execute("SELECT target, label, turn, is_exact FROM pending").fetchone()
    if row is None:
        return None
    paths = tuple(tuple(path.split(b"/")) for (path,) in db.execute("SELECT path FROM pending_paths"))
    return PendingRestore(row[0], row[1], row[2], is_exact=bool(row[3]), paths=paths)


def clear_pending(db: sqlite3.Connection) -> None:
    """None is under way."""
    db.execute("DELETE FROM pending")
    db.execute("DELETE FROM pending_paths")
