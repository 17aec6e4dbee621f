"""``orchestrator.approvals.source_rows`` and ``sources``: what a conversation has read, and what sheds it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.approvals import source_rows, sources
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.source_rows import MOST, MOST_LINKS, NewSource, Source, SourceKind
from orchestrator.core.db.migrations import migrations
from orchestrator.core.models import Turn, TurnStatus
from orchestrator.files.attachments import Attachment, prompt_with_files
from orchestrator.operations import retention_rows
from orchestrator.turns.branches import Branches
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.transcripts import Transcript, read_transcript
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

WEB = SourceKind.WEB


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def conversations(install: CoreFixture) -> Conversations:
    """The conversations in it."""
    return Conversations(install.store, install.broker)


def reads(install: CoreFixture, turn: int | None, subject: str, kind: SourceKind = WEB, ref: str = "") -> None:
    """Something comes in in this turn."""
    with install.store.writing() as db:
        source_rows.add_source(db, KEY, turn, NewSource(kind, subject, ref=ref), now=1.0)


def read(install: CoreFixture, conversation: int | None, *, after: int = 0) -> list[Source]:
    """What a conversation has read."""
    with install.store.reading() as db:
        return source_rows.list_sources(db, KEY, conversation, after=after)


def names(install: CoreFixture, conversation: int | None, *, after: int = 0) -> list[str]:
    """The same by its names."""
    return [source.subject for source in read(install, conversation, after=after)]


def mark(install: CoreFixture) -> int:
    """How far was read."""
    with install.store.reading() as db:
        return source_rows.get_read_mark(db)


def ended(install: CoreFixture, text: str = "go") -> Turn:
    """A turn that is done."""
    turn = install.under_way(text)
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="done")
    return install.turns.get(turn.id)


# --- rows ----------------------------------------------------------------------------------------------------------


def test_what_is_read_again_counts_and_is_not_new(install: CoreFixture) -> None:
    """A host is new once in a conversation, in whatever turn; the same arrival written down twice counts once."""
    turn = install.under_way()
    reads(install, turn.id, "a.example", ref="asset:1")
    reads(install, turn.id, "a.example", ref="asset:1")
    (first,) = read(install, turn.conversation)
    assert (first.count, first.turn, first.conversation) == (1, turn.id, turn.conversation)
    given = mark(install)
    reads(install, turn.id, "a.example", ref="asset:2")
    assert [source.count for source in read(install, turn.conversation)] == [2]
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    second = install.under_way()
    reads(install, second.id, "a.example")
    assert names(install, turn.conversation) == ["a.example", "a.example"]
    assert names(install, turn.conversation, after=given) == []
    reads(install, second.id, "b.example")
    assert names(install, turn.conversation, after=given) == ["b.example"]


@pytest.mark.parametrize("kind", [SourceKind.SEARCH, SourceKind.FILE, SourceKind.MESSAGE, SourceKind.TRANSCRIPT])
def test_what_differs_each_time_is_new_each_time(install: CoreFixture, kind: SourceKind) -> None:
    """Another search brings other strangers, though the engine is the same."""
    turn = install.under_way()
    reads(install, turn.id, "same", kind)
    given = mark(install)
    reads(install, turn.id, "same", kind)
    assert [(source.subject, source.count) for source in read(install, turn.conversation, after=given)] == [("same", 2)]


def test_a_mark_is_never_given_twice(install: CoreFixture, conversations: Conversations) -> None:
    """Rows that are gone leave theirs behind: what is read after a grant is new, whatever was deleted."""
    turn = ended(install)
    fork = conversations.create(KEY, turn=turn.id)
    for n in range(5):
        reads(install, turn.id, f"{n}.example")
    given = mark(install)
    install.turns.clear_history(KEY)
    assert read(install, turn.conversation) == []
    after = install.under_way()
    reads(install, after.id, "new.example")
    assert names(install, after.conversation, after=given) == ["new.example"]
    assert read(install, fork.id) == []


def test_the_list_is_bounded_and_what_is_beyond_still_counts(install: CoreFixture) -> None:
    """A thousand hosts are some rows and a number; one more is new all the same."""
    turn = install.under_way()
    for n in range(MOST + 50):
        reads(install, turn.id, f"h{n}.example")
    found = read(install, turn.conversation)
    assert len(found) == MOST + 1
    assert (found[-1].subject, found[-1].count, found[-1].turn) == ("", 50, None)
    given = mark(install)
    reads(install, turn.id, "another.example")
    assert [(one.subject, one.count) for one in read(install, turn.conversation, after=given)] == [("", 51)]


def test_names_are_on_one_line_and_short(install: CoreFixture) -> None:
    """Whatever a stranger calls it."""
    turn = install.under_way()
    reads(install, turn.id, "a\nb\u202e" + "x" * 5_000, SourceKind.MESSAGE)
    (source,) = read(install, turn.conversation)
    assert {"\n", "\u202e"}.isdisjoint(source.subject)
    assert len(source.subject) < 300


def test_links_are_remembered_exactly_and_not_for_ever(install: CoreFixture, conversations: Conversations) -> None:
    """An address counts whole, in its conversation and what goes on from it; of many the newest."""
    turn = ended(install)
    with install.store.writing() as db:
        source_rows.add_links(db, turn.id, ["https://a.example/x"])
        assert source_rows.has_link(db, turn.id, "https://a.example/x")
        assert not source_rows.has_link(db, turn.id, "https://a.example/")
        assert not source_rows.has_link(db, turn.id, "https://a.example/x?d=1")
        assert not source_rows.has_link(db, None, "https://a.example/x")
    other = conversations.create(KEY, "other")
    elsewhere = install.turns.submit(KEY, "hi", source="test", conversation=other.id)
    with install.store.writing() as db:
        assert not source_rows.has_link(db, elsewhere.id, "https://a.example/x")
        source_rows.add_links(db, turn.id, [f"https://b.example/{n}" for n in range(MOST_LINKS)])
        assert not source_rows.has_link(db, turn.id, "https://a.example/x")
        assert source_rows.has_link(db, turn.id, "https://b.example/0")
        assert db.execute("SELECT COUNT(*) FROM source_links").fetchone()[0] == MOST_LINKS


def test_another_persons_are_another_matter(install: CoreFixture) -> None:
    """Rows are by cubicle."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    with install.store.reading() as db:
        assert source_rows.list_sources(db, OTHER, None) == []


