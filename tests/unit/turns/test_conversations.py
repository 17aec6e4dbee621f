"""``orchestrator.turns.conversations``: several with one agent, each with its own context, and no turn is ever lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.approvals.answers import DecisionDetails
from orchestrator.approvals.grant_rows import GrantScope
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import CALENDAR, CubicleKey, Turn, TurnStatus
from orchestrator.turns import branch_rows, conversation_rows
from orchestrator.turns.conversations import MAX_NAME_CHARS, Conversations
from orchestrator.turns.history import History
from orchestrator.turns.read_marks import ReadMarks
from orchestrator.turns.titles import MAX_CHARS, make_title
from tests.fuzzing import bounded
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def conversations(install: CoreFixture) -> Conversations:
    """Everybody's."""
    return Conversations(install.store, install.broker)


def said(install: CoreFixture, text: str, conversation: int | None = None, key: CubicleKey = KEY) -> Turn:
    """A message that was answered."""
    turn = install.turns.submit(key, text, source="test", conversation=conversation)
    install.turns.end_turn(key, turn.id, TurnStatus.DONE, reply=f"{text}!")
    return install.turns.get(turn.id)


def prompts(install: CoreFixture, conversation: int | None = None) -> list[str]:
    """What was asked in one, oldest first."""
    return [turn.prompt for turn in install.turns.list_history(KEY, conversation=conversation)]


def test_each_has_its_own_turns_and_what_names_none_goes_to_the_first(
    install: CoreFixture, conversations: Conversations
) -> None:
    """Also where the first one begins only after another was wanted; nobody finds another person's."""
    boat = conversations.create(KEY, "  Boat\nrepairs ")
    assert (boat.name, boat.shown_name) == ("Boat repairs", "Boat repairs")
    first = conversations.get(KEY)
    assert first.id != boat.id
    said(install, "one")
    said(install, "sail", boat.id)
    said(install, "two")
    assert (prompts(install), prompts(install, first.id), prompts(install, boat.id)) == (
        ["one", "two"],
        ["one", "two"],
        ["sail"],
    )
    assert install.turns.list_history(KEY, conversation=boat.id)[0].parent is None
    assert [each.id for each in conversations.list_conversations(KEY)] == [first.id, boat.id]
    assert conversations.list_conversations(OTHER) == []
    for missing in (boat.id, 99):
        with pytest.raises(NotFound, match="no conversation"):
            install.turns.submit(OTHER, "x", source="test", conversation=missing)
        with pytest.raises(NotFound):
            install.turns.list_history(OTHER, conversation=missing)
        with pytest.raises(NotFound):
            install.turns.clear_history(OTHER, missing)
        with pytest.raises(NotFound):
            conversations.rename(OTHER, missing, "mine")


def test_it_is_called_by_its_first_words_until_it_is_named(install: CoreFixture, conversations: Conversations) -> None:
    """And again when its name is taken away; when it is cleared its words are gone from the name, too."""
    made = conversations.create(KEY)
    assert made.shown_name == "New conversation"
    said(install, "Where is\nthe boat?", made.id)
    said(install, "And now?", made.id)
    assert conversations.get(KEY, made.id).shown_name == "Where is the boat?"
    assert conversations.rename(KEY, made.id, "Boat").shown_name == "Boat"
    install.turns.clear_history(KEY, made.id)
    assert conversations.get(KEY, made.id).shown_name == "Boat"
    assert conversations.rename(KEY, made.id, " ").shown_name == "New conversation"


@pytest.mark.parametrize("name", ["x" * (MAX_NAME_CHARS + 1), "a\u202eb", "a\0b", "\u200b"])
def test_a_name_that_would_mislead_is_refused(conversations: Conversations, name: str) -> None:
    """With the field's name, and nothing is begun or changed."""
    made = conversations.create(KEY, "Boat")
    with pytest.raises(BadInput, match="name: "):
        conversations.create(KEY, name)
    with pytest.raises(BadInput, match="name: "):
        conversations.rename(KEY, made.id, name)
    assert [each.shown_name for each in conversations.list_conversations(KEY)] == ["Boat", "New conversation"]


