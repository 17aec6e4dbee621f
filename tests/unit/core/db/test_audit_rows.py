"""``orchestrator.core.db.audit_rows``: append, index and search."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from orchestrator.core.db import audit_rows as audit
from orchestrator.core.db.migrations import migrations


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """A database with three rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrations.apply(connection)
    audit.insert_record(
        connection, "command", "ls -l report.pdf", now=1.0, agent="crab", user=1, turn=7, detail={"n": 1}
    )
    audit.insert_record(connection, "login", "ada logged in", now=2.0, user=1)
    audit.insert_record(
        connection, "command", 'echo "OR" NOT\0nothing', now=3.0, agent="helper", detail={"output": "zebra"}
    )
    audit.index_records(connection, most=100)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", [3, 2, 1]),
        ("   ", [3, 2, 1]),
        ("report.pdf", [1]),
        ("REPORT ls", [1]),
        ("report zebra", []),
        ("zebra", [3]),
        ('"OR" NOT', [3]),
        ("in OR out", []),
        ("nothing", [3]),
        ("NEAR(a b)", []),
        ("*", []),
        ("text:ls", []),
        ('"', []),
        ("ls\0", [1]),
        ("\0", [3, 2, 1]),
        ("' OR 1=1 --", []),
        ("ls " * 20_000, [1]),
        ("x" * 30_000, []),
    ],
)
def test_finds_words_and_never_takes_them_for_operators(db: sqlite3.Connection, words: str, found: list[int]) -> None:
    """Whatever is typed is a list of words, all of which must be there."""
    assert [row.id for row in audit.search_records(db, words=words)] == found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"agent": "crab"}, [1]),
        ({"kind": "command"}, [3, 1]),
        ({"kind": "command", "before": 3}, [1]),
        ({"before": 1}, []),
        ({"limit": 2}, [3, 2]),
        ({"words": "ls", "agent": "helper"}, []),
    ],
)
def test_filters_and_pages(db: sqlite3.Connection, wanted: dict[str, object], found: list[int]) -> None:
    """Everything given must fit; newest first."""
    assert [row.id for row in audit.search_records(db, **wanted)] == found  # type: ignore[arg-type]  # a table of arguments


def test_a_row_comes_back_as_it_was(db: sqlite3.Connection) -> None:
    """All fields, the detail as data."""
    row = audit.search_records(db, words="report")[0]
    assert row == audit.AuditRow(1, 1.0, "command", "crab", 1, 7, "ls -l report.pdf", {"n": 1})


def test_new_rows_are_found_by_their_words_from_the_next_index_on(db: sqlite3.Connection) -> None:
    """The oldest first, so many at once; without words they are found right away."""
    for n in range(5):
        audit.insert_record(db, "noise", f"bell {n}", now=4.0)
    assert len(audit.search_records(db, kind="noise")) == 5
    assert audit.search_records(db, words="bell") == []
    for found, is_done in ([4, 5], False), ([4, 5, 6, 7], False), ([4, 5, 6, 7, 8], True):
        audit.index_records(db, most=2)
        assert sorted(row.id for row in audit.search_records(db, words="bell")) == found
        assert audit.is_indexed(db) is is_done
    audit.index_records(db, most=2)
    assert len(audit.search_records(db, words="bell")) == 5


def test_a_row_that_goes_before_it_was_indexed_leaves_the_index_whole(db: sqlite3.Connection) -> None:
    """What was indexed goes with its words, what was not has none to let go; what comes later is indexed as ever."""
    audit.insert_record(db, "command", "ls unseen", now=4.0)
    db.execute("INSERT INTO retention (what, upto) VALUES ('audit', 4)")
    db.execute("DELETE FROM audit WHERE id IN (1, 4)")
    assert audit.search_records(db, words="ls") == []
    audit.insert_record(db, "command", "ls later", now=5.0)
    audit.index_records(db, most=100)
    assert [row.text for row in audit.search_records(db, words="ls")] == ["ls later"]
    db.execute("INSERT INTO audit_fts (audit_fts, rank) VALUES ('integrity-check', 1)")