def test_what_comes_outside_of_turns_counts_for_all_that_were_there(
    install: CoreFixture, conversations: Conversations
) -> None:
    """Nobody knows who reads it; a conversation that begins later has not."""
    here = ended(install)
    with install.store.writing() as db:
        source_rows.add_source(db, KEY, None, NewSource(WEB, "night.example"), now=here.created_at + 5)
    assert names(install, here.conversation) == ["night.example"]
    with install.store.writing() as db:
        later = db.execute(
            "INSERT INTO conversations (agent, user, created_at, used_at) VALUES ('crab', 1, ?, 0) RETURNING id",
            (here.created_at + 10,),
        ).fetchone()[0]
    assert names(install, later) == []
    assert names(install, None) == ["night.example"]
    assert conversations.list_sources(here.conversation)[0].turn is None


# --- what comes with messages ---------------------------------------------------------------------------------------


def test_files_and_forwarded_words_come_with_the_message(install: CoreFixture) -> None:
    """Their rows are there when the turn is; plain words are the person's own."""
    install.turns.submit(KEY, "just words", source="test")
    text = prompt_with_files("read this", [Attachment("in/a.pdf", 5, "application/pdf")])
    turn = install.turns.submit(KEY, text, source="test", forwarded="Mallory")
    assert [(one.kind, one.subject) for one in read(install, turn.conversation)] == [
        (SourceKind.FILE, "in/a.pdf"),
        (SourceKind.MESSAGE, "Mallory"),
    ]


