"""``orchestrator.turns.queue``: the queue, and one visible outcome for each message whatever happens to its crab."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput, Conflict, NotFound, Stopped, TooLarge, TooMany
from orchestrator.core.hooks import TurnMoment
from orchestrator.core.models import TurnStatus
from orchestrator.turns import conversation_rows as conversations
from orchestrator.turns import rows
from orchestrator.turns.history import History
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching


@pytest.fixture
def house(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def _step(house: CoreFixture, turn: int, n: int = 1, command: str = "ls") -> str:
    return house.steps.start_step(KEY, turn, n, thought="", command=command, approval=None).do


# --- the queue -------------------------------------------------------------------------------------------------


def test_takes_in_the_order_of_arrival_one_cubicle_at_a_time(house: CoreFixture) -> None:
    """Each cubicle has a queue of its own."""
    for text, key in (("a", KEY), ("x", OTHER), ("b", KEY)):
        house.turns.submit(key, text, source="test")
    first = house.turns.take_next(KEY, "boot", 0)
    assert first is not None
    assert (first.prompt, first.status) == ("a", TurnStatus.RUNNING)
    house.turns.end_turn(KEY, first.id, TurnStatus.DONE, reply="ok")
    prompts = [turn.prompt for key in (KEY, OTHER) if (turn := house.turns.take_next(key, "boot", 0)) is not None]
    assert prompts == ["b", "x"]


def test_wakes_the_cubicle_when_nobody_listens(house: CoreFixture) -> None:
    """A message for a sleeping cubicle wakes it."""
    house.turns.submit(KEY, "a", source="test")
    assert house.woken == [KEY]
    assert house.turns.list_unserved() == [KEY]


def test_a_listening_crab_gets_the_message_at_once(house: CoreFixture) -> None:
    """A long poll ends with the turn, and nobody is woken."""
    taken: list[object] = []
    crab = threading.Thread(target=lambda: taken.append(house.turns.take_next(KEY, "boot", 10)))
    crab.start()
    while KEY not in house.turns._long_poll._waiters:
        crab.join(0.01)
    turn = house.turns.submit(KEY, "a", source="test")
    crab.join(10)
    assert [getattr(found, "id", None) for found in taken] == [turn.id]
    assert house.woken == []


def test_a_long_poll_ends_when_its_time_is_up_or_its_client_hangs_up(house: CoreFixture) -> None:
    """None, and the dead client is no listener any more."""
    assert house.turns.take_next(KEY, "boot", 0.05) is None
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        assert house.turns.take_next(KEY, "boot", 20, hang_up=ours.fileno()) is None
    house.turns.submit(KEY, "a", source="test")
    assert house.woken == [KEY]


def test_the_same_origin_is_the_same_turn(house: CoreFixture) -> None:
    """A repeated update adds nothing: no row, no audit, no waking, whatever became of the first."""
    first = house.turns.submit(KEY, "a", source="telegram", origin="tg:1")
    with watching(house.broker) as news:
        again = house.turns.submit(KEY, "a", source="telegram", origin="tg:1")
        assert (again.id, heard(news)) == (first.id, [])
    assert (len(house.audited("turn.asked")), len(house.woken)) == (1, 1)
    house.turns.end_turn(KEY, first.id, TurnStatus.DONE, reply="ok")
    assert house.turns.submit(KEY, "a", source="telegram", origin="tg:1").status is TurnStatus.DONE


def test_the_same_origin_from_many_threads_is_one_turn(house: CoreFixture) -> None:
    """Twenty at once make one row."""
    results = at_once(*[partial(house.turns.submit, KEY, "a", source="telegram", origin="tg:1")] * 20)
    assert len({turn.id for turn in results}) == 1
    assert len(house.audited("turn.asked")) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [("", BadInput), (" \n\t", BadInput), ("x" * 200_001, TooLarge), ("a\ud800", BadInput)],
)
def test_refuses_what_is_no_message(house: CoreFixture, text: str, error: type[Exception]) -> None:
    """Nothing is queued for it."""
    with pytest.raises(error):
        house.turns.submit(KEY, text, source="test")
    assert house.turns.list_unserved() == []


def test_takes_text_as_it_is(house: CoreFixture) -> None:
    """NUL, emoji and markup come back byte for byte."""
    text = "a\0b 😀 <b>'; DROP TABLE turns; --\r\n"
    assert house.turns.submit(KEY, text, source="test").prompt == text


def test_five_thousand_queued_messages_each_get_an_outcome(house: CoreFixture) -> None:
    """The queue holds them, one more cubicle is not slowed, and a cubicle that can't start fails each of them."""
    with house.store.writing() as db:
        for n in range(5_000):
            rows.insert_turn(db, KEY, source="test", prompt=f"m{n}", origin=None, now=float(n))
    assert house.under_way("x", OTHER).prompt == "x"
    first = house.turns.take_next(KEY, "boot", 0)
    assert first is not None
    assert first.prompt == "m0"
    house.turns.fail_queued(KEY, "The container could not be started.")
    with house.store.reading() as db:
        counts = {row[0]: row[1] for row in db.execute("SELECT status, COUNT(*) FROM turns GROUP BY status")}
    assert counts == {"failed": 4_999, "running": 2}
    assert house.turns.list_unserved() == []


