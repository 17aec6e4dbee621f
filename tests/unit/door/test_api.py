"""``orchestrator.door.api`` and ``doors``: what a cubicle may ask for, over its own socket, and what it is told when it
asks for something else."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from crab.prompt import build_system_prompt
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.door.sockets import DoorSockets
from tests.support.core_fixture import KEY, OTHER, core_fixture
from tests.support.two_doors import TwoDoors, street_of
from tests.support.unix_http import UnixHttp

HUGE = 2**70


@pytest.fixture
def street(tmp_path: Path) -> Iterator[TwoDoors]:
    """Two cubicles of one agent, each with its door."""
    with street_of(tmp_path / "home") as made:
        yield made


# --- the ordinary way ------------------------------------------------------------------------------------------


def test_a_turn_carries_what_its_agent_should_know_of_the_disk(street: TwoDoors) -> None:
    """Its own disk, and only when there is something to know."""
    street.disk_notes[KEY] = "Disk: nearly full."
    for key, notes in ((KEY, ["Disk: nearly full."]), (OTHER, [])):
        street.rooms.turns.submit(key, "hello", source="test")
        assert street.call("GET", "turns/next?boot=b1&wait=5", key=key)[1]["turn"]["notes"] == notes


def test_an_agent_is_told_what_it_is_called(street: TwoDoors) -> None:
    """From its next turn on."""
    street.rooms.agents.update_agent("crab", {"display_name": "Juno"})
    street.rooms.turns.submit(KEY, "who are you?", source="test")
    told = street.call("GET", "turns/next?boot=b1&wait=5")[1]["turn"]["agent"]
    assert told["name"] == "Juno"
    assert "Your name is Juno." in build_system_prompt(told)


def test_a_turn_from_its_beginning_to_its_end(street: TwoDoors) -> None:
    """Take, start, end, think, finish; everything is on record."""
    street.rooms.turns.submit(KEY, "what is in in/?", source="test")
    status, body = street.call("GET", "turns/next?boot=b1&wait=5")
    turn = body["turn"]
    assert (status, turn["text"], turn["user"], turn["agent"]["name"]) == (200, "what is in in/?", "1", "crab")
    assert turn["limits"] == {"steps": 30, "command_timeout_s": 120, "output_bytes": 16000}
    steps = f"turns/{turn['id']}/steps"
    start = {"n": 1, "phase": "start", "thought": "look", "command": "ls in", "approval": None}
    end = {
        "n": 1,
        "phase": "end",
        "exit_code": 0,
        "output": "a.txt\n",
        "omitted_bytes": 0,
        "duration_s": 0.1,
        "ended": "exited",
    }
    assert street.post(steps, start) == (200, {"do": "run"})
    assert street.post(steps, end) == (200, {"do": "continue"})
    status, answer = street.post("llm", {"turn": turn["id"], "messages": [{"role": "user", "content": "x"}]})
    assert (status, answer["output"]) == (200, '{"message": "hello"}')
    done = {"status": "done", "message": "a.txt", "action": "", "error": ""}
    assert street.post(f"turns/{turn['id']}/finish", done) == (200, {})
    assert street.post(f"turns/{turn['id']}/finish", done) == (200, {})
    found = street.rooms.turns.get(turn["id"])
    assert (found.status, found.reply, found.tokens) == (TurnStatus.DONE, "a.txt", 110)
    assert street.call("GET", "turns/next?boot=b1&wait=0") == (204, None)
    assert set(street.heard) == {KEY}


def test_the_next_turn_is_told_of_the_one_before(street: TwoDoors) -> None:
    """The history of its own cubicle, and of no other."""
    for key, text in ((KEY, "mine"), (OTHER, "theirs")):
        turn = street.rooms.under_way(text, key)
        street.rooms.turns.end_turn(key, turn.id, TurnStatus.DONE, reply=f"about {text}")
    street.rooms.turns.submit(KEY, "and now?", source="test")
    _, body = street.call("GET", "turns/next?boot=b&wait=0")
    contents = json.dumps(body["turn"]["history"])
    assert "about mine" in contents
    assert "theirs" not in contents


def test_a_dangerous_command_waits_for_a_person(street: TwoDoors) -> None:
    """Ask, approve, run."""
    turn = street.rooms.under_way()
    start = {"n": 1, "phase": "start", "thought": "", "command": "rm -rf build", "approval": None}
    _, answer = street.post(f"turns/{turn.id}/steps", start)
    assert answer["do"] == "ask"
    assert answer["reason"]
    _, asked = street.post("approvals", {"turn": turn.id, "n": 1})
    street.rooms.approvals.decide(asked["approval"], approve=True, by=street.rooms.operator, surface="test")
    assert street.post(f"turns/{turn.id}/steps", start | {"approval": asked["approval"]}) == (200, {"do": "run"})


def test_panel_actions_and_memories_are_answered(street: TwoDoors) -> None:
    """Each action gets a result."""
    turn = street.rooms.under_way()
    actions = {"n": 1, "phase": "actions", "actions": ["CALENDAR_CREATE:a|b", {"name": "MEMORY_ADD"}, 7, None]}
    status, body = street.post(f"turns/{turn.id}/steps", actions)
    assert status == 200
    assert [result["ok"] for result in body["results"]] == [False] * 4
    assert street.call("GET", "memories?q=x") == (200, {"memories": [{"text": "something about x"}]})
    assert street.post("status", {"status": "idle"}) == (200, {})


# --- whose door it is ------------------------------------------------------------------------------------------


def test_the_socket_alone_says_who_asks(street: TwoDoors) -> None:
    """Names in a body or a query change nothing: it is charged to the door that it came through."""
    body = {"messages": [{"role": "user", "content": "x"}], "agent": "other", "user": 2, "cubicle": "crab/2"}
    assert street.post("llm?agent=other&user=2", body)[0] == 200
    with street.rooms.store.reading() as db:
        assert tuple(db.execute("SELECT agent, user FROM spending").fetchone()) == ("crab", 1)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("turns/{}/steps", {"n": 1, "phase": "start", "thought": "", "command": "ls"}),
        ("turns/{}/steps", {"n": 1, "phase": "end", "exit_code": 0, "output": "", "ended": "exited"}),
        ("turns/{}/steps", {"n": 1, "phase": "actions", "actions": []}),
        ("turns/{}/finish", {"status": "done", "message": "mine now"}),
        ("approvals", {"turn": "{}", "n": 1}),
        ("llm", {"turn": "{}", "messages": [{"role": "user", "content": "x"}]}),
    ],
)
def test_another_cubicles_turn_does_not_exist(street: TwoDoors, path: str, body: dict[str, Any]) -> None:
    """404, the same as for a turn that never was, and nothing has changed."""
    foreign = street.rooms.under_way("x", OTHER)
    for turn in (foreign.id, 999_999, 2**53 - 1):
        sent = {name: turn if value == "{}" else value for name, value in body.items()}
        status, answer = street.post(path.format(turn), sent)
        assert (status, answer["error"]["code"]) == (404, "not_found")
    assert street.rooms.turns.get(foreign.id).status is TurnStatus.RUNNING
    assert street.model.requests == []


# --- odd requests ----------------------------------------------------------------------------------------------

START = {"n": 1, "phase": "start", "thought": "", "command": "ls", "approval": None}
END = {"n": 1, "phase": "end", "exit_code": 0, "output": "", "ended": "exited"}
ODD_STEPS = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "two commands": b'{"n": 1, "phase": "start", "command": "ls", "command": "rm"}',
    "NaN": b'{"n": NaN, "phase": "start", "command": "ls"}',
    "a number of 5,000 digits": b'{"phase": "start", "command": "ls", "n": ' + b"9" * 5_000 + b"}",
    "100,000 deep": b'{"n": 1, "phase": "start", "command": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "half a character": b'{"n": 1, "phase": "start", "command": "a\\ud800"}',
    "half a character in an output": b'{"n": 1, "phase": "end", "output": "\\udfff", "ended": "exited"}',
    "no UTF-8": b'{"n": 1, "phase": "start", "command": "\xff"}',
    "no phase": {"n": 1},
    "a phase that is a list": START | {"phase": ["start"]},
    "n as text": START | {"n": "1"},
    "n as truth": START | {"n": True},
    "n as a fraction": START | {"n": 1.5},
    "a huge n": START | {"n": HUGE},
    "n 0": START | {"n": 0},
    "a negative n": START | {"n": -5},
    "no command text": START | {"command": ["ls"]},
    "a NUL in the command": START | {"command": "ls\0"},
    "a long command": START | {"command": "x" * 200_000},
    "a thought that is an object": START | {"thought": {}},
    "an approval that is a number": START | {"approval": 7},
    "a long approval": START | {"approval": "x" * 33},
    "an exit code as text": END | {"exit_code": "0"},
    "a huge exit code": END | {"exit_code": HUGE},
    "an unknown end": END | {"ended": "vanished"},
    "actions that are a text": {"n": 1, "phase": "actions", "actions": "x"},
    "too many actions": {"n": 1, "phase": "actions", "actions": [1] * 101},
}


@pytest.mark.parametrize("body", ODD_STEPS.values(), ids=ODD_STEPS)
def test_an_odd_step_is_bad_input_and_the_next_call_works(street: TwoDoors, body: Any) -> None:
    """400 with a sentence, nothing on record, and the door is as before."""
    turn = street.rooms.under_way()
    answer = street.post(f"turns/{turn.id}/steps", body)
    assert (answer[0], street.code(answer)) == (400, "bad_input")
    assert street.rooms.turns.list_steps(turn.id) == []
    assert street.post(f"turns/{turn.id}/steps", START) == (200, {"do": "run"})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"status": "running"},
        {"status": ["done"]},
        {"status": "done", "message": 7},
        {"status": "done", "error": []},
    ],
)
def test_an_odd_finish_ends_nothing(street: TwoDoors, body: dict[str, Any]) -> None:
    """The turn goes on."""
    turn = street.rooms.under_way()
    assert street.post(f"turns/{turn.id}/finish", body)[0] == 400
    assert street.rooms.turns.get(turn.id).status is TurnStatus.RUNNING


def test_a_failure_without_a_reason_gets_one(street: TwoDoors) -> None:
    """The person always reads something."""
    turn = street.rooms.under_way()
    street.post(f"turns/{turn.id}/finish", {"status": "failed"})
    assert street.rooms.turns.get(turn.id).error


@pytest.mark.parametrize("message", ["", " \n"])
def test_an_end_without_words_gets_some(street: TwoDoors, message: str) -> None:
    """A turn that is said to be done always has a reply to read."""
    turn = street.rooms.under_way()
    street.post(f"turns/{turn.id}/finish", {"status": "done", "message": message})
    assert "without a word" in str(street.rooms.turns.get(turn.id).reply)


@pytest.mark.parametrize(
    "query",
    ["", "boot=", "boot=" + "x" * 65, "boot=a&wait=x", "boot=a&wait=-1", "boot=a&wait=1e9", "boot=a&wait=%D9%A1"],
)
def test_an_odd_poll_is_bad_input(street: TwoDoors, query: str) -> None:
    """And returns at once."""
    assert street.call("GET", f"turns/next?{query}")[0] == 400


@pytest.mark.parametrize("since", ["soon", "-1", "1e9", "nan", "1" * 13, "٣", "1.2345678"])
def test_an_odd_time_is_bad_input(street: TwoDoors, since: str) -> None:
    """The time since when people were waited for is plain Unix seconds."""
    assert street.code(street.call("GET", f"turns/1/waited?since={quote(since)}")) == "bad_input"
    assert street.call("GET", "turns/1/waited?since=1795000000.125") == (200, {"waited_s": 0.0, "is_waiting": False})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "llm", 405),
        ("DELETE", "turns/1/steps", 405),
        ("POST", "nothing", 404),
        ("POST", "../internal/llm", 404),
        ("POST", "/llm", 404),
        ("POST", "%2e%2e/internal/llm", 404),
        ("POST", "llm/", 404),
        ("POST", "llm.", 404),
        ("GET", "", 404),
        ("POST", "turns/x/steps", 404),
        ("POST", "turns/-1/steps", 404),
        ("POST", f"turns/{HUGE}/steps", 404),
        ("POST", "turns/1.5/finish", 404),
    ],
)
def test_there_is_nothing_else_at_the_door(street: TwoDoors, method: str, path: str, status: int) -> None:
    """One list of calls, in one spelling each."""
    answer = street.call(method, path, {})
    assert (answer[0], street.code(answer)) == (status, "no_route")
    assert street.model.requests == []


def test_a_wrong_method_is_told_the_right_ones_and_leaves_the_connection_whole(street: TwoDoors) -> None:
    """Of a HEAD the head alone comes back, so that the next answer is read where it begins."""
    door = UnixHttp(street.door(KEY))
    with closing(door):
        for method, path, allowed in (("HEAD", "memories", "GET"), ("PUT", "calls", "POST, GET"), ("HEAD", "x", None)):
            door.request(method, f"/api/internal/{path}")
            answer = door.getresponse()
            assert (answer.status, answer.getheader("Allow")) == (405 if allowed else 404, allowed)
            assert bool(answer.read()) == (method != "HEAD")
        door.request("GET", "/api/internal/memories?q=x")
        assert json.loads(door.getresponse().read()) == {"memories": [{"text": "something about x"}]}


def test_what_breaks_behind_the_door_is_not_told_through_it(street: TwoDoors) -> None:
    """A fixed sentence, no trace, no path, and the door lives."""
    turn = street.rooms.under_way()
    street.rooms.store.close()
    answer = street.post(f"turns/{turn.id}/steps", START)
    assert answer[0] in (500, 503)
    assert "Traceback" not in json.dumps(answer)
    assert street.call("GET", "memories")[0] == 200


# --- sockets ---------------------------------------------------------------------------------------------------


def test_a_door_is_for_its_own_user_alone(street: TwoDoors) -> None:
    """Mode 0600 in a folder that holds nothing else."""
    folder = street.rooms.home / "run" / "crab" / "1"
    assert stat.S_IMODE((folder / "door.sock").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["door.sock"]


def test_opening_and_closing_again_is_fine(street: TwoDoors) -> None:
    """An open door stays as it is; of a closed one nothing is left; it opens again at the same place."""
    street.doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
    assert street.doors.count == 2
    street.doors.close(KEY)
    street.doors.close(KEY)
    with pytest.raises(FileNotFoundError):
        street.call("GET", "memories")
    assert list((street.rooms.home / "run" / "crab" / "1").iterdir()) == []
    street.doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
    assert street.call("GET", "memories")[0] == 200
    street.doors.close_all()
    assert street.doors.count == 0


def test_whoever_has_the_door_before_has_none(street: TwoDoors) -> None:
    """What still sees the older folder is cut off and finds nothing in it; the new door is at the same place."""
    older = os.open(street.rooms.home / "run" / "crab" / "1", os.O_RDONLY)
    try:
        line = UnixHttp(Path(f"/proc/self/fd/{older}/door.sock"))
        line.request("GET", "/api/internal/memories?q=")
        assert line.getresponse().read()
        street.doors.renew(KEY, uid=os.geteuid(), gid=os.getegid())
        assert line.sock.recv(1) == b""
        line.close()
        assert list(os.scandir(older)) == []
    finally:
        os.close(older)
    assert street.doors.count == 2
    assert street.call("GET", "memories")[0] == 200


def test_what_a_death_left_behind_is_replaced(street: TwoDoors) -> None:
    """A socket that was bound but not yet in place, and an old one in place."""
    street.doors.close(KEY)
    folder = street.rooms.home / "run" / "crab" / "1"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / ".door.new"))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "door.sock"))
    street.doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
    assert street.call("GET", "memories")[0] == 200


def test_what_a_death_left_behind_is_cleared(street: TwoDoors) -> None:
    """Of a cubicle that does not run any more too; a door that is open stays."""
    street.doors.close(KEY)
    folder = street.rooms.home / "run" / "crab" / "1"
    for name in ("door.sock", ".door.new"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(folder / name))
    street.doors.remove_stale(KEY)
    assert list(folder.iterdir()) == []
    street.doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
    street.doors.remove_stale(KEY)
    assert street.call("GET", "memories")[0] == 200


def test_a_long_home_is_no_obstacle(tmp_path: Path, street: TwoDoors) -> None:
    """Socket paths end at 107 bytes; a home may be deeper."""
    with core_fixture(_deep(tmp_path)) as far:
        doors = DoorSockets(street.server, far.workspaces, lambda _environ, _start: [])
        doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
        assert stat.S_ISSOCK((far.home / "run" / "crab" / "1" / "door.sock").stat().st_mode)
        doors.close_all()


def test_a_door_that_can_not_be_made_is_said(street: TwoDoors) -> None:
    """With a reason; nothing is left open."""
    street.doors.close(KEY)
    folder = street.rooms.home / "run" / "crab" / "1"
    (folder / "door.sock").mkdir()
    with pytest.raises(Unavailable, match="can't be opened"):
        street.doors.open(KEY, uid=os.geteuid(), gid=os.getegid())
    assert street.doors.count == 1


def _deep(folder: Path) -> Path:
    for _ in range(4):
        folder = folder / ("d" * 40)
        folder.mkdir()
    return folder / "home"


def test_hundreds_of_idle_crabs_keep_nobody_waiting(street: TwoDoors) -> None:
    """Each of three hundred cubicles polls for work, and a call at any door is answered."""
    keys = [CubicleKey("crab", number) for number in range(100, 400)]
    crabs = []
    for key in keys:
        street.doors.open(key, uid=os.geteuid(), gid=os.getegid())
        crab = UnixHttp(street.rooms.home / "run" / key.agent / str(key.user) / "door.sock")
        crab.request("GET", "/api/internal/turns/next?boot=b&wait=30")
        crabs.append(crab)
    deadline = time.monotonic() + 20
    while len(street.rooms.turns._long_poll._waiters) < len(keys):
        assert time.monotonic() < deadline, "not every poll was taken"
        time.sleep(0.02)
    for key in (KEY, keys[0], keys[-1]):
        began = time.monotonic()
        assert street.post("status", {"status": "idle"}, key=key) == (200, {})
        assert time.monotonic() - began < 15  # not when their polls end
    for crab in crabs:
        crab.close()
    for key in keys:
        street.doors.close(key)
