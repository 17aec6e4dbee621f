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
from orchestrator.turns.conversation_rows import ensure_first
from orchestrator.turns.history import History
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def _step(install: CoreFixture, turn: int, n: int = 1, command: str = "ls") -> str:
    return install.steps.start_step(KEY, turn, n, thought="", command=command, approval=None).do


# --- the queue -------------------------------------------------------------------------------------------------


def test_takes_in_the_order_of_arrival_one_cubicle_at_a_time(install: CoreFixture) -> None:
    """Each cubicle has a queue of its own."""
    for text, key in (("a", KEY), ("x", OTHER), ("b", KEY)):
        install.turns.submit(key, text, source="test")
    first = install.turns.take_next(KEY, "boot", 0)
    assert first is not None
    assert (first.prompt, first.status) == ("a", TurnStatus.RUNNING)
    install.turns.end_turn(KEY, first.id, TurnStatus.DONE, reply="ok")
    prompts = [turn.prompt for key in (KEY, OTHER) if (turn := install.turns.take_next(key, "boot", 0)) is not None]
    assert prompts == ["b", "x"]


def test_wakes_the_cubicle_when_nobody_listens(install: CoreFixture) -> None:
    """A message for a sleeping cubicle wakes it."""
    install.turns.submit(KEY, "a", source="test")
    assert install.woken == [KEY]
    assert install.turns.list_unserved() == [KEY]


def test_a_listening_crab_gets_the_message_at_once(install: CoreFixture) -> None:
    """A long poll ends with the turn, and nobody is woken."""
    taken: list[object] = []
    crab = threading.Thread(target=lambda: taken.append(install.turns.take_next(KEY, "boot", 10)))
    crab.start()
    while KEY not in install.turns._long_poll._waiters:
        crab.join(0.01)
    turn = install.turns.submit(KEY, "a", source="test")
    crab.join(10)
    assert [getattr(found, "id", None) for found in taken] == [turn.id]
    assert install.woken == []


def test_a_long_poll_ends_when_its_time_is_up_or_its_client_hangs_up(install: CoreFixture) -> None:
    """None, and the dead client is no listener any more."""
    assert install.turns.take_next(KEY, "boot", 0.05) is None
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        assert install.turns.take_next(KEY, "boot", 20, hang_up=ours.fileno()) is None
    install.turns.submit(KEY, "a", source="test")
    assert install.woken == [KEY]


def test_the_same_origin_is_the_same_turn(install: CoreFixture) -> None:
    """A repeated update adds nothing: no row, no audit, no waking, whatever became of the first."""
    first = install.turns.submit(KEY, "a", source="telegram", origin="tg:1")
    with watching(install.broker) as news:
        again = install.turns.submit(KEY, "a", source="telegram", origin="tg:1")
        assert (again.id, heard(news)) == (first.id, [])
    assert (len(install.audited("turn.asked")), len(install.woken)) == (1, 1)
    install.turns.end_turn(KEY, first.id, TurnStatus.DONE, reply="ok")
    assert install.turns.submit(KEY, "a", source="telegram", origin="tg:1").status is TurnStatus.DONE


def test_the_same_origin_from_many_threads_is_one_turn(install: CoreFixture) -> None:
    """Twenty at once make one row."""
    results = at_once(*[partial(install.turns.submit, KEY, "a", source="telegram", origin="tg:1")] * 20)
    assert len({turn.id for turn in results}) == 1
    assert len(install.audited("turn.asked")) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [("", BadInput), (" \n\t", BadInput), ("x" * 200_001, TooLarge), ("a\ud800", BadInput)],
)
def test_refuses_what_is_no_message(install: CoreFixture, text: str, error: type[Exception]) -> None:
    """Nothing is queued for it."""
    with pytest.raises(error):
        install.turns.submit(KEY, text, source="test")
    assert install.turns.list_unserved() == []


def test_takes_text_as_it_is(install: CoreFixture) -> None:
    """NUL, emoji and markup come back byte for byte."""
    text = "a\0b 😀 <b>'; DROP TABLE turns; --\r\n"
    assert install.turns.submit(KEY, text, source="test").prompt == text


def test_five_thousand_queued_messages_each_get_an_outcome(install: CoreFixture) -> None:
    """The queue holds them, one more cubicle is not slowed, and a cubicle that can't start fails each of them."""
    with install.store.writing() as db:
        for n in range(5_000):
            rows.insert_turn(db, ensure_first(db, KEY, 0.0), source="test", prompt=f"m{n}", origin=None, now=float(n))
    assert install.under_way("x", OTHER).prompt == "x"
    first = install.turns.take_next(KEY, "boot", 0)
    assert first is not None
    assert first.prompt == "m0"
    install.turns.fail_queued(KEY, "The container could not be started.")
    with install.store.reading() as db:
        counts = {row[0]: row[1] for row in db.execute("SELECT status, COUNT(*) FROM turns GROUP BY status")}
    assert counts == {"failed": 4_999, "running": 2}
    assert install.turns.list_unserved() == []