def test_the_one_that_was_used_last_comes_first(install: CoreFixture, conversations: Conversations) -> None:
    """A page at a time; what the calendar does is no use by a person."""
    made = [conversations.create(KEY, f"c{n}") for n in range(5)]
    said(install, "hi", made[1].id)
    install.turns.submit(KEY, "tick", source=CALENDAR, conversation=made[0].id)
    order = [each.name for each in conversations.list_conversations(KEY)]
    assert order == ["c1", "c4", "c3", "c2", "c0", ""]
    page = conversations.list_conversations(KEY, limit=2)
    rest = conversations.list_conversations(KEY, before=page[-1].id)
    assert [each.name for each in (*page, *rest)] == order


def test_conversations_are_found_by_their_names_and_messages(
    install: CoreFixture, conversations: Conversations
) -> None:
    """Each once, whatever signs the words have."""
    boat, tea = conversations.create(KEY, "100% Boat_repairs"), conversations.create(KEY)
    for text in ("green tea", "more tea", "and a teapot"):
        said(install, text, tea.id)
    said(install, "tea", key=OTHER)
    found = {
        words: [each.id for each in conversations.list_conversations(KEY, words=words)]
        for words in ("tea", "boat", "100%", "t_rep", "a%b", "green pot", "teapot!", "\0")
    }
    assert found == {
        "tea": [tea.id],
        "boat": [boat.id],
        "100%": [boat.id],
        "t_rep": [boat.id],
        "a%b": [],
        "green pot": [],
        "teapot!": [tea.id],
        "\0": [tea.id, boat.id, conversations.get(KEY).id],
    }
    history = History(install.store)
    said(install, "tea at home")
    assert len(history.search_turns(KEY, "tea")) == 4
    assert [turn.prompt for turn in history.search_turns(KEY, "tea", conversation=tea.id, limit=2)] == [
        "more tea",
        "green tea",
    ]


def test_one_that_is_deleted_is_gone(install: CoreFixture, conversations: Conversations) -> None:
    """From lists, searches and the agent's mind, not from the audit log; not while a message is worked on."""
    kept, gone = said(install, "keep"), conversations.create(KEY, "Secret plan")
    running = install.under_way("plan it")
    with pytest.raises(Conflict, match="still working"):
        conversations.delete(KEY, running.conversation)
    install.turns.end_turn(KEY, running.id, TurnStatus.DONE, reply="ok")
    said(install, "hideout", gone.id)
    conversations.delete(KEY, gone.id)
    assert [each.id for each in conversations.list_conversations(KEY)] == [kept.conversation]
    assert History(install.store).search_turns(KEY, "hideout") == []
    for ask in (conversations.get, conversations.delete):
        with pytest.raises(NotFound):
            ask(KEY, gone.id)
    assert "Secret plan" in install.audited("conversation.deleted")[-1].text
    conversations.delete(KEY, kept.conversation)
    assert prompts(install) == []
    assert said(install, "anew").conversation == conversations.get(KEY).id != kept.conversation


def test_what_is_allowed_in_one_is_not_in_another(install: CoreFixture, conversations: Conversations) -> None:
    """A yes for this conversation holds there alone; what a person allows by hand holds in all of theirs."""
    other = conversations.create(KEY)
    turn = install.under_way("clean up")

    def start(turn: Turn, n: int) -> str:
        command = "rm -rf build/x"
        return install.steps.start_step(KEY, turn.id, n, thought="", command=command, approval=None).do

    assert start(turn, 1) == "ask"
    asked = install.steps.ask_person(KEY, turn.id, 1)
    scope = DecisionDetails(scope=GrantScope.CONVERSATION)
    install.approvals.decide(asked.id, approve=True, by=install.operator, surface="test", said=scope)
    (grant,) = install.grants.of_agent("crab", viewer=install.operator)
    assert grant.conversation == turn.conversation
    assert start(turn, 2) == "run"
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    install.turns.submit(KEY, "clean up", source="test", conversation=other.id)
    there = install.turns.take_next(KEY, "boot", 0)
    assert there is not None
    assert there.conversation == other.id
    assert start(there, 1) == "ask"
    install.turns.end_turn(KEY, there.id, TurnStatus.DONE, reply="ok")
    install.turns.clear_history(KEY, other.id)
    assert len(install.grants.of_agent("crab", viewer=install.operator)) == 1
    install.turns.clear_history(KEY)
    assert install.grants.of_agent("crab", viewer=install.operator) == []