def test_a_full_queue_says_so(house: CoreFixture) -> None:
    """One message over the cap is refused, a repeated one is not."""
    with house.store.writing() as db:
        for n in range(10_000):
            rows.insert_turn(db, KEY, source="test", prompt="m", origin=f"o{n}", now=0.0)
    with pytest.raises(TooMany, match="10,000"):
        house.turns.submit(KEY, "a", source="test")
    assert house.turns.submit(KEY, "m", source="test", origin="o3").prompt == "m"


def test_twenty_crabs_of_one_cubicle_never_hold_two_turns(house: CoreFixture) -> None:
    """Whoever asks while a turn is held makes the host think that its holder died; one turn is held at the end."""
    for text in "abc":
        house.turns.submit(KEY, text, source="test")
    at_once(*(partial(house.turns.take_next, KEY, f"boot{n}", 0) for n in range(20)))
    assert len([key for key, _ in house.turns.list_running() if key == KEY]) <= 1


# --- the outcome -----------------------------------------------------------------------------------------------


def test_the_first_outcome_stands(house: CoreFixture) -> None:
    """A second finish changes nothing, and is no error."""
    turn = house.under_way()
    assert house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="one")
    assert not house.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="two")
    assert (house.turns.get(turn.id).reply, house.turns.get(turn.id).error) == ("one", None)
    assert len(house.audited("turn.done")) + len(house.audited("turn.failed")) == 1


def test_many_outcomes_at_once_are_one(house: CoreFixture) -> None:
    """Exactly one of thirty wins and is announced."""
    turn = house.under_way()
    with watching(house.broker) as news:
        results = at_once(
            *(partial(house.turns.end_turn, KEY, turn.id, TurnStatus.DONE, reply=str(n)) for n in range(30))
        )
        assert results.count(True) == 1
        assert len(of_kind(heard(news), "turn")) == 1


def test_waiting_ends_with_the_outcome(house: CoreFixture) -> None:
    """Whoever waits gets the ended turn, or the running one when the time is up."""
    turn = house.under_way()
    assert house.turns.wait_for_end(turn.id, 0.02).status is TurnStatus.RUNNING
    ended, _ = at_once(
        partial(house.turns.wait_for_end, turn.id, 20),
        partial(house.turns.end_turn, KEY, turn.id, TurnStatus.DONE, reply="ok"),
    )
    assert ended.reply == "ok"


def test_waiting_ends_when_the_house_closes(house: CoreFixture) -> None:
    """Nobody hangs in a house that is gone."""
    turn = house.under_way()
    stands, _ = at_once(partial(house.turns.wait_for_end, turn.id, 60), house.turns.close)
    assert stands.status is TurnStatus.RUNNING