def test_a_full_queue_says_so(install: CoreFixture) -> None:
    """One message over the cap is refused, a repeated one is not."""
    with install.store.writing() as db:
        for n in range(10_000):
            rows.insert_turn(db, ensure_first(db, KEY, 0.0), source="test", prompt="m", origin=f"o{n}", now=0.0)
    with pytest.raises(TooMany, match="10,000"):
        install.turns.submit(KEY, "a", source="test")
    assert install.turns.submit(KEY, "m", source="test", origin="o3").prompt == "m"


def test_twenty_crabs_of_one_cubicle_never_hold_two_turns(install: CoreFixture) -> None:
    """Whoever asks while a turn is held makes the host think that its holder died; one turn is held at the end."""
    for text in "abc":
        install.turns.submit(KEY, text, source="test")
    at_once(*(partial(install.turns.take_next, KEY, f"boot{n}", 0) for n in range(20)))
    assert len([key for key, _ in install.turns.list_running() if key == KEY]) <= 1


# --- the outcome -----------------------------------------------------------------------------------------------


def test_the_first_outcome_stands(install: CoreFixture) -> None:
    """A second finish changes nothing, and is no error."""
    turn = install.under_way()
    assert install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="one")
    assert not install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="two")
    assert (install.turns.get(turn.id).reply, install.turns.get(turn.id).error) == ("one", None)
    assert len(install.audited("turn.done")) + len(install.audited("turn.failed")) == 1


def test_many_outcomes_at_once_are_one(install: CoreFixture) -> None:
    """Exactly one of thirty wins and is announced."""
    turn = install.under_way()
    with watching(install.broker) as news:
        results = at_once(
            *(partial(install.turns.end_turn, KEY, turn.id, TurnStatus.DONE, reply=str(n)) for n in range(30))
        )
        assert results.count(True) == 1
        assert len(of_kind(heard(news), "turn")) == 1


def test_waiting_ends_with_the_outcome(install: CoreFixture) -> None:
    """Whoever waits gets the ended turn, or the running one when the time is up."""
    turn = install.under_way()
    assert install.turns.wait_for_end(turn.id, 0.02).status is TurnStatus.RUNNING
    ended, _ = at_once(
        partial(install.turns.wait_for_end, turn.id, 20),
        partial(install.turns.end_turn, KEY, turn.id, TurnStatus.DONE, reply="ok"),
    )
    assert ended.reply == "ok"


def test_waiting_ends_when_the_install_closes(install: CoreFixture) -> None:
    """Nobody hangs in an install that is gone."""
    turn = install.under_way()
    stands, _ = at_once(partial(install.turns.wait_for_end, turn.id, 60), install.turns.close)
    assert stands.status is TurnStatus.RUNNING


def test_unknown_turns_are_not_found(install: CoreFixture) -> None:
    """Reading, waiting and stopping say so."""
    for ask in (install.turns.get, install.turns.stop, partial(install.turns.wait_for_end, timeout_s=1)):
        with pytest.raises(NotFound):
            ask(77)


def test_a_very_long_reply_is_cut(install: CoreFixture) -> None:
    """What is kept is bounded."""
    turn = install.under_way()
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="x" * 600_000)
    assert len(install.turns.get(turn.id).reply or "") == 500_000


# --- stopping --------------------------------------------------------------------------------------------------


def test_stopping_a_queued_turn_ends_it_at_once(install: CoreFixture) -> None:
    """It is never begun, and no lock is left."""
    turn = install.turns.submit(KEY, "a", source="test")
    assert install.turns.stop(turn.id).status is TurnStatus.STOPPED
    assert install.turns.take_next(KEY, "boot", 0) is None
    assert install.lock_names() == set()