def test_what_is_new_is_told_by_conversation(install: CoreFixture, conversations: Conversations) -> None:
    """Who has read one has not read the other; the agent has what is new in all of them together."""
    marks, other = ReadMarks(install.store, install.broker), conversations.create(KEY)
    first, there = said(install, "a"), said(install, "b", other.id)
    last = said(install, "c")
    assert marks.count_unread(KEY.user) == {"crab": 3}
    marks.mark_read(KEY, last.id)
    assert marks.count_unread(KEY.user) == {"crab": 1}
    assert marks.count_by_conversation(KEY) == {other.id: 1}
    assert marks.first_unread(conversations.get(KEY, other.id)) == there.id
    assert marks.first_unread(conversations.get(KEY, first.conversation)) is None
    conversations.delete(KEY, other.id)
    assert marks.count_unread(KEY.user) == {}


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Hello  there\nyou", "Hello there you"),
        ("", ""),
        ("x" * 200, "x" * (MAX_CHARS - 1) + "…"),
        ("word " * 40, "word " * 10 + "word…"),
        (
            'Here is a file.\n\n[Files that came with this message: 1]\n- "/app/workspace/in/boat.pdf" (10 bytes, a/b)',
            "boat.pdf",
        ),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_first_words_are_a_title(prompt: str, title: str) -> None:
    """On one line, whole words where that goes, and nothing that could be mistaken for something else."""
    assert make_title(prompt) == title
    assert len(title) <= MAX_CHARS


@bounded(60)
@given(st.lists(st.sampled_from(["say", "end", "withdraw", "clear", "calendar", "new", "next"]), max_size=40))
def test_every_turn_is_on_its_conversations_branch(deeds: list[str]) -> None:
    """Whatever is done in whichever order: what was not cleared or withdrawn is read back, in order, and nothing else;
    and after the parents, heads and rows of conversations were lost, repair brings all of it back."""
    with tempfile.TemporaryDirectory() as folder, core_fixture(Path(folder) / "home") as install:
        conversations = Conversations(install.store, install.broker)
        places = [conversations.get(KEY).id]
        at = 0
        for deed in deeds:
            place = places[at]
            if deed in ("say", "calendar"):
                source = CALENDAR if deed == "calendar" else "test"
                install.turns.submit(KEY, "x", source=source, conversation=place)
            elif deed == "clear":
                install.turns.clear_history(KEY, place)
            elif deed == "new":
                places.append(conversations.create(KEY).id)
            elif deed == "next":
                at = (at + 1) % len(places)
            else:
                _end_or_withdraw(install, place, deed)
        expected = {place: _kept(install, place) for place in places}
        assert {place: _read_back(install, place) for place in places} == expected
        with install.store.writing() as db:
            db.execute("UPDATE turns SET parent = parent + 1000000 WHERE id % 2")
            db.execute("UPDATE conversations SET head = NULL WHERE id % 2")
            db.execute("DELETE FROM conversations WHERE id % 2")
            conversation_rows.repair_conversations(db)
        assert {place: _read_back(install, place) for place in places if expected[place]} == {
            place: turns for place, turns in expected.items() if turns
        }


def _end_or_withdraw(install: CoreFixture, place: int, deed: str) -> None:
    queued = [turn for turn in install.turns.list_history(KEY, conversation=place) if not turn.status.is_final]
    for turn in queued[-2:-1] or queued:
        if deed == "withdraw":
            install.turns.withdraw(turn.id)
        else:
            install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")


def _kept(install: CoreFixture, place: int) -> list[int]:
    with install.store.reading() as db:
        rows = db.execute("SELECT id FROM turns WHERE conversation = ? AND forgotten = 0 ORDER BY id", (place,))
        return [int(row["id"]) for row in rows]


def _read_back(install: CoreFixture, place: int) -> list[int]:
    with install.store.reading() as db:
        found = conversation_rows.get_conversation(db, place)
        assert found is not None
        return [turn.id for turn in branch_rows.list_branch(db, found.head, limit=1_000)]
