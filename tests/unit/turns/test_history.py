"""``orchestrator.turns.history``: what was said is found again, wherever one looks, and nobody finds what is not
theirs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.agents import user_rows as people_rows
from orchestrator.core.db.migrations import migrations
from orchestrator.core.models import CALENDAR, CubicleKey, TurnStatus
from orchestrator.turns import read_mark_rows as seen_rows
from orchestrator.turns import search_rows as turn_words
from orchestrator.turns.conversation_rows import ensure_first
from orchestrator.turns.history import History, _split_passage
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

EVIL = "<script>alert(1)</script> & <b>bold</b> needle \x02\x03\u202e {{ 7*7 }}"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def history(install: CoreFixture) -> History:
    """All of it, to be read."""
    return History(install.store)


def said(install: CoreFixture, prompt: str, reply: str | None = "yes", key: CubicleKey = KEY) -> int:
    """A turn that has ended."""
    turn = install.turns.submit(key, prompt, source="test")
    install.turns.end_turn(key, turn.id, TurnStatus.DONE, reply=reply)
    return turn.id


def found(history: History, words: str, key: CubicleKey = KEY) -> list[int]:
    """The ids of what is found."""
    return [turn.id for turn in history.search_turns(key, words)]


def test_words_are_found_in_message_and_reply_the_best_first(install: CoreFixture, history: History) -> None:
    """Any of them, in any order and case, by stem and by how they begin, without accents; a page at a time."""
    first = said(install, "Where did the Nautilus moor?", "In the old harbour of Almería.")
    second = said(install, "And the nautilus now?", "Still in the HARBOUR.")
    third = said(install, "Something else", "Fine mooring ropes.")
    table = {
        "nautilus": [second, first],
        "harbour nautilus": [second, first],
        "naut harb": [second, first],
        "almeria": [first],
        "where is Almería?": [first],
        "ropes in Almeria": [first, third],
        "moored": [third, first],
        "na": [],
        "autilus": [],
    }
    assert {words: found(history, words) for words in table} == table
    assert [turn.id for turn in history.search_turns(KEY, "nautilus", limit=1, before=second)] == [first]
    assert history.search_turns(KEY, "nautilus", before=first) == []
    assert history.search_turns(KEY, "nautilus", before=third) == []


def test_a_rare_word_counts_more_and_a_neighbour_counts_too(install: CoreFixture, history: History) -> None:
    """The order is by what the words say, not by when they were said."""
    rare = said(install, "The gate is by the quince tree.", "Noted.")
    for n in range(20):
        said(install, f"The gate, number {n}.", "A gate.")
    assert found(history, "gate quince")[0] == rare
    lone = said(install, "About the walrus.", "Yes.")
    said(install, "Something in between.", "Yes.")
    pair = said(install, "About the walrus.", "Yes.")
    after = said(install, "The walrus again.", "Yes.")
    assert found(history, "walrus").index(lone) == 2
    assert set(found(history, "walrus")[:2]) == {pair, after}


def test_a_word_that_thousands_of_turns_have_costs_no_more(
    install: CoreFixture, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a rarer one it is left out; alone, the newest turns come first."""
    monkeypatch.setattr(turn_words, "_MOST_SCORED", 10)
    quince = said(install, "quince gate")
    gates = [said(install, f"gate {n} {'gate ' * (n % 3)}") for n in range(12)]
    assert found(history, "gate quince") == [quince]
    assert found(history, "gate") == [*gates[::-1], quince]


def test_recall_tells_what_was_said_around_it(install: CoreFixture, history: History) -> None:
    """The passage, the turns beside it, the conversation; nothing older than asked for, nothing of anybody else."""
    said(install, "the keys", key=OTHER)
    before, hit, after = (said(install, text, "ok") for text in ("one", f"where are the keys? {'x ' * 500}", "three"))
    (recalled,) = history.recall(KEY, "key")
    assert (recalled.turn.id, recalled.before and recalled.before.id) == (hit, before)
    assert recalled.after is not None
    assert recalled.after.id == after
    assert recalled.prompt.startswith("where are the keys?")
    assert len(recalled.prompt) < 400
    assert history.recall(KEY, "key", since=recalled.turn.created_at + 0.001) == []


def test_only_ones_own_conversation_is_searched(install: CoreFixture, history: History) -> None:
    """Not another person's, not another agent's, and whose it is can't be asked for."""
    theirs = said(install, "the needle", key=OTHER)
    assert found(history, "needle", OTHER) == [theirs]
    whose = f"a{OTHER.agent.encode().hex()}u{OTHER.user}"
    for words in ("needle", whose, f"{{whose}} : {whose}", f'" OR whose:"{whose}', "whose:needle"):
        assert found(history, words) == [], words


@pytest.mark.parametrize(
    "words",
    [
        *(
            "",
            "   ",
            "\0",
            '"',
            "*",
            "!!!",
            "_",
            "( )",
            "NOT",
            "NEAR(zebra b)",
            "prompt:zebra",
            "zebra OR x",
            "b AND c",
        ),
        *("zebra -needles", "^zebra", "zebra\0b", "' OR 1=1 --", "x" * 10_000, '"' * 10_000, "zebra " * 2_000),
        *("\ud800", "\U0001f980", "{whose} : *", "{prompt reply} : zebra", "zebra*", "prompt", "whose:"),
    ],
)
def test_hostile_queries_are_words(install: CoreFixture, history: History, words: str) -> None:
    """Nothing in a query is an operator, nothing is too long, and what has no word finds nothing."""
    said(install, "a pin in hay", "found")
    assert found(history, words.encode("utf-8", "replace").decode()) == []


