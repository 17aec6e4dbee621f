"""``orchestrator.core.db.upgrading``: older databases come to today's shape with all their rows, or stay as they
are.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from orchestrator.core.db import upgrading
from orchestrator.core.db.database import Store
from orchestrator.core.db.migration_list import MigrationList
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Unavailable
from tests import schema_fixture

LATER = migrations.list_names()[1:]


def _steps(*scripts: str) -> MigrationList:
    """A list of migrations, each a statement or two."""
    steps = MigrationList("small")
    for number, script in enumerate(scripts):

        def step(db: Database, script: str = script) -> None:
            for statement in script.split(";"):
                db.execute(statement)

        steps(name=f"m{number:03}")(step)
    return steps


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


@pytest.mark.parametrize("script", schema_fixture.kept(), ids=lambda path: path.stem)
def test_a_database_of_an_earlier_version_is_upgraded(script: Path, tmp_path: Path) -> None:
    """It has the shape of a new one then, and the rows that it had."""
    old, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    schema_fixture.load(script, old)
    shutil.copy(old, tmp_path / "before.db")
    Store(old, keep_in=tmp_path / "backups").close()
    Store(fresh).close()
    assert schema_fixture.shape(old) == schema_fixture.shape(fresh)
    for table in ("users", "turns", "cubicles", "settings", "audit"):
        before, after = (schema_fixture.rows(path, table) for path in (tmp_path / "before.db", old))
        assert before
        assert [row[: len(was)] for row, was in zip(after, before, strict=True)] == before


@pytest.mark.parametrize("first", LATER)
def test_every_shape_on_the_way_is_upgraded(first: str, tmp_path: Path) -> None:
    """Whichever step was the last that a database had, the rest brings it to today's shape, and a copy stays."""
    path, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrations.apply(db, stop_before=first)
        db.execute("INSERT INTO settings VALUES ('colour', 'blue')")
    Store(path, keep_in=tmp_path / "backups").close()
    Store(fresh).close()
    assert schema_fixture.shape(path) == schema_fixture.shape(fresh)
    (copied,) = (tmp_path / "backups").iterdir()
    assert schema_fixture.rows(copied, "settings") == schema_fixture.rows(path, "settings") == [("colour", "blue")]
    assert len(schema_fixture.tables(copied)) < len(schema_fixture.tables(path)) or first >= "m014"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600


def test_nothing_is_copied_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    """Neither for a new database nor at the next start."""
    for _ in range(2):
        Store(tmp_path / "hermit.db", keep_in=tmp_path / "backups").close()
    assert [path.name for path in tmp_path.iterdir()] == ["hermit.db"]


@pytest.mark.parametrize(
    "wrong",
    [
        "CREATE TABLE b (x); CREATE TABLE a (x)",
        "ALTER TABLE a ADD COLUMN y; INSERT INTO nowhere VALUES (1)",
        "DELETE FROM a; SELECT nonsense",
    ],
)
def test_a_step_that_fails_leaves_the_old_file_as_it_was(wrong: str, tmp_path: Path) -> None:
    """Also the steps before it in the same upgrade are not done; the sentence says where the copy is."""
    path, backups = tmp_path / "a.db", tmp_path / "backups"
    with closing(_open(path)) as db:
        upgrading.bring_up(db, _steps("CREATE TABLE a (x)"), keep_in=backups)
        db.execute("INSERT INTO a VALUES (1)")
        before = list(db.iterdump())
        with pytest.raises(Unavailable, match=r"is as it was, and .*before-upgrade-1\.db is a copy"):
            upgrading.bring_up(db, _steps("CREATE TABLE a (x)", "CREATE TABLE c (x)", wrong), keep_in=backups)
        assert list(db.iterdump()) == before
        assert not db.in_transaction
    assert [p.name for p in backups.iterdir()] == ["before-upgrade-1.db"]


def test_rows_that_would_point_nowhere_stop_an_upgrade(tmp_path: Path) -> None:
    """A step that breaks a reference is undone like one that fails."""
    first = "CREATE TABLE a (x INTEGER PRIMARY KEY); CREATE TABLE b (y REFERENCES a (x) DEFERRABLE INITIALLY DEFERRED)"
    with closing(_open(tmp_path / "a.db")) as db:
        upgrading.bring_up(db, _steps(first), keep_in=tmp_path)
        with pytest.raises(Unavailable, match="a row of b would point nowhere"):
            upgrading.bring_up(db, _steps(first, "INSERT INTO b VALUES (5)"), keep_in=tmp_path)
        assert db.execute("SELECT COUNT(*) FROM b").fetchone()[0] == 0


def test_the_three_last_copies_are_kept(tmp_path: Path) -> None:
    """Six upgrades leave the copies from before the last three."""
    scripts = [f"CREATE TABLE t{number} (x)" for number in range(12)]
    with closing(_open(tmp_path / "a.db")) as db:
        for count in range(6, 13):
            upgrading.bring_up(db, _steps(*scripts[:count]), keep_in=tmp_path / "backups")
    assert sorted(p.name for p in (tmp_path / "backups").iterdir()) == [
        "before-upgrade-10.db", "before-upgrade-11.db", "before-upgrade-9.db",
    ]  # fmt: skip


def test_without_room_for_the_copy_nothing_begins(tmp_path: Path) -> None:
    """A folder that can't be written to is said, and the database is as it was."""
    (tmp_path / "backups").write_text("a file where the folder belongs")
    with closing(_open(tmp_path / "a.db")) as db:
        upgrading.bring_up(db, _steps("CREATE TABLE a (x)"), keep_in=tmp_path / "backups")
        with pytest.raises(Unavailable, match=r"could not be copied .* is as it was"):
            upgrading.bring_up(db, _steps("CREATE TABLE a (x)", "CREATE TABLE b (x)"), keep_in=tmp_path / "backups")
        assert [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE name = 'b'")] == []


def test_a_newer_versions_database_is_left_alone(tmp_path: Path) -> None:
    """Its steps are unknown here: a sentence, and nothing is written."""
    Store(tmp_path / "hermit.db").close()
    with closing(sqlite3.connect(tmp_path / "hermit.db")) as db, db:
        db.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('hermitshell', 'm999_later', '')"
        )
    with pytest.raises(Unavailable, match="newer HermitShell"):
        Store(tmp_path / "hermit.db")