def test_a_queued_message_is_withdrawn(install: CoreFixture) -> None:
    """It is never begun, and the conversation, its search and its context don't have it; whoever waits is told."""
    busy = install.under_way("busy")
    turn = install.turns.submit(KEY, "never mind the walrus", source="test")
    with watching(install.broker) as news:
        withdrawn = install.turns.withdraw(turn.id)
        assert [body["status"] for body in of_kind(heard(news), "turn")] == ["stopped"]
    assert (withdrawn.status, withdrawn.was_withdrawn) == (TurnStatus.STOPPED, True)
    assert [found.id for found in install.turns.list_history(KEY)] == [busy.id]
    assert History(install.store).search_turns(KEY, "walrus") == []
    assert len(install.audited("turn.withdrawn")) == len(install.audited("turn.stopped")) == 1
    install.turns.end_turn(KEY, busy.id, TurnStatus.DONE, reply="ok")
    assert install.turns.take_next(KEY, "boot", 0) is None


def test_only_a_message_that_waits_is_withdrawn(install: CoreFixture) -> None:
    """Neither one that is under way, nor one that has ended, nor the same one twice."""
    running = install.under_way()
    queued = install.turns.submit(KEY, "b", source="test")
    with pytest.raises(Conflict, match="begun"):
        install.turns.withdraw(running.id)
    install.turns.withdraw(queued.id)
    with pytest.raises(Conflict):
        install.turns.withdraw(queued.id)
    with pytest.raises(NotFound):
        install.turns.withdraw(99)
    assert [found.id for found in install.turns.list_history(KEY)] == [running.id]


def test_stopping_a_running_turn_tells_the_crab(install: CoreFixture) -> None:
    """Its model call is cut, a lock lies there until the turn ends, and no step begins any more."""
    turn = install.under_way()
    assert install.turns.stop(turn.id).status is TurnStatus.RUNNING
    assert install.turns.stop(turn.id).status is TurnStatus.RUNNING
    assert install.lock_names() == {f"hermit_stop.{turn.id}.lock"}
    assert turn.id in install.aborted
    assert _step(install, turn.id) == "stop"
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert install.lock_names() == set()