def test_unknown_turns_are_not_found(house: CoreFixture) -> None:
    """Reading, waiting and stopping say so."""
    for ask in (house.turns.get, house.turns.stop, partial(house.turns.wait_for_end, timeout_s=1)):
        with pytest.raises(NotFound):
            ask(77)


def test_a_very_long_reply_is_cut(house: CoreFixture) -> None:
    """What is kept is bounded."""
    turn = house.under_way()
    house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="x" * 600_000)
    assert len(house.turns.get(turn.id).reply or "") == 500_000


# --- stopping --------------------------------------------------------------------------------------------------


def test_stopping_a_queued_turn_ends_it_at_once(house: CoreFixture) -> None:
    """It is never begun, and no lock is left."""
    turn = house.turns.submit(KEY, "a", source="test")
    assert house.turns.stop(turn.id).status is TurnStatus.STOPPED
    assert house.turns.take_next(KEY, "boot", 0) is None
    assert house.lock_names() == set()


def test_a_queued_message_is_withdrawn(house: CoreFixture) -> None:
    """It is never begun, and the conversation, its search and its context don't have it; whoever waits is told."""
    busy = house.under_way("busy")
    turn = house.turns.submit(KEY, "never mind the walrus", source="test")
    with watching(house.broker) as news:
        withdrawn = house.turns.withdraw(turn.id)
        assert [body["status"] for body in of_kind(heard(news), "turn")] == ["stopped"]
    assert (withdrawn.status, withdrawn.was_withdrawn) == (TurnStatus.STOPPED, True)
    assert [found.id for found in house.turns.list_history(KEY)] == [busy.id]
    assert History(house.store).search_turns(KEY, "walrus") == []
    assert len(house.audited("turn.withdrawn")) == len(house.audited("turn.stopped")) == 1
    house.turns.end_turn(KEY, busy.id, TurnStatus.DONE, reply="ok")
    assert house.turns.take_next(KEY, "boot", 0) is None


def test_only_a_message_that_waits_is_withdrawn(house: CoreFixture) -> None:
    """Neither one that is under way, nor one that has ended, nor the same one twice."""
    running = house.under_way()
    queued = house.turns.submit(KEY, "b", source="test")
    with pytest.raises(Conflict, match="begun"):
        house.turns.withdraw(running.id)
    house.turns.withdraw(queued.id)
    with pytest.raises(Conflict):
        house.turns.withdraw(queued.id)
    with pytest.raises(NotFound):
        house.turns.withdraw(99)
    assert [found.id for found in house.turns.list_history(KEY)] == [running.id]


def test_stopping_a_running_turn_tells_the_crab(house: CoreFixture) -> None:
    """Its model call is cut, a lock lies there until the turn ends, and no step begins any more."""
    turn = house.under_way()
    assert house.turns.stop(turn.id).status is TurnStatus.RUNNING
    assert house.turns.stop(turn.id).status is TurnStatus.RUNNING
    assert house.lock_names() == {f"hermit_stop.{turn.id}.lock"}
    assert turn.id in house.aborted
    assert _step(house, turn.id) == "stop"
    house.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert house.lock_names() == set()


def test_stopping_a_turn_that_waits_for_a_person_withdraws_the_question(house: CoreFixture) -> None:
    """The question is cancelled when the turn ends."""
    turn = house.under_way()
    assert _step(house, turn.id, command="rm -rf build") == "ask"
    approval = house.steps.ask_person(KEY, turn.id, 1)
    assert house.turns.get(turn.id).status is TurnStatus.WAITING
    house.turns.stop(turn.id)
    house.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert house.approvals.get(approval.id).status == "cancelled"
    assert house.lock_names() == set()


def test_a_crab_that_breaks_because_of_the_stop_was_stopped(house: CoreFixture) -> None:
    """What the person asked for is what they see."""
    turn = house.under_way()
    house.turns.stop(turn.id)
    house.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="The model call was cut.")
    ended = house.turns.get(turn.id)
    assert (ended.status, ended.error) == (TurnStatus.STOPPED, None)


