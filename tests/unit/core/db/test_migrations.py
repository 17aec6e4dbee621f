"""``orchestrator.core.db.migrations``: the database's shape, from nothing and from before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.db import audit_rows as audit
from orchestrator.core.db.database import Store
from orchestrator.core.db.migrations import migrations

TABLES = {
    "settings", "users", "passwords", "sessions", "api_tokens", "login_links", "agents", "cubicles", "turns", "steps",
    "approvals", "spending", "spending_days", "audit",
}  # fmt: skip


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """A database in memory with all migrations."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrations.apply(connection)
    yield connection
    connection.close()


def test_makes_every_table_from_nothing(db: sqlite3.Connection) -> None:
    """A fresh database has them all, each strict about its types."""
    found = {row["name"]: row["strict"] for row in db.execute("PRAGMA table_list") if row["type"] == "table"}
    assert set(found) >= TABLES
    assert all(found[name] for name in TABLES)


def test_applying_again_changes_nothing(db: sqlite3.Connection) -> None:
    """The shape is the same after a second start, and the rows are there."""
    db.execute("INSERT INTO settings VALUES ('a', '1')")
    before = [tuple(row) for row in db.execute("SELECT name, sql FROM sqlite_master ORDER BY name")]
    migrations.apply(db)
    assert [tuple(row) for row in db.execute("SELECT name, sql FROM sqlite_master ORDER BY name")] == before
    assert db.execute("SELECT COUNT(*) FROM settings").fetchone()[0] == 1


def test_two_first_starts_at_once_make_one_database(tmp_path: Path) -> None:
    """Opening the same file again, while it is open, finds it complete."""
    first = Store(tmp_path / "hermit.db")
    second = Store(tmp_path / "hermit.db")
    with second.reading() as db:
        assert {row["name"] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} >= TABLES
    first.close()
    second.close()


@pytest.mark.parametrize("change", ["UPDATE audit SET text = 'x'", "DELETE FROM audit"])
def test_audit_rows_stay(db: sqlite3.Connection, change: str) -> None:
    """The database itself refuses to change or delete them."""
    audit.insert_record(db, "kind", "what happened", now=1.0)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        db.execute(change)
    assert [row.text for row in audit.search_records(db)] == ["what happened"]


@pytest.mark.parametrize(
    "row",
    [
        (
            "INSERT INTO spending (day, agent, user, provider, model, state, reserved_micro, cost_micro, started_at) "
            "VALUES ('d', 'a', 1, 'p', 'm', 'settled', 1, -1, 0.0)"
        ),
        "INSERT INTO spending_days (agent, day, reserved_micro) VALUES ('a', 'd', -1)",
        "INSERT INTO spending_days (agent, day, cost_tokens) VALUES ('a', 'd', -1)",
        "INSERT INTO users (name, role, time_zone, created_at) VALUES ('a', 'king', 'UTC', 0.0)",
        "INSERT INTO settings VALUES ('a', NULL)",
    ],
)
def test_refuses_rows_that_can_not_be(db: sqlite3.Connection, row: str) -> None:
    """Negative money, unknown roles and missing values are refused at the bottom, too."""
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(row)


def test_what_there_is_becomes_the_first_conversation_of_its_cubicle() -> None:
    """Cleared turns and those of somebody who was removed among them. A turn follows the one before that was not
    cleared, the newest is the head, and the first words of a person are the title."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrations.apply(db, stop_before="m046_conversations")
    row = "INSERT INTO turns (agent, user, source, prompt, status, created_at, forgotten) VALUES "
    db.execute(row + "('crab', 1, 'api', 'a', 'done', 5, 1), ('newt', 1, 'telegram', 'b', 'failed', 6, 0)")
    db.execute(row + "('crab', 1, 'calendar', 'c', 'running', 7, 0), ('crab', 9, 'api', 'd', 'queued', 4, 0)")
    db.execute(row + "('crab', 1, 'api', 'How\n are  you?', 'done', 8, 0)")
    migrations.apply(db)
    found = db.execute("SELECT id, agent, user, name, title, head, created_at, used_at FROM conversations ORDER BY id")
    assert [tuple(row) for row in found] == [
        (1, "crab", 1, "", "How are you?", 5, 5, 8),
        (2, "newt", 1, "", "b", 2, 6, 6),
        (3, "crab", 9, "", "d", 4, 4, 4),
    ]
    turns = db.execute("SELECT conversation, parent FROM turns ORDER BY id")
    assert [tuple(row) for row in turns] == [(1, None), (2, None), (1, None), (3, None), (1, 3)]
    db.close()


def test_chats_keep_their_rows_under_the_name_of_their_channel() -> None:
    """Who is who, what waits to be handled and to be sent, buttons, groups, strangers and marks: all of it is there."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys=ON")
    migrations.apply(connection, stop_before="m048_identities")
    for statement in _OF_BEFORE_CHANNELS:
        connection.execute(statement)
    migrations.apply(connection)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    found = {
        table: [tuple(row) for row in connection.execute(f"SELECT * FROM {table}")]  # noqa: S608 - constants
        for table in ("identities", "chat_rooms", "chat_strangers", "chat_inbox", "chat_buttons", "chat_progress")
    }
    assert found == {
        "identities": [("telegram", 42, 1)],
        "chat_rooms": [
            ("telegram", "crab", -5, "Family", "enabled", 9, 3.0),
            ("telegram", "crab", 42, "", "open", 8, 2.0),
        ],
        "chat_strangers": [("telegram", "crab", 66, "Eve", "asked", 4.0)],
        "chat_inbox": [("telegram", 7, 11, "crab", 42, None, 42, 8, "", "telegram:7:11", "{}", 5.0, None)],
        "chat_buttons": [("b1", "telegram", "crab", "turn:1:1", 42, "file", "x", 9.0, None)],
        "chat_progress": [(1, "telegram", "crab", 42, 12)],
    }
    (message,) = connection.execute("SELECT id, channel, ref, state, message, after FROM chat_outbox")
    assert tuple(message) == (5, "telegram", "turn:1:1", "sending", None, 8)
    assert tuple(connection.execute("SELECT * FROM chat_cursors").fetchone()) == ("telegram", "notices", 17)
    assert connection.execute("SELECT telegram_id FROM users").fetchone()[0] is None
    connection.execute("DELETE FROM users")
    assert connection.execute("SELECT COUNT(*) FROM identities").fetchone()[0] == 0
    connection.close()


