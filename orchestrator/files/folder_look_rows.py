"""Rows of when people looked into folders of their workspaces: the last time, and the visit before that."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class FolderLook:
    """When somebody looked into a folder."""

    at: float
    """Unix seconds: the last time."""
    before: float | None
    """The end of the visit before the present one; None at the first one."""


def get_look(db: sqlite3.Connection, key: CubicleKey, path: bytes) -> FolderLook | None:
    """None for a folder that was never looked into."""
    row = db.execute(
        "SELECT at, before FROM folder_looks WHERE agent = ? AND user = ? AND path = ?", (key.agent, key.user, path)
    ).fetchone()
    return None if row is None else FolderLook(row["at"], row["before"])


def set_look(db: sqlite3.Connection, key: CubicleKey, path: bytes, look: FolderLook) -> None:
    """The folder was looked into."""
    db.execute(
        "INSERT INTO folder_looks (agent, user, path, at, before) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (agent, user, path) DO UPDATE SET at = excluded.at, before = excluded.before",
        (key.agent, key.user, path, look.at, look.before),
    )


def set_seen(db: sqlite3.Connection, key: CubicleKey, path: bytes, now: float) -> None:
    """Nothing in the folder is new any more, if it was ever looked into."""
    db.execute(
        "UPDATE folder_looks SET at = :now, before = :now WHERE agent = :agent AND user = :user AND path = :path",
        {"agent": key.agent, "user": key.user, "path": path, "now": now},
    )


def delete_oldest(db: sqlite3.Connection, key: CubicleKey, most: int) -> None:
    """Only the newest ``most`` looks of a cubicle stay."""
    db.execute(
        "DELETE FROM folder_looks WHERE agent = :agent AND user = :user AND path IN (SELECT path FROM folder_looks "
        "WHERE agent = :agent AND user = :user ORDER BY at DESC LIMIT -1 OFFSET :most)",
        {"agent": key.agent, "user": key.user, "most": most},
    )
