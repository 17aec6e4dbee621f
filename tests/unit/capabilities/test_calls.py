"""``orchestrator.capabilities``: what an agent asks of the host is done once, within limits, or not at all."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.calls import HOURLY_UNITS, Calls
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.downloads.capability import AssetRequest
from orchestrator.capabilities.memory.capability import MemoryAdd
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.models import TurnStatus
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture

ME = Caller(KEY, None)
FACT = {"text": "the cat is called Mia"}
ASSET = {"description": "a picture", "url": "https://example.com/a.png"}


@dataclass
class Desk:
    """Calls over a table whose deeds are counted in the database, so that what is rolled back is not done."""

    house: CoreFixture
    calls: Calls
    followed: list[str] = field(default_factory=list)
    now: float = 1_000_000.0

    def done(self) -> list[str]:
        """What was done for good."""
        with self.house.store.reading() as db:
            return [str(row["value"]) for row in db.execute("SELECT value FROM settings ORDER BY rowid")]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A memory that takes anything but "bad", a download that waits, and a status."""
    with core_fixture(tmp_path / "home") as house:
        made = Desk(house, Calls(store=house.store, agents=house.agents, now=lambda: made.now))

        def add(db: sqlite3.Connection, caller: Caller, action: MemoryAdd) -> Outcome:
            db.execute(
                "INSERT INTO settings (key, value) VALUES (hex(randomblob(8)), ?)", (f"{caller.key}: {action.text}",)
            )
            if "bad" in action.text:
                raise Conflict("Not that.")
            house.store.after_commit(partial(made.followed.append, action.text))
            return Outcome(f"Kept: {action.text}", {"id": 7})

        def fetch(_db: sqlite3.Connection, _caller: Caller, action: AssetRequest) -> Outcome:
            return Outcome("A person is asked.", waits_for=f"approval:{action.url}")

        deeds: Deeds = {
            "MEMORY_ADD": add,
            "ASSET_REQUEST": fetch,
            "STATUS": lambda _db, _caller, _action: Outcome("All is well."),
        }
        made.calls.set_registry(REGISTRY, deeds)
        yield made


def test_a_call_is_done_and_answered(desk: Desk) -> None:
    """The effect, the sentence, the JSON, what follows, and a line in the audit log."""
    call = desk.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    assert (call.status, call.text, call.result) == ("done", "Kept: the cat is called Mia", {"id": 7})
    assert desk.done() == ["crab/1: the cat is called Mia"]
    assert desk.followed == [FACT["text"]]
    row = desk.house.audited("capability")[0]
    assert row.detail == {"name": "MEMORY_ADD", **FACT, "policy": "free"}
    assert (row.agent, row.user) == ("crab", 1)


def test_asked_again_it_is_not_done_again(desk: Desk) -> None:
    """The same id gives the same answer, however often and at once; for something else it is refused."""
    results = at_once(*[partial(desk.calls.run_command, ME, "c1", "MEMORY_ADD", FACT)] * 12)
    assert {call.text for call in results} == {"Kept: the cat is called Mia"}
    assert len(desk.done()) == len(desk.followed) == 1
    with pytest.raises(Conflict, match="used for something else"):
        desk.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "another"})


def test_ids_are_each_cubicles_own(desk: Desk) -> None:
    """Another cubicle's same id is another call, and its answer is nobody else's."""
    desk.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    with pytest.raises(NotFound):
        desk.calls.get_call(OTHER, "c1")
    desk.calls.run_command(Caller(OTHER, None), "c1", "MEMORY_ADD", FACT)
    assert desk.done() == ["crab/1: the cat is called Mia", "crab/2: the cat is called Mia"]


def test_what_is_refused_changes_nothing(desk: Desk) -> None:
    """A deed that raises is taken back whole; the refusal is recorded, and asking again says so."""
    with pytest.raises(Conflict, match="Not that"):
        desk.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "bad"})
    assert (desk.done(), desk.followed) == ([], [])
    again = desk.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "bad"})
    assert (again.status, again.text, again.result) == ("failed", "Not that.", {"code": "conflict"})
    assert [row.text for row in desk.house.audited("capability.refused")] == ["MEMORY_ADD: Not that."]


@pytest.mark.parametrize("call", ["", "a b", "x" * 65, "ä", "a/b", "a\n"])
def test_ids_have_a_form(desk: Desk, call: str) -> None:
    """Nothing else becomes part of a row."""
    with pytest.raises(BadInput, match="call:"):
        desk.calls.run_command(ME, call, "MEMORY_ADD", FACT)