def test_entries_and_notices_know_the_conversation_of_their_turn() -> None:
    """Those of no turn, or of one that is gone, belong to none."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrations.apply(db, stop_before="m050_chat_conversations")
    db.execute(_AGENT)
    db.execute(_USERS + "(1, 'ada', 'operator', NULL, 'UTC', 1)")
    db.execute("INSERT INTO conversations (id, agent, user, created_at) VALUES (1, 'crab', 1, 1), (7, 'crab', 1, 1)")
    db.execute(
        "INSERT INTO turns (id, agent, user, source, prompt, status, created_at, conversation) "
        "VALUES (3, 'crab', 1, 'api', 'a', 'done', 5, 7)"
    )
    for turn in (3, 4, None):
        db.execute(
            'INSERT INTO agenda_entries (agent, user, title, prompt, start, "end", time_zone, repeat, color, missed, '
            "status, by, turn, created_at, changed_at, settled_at, failures) "
            "VALUES ('crab', 1, 't', 'p', 's', '', 'UTC', '', '', 'run', 'active', 'agent', ?, 1, 1, 1, 0)",
            (turn,),
        )
        db.execute(
            "INSERT INTO notices (agent, user, turn, at, kind, text, subject, detail, offers, outcome) "
            "VALUES ('crab', 1, ?, 1, 'calendar', 't', '', '{}', '[]', '')",
            (turn,),
        )
    migrations.apply(db)
    for table in ("agenda_entries", "notices"):
        found = [row[0] for row in db.execute(f"SELECT conversation FROM {table} ORDER BY id")]  # noqa: S608 - constants
        assert found == [7, None, None], table
    db.close()


_AGENT = """
    INSERT INTO agents (name, role, personality, provider, model, fallback_model, image, approval, approval_timeout_s,
    step_limit, command_timeout_s, daily_budget_micro, limits, toolsets, created_at)
    VALUES ('crab', '', '', 'p', 'm', '', 'base', 'off', 60, 5, 60, 1, '{}', '[]', 1)
"""
_LETTER = """
    INSERT INTO telegram_outbox (id, agent, chat, ref, body, state, created_at, after)
    VALUES (5, 'crab', 42, 'turn:1:1', '{}', 'sending', 6, 8)
"""
_USERS = "INSERT INTO users (id, name, role, telegram_id, time_zone, created_at) VALUES "
_OF_BEFORE_CHANNELS = (
    _USERS + "(1, 'ada', 'operator', 42, 'UTC', 1), (2, 'bob', 'member', NULL, 'UTC', 1)",
    _AGENT,
    "INSERT INTO telegram_chats VALUES ('crab', 42, '', 'open', 8, 2), ('crab', -5, 'Family', 'enabled', 9, 3)",
    "INSERT INTO telegram_strangers VALUES ('crab', 66, 'Eve', 'asked', 4)",
    "INSERT INTO telegram_inbox VALUES (7, 11, 'crab', 42, NULL, 42, 8, '', 'telegram:7:11', '{}', 5, NULL)",
    _LETTER,
    "INSERT INTO telegram_buttons VALUES ('b1', 'crab', 'turn:1:1', 42, 'file', 'x', 9, NULL)",
    "INSERT INTO telegram_progress VALUES (1, 'crab', 42, 12)",
    "INSERT INTO telegram_marks VALUES ('notices', 17)",
)
