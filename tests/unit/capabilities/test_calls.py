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
class Fixture:
    """Calls over a table whose deeds are counted in the database, so that what is rolled back is not done."""

    install: CoreFixture
    calls: Calls
    followed: list[str] = field(default_factory=list)
    now: float = 1_000_000.0

    def done(self) -> list[str]:
        """What was done for good."""
        with self.install.store.reading() as db:
            return [str(row["value"]) for row in db.execute("SELECT value FROM settings ORDER BY rowid")]


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """A memory that takes anything but "bad", a download that waits, and a status."""
    with core_fixture(tmp_path / "home") as install:
        made = Fixture(install, Calls(store=install.store, agents=install.agents, now=lambda: made.now))

        def add(db: sqlite3.Connection, caller: Caller, action: MemoryAdd) -> Outcome:
            db.execute(
                "INSERT INTO settings (key, value) VALUES (hex(randomblob(8)), ?)", (f"{caller.key}: {action.text}",)
            )
            if "bad" in action.text:
                raise Conflict("Not that.")
            install.store.after_commit(partial(made.followed.append, action.text))
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


def test_a_call_is_done_and_answered(fixture: Fixture) -> None:
    """The effect, the sentence, the JSON, what follows, and a line in the audit log."""
    call = fixture.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    assert (call.status, call.text, call.result) == ("done", "Kept: the cat is called Mia", {"id": 7})
    assert fixture.done() == ["crab/1: the cat is called Mia"]
    assert fixture.followed == [FACT["text"]]
    row = fixture.install.audited("capability")[0]
    assert row.detail == {"name": "MEMORY_ADD", **FACT, "policy": "free"}
    assert (row.agent, row.user) == ("crab", 1)


def test_asked_again_it_is_not_done_again(fixture: Fixture) -> None:
    """The same id gives the same answer, however often and at once; for something else it is refused."""
    results = at_once(*[partial(fixture.calls.run_command, ME, "c1", "MEMORY_ADD", FACT)] * 12)
    assert {call.text for call in results} == {"Kept: the cat is called Mia"}
    assert len(fixture.done()) == len(fixture.followed) == 1
    with pytest.raises(Conflict, match="used for something else"):
        fixture.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "another"})


def test_ids_are_each_cubicles_own(fixture: Fixture) -> None:
    """Another cubicle's same id is another call, and its answer is nobody else's."""
    fixture.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    with pytest.raises(NotFound):
        fixture.calls.get_call(OTHER, "c1")
    fixture.calls.run_command(Caller(OTHER, None), "c1", "MEMORY_ADD", FACT)
    assert fixture.done() == ["crab/1: the cat is called Mia", "crab/2: the cat is called Mia"]


def test_what_is_refused_changes_nothing(fixture: Fixture) -> None:
    """A deed that raises is taken back whole; the refusal is recorded, and asking again says so."""
    with pytest.raises(Conflict, match="Not that"):
        fixture.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "bad"})
    assert (fixture.done(), fixture.followed) == ([], [])
    again = fixture.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "bad"})
    assert (again.status, again.text, again.result) == ("failed", "Not that.", {"code": "conflict"})
    assert [row.text for row in fixture.install.audited("capability.refused")] == ["MEMORY_ADD: Not that."]


@pytest.mark.parametrize("call", ["", "a b", "x" * 65, "ä", "a/b", "a\n"])
def test_ids_have_a_form(fixture: Fixture, call: str) -> None:
    """Nothing else becomes part of a row."""
    with pytest.raises(BadInput, match="call:"):
        fixture.calls.run_command(ME, call, "MEMORY_ADD", FACT)


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
    fixture: Fixture, name: str, fields: dict[str, Any], error: type[Exception], says: str
) -> None:
    """And nothing happens, nor is anything written."""
    with pytest.raises(error, match=says):
        fixture.calls.run_command(ME, "c1", name, fields)
    assert fixture.done() == []
    with pytest.raises(NotFound):
        fixture.calls.get_call(KEY, "c1")


def test_an_agent_has_what_its_toolsets_say(fixture: Fixture) -> None:
    """Without the toolset a capability is not there, and is not listed; what belongs to none is everybody's."""
    assert fixture.calls.offered_names(KEY) == ["ASSET_REQUEST", "MEMORY_ADD", "STATUS"]
    fixture.install.agents.update_agent("crab", {"toolsets": ["assets"]})
    assert fixture.calls.offered_names(KEY) == ["ASSET_REQUEST", "STATUS"]
    with pytest.raises(NotFound, match="switched off"):
        fixture.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    assert fixture.calls.run_command(ME, "c2", "STATUS", {}).text == "All is well."


