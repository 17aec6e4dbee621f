"""``orchestrator.turns.branches``: a conversation is a tree, nothing in it is overwritten, and no turn is ever lost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import Conversation, CubicleKey, Turn, TurnStatus
from orchestrator.files.attachments import Attachment, prompt_with_files, split_prompt
from orchestrator.turns import branch_rows
from orchestrator.turns.branches import Branches
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.history import History
from orchestrator.turns.read_marks import ReadMarks
from tests.fuzzing import bounded
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture


class Talk:
    """Somebody's conversations, with an agent that answers at once."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.turns = install.turns
        self.conversations = Conversations(install.store, install.broker)
        self.branches = Branches(install.store, install.broker, install.turns, install.hooks)
        self.first = self.conversations.get(KEY)

    def say(self, text: str, place: Conversation | None = None) -> Turn:
        """A message that was answered."""
        return self.answer(self.turns.submit(KEY, text, source="test", conversation=(place or self.first).id))

    def again(self, turn: Turn, text: str | None = None, place: Conversation | None = None) -> Turn:
        """The same beside itself, answered."""
        where = self.conversations.get(KEY, (place or self.first).id)
        return self.answer(self.branches.send_again(where, turn.id, text, source="test"))

    def answer(self, turn: Turn) -> Turn:
        """It ends."""
        self.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply=f"{turn.prompt}!")
        return self.turns.get(turn.id)

    def select(self, turn: Turn, place: Conversation | None = None) -> Conversation:
        """Its branch is shown."""
        return self.branches.select(self.conversations.get(KEY, (place or self.first).id), turn.id)

    def fork(self, turn: Turn) -> Conversation:
        """A conversation that goes on from it."""
        return self.conversations.create(KEY, turn=turn.id)

    def shown(self, place: Conversation | None = None) -> list[str]:
        """What was asked on the branch that is shown, oldest first."""
        found = self.turns.list_history(KEY, conversation=(place or self.first).id, limit=1_000)
        return [turn.prompt for turn in found]

    def siblings(self, turn: Turn, place: Conversation | None = None) -> list[str]:
        """What could stand in its place."""
        where = self.conversations.get(KEY, (place or self.first).id)
        found = self.branches.list_siblings([turn], where)[turn.id]
        return [self.turns.get(one).prompt for one in found]

    def tree(self, place: Conversation | None = None) -> list[tuple[str, str, int, int, bool]]:
        """First and last message of each stretch, how long and how deep it is, and whether it is shown."""
        found = self.branches.get_tree(self.conversations.get(KEY, (place or self.first).id))
        return [(one.first.prompt, one.last.prompt, one.count, one.depth, one.is_shown) for one in found]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    """A fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield Talk(made)


def test_an_edited_message_stands_beside_the_old_one(talk: Talk) -> None:
    """The conversation goes on with the new one; the old one with all that followed is there to come back to."""
    one, two = talk.say("one"), talk.say("two")
    three = talk.say("three")
    edited = talk.again(two, "two, but better")
    assert (edited.parent, edited.conversation) == (one.id, talk.first.id)
    assert talk.shown() == ["one", "two, but better"]
    assert talk.siblings(two) == talk.siblings(edited) == ["two", "two, but better"]
    assert talk.siblings(one) == ["one"]
    assert talk.branches.list_children(one.id) == [two.id, edited.id]
    assert talk.select(two).head == three.id
    assert talk.shown() == ["one", "two", "three"]
    four = talk.say("four")
    assert four.parent == three.id
    assert talk.select(edited).head == edited.id
    assert talk.select(one).head == edited.id, "at each fork by the newest way"


def test_the_first_message_too(talk: Talk) -> None:
    """Then the conversation has several beginnings."""
    one = talk.say("one")
    talk.say("two")
    other = talk.again(one, "uno")
    assert (other.parent, talk.shown(), talk.siblings(other)) == (None, ["uno"], ["one", "uno"])
    talk.select(one)
    assert talk.shown() == ["one", "two"]
    assert talk.tree() == [("one", "two", 2, 1, True), ("uno", "uno", 1, 1, False)]


def test_the_same_message_is_asked_for_another_answer(talk: Talk) -> None:
    """With its files, which an edited message keeps too."""
    told = prompt_with_files("Read this", [Attachment("in/a.pdf", 12, "application/pdf")])
    asked = talk.say(told)
    assert talk.again(asked).prompt == told
    words, files = split_prompt(talk.again(asked, "Sum this up").prompt)
    assert (words, [file.path for file in files]) == ("Sum this up", ["in/a.pdf"])
    assert len(talk.siblings(asked)) == 3


def test_it_is_refused_where_it_can_not_be(talk: Talk) -> None:
    """For a message of another conversation, or of another person, or that is gone; and nothing has changed."""
    here, boat = talk.say("here"), talk.conversations.create(KEY, "Boat")
    there = talk.say("there", boat)
    theirs = talk.turns.submit(OTHER, "theirs", source="test")
    with pytest.raises(BadInput):
        talk.again(here, "  ")
    for turn in (there, theirs):
        with pytest.raises(NotFound, match="no message"):
            talk.again(turn, "x")
        with pytest.raises(NotFound, match="no message"):
            talk.select(turn)
    with pytest.raises(NotFound, match="no message"):
        talk.fork(theirs)
    with pytest.raises(NotFound, match="no message"):
        talk.conversations.create(KEY, turn=999)
    running = talk.turns.submit(KEY, "running", source="test")
    with pytest.raises(Conflict, match="still working"):
        talk.fork(running)
    talk.turns.clear_history(KEY, boat.id)
    with pytest.raises(NotFound):
        talk.again(there, place=boat)
    with pytest.raises(NotFound):
        talk.fork(there)
    assert (talk.shown(), talk.shown(boat)) == (["here", "running"], [])


def test_a_withdrawn_branch_leaves_the_one_before(talk: Talk) -> None:
    """The branch that was shown before the message was edited is shown again, to its end."""
    one, two = talk.say("one"), talk.say("two")
    talk.say("three")
    for turn in (two, one):
        where = talk.conversations.get(KEY)
        edited = talk.branches.send_again(where, turn.id, "edited", source="test")
        assert talk.shown()[-1] == "edited"
        talk.turns.withdraw(edited.id)
        assert talk.shown() == ["one", "two", "three"]
        assert len(talk.siblings(turn)) == 1


def test_the_agent_is_told_its_own_branch(talk: Talk) -> None:
    """What was said on another never happened there."""
    one, two = talk.say("one"), talk.say("two")
    edited = talk.again(two, "other")
    told = [turn.prompt for turn in talk.turns.list_history(KEY, before=edited.id)]
    assert told == ["one"]
    assert [turn.id for turn in talk.turns.list_history(KEY, before=two.id)] == [one.id]


def test_a_conversation_goes_on_from_a_turn_of_another(talk: Talk) -> None:
    """Nothing is copied; what is said in either is not in the other."""
    one, two = talk.say("one"), talk.say("two")
    fork = talk.fork(one)
    assert (fork.head, fork.forked_from, talk.shown(fork)) == (one.id, one.id, ["one"])
    other = talk.say("deux", fork)
    assert (other.parent, talk.conversations.get(KEY, fork.id).shown_name) == (one.id, "deux")
    assert (talk.shown(), talk.shown(fork)) == (["one", "two"], ["one", "deux"])
    assert (talk.siblings(two), talk.siblings(other, fork)) == (["two"], ["deux"]), "no fork of the same conversation"
    assert [turn.prompt for turn in History(talk.install.store).list_following(one)] == ["two"]
    edited = talk.again(one, "uno", fork)
    assert (talk.shown(fork), talk.siblings(edited, fork), talk.siblings(one, fork)) == (
        ["uno"],
        ["one", "uno"],
        ["one", "uno"],
    )
    assert talk.siblings(one) == ["one"]
    assert talk.select(one, fork).head == other.id
    assert talk.tree(fork) == [("one", "deux", 2, 1, True), ("uno", "uno", 1, 1, False)]
    with pytest.raises(NotFound):
        talk.select(two, fork)


@pytest.mark.parametrize("gone", ["cleared", "deleted"])
def test_what_others_go_on_from_outlives_its_conversation(talk: Talk, gone: str) -> None:
    """It belongs to the oldest of them then: it is found by a search there, and stays read."""
    kept = talk.conversations.get(KEY)
    boat = talk.conversations.create(KEY, "Boat")
    one = talk.say("lighthouse", boat)
    two = talk.say("harbour", boat)
    ReadMarks(talk.install.store, talk.install.broker).mark_read(KEY, two.id)
    first, second = talk.fork(two), talk.fork(one)
    talk.say("anchor", boat)
    talk.say("in the second", second)
    if gone == "cleared":
        assert talk.turns.clear_history(KEY, boat.id) == 1
        assert talk.shown(boat) == []
    else:
        talk.conversations.delete(KEY, boat.id)
    assert (talk.shown(first), talk.shown(second)) == (["lighthouse", "harbour"], ["lighthouse", "in the second"])
    assert talk.turns.get(one.id).conversation == talk.turns.get(two.id).conversation == first.id
    history = History(talk.install.store)
    assert [turn.id for turn in history.search_turns(KEY, "harbour", conversation=first.id)] == [two.id]
    assert history.search_turns(KEY, "anchor") == []
    unread = ReadMarks(talk.install.store, talk.install.broker).count_by_conversation(KEY)
    assert unread == {second.id: 1}
    talk.conversations.delete(KEY, first.id)
    assert talk.shown(second) == ["lighthouse", "in the second"]
    talk.conversations.delete(KEY, second.id)
    assert history.search_turns(KEY, "lighthouse") == []
    assert talk.shown(kept) == []


def test_the_tree_has_every_stretch_once(talk: Talk) -> None:
    """Each before those that go on from it, with what is shown."""
    talk.say("a")
    b, c = talk.say("b"), talk.say("c")
    talk.again(c, "c2")
    talk.say("d2")
    talk.again(b, "b2")
    assert talk.tree() == [
        ("a", "a", 1, 0, True),
        ("b", "b", 1, 1, False),
        ("c", "c", 1, 2, False),
        ("c2", "d2", 2, 2, False),
        ("b2", "b2", 1, 1, True),
    ]
    assert talk.tree(talk.conversations.create(KEY, "Boat")) == []


def test_a_message_is_deleted_with_its_answer(talk: Talk) -> None:
    """What followed it follows what was before it, on every branch and in every fork; nothing finds it any more."""
    one, two = talk.say("one"), talk.say("two")
    three, fork = talk.say("three"), talk.fork(two)
    four = talk.say("four", fork)
    other = talk.again(three, "drei")
    talk.branches.delete_turn(two.id, by="sam")
    assert talk.shown() == ["one", "drei"]
    assert talk.shown(fork) == ["one", "four"]
    assert {talk.turns.get(turn.id).parent for turn in (three, other, four)} == {one.id}
    assert talk.siblings(talk.turns.get(three.id)) == ["three", "drei"]
    assert talk.conversations.get(KEY, fork.id).forked_from == one.id
    assert History(talk.install.store).search_turns(KEY, "two") == []
    gone = talk.turns.get(two.id)
    assert (gone.is_cleared, gone.prompt, gone.reply, talk.turns.list_steps(two.id)) == (True, "", None, [])
    with pytest.raises(NotFound, match="no message"):
        talk.branches.delete_turn(two.id, by="sam")
    talk.branches.delete_turn(one.id, by="sam")
    assert (talk.shown(), talk.shown(fork)) == (["drei"], ["four"])
    assert talk.conversations.get(KEY).title == "three", "it was called by words that are gone"
    for turn in (other, three):
        talk.branches.delete_turn(turn.id, by="sam")
    assert (talk.shown(), talk.conversations.get(KEY).title) == ([], "")
    assert talk.say("anew").parent is None
    talk.branches.delete_turn(four.id, by="sam")
    assert talk.shown(talk.conversations.get(KEY, fork.id)) == []


def test_the_newest_one_shows_what_is_left(talk: Talk) -> None:
    """The version before it, to its end; else what was before it."""
    talk.say("one")
    two = talk.say("two")
    talk.say("three")
    edited = talk.again(two, "zwei")
    talk.branches.delete_turn(edited.id, by="sam")
    assert talk.shown() == ["one", "two", "three"]
    talk.branches.delete_turn(talk.turns.list_history(KEY)[-1].id, by="sam")
    assert talk.shown() == ["one", "two"]


def test_one_that_is_worked_on_is_not_deleted(talk: Talk) -> None:
    """Nor one that waits: that is withdrawn. Nothing has changed."""
    talk.say("one")
    running = talk.turns.submit(KEY, "running", source="test")
    for _ in range(2):
        with pytest.raises(Conflict, match="has not finished with this message"):
            talk.branches.delete_turn(running.id, by="sam")
        assert talk.shown() == ["one", "running"]
        talk.turns.take_next(KEY, "boot", 1)
    with pytest.raises(NotFound):
        talk.branches.delete_turn(999, by="sam")


Step = tuple[str, int, int]


@bounded(examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["say", "again", "select", "fork", "clear", "delete", "withdraw", "remove", "remove"]),
            st.integers(0, 5),
            st.integers(0, 30),
        ),
        max_size=25,
    )
)
def test_no_turn_is_ever_lost(steps: list[Step]) -> None:
    """Whatever is edited, asked again, chosen, forked, withdrawn, cleared or deleted: every turn that was not cleared
    is in the tree of its conversation, and no other conversation changes, but for a deleted message they share."""
    with tempfile.TemporaryDirectory() as folder, core_fixture(Path(folder) / "home") as install:
        talk = Talk(install)
        for number, step in enumerate(steps):
            _do_step(talk, f"m{number}", step)
            _check_reachable(talk)


def _do_step(talk: Talk, text: str, step: Step) -> None:
    what, where, which = step
    talk.conversations.get(KEY)
    places = talk.conversations.list_conversations(KEY)
    place = places[where % len(places)]
    others = {one.id: talk.shown(one) for one in places if one.id != place.id}
    members = _everything(talk, place)
    turn = members[which % len(members)] if members else None
    acts: dict[str, Callable[[], object]] = {
        "say": lambda: talk.say(text, place),
        "again": lambda: turn and talk.again(turn, text, place),
        "select": lambda: turn and _check_select(talk, turn, place),
        "fork": lambda: turn and talk.fork(turn),
        "clear": lambda: talk.turns.clear_history(KEY, place.id),
        "delete": lambda: talk.conversations.delete(KEY, place.id),
        "withdraw": lambda: _withdraw(talk, text, turn, place),
        "remove": lambda: turn and _remove(talk, turn),
    }
    acts[what]()
    if what == "remove":
        return
    for one, shown in others.items():
        assert talk.shown(talk.conversations.get(KEY, one)) == shown


def _remove(talk: Talk, turn: Turn) -> bool:
    """It alone goes, from every branch of every conversation: each of them is as it was, without it."""
    places = talk.conversations.list_conversations(KEY)
    before = {one.id: (one.head, talk.shown(one), _ways(talk, one)) for one in places}
    talk.branches.delete_turn(turn.id, by="sam")
    for one in places:
        head, shown, ways = before[one.id]
        assert _ways(talk, talk.conversations.get(KEY, one.id)) == _without(ways, turn.id)
        if head != turn.id:  # else the newest branch that is left is shown
            assert talk.shown(one) == [text for text in shown if text != turn.prompt]
    assert talk.turns.get(turn.id).is_cleared
    return True


def _without(ways: dict[int, list[int]], gone: int) -> dict[int, list[int]]:
    return {turn: [one for one in way if one != gone] for turn, way in ways.items() if turn != gone}


def _ways(talk: Talk, place: Conversation) -> dict[int, list[int]]:
    """For each turn of a conversation, all that the agent is told before it."""
    with talk.install.store.reading() as db:
        return {
            turn.id: [one.id for one in branch_rows.list_branch(db, turn.id, limit=1_000)]
            for turn in _everything(talk, place)
        }


def _check_select(talk: Talk, turn: Turn, place: Conversation) -> bool:
    talk.select(turn, place)
    assert turn.prompt in talk.shown(place)
    return True


def _withdraw(talk: Talk, text: str, turn: Turn | None, place: Conversation) -> None:
    tree = talk.tree(place)
    if turn is None:
        made = talk.turns.submit(KEY, text, source="test", conversation=place.id)
    else:
        made = talk.branches.send_again(talk.conversations.get(KEY, place.id), turn.id, text, source="test")
    talk.turns.withdraw(made.id)
    assert [stretch[:4] for stretch in talk.tree(place)] == [stretch[:4] for stretch in tree]
    assert not tree or any(stretch[4] for stretch in talk.tree(place))


def _everything(talk: Talk, place: Conversation) -> list[Turn]:
    with talk.install.store.reading() as db:
        links = branch_rows.list_links(db, talk.conversations.get(KEY, place.id), most=1_000)
    return [talk.turns.get(link.turn) for link in links]


def _check_reachable(talk: Talk, key: CubicleKey = KEY) -> None:
    with talk.install.store.reading() as db:
        rows = db.execute("SELECT id, conversation FROM turns WHERE forgotten = 0").fetchall()
    live = {one.id: one for one in talk.conversations.list_conversations(key)}
    for row in rows:
        place = live[row["conversation"]]
        assert row["id"] in {turn.id for turn in _everything(talk, place)}
        assert talk.branches.list_siblings([talk.turns.get(row["id"])], place)[row["id"]]
    for place in live.values():
        shown = talk.turns.list_history(key, conversation=place.id, limit=1_000)
        assert (place.head is None) == (not shown)
        assert [turn.parent for turn in shown] == [None, *(turn.id for turn in shown[:-1])] if shown else True