@pytest.mark.parametrize(
    ("name", "fields", "error", "says"),
    [
        ("MEMORY_DELETE", {"id": 3}, NotFound, "not available in this install"),
        ("MEMORY_AD", FACT, BadInput, "Did you mean MEMORY_ADD"),
        ("MEMORY_ADD", {}, BadInput, "needs text"),
        ("MEMORY_ADD", {"text": 7}, BadInput, "text must be text"),
        ("MEMORY_ADD", {**FACT, "agent": "other"}, BadInput, 'no field "agent"'),
    ],
)
def test_what_can_not_be_asked_says_why(
    desk: Desk, name: str, fields: dict[str, Any], error: type[Exception], says: str
) -> None:
    """And nothing happens, nor is anything written."""
    with pytest.raises(error, match=says):
        desk.calls.run_command(ME, "c1", name, fields)
    assert desk.done() == []
    with pytest.raises(NotFound):
        desk.calls.get_call(KEY, "c1")


def test_an_agent_has_what_its_toolsets_say(desk: Desk) -> None:
    """Without the toolset a capability is not there, and is not listed; what belongs to none is everybody's."""
    assert desk.calls.offered_names(KEY) == ["ASSET_REQUEST", "MEMORY_ADD", "STATUS"]
    desk.house.agents.update_agent("crab", {"toolsets": ["assets"]})
    assert desk.calls.offered_names(KEY) == ["ASSET_REQUEST", "STATUS"]
    with pytest.raises(NotFound, match="switched off"):
        desk.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    assert desk.calls.run_command(ME, "c2", "STATUS", {}).text == "All is well."


def test_an_hours_allowance_ends_and_comes_back(desk: Desk) -> None:
    """Everything costs something, refusals too; what comes after the end is refused without a record."""
    for n in range(HOURLY_UNITS // 20):
        desk.calls.run_command(ME, f"c{n}", "ASSET_REQUEST", ASSET)
    for n in range(3):
        with pytest.raises(TooMany, match="within an hour"):
            desk.calls.run_command(ME, f"over{n}", "MEMORY_ADD", FACT)
    assert desk.house.audited("capability.refused") == []
    desk.calls.run_command(Caller(OTHER, None), "c1", "MEMORY_ADD", FACT)
    desk.now += 3601
    desk.calls.run_command(ME, "later", "MEMORY_ADD", FACT)
    assert len(desk.done()) == 2


def test_refusals_use_up_the_allowance(desk: Desk) -> None:
    """So an agent that only fails fills no records for ever."""
    for n in range(HOURLY_UNITS + 20):
        with pytest.raises((Conflict, TooMany)):
            desk.calls.run_command(ME, f"c{n}", "MEMORY_ADD", {"text": "bad"})
    assert len(desk.house.audited("capability.refused")) <= HOURLY_UNITS


def test_a_batch_is_done_action_by_action(desk: Desk) -> None:
    """One that fails takes none of the others with it; each has its result in its place."""
    entries = ["MEMORY_ADD:one", "MEMORY_ADD:bad", "NO_SUCH:x", {"name": "MEMORY_ADD", "text": "two"}, 7, "STATUS:"]
    results = desk.calls.run_batch(Caller(KEY, 5), 1, entries)
    assert [result["ok"] for result in results] == [True, False, False, True, False, False]
    assert results[0]["result"] == "Kept: one"
    assert results[1]["error"] == "Not that."
    assert desk.done() == ["crab/1: one", "crab/1: two"]


def test_a_batch_that_comes_again_is_not_done_again(desk: Desk) -> None:
    """The crab repeats a step whose answer it did not get."""
    entries = [f"MEMORY_ADD:fact {n}" for n in range(5)]
    first = desk.calls.run_batch(Caller(KEY, 5), 1, entries)
    assert desk.calls.run_batch(Caller(KEY, 5), 1, entries) == first
    assert len(desk.done()) == 5
    desk.calls.run_batch(Caller(KEY, 5), 2, entries)
    assert len(desk.done()) == 10


def test_whoever_waits_is_told(desk: Desk) -> None:
    """A call that needs a person ends when that is settled, with its outcome; settled again changes nothing."""
    call = desk.calls.run_command(ME, "c1", "ASSET_REQUEST", ASSET)
    assert (call.status, desk.calls.wait_call(KEY, "c1", 0).status) == ("waiting", "waiting")
    found: list[Any] = []
    waiter = threading.Thread(target=lambda: found.append(desk.calls.wait_call(KEY, "c1", 20)))
    waiter.start()
    desk.calls.finish_calls(f"approval:{ASSET['url']}", ok=True, text="Here it is.", result={"path": "in/a.png"})
    waiter.join(20)
    assert (found[0].status, found[0].text, found[0].result) == ("done", "Here it is.", {"path": "in/a.png"})
    desk.calls.finish_calls(f"approval:{ASSET['url']}", ok=False, text="No.")
    assert desk.calls.get_call(KEY, "c1").status == "done"


def test_time_spent_waiting_for_people_is_known(desk: Desk) -> None:
    """Of calls that wait at once it counts once; of another cubicle's turn nothing is said."""
    turn = desk.house.under_way()
    assert desk.calls.waited_s(KEY, turn.id) == (0.0, False)
    caller = Caller(KEY, turn.id)
    desk.calls.run_command(caller, "a", "ASSET_REQUEST", ASSET)
    desk.now += 10
    desk.calls.run_command(caller, "b", "ASSET_REQUEST", {**ASSET, "url": "https://example.com/b"})
    desk.now += 5
    assert desk.calls.waited_s(KEY, turn.id) == (15.0, True)
    assert desk.calls.waited_s(KEY, turn.id, since=desk.now - 7) == (7.0, True)
    for name in ("a.png", "b"):
        desk.calls.finish_calls(f"approval:https://example.com/{name}", ok=True, text="ok")
    desk.now += 100
    assert desk.calls.waited_s(KEY, turn.id) == (15.0, False)
    assert desk.calls.waited_s(KEY, turn.id, since=desk.now) == (0.0, False)
    assert desk.calls.waited_s(OTHER, turn.id) == (0.0, False)


def test_old_calls_are_forgotten_and_open_ones_kept(desk: Desk) -> None:
    """The audit log keeps what was done."""
    desk.calls.run_command(ME, "old", "MEMORY_ADD", FACT)
    desk.calls.run_command(ME, "open", "ASSET_REQUEST", ASSET)
    desk.now += 30 * 24 * 3600
    desk.calls.forget_old()
    with pytest.raises(NotFound):
        desk.calls.get_call(KEY, "old")
    assert desk.calls.get_call(KEY, "open").status == "waiting"


def test_calls_go_with_their_agent(desk: Desk) -> None:
    """Whoever has the name later does not find them."""
    desk.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    desk.house.agents.remove("crab")
    with pytest.raises(NotFound):
        desk.calls.get_call(KEY, "c1")


def test_waiting_ends_with_the_time(desk: Desk) -> None:
    """Nobody is held for ever."""
    desk.calls.run_command(ME, "c1", "ASSET_REQUEST", ASSET)
    began = time.monotonic()
    assert desk.calls.wait_call(KEY, "c1", 0.2).status == "waiting"
    assert time.monotonic() - began < 10


def test_nobody_fills_the_log(desk: Desk) -> None:
    """Of long texts the log keeps the beginning and the digest of the whole, of what was refused even less."""
    desk.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "x" * 2000})
    with pytest.raises(Conflict):
        desk.calls.run_command(ME, "c2", "MEMORY_ADD", {"text": "bad" + "x" * 1900})
    done, refused = desk.house.audited("capability")[0], desk.house.audited("capability.refused")[0]
    assert done.detail["text"] == "x" * 500 + "…"
    assert done.detail["sha256"] == desk.calls.get_call(KEY, "c1").sha256
    assert len(str(refused.detail)) < 300


