"""Rows of thumbnails: which web apps have a picture."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """An app's picture."""

    cubicle: CubicleKey
    app: str
    file: str
    """The file's name; empty without one."""


def put_thumbnail(db: sqlite3.Connection, key: CubicleKey, app: str, file: str) -> str:
    """From now on this is the app's picture, or it has none; the file that it had before."""
    before = get_thumbnail(db, key, app)
    db.execute(
        "INSERT INTO thumbnails (agent, user, app, file) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (agent, user, app) DO UPDATE SET file = excluded.file",
        (key.agent, key.user, app, file),
    )
    return "" if before is None else before.file


def get_thumbnail(db: sqlite3.Connection, key: CubicleKey, app: str) -> Thumbnail | None:
    """What there is of this app."""
    row = db.execute(
        "SELECT * FROM thumbnails WHERE agent = ? AND user = ? AND app = ?", (key.agent, key.user, app)
    ).fetchone()
    return None if row is None else _thumbnail(row)


def of_cubicle(db: sqlite3.Connection, key: CubicleKey) -> list[str]:
    """The apps of a cubicle of which there is anything."""
    found = db.execute("SELECT app FROM thumbnails WHERE agent = ? AND user = ?", (key.agent, key.user))
    return [str(row["app"]) for row in found]


def delete_thumbnails(db: sqlite3.Connection, key: CubicleKey, apps: Sequence[str]) -> None:
    """There is nothing of these apps any more."""
    db.executemany(
        "DELETE FROM thumbnails WHERE agent = ? AND user = ? AND app = ?", [(key.agent, key.user, app) for app in apps]
    )


def list_thumbnails(db: sqlite3.Connection) -> list[Thumbnail]:
    """All that have a file."""
    return [_thumbnail(row) for row in db.execute("SELECT * FROM thumbnails WHERE file <> ''")]


def _thumbnail(row: sqlite3.Row) -> Thumbnail:
    return Thumbnail(CubicleKey(str(row["agent"]), int(row["user"])), str(row["app"]), str(row["file"]))