@pytest.mark.parametrize(
    "words", ["pin OR zebra", "zebra -pin", "NOT pin", "^pin", "pin\0zebra", '"pin" zebra', "pin*"]
)
def test_operators_are_words_among_others(install: CoreFixture, history: History, words: str) -> None:
    """What is beside them is found as if they were not there."""
    turn = said(install, "a pin in hay", "found")
    assert found(history, words) == [turn]


def test_what_was_cleared_or_deleted_is_not_found(install: CoreFixture, history: History) -> None:
    """Nor what has not ended; and the index holds no word of it any more."""
    said(install, "needle one")
    said(install, "needle two", key=OTHER)
    running = install.turns.submit(KEY, "needle three", source="test")
    assert len(found(history, "needle")) == 1
    install.turns.clear_history(KEY)
    assert found(history, "needle") == []
    install.turns.stop(running.id)
    assert found(history, "needle") == [running.id]
    with install.store.writing() as db:
        people_rows.delete_user(db, OTHER.user)
        db.execute("DELETE FROM turns WHERE agent = ?", (KEY.agent,))
        db.execute("INSERT INTO turn_words (turn_words) VALUES ('integrity-check')")
        assert db.execute("SELECT COUNT(*) FROM turn_words WHERE turn_words MATCH 'needle'").fetchone()[0] == 0


def test_what_was_there_before_is_indexed_by_the_migration() -> None:
    """Of an older database too, without what was cleared or is open."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrations.apply(db, stop_before="m038_turn_words")
    row = "INSERT INTO turns (agent, user, source, prompt, status, created_at, ended_at, forgotten) VALUES "
    db.execute(row + "('crab', 1, 'x', 'needle', 'done', 1, 2, 0), ('crab', 1, 'x', 'needle', 'done', 1, 2, 1)")
    db.execute(row + "('crab', 1, 'x', 'needle', 'queued', 1, NULL, 0)")
    migrations.apply(db)
    assert turn_words.find_turns(db, CubicleKey("crab", 1), "needle", limit=9) == [1]
    db.execute("UPDATE turns SET forgotten = 1 WHERE id = 1")
    assert turn_words.find_turns(db, CubicleKey("crab", 1), "needle", limit=9) == []
    db.execute(row + "('crab', 1, 'x', 'needle', 'done', 1, 2, 0)")  # as it is put back from a damaged database
    assert turn_words.find_turns(db, CubicleKey("crab", 1), "needle", limit=9) == [4]
    db.execute("INSERT INTO turn_words (turn_words) VALUES ('integrity-check')")
    db.close()


def test_passages_show_where_the_words_stand(install: CoreFixture, history: History) -> None:
    """A few words around them, of a long text too; marks that the text brings itself change nothing of it."""
    said(install, f"{'before ' * 200}needle{' after' * 200}", "no such thing")
    (passages,) = history.find_passages(KEY, "needl")
    assert [text for text, is_found in passages.prompt if is_found] == ["needle"]
    assert len("".join(text for text, _ in passages.prompt)) < 400
    assert passages.reply == (("no such thing", False),)
    assert _split_passage("a\x02b\x03c\x03d\x02e") == (("a", False), ("b", True), ("cd", False), ("e", True))


def test_a_conversation_is_looked_at_around_a_turn(install: CoreFixture, history: History) -> None:
    """What came before and after it; what was cleared has no place."""
    ids = [said(install, f"number {n}") for n in range(7)]
    around = history.list_around(install.turns.get(ids[3]), limit=2)
    assert around is not None
    assert [[turn.id for turn in side] for side in around] == [ids[1:3], ids[4:6]]
    assert [turn.id for turn in history.list_following(install.turns.get(ids[4]), limit=9)] == ids[5:]
    install.turns.clear_history(KEY)
    assert history.list_around(install.turns.get(ids[3]), limit=2) is None


def test_unread_looks_at_news_alone(install: CoreFixture) -> None:
    """Whatever a conversation has grown to: both steps go along an index, to a hundred at most."""
    with install.store.writing() as db:
        row = (
            "INSERT INTO turns (agent, user, conversation, source, prompt, reply, status, created_at, ended_at) VALUES "
        )
        db.executemany(row + "(?, 1, 1, ?, '', 'x', 'done', 1, 2)", [("crab", "api"), ("crab", CALENDAR)] * 100)
        ensure_first(db, KEY, 0.0)
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        assert seen_rows.count_unread(db, 1) == {"crab": 100}
        assert seen_rows.get_first_unread(db, 1, 1) == 1
        db.set_trace_callback(None)
        plan = [str(row[3]) for text in asked for row in db.execute(f"EXPLAIN QUERY PLAN {text}")]
    steps = [step for step in plan if "turns" in step]
    assert steps
    assert all("USING INDEX turns_told" in step or "COVERING INDEX turns_told" in step for step in steps), plan
    assert json.dumps(plan).count("SCAN turns") == 0