def test_stopping_what_has_ended_changes_nothing(house: CoreFixture) -> None:
    """The outcome stands, and no lock appears."""
    turn = house.under_way()
    house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    assert house.turns.stop(turn.id).status is TurnStatus.DONE
    assert house.lock_names() == set()


def test_stop_and_take_at_once_leave_no_turn_that_runs_unknown(house: CoreFixture) -> None:
    """Either it never began, or the crab that has it was told."""
    for _ in range(20):
        turn = house.turns.submit(KEY, "a", source="test")
        at_once(partial(house.turns.take_next, KEY, "boot", 0), partial(house.turns.stop, turn.id))
        if house.turns.get(turn.id).status is TurnStatus.RUNNING:
            assert f"hermit_stop.{turn.id}.lock" in house.lock_names()
            house.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
        assert house.turns.get(turn.id).status is TurnStatus.STOPPED


# --- crabs that die --------------------------------------------------------------------------------------------


def test_a_turn_lost_before_its_first_step_is_begun_again(house: CoreFixture) -> None:
    """Nothing was done, so nothing is done twice."""
    turn = house.under_way()
    house.turns.on_crab_lost(KEY, "its container ended")
    assert house.turns.get(turn.id).status is TurnStatus.QUEUED
    assert turn.id in house.aborted
    again = house.turns.take_next(KEY, "boot2", 0)
    assert again is not None
    assert again.id == turn.id


def test_a_turn_that_kills_its_crab_is_not_begun_for_ever(house: CoreFixture) -> None:
    """After three begins it fails and says why."""
    turn = house.under_way()
    for _ in range(2):
        house.turns.on_crab_lost(KEY, "its container ended")
        assert house.turns.take_next(KEY, "boot", 0) is not None
    house.turns.on_crab_lost(KEY, "its container ended")
    ended = house.turns.get(turn.id)
    assert ended.status is TurnStatus.FAILED
    assert "its container ended" in (ended.error or "")


def test_a_turn_lost_after_its_first_step_fails_and_says_so(house: CoreFixture) -> None:
    """What was done must not be done again unasked."""
    turn = house.under_way()
    assert _step(house, turn.id) == "run"
    house.turns.on_crab_lost(KEY, "its container ended")
    ended = house.turns.get(turn.id)
    assert ended.status is TurnStatus.FAILED
    assert "Send the message again" in (ended.error or "")


def test_a_turn_lost_after_a_stop_was_stopped(house: CoreFixture) -> None:
    """The person wanted its end, and that is what it got."""
    turn = house.under_way()
    house.turns.stop(turn.id)
    house.turns.on_crab_lost(KEY, "its container ended")
    assert house.turns.get(turn.id).status is TurnStatus.STOPPED
    assert house.lock_names() == set()


def test_a_crab_that_asks_again_has_lost_its_turn(house: CoreFixture) -> None:
    """A new crab in the cubicle gets the next turn, the one before has an outcome."""
    first = house.under_way("a")
    _step(house, first.id)
    second = house.turns.submit(KEY, "b", source="test")
    taken = house.turns.take_next(KEY, "boot2", 0)
    assert taken is not None
    assert taken.id == second.id
    assert house.turns.get(first.id).status is TurnStatus.FAILED


def test_losing_nothing_is_fine(house: CoreFixture) -> None:
    """A cubicle that ends while idle costs no turn."""
    house.turns.on_crab_lost(KEY, "its container ended")
    assert house.turns.list_running() == []


def test_a_cubicle_that_is_replaced_first_takes_its_turn_afterwards(house: CoreFixture) -> None:
    """When the container was out of date, its crab gets nothing and the turn waits for the new one."""
    house.turns._is_fresh = lambda _: False
    turn = house.turns.submit(KEY, "a", source="test")
    house.woken.clear()
    assert house.turns.take_next(KEY, "boot", 0.02) is None
    assert house.woken == [KEY]
    assert house.turns.get(turn.id).status is TurnStatus.QUEUED