def test_a_message_that_fails_leaves_no_row(install: CoreFixture) -> None:
    """Row and content are one transaction: what comes between them leaves neither."""
    text = prompt_with_files("read this", [Attachment("in/a.pdf", 5, "application/pdf")])
    with install.store.writing() as db:
        db.execute("CREATE TRIGGER no_room BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
    with pytest.raises(Exception, match="no room"):
        install.turns.submit(KEY, text, source="test")
    assert read(install, None) == []
    assert install.turns.list_history(KEY) == []


# --- what does not shed them ----------------------------------------------------------------------------------------


def test_a_fork_has_read_the_same(install: CoreFixture, conversations: Conversations) -> None:
    """With the marks of then: a grant that came later still covers; links too."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    with install.store.writing() as db:
        source_rows.add_links(db, turn.id, ["https://a.example/x"])
    given = mark(install)
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    fork = conversations.create(KEY, turn=turn.id)
    again = conversations.create(KEY, turn=turn.id)
    assert names(install, fork.id) == names(install, again.id) == ["a.example"]
    assert names(install, fork.id, after=given) == []
    there = install.turns.submit(KEY, "go on", source="test", conversation=fork.id)
    with install.store.reading() as db:
        assert source_rows.has_link(db, there.id, "https://a.example/x")
    conversations.delete(KEY, again.id)
    assert names(install, fork.id) == names(install, turn.conversation) == ["a.example"]


def test_no_branch_or_deleted_message_sheds_them(install: CoreFixture, conversations: Conversations) -> None:
    """The agent's later words may quote what it read: only a conversation that is gone forgets."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    branches = Branches(install.store, install.broker, install.turns, install.hooks)
    place = conversations.get(KEY)
    other = branches.send_again(place, turn.id, "something else", source="test")
    assert names(install, other.conversation) == ["a.example"]
    install.turns.stop(other.id)
    branches.delete_turn(turn.id, by="ada")
    assert names(install, place.id) == ["a.example"]
    conversations.delete(KEY, place.id)
    assert names(install, place.id) == []


def test_clearing_under_a_running_turn_keeps_them(install: CoreFixture) -> None:
    """It knows everything still; what begins after it, nothing."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    install.turns.clear_history(KEY)
    assert names(install, turn.conversation) == ["a.example"]
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    install.turns.clear_history(KEY)
    assert names(install, turn.conversation) == []


def test_an_imported_conversation_is_a_source(install: CoreFixture, conversations: Conversations) -> None:
    """Whoever wrote the file wrote what it tells."""
    told: Transcript = read_transcript(
        {
            "format": "hermitshell-conversation", "version": 1, "conversation": {"name": "Old", "is_named": True},
            "turns": [{"id": 1, "parent": None, "prompt": "hi", "reply": "ho", "status": "done",
                       "created_at": "2026-01-01T00:00:00Z", "steps": []}],
        }
    )  # fmt: skip
    made = conversations.import_transcript(KEY, told)
    assert [(one.kind, one.subject) for one in read(install, made.id)] == [(SourceKind.TRANSCRIPT, "Old")]


def test_an_agent_that_is_deleted_takes_them_along(install: CoreFixture) -> None:
    """And another of its name begins with nothing."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    reads(install, None, "b.example")
    install.agents.remove("crab")
    with install.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM sources").fetchone()[0] == 0


def test_old_turns_take_what_they_read_along(install: CoreFixture) -> None:
    """Where the operator set how long turns are kept; what younger ones read stays."""
    old = ended(install)
    reads(install, old.id, "a.example")
    reads(install, None, "b.example")
    young = install.under_way()
    reads(install, young.id, "c.example")
    with install.store.writing() as db:
        assert retention_rows.delete_conversations(db, old.created_at + 1e-6, 10) == 1
    assert names(install, None) == ["c.example"]


def test_after_rows_were_lost_everything_is_new(install: CoreFixture) -> None:
    """A grant that knew of more than there is knows of what there is, and of nothing that comes."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    with install.store.writing() as db:
        key, kind = KEY, GrantKind.HOST
        install.grants.insert_grant(
            db, key, kind, ("b.example",), GrantScope.ALWAYS, by=install.operator, surface="test", read_mark=900
        )
        source_rows.repair_marks(db)
        assert install.grants.list_newcomers(db, KEY, turn.id, "b.example") == []
    reads(install, turn.id, "c.example")
    with install.store.reading() as db:
        newcomers = install.grants.list_newcomers(db, KEY, turn.id, "b.example")
        assert [one.subject for one in newcomers or ()] == ["c.example"]
        assert install.grants.list_newcomers(db, KEY, turn.id, "d.example") is None


# --- words -----------------------------------------------------------------------------------------------------------


def test_it_is_summed_up_in_a_sentence(install: CoreFixture) -> None:
    """The newest hosts by name, everything else counted."""
    turn = install.under_way()
    for n in range(5):
        reads(install, turn.id, f"h{n}.example")
    reads(install, turn.id, "Brave", SourceKind.SEARCH)
    reads(install, turn.id, "Brave", SourceKind.SEARCH)
    reads(install, turn.id, "in/a.pdf", SourceKind.FILE)
    summed_up = sources.sum_up(read(install, turn.conversation))
    (said,) = sources.describe_sources({"sources": summed_up})
    assert said == (
        "This conversation has read h4.example, h3.example, h2.example, 2 other hosts, 2 web searches and a file that "
        "you gave."
    )
    (why,) = sources.describe_sources({"since_allowed": summed_up[:1]})
    assert why == "It has read h4.example since you allowed this, so you are asked again."
    assert sources.describe_sources({}) == []
    assert sources.describe_turn(read(install, turn.conversation)[:1]) == "h0.example"


def test_questions_tell_what_was_read_when_they_were_asked(install: CoreFixture) -> None:
    """Of every kind; what comes later is for later questions, and a yes knows no more than the question told."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    assert install.steps.start_step(KEY, turn.id, 1, thought="", command="rm -rf build", approval=None).do == "ask"
    asked = install.steps.ask_person(KEY, turn.id, 1)
    assert asked.detail["sources"] == [{"kind": "web", "subject": "a.example", "count": 1}]
    assert asked.read_mark == mark(install)
    reads(install, turn.id, "b.example")
    assert install.approvals.get(asked.id).detail["sources"] == asked.detail["sources"]


# --- older databases -------------------------------------------------------------------------------------------------


def test_downloads_of_before_are_known() -> None:
    """After the migration they are sources, and a grant that was given between two of them knows the first alone."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrations.apply(db, stop_before="m064_sources")
    db.execute("INSERT INTO conversations (id, agent, user, created_at, used_at) VALUES (7, 'crab', 1, 1, 1)")
    db.execute(
        "INSERT INTO turns (id, agent, user, conversation, source, prompt, status, created_at) "
        "VALUES (3, 'crab', 1, 7, 'test', 'x', 'done', 1)"
    )
    for name, host, at, state in (("a", "a.example", 10, "done"), ("b", "b.example", 20, "done"),
                                  ("c", "a.example", 30, "done"), ("d", "d.example", 40, "failed")):  # fmt: skip
        payload = f'{{"host": "{host}", "url": "https://{host}/{name}"}}'
        db.execute(
            "INSERT INTO jobs (kind, name, agent, user, turn, state, payload, created, ended) "
            "VALUES ('asset', ?, 'crab', 1, 3, ?, ?, 1, ?)",
            (name, state, payload, at),
        )
    db.execute(
        "INSERT INTO grants (id, agent, kind, subject, scope, since, by) "
        "VALUES ('g', 'crab', 'host', 'a.example', 'always', 15, 'ada')"
    )
    migrations.apply(db)
    found = [tuple(row) for row in db.execute("SELECT conversation, turn, kind, subject, count, mark FROM sources")]
    assert found == [(7, 3, "web", "a.example", 2, 1), (7, 3, "web", "b.example", 1, 2)]
    assert db.execute("SELECT read_mark FROM grants").fetchone()[0] == 1


def test_a_grant_by_hand_knows_what_was_read(install: CoreFixture) -> None:
    """Its mark is that of now."""
    turn = install.under_way()
    reads(install, turn.id, "a.example")
    grant = install.grants.add_grant(
        "crab", GrantKind.HOST, "b.example", GrantScope.ALWAYS, by=install.operator, surface="test"
    )
    assert grant.read_mark == mark(install)
