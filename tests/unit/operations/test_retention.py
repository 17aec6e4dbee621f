"""``orchestrator.operations.retention``: what is old enough goes in small pieces, what is open, young or kept for
ever stays.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from orchestrator.core.audit import Audit
from orchestrator.core.config import Keep
from orchestrator.core.db import audit_rows as audit
from orchestrator.core.db.database import Store
from orchestrator.operations import retention_rows as rows
from orchestrator.operations.retention import AT_ONCE, Retention
from tests.support.app_fixture import AppFixture

DAY_S = 24 * 3600.0
NOW = 10_000 * DAY_S
FOREVER = Keep(0, 0, 0, 0)


@pytest.fixture
def store(webapp: AppFixture) -> Store:
    """An install with an agent and a person; nothing of it is old."""
    return webapp.app._store


def look(store: Store, keep: Keep, backups: list[float] | None = None) -> dict[str, int]:
    """One look at ``NOW``, which is far away from what the install wrote itself."""
    asked = [] if backups is None else backups

    def expire(before: float) -> int:
        asked.append(before)
        return 2

    return Retention(store, keep, expire_backups=expire, now=lambda: NOW, pause_s=0).run_once()


def fill(db: sqlite3.Connection, *, at: float, count: int = 1, status: str = "done") -> None:
    """So many turns of that time, with a step, an approval, a notice, a question, a download and a letter each."""
    ended = at if status == "done" else None
    expires = at if status == "done" else 1e12  # the install runs, and would end them
    for n in range(count):
        name = f"{at}:{n}"
        turn = db.execute(
            "INSERT INTO turns (agent, user, conversation, source, prompt, status, created_at, ended_at) "
            "VALUES ('crab', 1, 1, 'test', 'p', ?, ?, ?) RETURNING id",
            (status, at, ended),
        ).fetchone()[0]
        db.execute(
            "INSERT INTO steps (turn, n, thought, command, sha256, ruling, reason, status, started_at, output) "
            "VALUES (?, 1, '', 'ls', '', 'allow', '', 'done', ?, ?)",
            (turn, at, "x" * 2_000),
        )
        decided = "approved" if status == "done" else "pending"
        db.execute(
            "INSERT INTO approvals (id, agent, user, turn, kind, text, sha256, reason, status, asked_at, expires_at) "
            "VALUES (?, 'crab', 1, ?, 'command', '', '', '', ?, ?, ?)",
            (name, turn, decided, at, expires),
        )
        db.execute(
            "INSERT INTO notices (agent, user, turn, at, kind, text, subject, detail, offers) "
            "VALUES ('crab', 1, ?, ?, 'k', 't', '', '{}', '[]')",
            (turn, at),
        )
        db.execute(
            "INSERT INTO questions (id, agent, user, turn, text, choices, free_text, status, asked_at, expires_at) "
            "VALUES (?, 'crab', 1, ?, 't', '[]', 1, ?, ?, ?)",
            (name, turn, "answered" if status == "done" else "pending", at, expires),
        )
        db.execute(
            "INSERT INTO jobs (kind, name, agent, user, turn, state, payload, created, ended) "
            "VALUES ('asset', ?, 'crab', 1, ?, ?, '{}', ?, ?)",
            (name, turn, "done" if status == "done" else "waiting", at, ended),
        )
        db.execute(
            "INSERT INTO chat_outbox (channel, agent, chat, ref, body, state, created_at) "
            "VALUES ('telegram', 'crab', 5, ?, '{}', ?, ?)",
            (name, "sent" if status == "done" else "waiting", at),
        )
        audit.insert_record(db, "test", f"word{int(at)} happened", now=at)


def left(store: Store) -> dict[str, int]:
    """How many rows there are of each kind."""
    tables = ("turns", "steps", "approvals", "notices", "questions", "jobs", "chat_outbox")
    with store.reading() as db:
        found = {t: int(db.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0]) for t in tables}  # noqa: S608 - above
        found["outputs"] = int(db.execute("SELECT COUNT(*) FROM steps WHERE length(output) > 100").fetchone()[0])
    return found


def test_nothing_goes_that_is_kept_for_ever(store: Store) -> None:
    """However old; and nothing is noted then."""
    with store.writing() as db:
        fill(db, at=1.0)
    before = left(store)
    assert look(store, FOREVER) == {}
    assert left(store) == before


def test_details_go_and_conversations_stay(store: Store) -> None:
    """Of two turns of which one is young; what still waits stays too. The audit log gets one line."""
    with store.writing() as db:
        fill(db, at=NOW - 400 * DAY_S, count=3)
        fill(db, at=NOW - 300 * DAY_S)
    gone = look(store, Keep(0, 365, 0, 0))
    assert gone == {
        "turns' outputs": 3,
        "notices": 3,
        "questions": 3,
        "downloads asked for": 3,
        "approvals": 3,
        "messages to Telegram": 3,
    }
    assert left(store) == {
        "turns": 4, "steps": 4, "approvals": 1, "notices": 1, "questions": 1, "jobs": 1, "chat_outbox": 1,
        "outputs": 1,
    }  # fmt: skip
    with store.reading() as db:
        (line,) = audit.search_records(db, kind="retention")
        assert db.execute("SELECT output FROM steps ORDER BY turn LIMIT 1").fetchone()[0] == rows.NOTE
    assert "3 notices" in line.text
    assert look(store, Keep(0, 365, 0, 0)) == {}


def test_what_is_open_stays(store: Store) -> None:
    """However old it is."""
    with store.writing() as db:
        fill(db, at=1_000.0, status="waiting_approval")
    before = left(store)
    look(store, Keep(1, 1, 0, 0))
    assert left(store) == before | {"notices": 0}


def test_messages_stay_while_they_could_be_missed(store: Store) -> None:
    """A month at least: without its letter, a question that still waits would be asked on Telegram once more."""
    with store.writing() as db:
        fill(db, at=NOW - 20 * DAY_S)
    assert "messages to Telegram" not in look(store, Keep(0, 1, 0, 0))
    assert left(store)["chat_outbox"] == 1


def test_conversations_take_all_that_belongs_to_them(store: Store) -> None:
    """Steps, approvals, notices and the rest, though the details alone would be kept for longer."""
    with store.writing() as db:
        fill(db, at=NOW - 40 * DAY_S, count=120)
        fill(db, at=NOW - 20 * DAY_S)
    look(store, Keep(30, 365, 0, 0))
    assert set(left(store).values()) == {1}


def test_the_audit_log_goes_by_age_alone(store: Store) -> None:
    """Nobody can delete a younger row; what went is found by no word, and the index of words is whole."""
    with store.writing() as db, pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        db.execute("DELETE FROM audit")
    with closing(Audits(store)) as audits:
        audits.old(450)
        Audit(audits.store).index_records()
        gone = look(audits.store, Keep(0, 0, 700, 0))
        assert gone == {"audit rows": 450}
        Audit(audits.store).index_records()
        with audits.store.writing() as db:
            assert audit.search_records(db, words="ancient") == []
            assert len(audit.search_records(db, words="recent")) == 1
            db.execute("INSERT INTO audit_fts (audit_fts, rank) VALUES ('integrity-check', 1)")
            with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
                db.execute("DELETE FROM audit")


class Audits:
    """A database with an audit log of its own."""

    def __init__(self, beside: Store) -> None:
        self.store = Store(beside._path.with_name("audits.db"))

    def old(self, count: int) -> None:
        """So many old rows, then a young one."""
        with self.store.writing() as db:
            for n in range(count):
                audit.insert_record(db, "test", f"ancient {n}", now=NOW - 800 * DAY_S)
            audit.insert_record(db, "test", "recent", now=NOW)

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()


def test_backups_go_by_age_but_for_the_newest(webapp: AppFixture) -> None:
    """Also when all are old; without the setting nobody asks."""
    asked: list[float] = []
    assert look(webapp.app._store, FOREVER, asked) == {}
    assert look(webapp.app._store, Keep(0, 0, 0, 10), asked) == {"backups": 2}
    assert asked == [NOW - 10 * DAY_S]
    folder = webapp.app.services.backups._home.backups
    for n in range(3):
        (folder / f"hermit-{n}.tar").write_bytes(b"x")
    assert webapp.services.backups.remove_older(time.time() + 60) == 2
    assert len(list(folder.glob("*.tar"))) == 1
    assert webapp.services.backups.remove_older(0) == 0


def test_each_piece_is_small(store: Store) -> None:
    """So that who writes in between waits for one piece and not for all of them."""
    with store.writing() as db:
        fill(db, at=1.0, count=AT_ONCE + 10)
        pieces = (
            rows.delete_notifications,
            rows.delete_questions,
            rows.delete_downloads,
            rows.delete_approvals,
            rows.delete_messages,
        )
        assert [piece(db, 10.0, AT_ONCE) for piece in pieces] == [AT_ONCE] * len(pieces)
        assert (
            rows.delete_outputs(db, 10.0, AT_ONCE) == rows.delete_conversations(db, 10.0, AT_ONCE) == rows.TURNS_AT_ONCE
        )


def test_a_date_that_jumps_costs_nothing(store: Store) -> None:
    """Ahead, what is new seems old: nothing goes until the install has run for a day with that date. Back again, all is
    there; and after a few days off it goes on at once."""
    date, running = [NOW], [0.0]
    retention = Retention(
        store, Keep(1, 1, 1, 0), expire_backups=lambda _: 0, now=lambda: date[0], running=lambda: running[0], pause_s=0
    )
    assert retention.run_once() == {}
    with store.writing() as db:
        fill(db, at=NOW)
    date[0] = NOW + 3650 * DAY_S
    for _ in range(3):
        assert retention.run_once() == {}
        running[0] += 6 * 3600
        date[0] += 6 * 3600
    date[0] = NOW + 0.6 * DAY_S
    assert retention.run_once() == {}
    running[0] += DAY_S
    assert retention.run_once() == {}
    date[0] = NOW + 2.5 * DAY_S
    assert retention.run_once()
