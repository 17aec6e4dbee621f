"""Rows of thumbnails: which web apps have a picture, and which are to be taken."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.nouns import CubicleKey

_STAYS = "NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = thumbnails.agent OR leaving.user = thumbnails.user)"
"""Nothing is done for whoever is being deleted."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """What there is of one app's picture."""

    id: int
    cubicle: CubicleKey
    app: str
    wanted_at: float | None
    """When a new one was last asked for; None when there is nothing to do."""
    tries: int
    """How often it was begun since."""
    file: str
    """The file's name; empty without one."""


def want(db: sqlite3.Connection, key: CubicleKey, app: str, *, now: float) -> None:
    """A new picture is to be taken."""
    db.execute(
        "INSERT INTO thumbnails (agent, user, app, wanted_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (agent, user, app) DO UPDATE SET wanted_at = excluded.wanted_at, tries = 0",
        (key.agent, key.user, app, now),
    )


def want_again(db: sqlite3.Connection, files: Sequence[str], *, now: float) -> None:
    """The apps whose pictures were these get new ones."""
    db.executemany(
        "UPDATE thumbnails SET file = '', tries = 0, wanted_at = ? WHERE file = ?", [(now, file) for file in files]
    )


def waiting(db: sqlite3.Connection) -> list[Thumbnail]:
    """Those that are to be taken, the longest waiting first."""
    found = db.execute(
        f"SELECT * FROM thumbnails WHERE wanted_at IS NOT NULL AND {_STAYS} ORDER BY wanted_at, id LIMIT 200"  # noqa: S608 - constant
    )
    return [_thumbnail(row) for row in found]


def begin(db: sqlite3.Connection, number: int) -> None:
    """One more try."""
    db.execute("UPDATE thumbnails SET tries = tries + 1 WHERE id = ?", (number,))


def put_back(db: sqlite3.Connection, number: int) -> None:
    """The try did not count."""
    db.execute("UPDATE thumbnails SET tries = tries - 1 WHERE id = ? AND tries > 0", (number,))


def end(db: sqlite3.Connection, one: Thumbnail, file: str) -> bool:
    """The try is over; what was asked for meanwhile is still to do. False when the app, or whose it was, is gone."""
    cursor = db.execute(
        "UPDATE thumbnails SET file = ?, wanted_at = CASE wanted_at WHEN ? THEN NULL ELSE wanted_at END WHERE id = ?",
        (file, one.wanted_at, one.id),
    )
    return cursor.rowcount == 1


def of(db: sqlite3.Connection, key: CubicleKey, app: str) -> Thumbnail | None:
    """What there is of this app."""
    row = db.execute(
        "SELECT * FROM thumbnails WHERE agent = ? AND user = ? AND app = ?", (key.agent, key.user, app)
    ).fetchone()
    return None if row is None else _thumbnail(row)


def of_cubicle(db: sqlite3.Connection, key: CubicleKey) -> list[str]:
    """The apps of a cubicle of which there is anything."""
    found = db.execute("SELECT app FROM thumbnails WHERE agent = ? AND user = ?", (key.agent, key.user))
    return [str(row["app"]) for row in found]


def forget(db: sqlite3.Connection, key: CubicleKey, apps: Sequence[str]) -> None:
    """There is nothing of these apps any more."""
    db.executemany(
        "DELETE FROM thumbnails WHERE agent = ? AND user = ? AND app = ?", [(key.agent, key.user, app) for app in apps]
    )


def give_up(db: sqlite3.Connection, before: float) -> None:
    """What was asked for so long ago is not taken any more."""
    db.execute("UPDATE thumbnails SET wanted_at = NULL WHERE wanted_at < ?", (before,))


def files(db: sqlite3.Connection) -> set[str]:
    """The files of all pictures."""
    return {str(row["file"]) for row in db.execute("SELECT file FROM thumbnails WHERE file <> ''")}


def _thumbnail(row: sqlite3.Row) -> Thumbnail:
    return Thumbnail(
        id=int(row["id"]),
        cubicle=CubicleKey(str(row["agent"]), int(row["user"])),
        app=str(row["app"]),
        wanted_at=row["wanted_at"],
        tries=int(row["tries"]),
        file=str(row["file"]),
    )