def test_what_ended_long_ago_is_forgotten_while_the_house_runs(desk: Desk) -> None:
    """Once an hour, however often it is asked for; what waits stays."""
    desk.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    desk.calls.run_command(ME, "c2", "ASSET_REQUEST", ASSET)
    desk.calls.forget_old()
    desk.now += 8 * 24 * 3600
    desk.calls.forget_old()
    with pytest.raises(NotFound):
        desk.calls.get_call(KEY, "c1")
    assert desk.calls.get_call(KEY, "c2").status == "waiting"


# --- in which turn ---------------------------------------------------------------------------------------------


def _turn_of(desk: Desk, named: int | None) -> int | None:
    return desk.calls.find_caller(KEY, named).turn


def test_a_call_is_made_in_the_turn_that_it_names(desk: Desk) -> None:
    """One under way in this cubicle. A program that an earlier turn left behind, or a terminal, calls in the only one
    there is; where there are several it must say."""
    house = desk.house
    earlier = house.under_way("a")
    assert _turn_of(desk, None) == _turn_of(desk, earlier.id) == earlier.id
    house.turns.end_turn(KEY, earlier.id, TurnStatus.DONE, reply="ok")
    assert _turn_of(desk, None) is None
    assert _turn_of(desk, earlier.id) is None
    now, later = house.under_way("b"), house.turns.submit(KEY, "c", source="test")
    assert _turn_of(desk, earlier.id) == _turn_of(desk, later.id) == now.id
    for stranger in (house.turns.submit(OTHER, "d", source="test").id, 10**12):
        with pytest.raises(NotFound):
            _turn_of(desk, stranger)
    with house.store.writing() as db:  # as when a cubicle works on two at once
        db.execute("UPDATE turns SET status = 'running', boot = 'boot' WHERE id = ?", (later.id,))
    assert house.turns.list_held(KEY) == {now.id, later.id}
    assert (_turn_of(desk, now.id), _turn_of(desk, later.id)) == (now.id, later.id)
    for unclear in (None, earlier.id):
        with pytest.raises(BadInput, match="several turns"):
            _turn_of(desk, unclear)
