"""Migrations in their order, and which of them a database has had.

sqlite-utils applies them and writes down that it did. It loads a third of a second of modules where numpy is installed,
so it is loaded only when there is a migration to apply; what a database has had is one small table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

Migration = Callable[["Database"], None]


class MigrationList:
    """The migrations of one kind of database, by name: the name of the function that makes the change."""

    def __init__(self, name: str) -> None:
        """``name`` is written beside each migration that a database has had."""
        self._name = name
        self._migrations: dict[str, Migration] = {}

    def __call__(self, name: str = "") -> Callable[[Migration], Migration]:
        """A decorator that puts a function at the list's end. Raises ValueError when the name is there already."""

        def register(migration: Migration) -> Migration:
            known_as = name or migration.__name__
            if known_as in self._migrations:
                raise ValueError(f"there are two migrations {known_as}")
            self._migrations[known_as] = migration
            return migration

        return register

    def list_names(self) -> list[str]:
        """Every migration, in order."""
        return list(self._migrations)

    def list_applied(self, connection: sqlite3.Connection) -> list[str]:
        """What the database has had, in the order in which it had it; it is only read. Raises sqlite3.Error."""
        with closing(connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'")) as found:
            if found.fetchone() is None:
                return []
        with closing(
            connection.execute(
                "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid", (self._name,)
            )
        ) as rows:
            return [str(row[0]) for row in rows]

    def apply(self, connection: sqlite3.Connection, *, stop_before: str = "") -> None:
        """Apply what the database has not had, each migration and its record in one transaction or none, up to
        ``stop_before`` if that is given. Raises what a migration raises."""
        from sqlite_utils import Database  # noqa: PLC0415 - see above
        from sqlite_utils.migrations import Migrations  # noqa: PLC0415

        applied = Migrations(self._name)
        for name, migration in self._migrations.items():
            applied(name=name)(migration)
        applied.apply(Database(connection), stop_before=stop_before or None)