def test_an_hours_allowance_ends_and_comes_back(fixture: Fixture) -> None:
    """Everything costs something, refusals too; what comes after the end is refused without a record."""
    for n in range(HOURLY_UNITS // 20):
        fixture.calls.run_command(ME, f"c{n}", "ASSET_REQUEST", ASSET)
    for n in range(3):
        with pytest.raises(TooMany, match="within an hour"):
            fixture.calls.run_command(ME, f"over{n}", "MEMORY_ADD", FACT)
    assert fixture.install.audited("capability.refused") == []
    fixture.calls.run_command(Caller(OTHER, None), "c1", "MEMORY_ADD", FACT)
    fixture.now += 3601
    fixture.calls.run_command(ME, "later", "MEMORY_ADD", FACT)
    assert len(fixture.done()) == 2


def test_refusals_use_up_the_allowance(fixture: Fixture) -> None:
    """So an agent that only fails fills no records for ever."""
    for n in range(HOURLY_UNITS + 20):
        with pytest.raises((Conflict, TooMany)):
            fixture.calls.run_command(ME, f"c{n}", "MEMORY_ADD", {"text": "bad"})
    assert len(fixture.install.audited("capability.refused")) <= HOURLY_UNITS


def test_a_batch_is_done_action_by_action(fixture: Fixture) -> None:
    """One that fails takes none of the others with it; each has its result in its place."""
    entries = ["MEMORY_ADD:one", "MEMORY_ADD:bad", "NO_SUCH:x", {"name": "MEMORY_ADD", "text": "two"}, 7, "STATUS:"]
    results = fixture.calls.run_batch(Caller(KEY, 5), 1, entries)
    assert [result["ok"] for result in results] == [True, False, False, True, False, False]
    assert results[0]["result"] == "Kept: one"
    assert results[1]["error"] == "Not that."
    assert fixture.done() == ["crab/1: one", "crab/1: two"]


def test_a_batch_that_comes_again_is_not_done_again(fixture: Fixture) -> None:
    """The crab repeats a step whose answer it did not get."""
    entries = [f"MEMORY_ADD:fact {n}" for n in range(5)]
    first = fixture.calls.run_batch(Caller(KEY, 5), 1, entries)
    assert fixture.calls.run_batch(Caller(KEY, 5), 1, entries) == first
    assert len(fixture.done()) == 5
    fixture.calls.run_batch(Caller(KEY, 5), 2, entries)
    assert len(fixture.done()) == 10


def test_whoever_waits_is_told(fixture: Fixture) -> None:
    """A call that needs a person ends when that is settled, with its outcome; settled again changes nothing."""
    call = fixture.calls.run_command(ME, "c1", "ASSET_REQUEST", ASSET)
    assert (call.status, fixture.calls.wait_call(KEY, "c1", 0).status) == ("waiting", "waiting")
    found: list[Any] = []
    waiter = threading.Thread(target=lambda: found.append(fixture.calls.wait_call(KEY, "c1", 20)))
    waiter.start()
    fixture.calls.finish_calls(f"approval:{ASSET['url']}", ok=True, text="Here it is.", result={"path": "in/a.png"})
    waiter.join(20)
    assert (found[0].status, found[0].text, found[0].result) == ("done", "Here it is.", {"path": "in/a.png"})
    fixture.calls.finish_calls(f"approval:{ASSET['url']}", ok=False, text="No.")
    assert fixture.calls.get_call(KEY, "c1").status == "done"


def test_time_spent_waiting_for_people_is_known(fixture: Fixture) -> None:
    """Of calls that wait at once it counts once; of another cubicle's turn nothing is said."""
    turn = fixture.install.under_way()
    assert fixture.calls.waited_s(KEY, turn.id) == (0.0, False)
    caller = Caller(KEY, turn.id)
    fixture.calls.run_command(caller, "a", "ASSET_REQUEST", ASSET)
    fixture.now += 10
    fixture.calls.run_command(caller, "b", "ASSET_REQUEST", {**ASSET, "url": "https://example.com/b"})
    fixture.now += 5
    assert fixture.calls.waited_s(KEY, turn.id) == (15.0, True)
    assert fixture.calls.waited_s(KEY, turn.id, since=fixture.now - 7) == (7.0, True)
    for name in ("a.png", "b"):
        fixture.calls.finish_calls(f"approval:https://example.com/{name}", ok=True, text="ok")
    fixture.now += 100
    assert fixture.calls.waited_s(KEY, turn.id) == (15.0, False)
    assert fixture.calls.waited_s(KEY, turn.id, since=fixture.now) == (0.0, False)
    assert fixture.calls.waited_s(OTHER, turn.id) == (0.0, False)


def test_old_calls_are_forgotten_and_open_ones_kept(fixture: Fixture) -> None:
    """The audit log keeps what was done."""
    fixture.calls.run_command(ME, "old", "MEMORY_ADD", FACT)
    fixture.calls.run_command(ME, "open", "ASSET_REQUEST", ASSET)
    fixture.now += 30 * 24 * 3600
    fixture.calls.forget_old()
    with pytest.raises(NotFound):
        fixture.calls.get_call(KEY, "old")
    assert fixture.calls.get_call(KEY, "open").status == "waiting"


def test_calls_go_with_their_agent(fixture: Fixture) -> None:
    """Whoever has the name later does not find them."""
    fixture.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    fixture.install.agents.remove("crab")
    with pytest.raises(NotFound):
        fixture.calls.get_call(KEY, "c1")


def test_waiting_ends_with_the_time(fixture: Fixture) -> None:
    """Nobody is held for ever."""
    fixture.calls.run_command(ME, "c1", "ASSET_REQUEST", ASSET)
    began = time.monotonic()
    assert fixture.calls.wait_call(KEY, "c1", 0.2).status == "waiting"
    assert time.monotonic() - began < 10


def test_nobody_fills_the_log(fixture: Fixture) -> None:
    """Of long texts the log keeps the beginning and the digest of the whole, of what was refused even less."""
    fixture.calls.run_command(ME, "c1", "MEMORY_ADD", {"text": "x" * 2000})
    with pytest.raises(Conflict):
        fixture.calls.run_command(ME, "c2", "MEMORY_ADD", {"text": "bad" + "x" * 1900})
    done, refused = fixture.install.audited("capability")[0], fixture.install.audited("capability.refused")[0]
    assert done.detail["text"] == "x" * 500 + "…"
    assert done.detail["sha256"] == fixture.calls.get_call(KEY, "c1").sha256
    assert len(str(refused.detail)) < 300


def test_what_ended_long_ago_is_forgotten_while_the_install_runs(fixture: Fixture) -> None:
    """Once an hour, however often it is asked for; what waits stays."""
    fixture.calls.run_command(ME, "c1", "MEMORY_ADD", FACT)
    fixture.calls.run_command(ME, "c2", "ASSET_REQUEST", ASSET)
    fixture.calls.forget_old()
    fixture.now += 8 * 24 * 3600
    fixture.calls.forget_old()
    with pytest.raises(NotFound):
        fixture.calls.get_call(KEY, "c1")
    assert fixture.calls.get_call(KEY, "c2").status == "waiting"


# --- in which turn ---------------------------------------------------------------------------------------------


def _turn_of(fixture: Fixture, named: int | None) -> int | None:
    return fixture.calls.find_caller(KEY, named).turn


def test_a_call_is_made_in_the_turn_that_it_names(fixture: Fixture) -> None:
    """One under way in this cubicle. A program that an earlier turn left behind, or a terminal, calls in the only one
    there is; where there are several it must say."""
    install = fixture.install
    earlier = install.under_way("a")
    assert _turn_of(fixture, None) == _turn_of(fixture, earlier.id) == earlier.id
    install.turns.end_turn(KEY, earlier.id, TurnStatus.DONE, reply="ok")
    assert _turn_of(fixture, None) is None
    assert _turn_of(fixture, earlier.id) is None
    now, later = install.under_way("b"), install.turns.submit(KEY, "c", source="test")
    assert _turn_of(fixture, earlier.id) == _turn_of(fixture, later.id) == now.id
    for stranger in (install.turns.submit(OTHER, "d", source="test").id, 10**12):
        with pytest.raises(NotFound):
            _turn_of(fixture, stranger)
    with install.store.writing() as db:  # as when a cubicle works on two at once
        db.execute("UPDATE turns SET status = 'running', boot = 'boot' WHERE id = ?", (later.id,))
    assert install.turns.list_held(KEY) == {now.id, later.id}
    assert (_turn_of(fixture, now.id), _turn_of(fixture, later.id)) == (now.id, later.id)
    for unclear in (None, earlier.id):
        with pytest.raises(BadInput, match="several turns"):
            _turn_of(fixture, unclear)
