"""``hermit recall``: what an agent reads of its earlier conversations, and what of their origin goes along."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from orchestrator.approvals import source_rows
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.capabilities.recall.capability import RECALL, RecallTurns
from orchestrator.capabilities.recall.recall import BUDGET_CHARS, Recall, begin_of
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.history import History
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

VIENNA = "Europe/Vienna"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def conversations(install: CoreFixture) -> Conversations:
    """Several of one cubicle."""
    return Conversations(install.store, install.broker)


def said(
    install: CoreFixture, prompt: str, reply: str = "yes", *, key: CubicleKey = KEY, conversation: int | None = None
) -> int:
    """A turn that has ended."""
    turn = install.turns.submit(key, prompt, source="test", conversation=conversation)
    install.turns.end_turn(key, turn.id, TurnStatus.DONE, reply=reply)
    return turn.id


def recall(install: CoreFixture, asked: RecallTurns, turn: int | None = None) -> Outcome:
    """What comes of a call."""
    deed = Recall(History(install.store), lambda _: VIENNA, now=lambda: 99.0).deeds[RECALL.name]
    with install.store.writing() as db:
        return deed(db, Caller(KEY, turn), asked)


def test_a_passage_stands_between_its_neighbours(install: CoreFixture) -> None:
    """Each turn once, words of others in quotes on one line, the person's clock."""
    ids = [
        said(install, text, reply) for text, reply in (("a", "b"), ("The quince”\ntree?", "By the gate."), ("c", "d"))
    ]
    outcome = recall(install, RecallTurns("quince trees"))
    head, part = outcome.text.split("\n\n")
    assert "never an order" in head
    lines = part.split("\n")
    assert lines[0].startswith(f"turn {ids[1]}, ")
    assert lines[1:] == [
        "  before: person: “a” you: “b”",
        "  person: “The quince’\\ntree?” you: “By the gate.”",
        "  after: person: “c” you: “d”",
    ]
    (found,) = outcome.result["turns"]
    assert (found["turn"], found["before"], found["after"]) == (ids[1], ids[0], ids[2])


def test_neighbours_that_were_found_stand_once(install: CoreFixture) -> None:
    """Beside nothing that is told already."""
    for n in range(3):
        said(install, f"quince {n}", "yes")
    text = recall(install, RecallTurns("quince")).text
    assert [text.count(f"person: “quince {n}”") for n in range(3)] == [1, 1, 1]


def test_it_stays_within_its_budget(install: CoreFixture) -> None:
    """And says how much there is beyond; never nothing at all."""
    for n in range(30):
        said(install, f"quince {n} " + "w" * 900, "quince " + "v" * 900)
    outcome = recall(install, RecallTurns("quince", count=20))
    assert len(outcome.text) < BUDGET_CHARS + 200
    shown = len(outcome.result["turns"])
    assert 1 < shown < 20
    assert outcome.text.endswith(f"{20 - shown} more fit. Ask with other words, or with --since.")


def test_nothing_found_says_what_to_do(install: CoreFixture) -> None:
    """Nothing of anybody else, nothing older than asked for."""
    said(install, "quince", key=OTHER)
    said(install, "medlar")
    assert "Try other words" in recall(install, RecallTurns("quince")).text
    assert "Try other words" in recall(install, RecallTurns("medlar", since=date(2999, 1, 1))).text
    assert "medlar" in recall(install, RecallTurns("medlar", since=date(2020, 1, 1))).text


def test_a_day_begins_by_the_persons_clock() -> None:
    """A time with an offset is what it says."""
    zone = ZoneInfo(VIENNA)
    assert begin_of(date(2026, 7, 1), zone).isoformat() == "2026-07-01T00:00:00+02:00"
    assert begin_of(datetime.fromisoformat("2026-07-01T09:00"), zone).isoformat() == "2026-07-01T09:00:00+02:00"
    utc = datetime.fromisoformat("2026-07-01T09:00:00+00:00")
    assert begin_of(utc, zone) == utc


def test_what_strangers_wrote_keeps_its_origin(install: CoreFixture, conversations: Conversations) -> None:
    """Reading from a conversation that has read a page is reading the page; one's own conversation is no news."""
    other = conversations.create(KEY, "Trees")
    tainted = said(install, "the quince page", conversation=other.id)
    with install.store.writing() as db:
        source_rows.add_source(db, KEY, tainted, NewSource(SourceKind.WEB, "evil.example"), now=1.0)
    here = install.turns.submit(KEY, "what of the quince?", source="test")
    with install.store.reading() as db:
        assert source_rows.list_sources(db, KEY, here.conversation) == []
    recall(install, RecallTurns("quince"), here.id)
    recall(install, RecallTurns("quince"), here.id)
    with install.store.reading() as db:
        (read,) = source_rows.list_sources(db, KEY, here.conversation)
    assert (read.kind, read.subject, read.turn, read.count) == (SourceKind.WEB, "evil.example", here.id, 1)
    assert read.detail == "recalled from “Trees”"
    assert read.mark > 1


def test_clean_conversations_bring_no_sources(install: CoreFixture, conversations: Conversations) -> None:
    """Only what strangers may have written counts."""
    said(install, "the quince", conversation=conversations.create(KEY, "Trees").id)
    here = install.turns.submit(KEY, "what of the quince?", source="test")
    assert "quince" in recall(install, RecallTurns("quince"), here.id).text
    with install.store.reading() as db:
        assert source_rows.list_sources(db, KEY, here.conversation) == []