def test_a_crab_that_may_be_dead_by_now_is_not_counted_on(house: CoreFixture) -> None:
    """A stopped cubicle is woken at once, though its crab seems to listen still, or has just ended a turn."""
    turn = house.under_way()
    house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    house.woken.clear()
    house.turns.submit(KEY, "its crab asks by itself", source="test")
    assert house.woken == []
    house.turns._is_fresh = lambda _: False
    house.turns.submit(KEY, "its crab is no more", source="test")
    assert house.woken == [KEY]
    with house.turns._long_poll.listening(KEY):
        house.turns.submit(KEY, "it only seems to listen", source="test")
    assert house.woken == [KEY, KEY]


def test_nothing_is_woken_under_a_turn(house: CoreFixture) -> None:
    """A crab that holds one is left alone, as its container might be replaced."""
    house.under_way()
    house.woken.clear()
    house.turns._is_fresh = lambda _: False
    house.turns.submit(KEY, "another", source="test")
    assert house.woken == []


# --- the model's side, history ---------------------------------------------------------------------------------


def test_only_a_wanted_turn_of_its_own_may_spend(house: CoreFixture) -> None:
    """Another cubicle's turn is not found; an ended or stopped one is stopped."""
    turn, foreign = house.under_way(), house.under_way("x", OTHER)
    house.turns.check_wanted(KEY, turn.id)
    for unknown in (foreign.id, 99, 2**53):
        with pytest.raises(NotFound):
            house.turns.check_wanted(KEY, unknown)
    house.turns.stop(turn.id)
    with pytest.raises(Stopped):
        house.turns.check_wanted(KEY, turn.id)
    house.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    with pytest.raises(Stopped):
        house.turns.check_wanted(KEY, turn.id)


def test_history_pages_backwards_and_forgets(house: CoreFixture) -> None:
    """Oldest first within a page; clearing leaves what runs, and the audit log."""
    ids = []
    for n in range(5):
        turn = house.under_way(f"m{n}")
        ids.append(turn.id)
        house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    running = house.under_way("last")
    assert [turn.id for turn in house.turns.list_history(KEY, limit=2)] == [ids[-1], running.id]
    assert [turn.id for turn in house.turns.list_history(KEY, limit=2, before=ids[2])] == ids[:2]
    assert house.turns.list_history(OTHER) == []
    assert house.turns.clear_history(KEY) == 5
    assert [turn.id for turn in house.turns.list_history(KEY)] == [running.id]
    assert len(house.audited("turn.done")) == 5


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    """Queued and running turns survive the process; a crab that lives goes on with its turn."""
    with core_fixture(tmp_path / "home") as before:
        running = before.under_way("a")
        queued = before.turns.submit(KEY, "b", source="test")
    with core_fixture(tmp_path / "home") as after:
        assert after.turns.get(queued.id).status is TurnStatus.QUEUED
        assert after.turns.end_turn(KEY, running.id, TurnStatus.DONE, reply="ok")
        taken = after.turns.take_next(KEY, "boot", 0)
        assert taken is not None
        assert taken.id == queued.id


def test_a_queued_turn_can_be_reworded_and_a_taken_one_cannot(house: CoreFixture) -> None:
    """A corrected message replaces the question while nobody works on it; afterwards nothing changes."""
    with watching(house.broker) as news:
        turn = house.turns.submit(KEY, "helo", source="telegram", origin="telegram:7:1")
        assert house.turns.change_prompt("telegram:7:1", "hello")
        assert not house.turns.change_prompt("telegram:7:1", "hello")
        assert not house.turns.change_prompt("telegram:7:2", "hello")
        assert house.turns.take_next(KEY, "boot", 0) == house.turns.get(turn.id)
        assert not house.turns.change_prompt("telegram:7:1", "too late")
        assert house.turns.get(turn.id).prompt == "hello"
        assert [body["prompt"] for body in of_kind(heard(news), "turn")] == ["helo", "hello", "hello"]
        assert [row.text for row in house.audited("turn.reworded")] == ["hello"]
        assert house.turns.get_by_origin("telegram:7:1") == house.turns.get(turn.id)
        assert house.turns.get_by_origin("telegram:7:2") is None