def test_stopping_a_turn_that_waits_for_a_person_withdraws_the_question(install: CoreFixture) -> None:
    """The question is cancelled when the turn ends."""
    turn = install.under_way()
    assert _step(install, turn.id, command="rm -rf build") == "ask"
    approval = install.steps.ask_person(KEY, turn.id, 1)
    assert install.turns.get(turn.id).status is TurnStatus.WAITING
    install.turns.stop(turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert install.approvals.get(approval.id).status == "cancelled"
    assert install.lock_names() == set()


def test_a_crab_that_breaks_because_of_the_stop_was_stopped(install: CoreFixture) -> None:
    """What the person asked for is what they see."""
    turn = install.under_way()
    install.turns.stop(turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="The model call was cut.")
    ended = install.turns.get(turn.id)
    assert (ended.status, ended.error) == (TurnStatus.STOPPED, None)


def test_stopping_what_has_ended_changes_nothing(install: CoreFixture) -> None:
    """The outcome stands, and no lock appears."""
    turn = install.under_way()
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    assert install.turns.stop(turn.id).status is TurnStatus.DONE
    assert install.lock_names() == set()


def test_stop_and_take_at_once_leave_no_turn_that_runs_unknown(install: CoreFixture) -> None:
    """Either it never began, or the crab that has it was told."""
    for _ in range(20):
        turn = install.turns.submit(KEY, "a", source="test")
        at_once(partial(install.turns.take_next, KEY, "boot", 0), partial(install.turns.stop, turn.id))
        if install.turns.get(turn.id).status is TurnStatus.RUNNING:
            assert f"hermit_stop.{turn.id}.lock" in install.lock_names()
            install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
        assert install.turns.get(turn.id).status is TurnStatus.STOPPED


# --- crabs that die --------------------------------------------------------------------------------------------


def test_a_turn_lost_before_its_first_step_is_begun_again(install: CoreFixture) -> None:
    """Nothing was done, so nothing is done twice."""
    turn = install.under_way()
    install.turns.on_crab_lost(KEY, "its container ended")
    assert install.turns.get(turn.id).status is TurnStatus.QUEUED
    assert turn.id in install.aborted
    again = install.turns.take_next(KEY, "boot2", 0)
    assert again is not None
    assert again.id == turn.id


def test_a_turn_that_kills_its_crab_is_not_begun_for_ever(install: CoreFixture) -> None:
    """After three begins it fails and says why."""
    turn = install.under_way()
    for _ in range(2):
        install.turns.on_crab_lost(KEY, "its container ended")
        assert install.turns.take_next(KEY, "boot", 0) is not None
    install.turns.on_crab_lost(KEY, "its container ended")
    ended = install.turns.get(turn.id)
    assert ended.status is TurnStatus.FAILED
    assert "its container ended" in (ended.error or "")


def test_a_turn_lost_after_its_first_step_fails_and_says_so(install: CoreFixture) -> None:
    """What was done must not be done again unasked."""
    turn = install.under_way()
    assert _step(install, turn.id) == "run"
    install.turns.on_crab_lost(KEY, "its container ended")
    ended = install.turns.get(turn.id)
    assert ended.status is TurnStatus.FAILED
    assert "Send the message again" in (ended.error or "")


def test_a_turn_lost_after_a_stop_was_stopped(install: CoreFixture) -> None:
    """The person wanted its end, and that is what it got."""
    turn = install.under_way()
    install.turns.stop(turn.id)
    install.turns.on_crab_lost(KEY, "its container ended")
    assert install.turns.get(turn.id).status is TurnStatus.STOPPED
    assert install.lock_names() == set()


def test_a_crab_that_asks_again_has_lost_its_turn(install: CoreFixture) -> None:
    """A new crab in the cubicle gets the next turn, the one before has an outcome."""
    first = install.under_way("a")
    _step(install, first.id)
    second = install.turns.submit(KEY, "b", source="test")
    taken = install.turns.take_next(KEY, "boot2", 0)
    assert taken is not None
    assert taken.id == second.id
    assert install.turns.get(first.id).status is TurnStatus.FAILED


def test_losing_nothing_is_fine(install: CoreFixture) -> None:
    """A cubicle that ends while idle costs no turn."""
    install.turns.on_crab_lost(KEY, "its container ended")
    assert install.turns.list_running() == []


def test_a_cubicle_that_is_replaced_first_takes_its_turn_afterwards(install: CoreFixture) -> None:
    """When the container was out of date, its crab gets nothing and the turn waits for the new one."""
    install.turns._is_fresh = lambda _: False
    turn = install.turns.submit(KEY, "a", source="test")
    install.woken.clear()
    assert install.turns.take_next(KEY, "boot", 0.02) is None
    assert install.woken == [KEY]
    assert install.turns.get(turn.id).status is TurnStatus.QUEUED


def test_a_crab_that_may_be_dead_by_now_is_not_counted_on(install: CoreFixture) -> None:
    """A stopped cubicle is woken at once, though its crab seems to listen still, or has just ended a turn."""
    turn = install.under_way()
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    install.woken.clear()
    install.turns.submit(KEY, "its crab asks by itself", source="test")
    assert install.woken == []
    install.turns._is_fresh = lambda _: False
    install.turns.submit(KEY, "its crab is no more", source="test")
    assert install.woken == [KEY]
    with install.turns._long_poll.listening(KEY):
        install.turns.submit(KEY, "it only seems to listen", source="test")
    assert install.woken == [KEY, KEY]


def test_nothing_is_woken_under_a_turn(install: CoreFixture) -> None:
    """A crab that holds one is left alone, as its container might be replaced."""
    install.under_way()
    install.woken.clear()
    install.turns._is_fresh = lambda _: False
    install.turns.submit(KEY, "another", source="test")
    assert install.woken == []


# --- the model's side, history ---------------------------------------------------------------------------------


def test_only_a_wanted_turn_of_its_own_may_spend(install: CoreFixture) -> None:
    """Another cubicle's turn is not found; an ended or stopped one is stopped."""
    turn, foreign = install.under_way(), install.under_way("x", OTHER)
    install.turns.check_wanted(KEY, turn.id)
    for unknown in (foreign.id, 99, 2**53):
        with pytest.raises(NotFound):
            install.turns.check_wanted(KEY, unknown)
    install.turns.stop(turn.id)
    with pytest.raises(Stopped):
        install.turns.check_wanted(KEY, turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    with pytest.raises(Stopped):
        install.turns.check_wanted(KEY, turn.id)


def test_history_pages_backwards_and_forgets(install: CoreFixture) -> None:
    """Oldest first within a page; clearing leaves what runs, and the audit log."""
    ids = []
    for n in range(5):
        turn = install.under_way(f"m{n}")
        ids.append(turn.id)
        install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    running = install.under_way("last")
    assert [turn.id for turn in install.turns.list_history(KEY, limit=2)] == [ids[-1], running.id]
    assert [turn.id for turn in install.turns.list_history(KEY, limit=2, before=ids[2])] == ids[:2]
    assert install.turns.list_history(OTHER) == []
    assert install.turns.clear_history(KEY) == 5
    assert [turn.id for turn in install.turns.list_history(KEY)] == [running.id]
    assert len(install.audited("turn.done")) == 5


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


def test_a_queued_turn_can_be_reworded_and_a_taken_one_cannot(install: CoreFixture) -> None:
    """A corrected message replaces the question while nobody works on it; afterwards nothing changes."""
    with watching(install.broker) as news:
        turn = install.turns.submit(KEY, "helo", source="telegram", origin="telegram:7:1")
        assert install.turns.change_prompt("telegram:7:1", "hello")
        assert not install.turns.change_prompt("telegram:7:1", "hello")
        assert not install.turns.change_prompt("telegram:7:2", "hello")
        assert install.turns.take_next(KEY, "boot", 0) == install.turns.get(turn.id)
        assert not install.turns.change_prompt("telegram:7:1", "too late")
        assert install.turns.get(turn.id).prompt == "hello"
        assert [body["prompt"] for body in of_kind(heard(news), "turn")] == ["helo", "hello", "hello"]
        assert [row.text for row in install.audited("turn.reworded")] == ["hello"]
        assert install.turns.get_by_origin("telegram:7:1") == install.turns.get(turn.id)
        assert install.turns.get_by_origin("telegram:7:2") is None


def test_an_unusable_rewording_changes_nothing(install: CoreFixture) -> None:
    """An empty correction is refused like an empty message."""
    install.turns.submit(KEY, "hello", source="telegram", origin="telegram:7:1")
    with pytest.raises(BadInput):
        install.turns.change_prompt("telegram:7:1", "  ")
    assert [turn.prompt for turn in install.turns.list_history(KEY)] == ["hello"]


# --- who follows a turn's end ----------------------------------------------------------------------------------


def test_whoever_fails_at_a_turns_end_keeps_nothing_else_from_happening(
    install: CoreFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """The others hear of it, the stop file goes, the news is told, and whoever waits gets the outcome."""
    heard_after: list[TurnMoment] = []

    def fail(_ended: TurnMoment) -> None:
        raise ZeroDivisionError

    install.hooks.turn_ended._listeners.insert(0, fail)
    install.hooks.turn_ended.subscribe(fail)
    install.hooks.turn_ended.subscribe(heard_after.append)
    turn = install.under_way()
    install.turns.stop(turn.id)
    assert install.lock_names() == {f"hermit_stop.{turn.id}.lock"}
    with watching(install.broker) as news:
        assert install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
        assert [body["status"] for body in of_kind(heard(news), "turn")] == ["stopped"]
    assert heard_after == [TurnMoment(KEY, turn.id)]
    assert install.lock_names() == set()
    assert install.turns.wait_for_end(turn.id, 0).status is TurnStatus.STOPPED
    assert [record.getMessage() for record in caplog.records] == ["a listener of turn_ended failed"] * 2


def test_a_turn_is_followed_from_its_message_to_its_outcome(install: CoreFixture) -> None:
    """Each moment once, in order."""
    moments: list[tuple[str, int]] = []
    install.hooks.message_sent.subscribe(lambda turn: moments.append(("sent", turn.id)))
    install.hooks.turn_started.subscribe(lambda turn: moments.append(("started", turn.id)))
    install.hooks.turn_ended.subscribe(lambda ended: moments.append(("ended", ended.turn)))
    turn = install.under_way()
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="again")
    assert moments == [("sent", turn.id), ("started", turn.id), ("ended", turn.id)]


# --- conversations, and several turns at once ------------------------------------------------------------------


def test_every_turn_is_of_its_cubicles_conversation(install: CoreFixture) -> None:
    """The first message begins it; another person's is another one. A deleted agent takes its own along."""
    first, second = install.under_way("a"), install.turns.submit(KEY, "b", source="test")
    others = install.turns.submit(OTHER, "c", source="test")
    assert first.conversation == second.conversation != others.conversation
    assert first.parent is None
    with install.store.reading() as db:
        assert [each.id for each in conversations.list_conversations(db, KEY, limit=9)] == [first.conversation]
    install.agents.remove("crab")
    with install.store.reading() as db:
        assert conversations.list_conversations(db, KEY, limit=9) == []
        assert conversations.list_conversations(db, OTHER, limit=9) == []


def test_a_turn_follows_the_one_before(install: CoreFixture) -> None:
    """In its own conversation, also while that still waits; when that is gone it begins the conversation."""
    first, second = install.under_way("a"), install.turns.submit(KEY, "b", source="test")
    install.turns.submit(OTHER, "c", source="test")
    third = install.turns.submit(KEY, "d", source="test")
    assert [turn.parent for turn in (first, second, third)] == [None, first.id, second.id]
    install.turns.withdraw(second.id)
    assert install.turns.get(third.id).parent == first.id
    install.turns.withdraw(third.id)
    assert install.turns.submit(KEY, "e", source="test").parent == first.id