def test_an_unusable_rewording_changes_nothing(house: CoreFixture) -> None:
    """An empty correction is refused like an empty message."""
    house.turns.submit(KEY, "hello", source="telegram", origin="telegram:7:1")
    with pytest.raises(BadInput):
        house.turns.change_prompt("telegram:7:1", "  ")
    assert [turn.prompt for turn in house.turns.list_history(KEY)] == ["hello"]


# --- who follows a turn's end ----------------------------------------------------------------------------------


def test_whoever_fails_at_a_turns_end_keeps_nothing_else_from_happening(
    house: CoreFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """The others hear of it, the stop file goes, the news is told, and whoever waits gets the outcome."""
    heard_after: list[TurnMoment] = []

    def fail(_ended: TurnMoment) -> None:
        raise ZeroDivisionError

    house.hooks.turn_ended._listeners.insert(0, fail)
    house.hooks.turn_ended.subscribe(fail)
    house.hooks.turn_ended.subscribe(heard_after.append)
    turn = house.under_way()
    house.turns.stop(turn.id)
    assert house.lock_names() == {f"hermit_stop.{turn.id}.lock"}
    with watching(house.broker) as news:
        assert house.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
        assert [body["status"] for body in of_kind(heard(news), "turn")] == ["stopped"]
    assert heard_after == [TurnMoment(KEY, turn.id)]
    assert house.lock_names() == set()
    assert house.turns.wait_for_end(turn.id, 0).status is TurnStatus.STOPPED
    assert [record.getMessage() for record in caplog.records] == ["a listener of turn_ended failed"] * 2


def test_a_turn_is_followed_from_its_message_to_its_outcome(house: CoreFixture) -> None:
    """Each moment once, in order."""
    moments: list[tuple[str, int]] = []
    house.hooks.message_sent.subscribe(lambda turn: moments.append(("sent", turn.id)))
    house.hooks.turn_started.subscribe(lambda turn: moments.append(("started", turn.id)))
    house.hooks.turn_ended.subscribe(lambda ended: moments.append(("ended", ended.turn)))
    turn = house.under_way()
    house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    house.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="again")
    assert moments == [("sent", turn.id), ("started", turn.id), ("ended", turn.id)]


# --- conversations, and several turns at once ------------------------------------------------------------------


def test_every_turn_is_of_its_cubicles_conversation(house: CoreFixture) -> None:
    """The first message begins it; another person's is another one. A deleted agent takes its own along."""
    first, second = house.under_way("a"), house.turns.submit(KEY, "b", source="test")
    others = house.turns.submit(OTHER, "c", source="test")
    assert first.conversation == second.conversation != others.conversation
    assert first.parent is None
    with house.store.reading() as db:
        assert [(each.id, each.cubicle, each.name) for each in conversations.of_cubicle(db, KEY)] == [
            (first.conversation, KEY, "")
        ]
    house.agents.remove("crab")
    with house.store.reading() as db:
        assert conversations.of_cubicle(db, KEY) == conversations.of_cubicle(db, OTHER) == []


def test_a_turn_may_have_a_parent(house: CoreFixture) -> None:
    """It says which; also when that is gone."""
    parent, child = house.under_way("a"), house.turns.submit(KEY, "b", source="test")
    with house.store.writing() as db:
        db.execute("UPDATE turns SET parent = ? WHERE id = ?", (parent.id, child.id))
    assert house.turns.get(child.id).parent == parent.id
    house.turns.end_turn(KEY, parent.id, TurnStatus.DONE, reply="ok")
    with house.store.writing() as db:
        db.execute("DELETE FROM turns WHERE id = ?", (parent.id,))
    assert house.turns.get(child.id).parent == parent.id
