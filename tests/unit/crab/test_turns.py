"""Whole turns against a scripted door: what the model hears, what the host hears, and how each turn ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crab.agent import Crab
from crab.door import Door
from crab.locks import CubicleLocks
from crab.log import Log
from crab.shell import Shell
from crab.turn import CrabTurn
from tests.support.fake_door import FakeDoor

Json = dict[str, Any]
Serve = Callable[..., Json]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[FakeDoor]:
    """A door that is open."""
    folder = tmp_path / "r"
    folder.mkdir()
    with FakeDoor(folder) as opened:
        yield opened
    assert opened.broken == []


@pytest.fixture
def serve(door: FakeDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Runs one turn with the given model answers and says how it ended."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    crab = Crab(Door(door.path), CubicleLocks(str(door.folder)), Shell(home=str(work)), Log(str(work / ".hermit.log")))

    def serve(*answers: Any, **turn: Any) -> Json:
        door.answers = list(answers)
        given = door.turn(**turn)
        door.turns.remove(given)
        crab.serve_turn(CrabTurn(given))
        return door.finished[given["id"]]

    yield serve
    crab.door.close()


def say(**keys: object) -> str:
    """A model's answer."""
    return json.dumps(keys)


def heard(door: FakeDoor, call: int = -1) -> str:
    """The last message of what the model got in one of its calls."""
    return str(door.bodies("llm")[call]["messages"][-1]["content"])


def limits(steps: int = 30, command_timeout_s: float = 10, output_bytes: int = 16000) -> Json:
    """The limits of a turn."""
    return {"steps": steps, "command_timeout_s": command_timeout_s, "output_bytes": output_bytes}


def test_a_reply_at_once(door: FakeDoor, serve: Serve) -> None:
    """A turn without commands is one call to the model; prompt, history and time are in it, in this order."""
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    ended = serve(say(message="Hi", action="FILE:x"), text="hello", history=history)
    assert ended == {"status": "done", "message": "Hi", "action": "FILE:x", "error": ""}
    (call,) = door.bodies("llm")
    assert call["turn"] == 17
    assert call["messages"][0]["role"] == "system"
    assert call["messages"][1:3] == history
    assert call["messages"][3]["content"] == "[2026-02-28 10:00 Europe/Vienna, Saturday]\nhello"
    assert [route for route, _ in door.calls] == ["llm", "turns/17/finish"]


@pytest.mark.parametrize(
    ("notes", "told"),
    [(["Disk: full.", "b"], "[Disk: full.]\n[b]\n"), ([], ""), (None, ""), ("no list", ""), ([7], "[7]\n")],
)
def test_notes_of_the_host_come_before_the_message(door: FakeDoor, serve: Serve, notes: object, told: str) -> None:
    """Each on a line of its own, after the time."""
    serve(say(message="Hi"), text="hello", notes=notes)
    assert heard(door) == f"[2026-02-28 10:00 Europe/Vienna, Saturday]\n{told}hello"


def test_plain_text_is_the_reply(serve: Serve) -> None:
    """A model that forgets the form still answers."""
    assert serve("Just text.")["message"] == "Just text."


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo hi", "Exit code 0 after 0.0 s. Output:\nhi\n"),
        ("true", "Exit code 0 after 0.0 s. No output."),
        ("echo no >&2; exit 3", "Exit code 3 after 0.0 s. Output:\nno\n"),
        ("kill -9 $$", "Exit code 137 after 0.0 s. It was killed, most likely because memory ran out. No output."),
    ],
)
def test_what_the_model_hears_of_a_command(door: FakeDoor, serve: Serve, command: str, told: str) -> None:
    """Exit code, time and output come back in one clear message."""
    serve(say(message="m", terminal=command), say(message="ok"))
    messages = door.bodies("llm")[1]["messages"]
    assert messages[-2] == {"role": "assistant", "content": say(message="m", terminal=command)}
    assert messages[-1]["content"].replace("0.1 s", "0.0 s") == told


def test_a_command_out_of_time(door: FakeDoor, serve: Serve) -> None:
    """The model hears that time ran out, the host gets exit code 124, and the turn goes on."""
    ended = serve(say(terminal="echo a; sleep 60"), say(message="too slow"), limits=limits(command_timeout_s=1))
    assert ended["message"] == "too slow"
    assert "ran out of time" in heard(door)
    (end,) = door.bodies("/steps", "end")
    assert (end["exit_code"], end["ended"], end["output"], end["omitted_bytes"]) == (124, "timeout", "a\n", 0)


def test_output_is_told_while_the_command_runs(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """What it has printed so far, with head and tail of the usual length; of a quick command nothing."""
    told = threading.Event()

    def take(_: Json) -> None:
        (tmp_path / "work" / "go").touch()
        told.set()

    door.on_output = take
    command = "seq 1000; until [ -e go ]; do sleep 0.02; done; echo two"
    serve(say(terminal="echo quick"), say(terminal=command), say(message="ok"), limits=limits(output_bytes=200))
    assert told.is_set()
    shown = door.bodies("/steps", "output")
    assert {body["n"] for body in shown} == {2}
    assert shown[0]["output"].startswith("1\n2\n")
    assert shown[0]["output"].endswith("1000\n")
    assert len(shown[0]["output"]) < 260


def test_long_output(door: FakeDoor, serve: Serve) -> None:
    """Host and model get head and tail, and both are told how much is missing."""
    serve(say(terminal="seq 100000"), say(message="ok"), limits=limits(output_bytes=100))
    (end,) = door.bodies("/steps", "end")
    assert end["omitted_bytes"] > 500_000
    assert f"[… {end['omitted_bytes']} bytes omitted …]" in end["output"]
    assert end["output"] in heard(door)


def test_panel_actions(door: FakeDoor, serve: Serve) -> None:
    """Results, good and bad, reach the model in the same turn, before it replies."""
    actions = ["CALENDAR_CREATE:a|b", {"name": "NOPE"}]
    door.act = lambda action: (
        {"ok": True, "result": {"id": 5}} if action == actions[0] else {"ok": False, "error": "what?"}
    )
    ended = serve(say(message="I note it.", panelActions=actions), say(message="Done."))
    assert ended["message"] == "Done."
    assert heard(door) == "Panel actions:\n1. ok: {'id': 5}\n2. error: what?"
    assert door.bodies("/steps", "actions") == [{"n": 1, "phase": "actions", "actions": actions}]


def test_panel_actions_are_noted_in_words(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """People read the log: no list of the program's, no protocol."""
    actions = ["MEMORY_ADD:I like a\\|b|", {"name": "CALENDAR_CREATE", "title": "tea", "start": "9:00"}]
    door.act = lambda action: {"ok": True, "result": "7"} if action == actions[0] else {"ok": False, "error": "no"}
    serve(say(message="I note it.", panelActions=actions), say(message="Done."))
    log = (tmp_path / "work" / ".hermit.log").read_text(encoding="utf-8")
    assert " actions memory add: I like a|b\\ncalendar create: tea, 9:00\n" in log
    assert " results done: 7\\nnot done: no\n" in log


def test_panel_actions_and_a_command(door: FakeDoor, serve: Serve) -> None:
    """Both are done, each a step of its own, actions first."""
    serve(say(terminal="echo hi", panelActions=["A:b"]), say(message="Done."))
    steps = [(body["n"], body["phase"]) for route, body in door.calls if route.endswith("/steps")]
    assert steps == [(1, "actions"), (2, "start"), (2, "end")]
    assert "1. ok" in heard(door)
    assert "Output:\nhi" in heard(door)


DECISIONS: dict[str, tuple[Callable[[Json], Json | None], str]] = {
    "denied with words": (lambda asked: asked | {"status": "denied", "note": "Use trash."}, 'words: "Use trash."'),
    "denied": (lambda asked: asked | {"status": "denied"}, "said no"),
    "expired": (lambda asked: asked | {"status": "expired"}, "in time"),
    "cancelled": (lambda asked: asked | {"status": "cancelled"}, "withdrawn"),
    "another text": (lambda asked: asked | {"status": "approved", "sha256": "0" * 64}, "another text"),
    "another step": (lambda asked: asked | {"status": "approved", "n": 2}, "another text"),
    "another turn": (lambda asked: asked | {"status": "approved", "turn": 18}, "another text"),
    "another approval": (lambda asked: asked | {"status": "approved", "id": "B"}, "another text"),
    "nobody, long ago": (lambda _: None, "in time"),
}


@pytest.mark.parametrize(("decide", "said"), DECISIONS.values(), ids=DECISIONS.keys())
def test_not_approved(
    door: FakeDoor, serve: Serve, tmp_path: Path, decide: Callable[[Json], Json | None], said: str
) -> None:
    """Without a person's yes to these very bytes nothing runs, and the model hears why."""
    door.rule = lambda _: ("ask", "It deletes files.")
    door.decide = decide
    door.expires_in_s = -100
    ended = serve(say(terminal="touch ran"), say(message="all right"))
    assert ended["message"] == "all right"
    assert said in heard(door)
    assert not (tmp_path / "work" / "ran").exists()
    assert len(door.bodies("/steps", "start")) == 1


def test_approved_while_waiting(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """The crab waits until the word comes; the host is asked again with the approval and runs it once."""
    door.rule = lambda _: ("ask", "why")
    timers: list[threading.Timer] = []

    def decide(asked: Json) -> None:
        door.approve(asked["id"])
        timers.append(threading.Timer(0.1, door.write_lock, ("approval", asked["id"], asked | {"status": "approved"})))
        timers[0].start()

    door.decide = decide
    ended = serve(say(terminal="echo é >> ran"), say(message="ok"))
    timers[0].join()
    assert ended["message"] == "ok"
    assert (tmp_path / "work" / "ran").read_text() == "é\n"
    assert [body["approval"] for body in door.bodies("/steps", "start")] == [None, "A17x1"]


def test_an_approval_that_was_used_up(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """A lock alone runs nothing: the host has the last word."""
    door.rule = lambda _: ("ask", "why")

    def decide(asked: Json) -> None:
        door.write_lock("approval", asked["id"], asked | {"status": "approved"})

    door.decide = decide
    serve(say(terminal="touch ran"), say(message="ok"))
    assert "There is no such approval." in heard(door)
    assert not (tmp_path / "work" / "ran").exists()


def test_the_hosts_hash_must_be_ours(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """When the host asks about other bytes than the crab holds, nothing is even waited for."""
    door.rule = lambda _: ("ask", "why")
    door.asked_about = "echo harmless"
    serve(say(terminal="touch ran"), say(message="ok"))
    assert "another text" in heard(door)
    assert not (tmp_path / "work" / "ran").exists()


def test_refused(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """The reason of a refusal goes to the model; the third in a row ends the turn."""
    door.rule = lambda command: ("refuse", "Not that.") if "ran" in command else ("run", "")
    no, yes = say(terminal="touch ran"), say(terminal="true")
    ended = serve(no, no, yes, no, no, say(message="I gave up."))
    assert ended["message"] == "I gave up."
    assert heard(door) == "The command was not run. Not that."
    ended = serve(no, no, no)
    assert (ended["status"], ended["error"]) == ("failed", "I was refused 3 times in a row and stopped. Not that.")
    assert not (tmp_path / "work" / "ran").exists()


def test_step_limit(door: FakeDoor, serve: Serve) -> None:
    """At the limit the model sums up, and the person is told of the limit."""
    ended = serve(say(terminal="echo 1"), say(terminal="echo 2"), say(message="Half done."), limits=limits(steps=2))
    assert ended["status"] == "done"
    assert ended["message"] == "Half done.\n\n(The limit of 2 steps for one turn was reached.)"
    assert "That was the last of your 2 steps" in heard(door)
    assert "That was the last" not in heard(door, 1)


def test_step_limit_and_a_model_that_goes_on(door: FakeDoor, serve: Serve) -> None:
    """A model that will not stop is stopped; nothing more runs."""
    ended = serve(*[say(message="More.", terminal="echo x", panelActions=["A:b"])] * 9, limits=limits(steps=3))
    assert ended["status"] == "done"
    assert ended["message"].startswith("More.\n\n(The limit of 3 steps for one turn was reached before I was done.")
    assert [body["n"] for body in door.bodies("/steps", "actions")] == [1, 3]
    assert [body["n"] for body in door.bodies("/steps", "start")] == [2]
    assert len(door.bodies("llm")) == 3


def test_the_same_again_and_again(door: FakeDoor, serve: Serve) -> None:
    """A model that repeats itself is told, then stopped, long before its steps are used up."""
    ended = serve(*[say(message="Hm.", terminal="echo x")] * 9, limits=limits(steps=30))
    assert ended["status"] == "done"
    assert ended["message"] == "Hm.\n\n(I ran the same command again and again, so I stopped.)"
    assert len(door.bodies("/steps", "start")) == 3
    assert "This was the same command with the same result" in heard(door)
    assert "You ran the same command 3 times" in heard(door)


def test_the_same_command_with_another_result(door: FakeDoor, serve: Serve) -> None:
    """Looking again at what changes is no repetition."""
    looks = [say(terminal="echo x >> grows; wc -l < grows")] * 6
    ended = serve(*looks, say(message="It grows."), limits=limits(steps=30))
    assert ended["message"] == "It grows."
    assert len(door.bodies("/steps", "start")) == 6


def test_unreadable_answers(door: FakeDoor, serve: Serve) -> None:
    """The model hears what was wrong; the third time in a row ends the turn, a good answer starts the count again."""
    bad, good = '{"terminal": 5}', say(terminal="true")
    ended = serve(bad, bad, good, bad, bad, say(message="There."))
    assert ended["message"] == "There."
    assert heard(door) == 'Nothing of your answer was carried out. "terminal" must be text, not a number.'
    ended = serve(bad, '{"terminal": "echo "a""}', bad)
    assert (ended["status"], ended["error"]) == (
        "failed",
        "The model did not answer in the agreed form 3 times in a row.",
    )


def test_empty_answers(door: FakeDoor, serve: Serve) -> None:
    """Emptiness is told once, silence in an object too; an answer that only names a file is one."""
    assert serve("", say(message="x"))["message"] == "x"
    assert heard(door).startswith("Your answer was empty.")
    assert door.bodies("llm")[1]["messages"][-2] == {"role": "assistant", "content": "(nothing)"}
    assert serve("", " \n")["error"] == "The model gave an empty answer."
    assert serve(say(message=""), say(message=" "))["error"] == "The model gave an empty answer."
    only_a_file = {"status": "done", "message": "", "action": "FILE:a", "error": ""}
    assert serve(say(message="", action="FILE:a")) == only_a_file


@pytest.mark.parametrize("silence", ["", " \n", '{"message": ""}', '{"message": "", "terminal": ""}'])
def test_silence_where_nobody_waits(door: FakeDoor, serve: Serve, silence: str) -> None:
    """A run of the calendar may end without words, at once or after its work; it is not asked for any."""
    silent = {"status": "done", "message": "", "action": "", "error": ""}
    assert serve(silence, may_be_silent=True) == silent
    assert serve(say(terminal="true"), silence, may_be_silent=True) == silent
    assert len(door.bodies("llm")) == 3
    assert serve(say(message="News!"), may_be_silent=True)["message"] == "News!"


def test_a_person_s_time_is_not_the_command_s(door: FakeDoor, serve: Serve) -> None:
    """A command that waits for a person goes on beyond its time, as the host says."""
    said = [(0.0, True), (1.5, False)]
    door.waited = lambda: said.pop(0)
    serve(say(terminal="sleep 1.2; echo answered"), say(message="ok"), limits=limits(command_timeout_s=0.2))
    assert "Output:\nanswered" in heard(door)
    door.waited = lambda: (0.0, False)
    serve(say(terminal="sleep 60"), say(message="ok"), limits=limits(command_timeout_s=0.2))
    assert "ran out of time" in heard(door)


@pytest.mark.parametrize(
    ("code", "http", "status"),
    [
        ("over_budget", 402, "failed"),
        ("upstream_failed", 503, "failed"),
        ("bad_input", 400, "failed"),
        ("stopped", 409, "stopped"),
    ],
)
def test_no_answer_from_the_model(serve: Serve, code: str, http: int, status: str) -> None:
    """What the host says about a missing answer is what the person reads; it is not asked twice."""
    ended = serve({"status": http, "code": code, "message": "Said for people."})
    assert (ended["status"], ended["error"]) == (status, "Said for people.")


def test_stop_between_steps(door: FakeDoor, serve: Serve, tmp_path: Path) -> None:
    """A stop that comes while the model thinks lets nothing more run."""

    def think(_: Json) -> str:
        door.write_lock("stop", 17, {})
        return say(terminal="touch ran", panelActions=["A:b"])

    assert serve(think)["status"] == "stopped"
    assert not (tmp_path / "work" / "ran").exists()
    assert door.bodies("/steps", "actions") == []


def test_stop_in_a_command(door: FakeDoor, serve: Serve) -> None:
    """A stop ends the command that runs, and the host hears how it ended."""
    timer = threading.Timer(0.1, door.write_lock, ("stop", 17, {}))
    timer.start()
    assert serve(say(terminal="echo a; sleep 60"))["status"] == "stopped"
    timer.join()
    (end,) = door.bodies("/steps", "end")
    assert (end["ended"], end["exit_code"], end["output"]) == ("stopped", 143, "a\n")


def test_stop_while_waiting(door: FakeDoor, serve: Serve) -> None:
    """A stop ends the wait for a person's word."""
    door.rule = lambda _: ("ask", "why")

    def decide(_: Json) -> None:
        door.write_lock("stop", 17, {})

    door.decide = decide
    assert serve(say(terminal="true"))["status"] == "stopped"


@pytest.mark.parametrize("phase", ["start", "end", "actions"])
def test_stop_said_by_the_door(door: FakeDoor, serve: Serve, phase: str) -> None:
    """The host may say stop in its answer to a step."""
    door.rule = lambda _: ("stop" if phase == "start" else "run", "")
    door.on_end = lambda _: "stop"
    actions = ["A:b"] if phase == "actions" else []
    assert serve(say(terminal="" if actions else "true", panelActions=actions))["status"] == "stopped"


def test_a_turn_that_the_host_gave_up(door: FakeDoor, serve: Serve) -> None:
    """A refused step ends the turn with the host's own words."""
    door.faults = ["", "404"]
    assert serve(say(terminal="true")) == {"status": "failed", "message": "", "action": "", "error": "Answered 404."}


@pytest.mark.parametrize("fault", ["400", "429"])
def test_a_step_that_the_host_did_not_take(door: FakeDoor, serve: Serve, fault: str) -> None:
    """A refusal that speaks of one step is told to the model, which may do better."""
    door.faults = ["", fault]
    assert serve(say(terminal="true"), say(message="ok"))["message"] == "ok"
    assert heard(door) == f"The command was not run. Answered {fault}."
    door.faults = ["", fault]
    assert serve(say(panelActions=["A:b"]), say(message="ok"))["message"] == "ok"
    assert heard(door) == f"Panel actions were not done. Answered {fault}."


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        "x" * 1_000_000,
        '{"message": "' + "x" * 1_000_000 + '"}',
        '{"terminal": "' + "x" * 150_000 + '"}',
        "\ud800",
    ],
)
def test_a_turn_survives_any_answer(serve: Serve, text: str) -> None:
    """However a model answers, the turn ends in one of the three ways and the next one runs."""
    assert serve(lambda _: text, say(message="ok"))["status"] == "done"
    assert serve(say(message="next"))["message"] == "next"


def test_something_unforeseen(serve: Serve) -> None:
    """A fault of our own ends the turn in a sentence for people, and the next one runs."""
    ended = serve(say(terminal="true"), history=[[]])
    assert ended["status"] == "failed"
    assert ended["error"] == "Something went wrong inside the cubicle (AttributeError)."
    assert serve(say(message="x"), agent={"name": "a\ud800", "personality": 5}, limits=None)["message"] == "x"


def test_a_long_turn_stays_within_bounds(door: FakeDoor, serve: Serve) -> None:
    """When outputs pile up the oldest are shortened; the newest, the texts of people and the prompt stay whole."""
    text = "t" * 50_000
    serve(
        *[say(terminal="head -c 60000 /dev/zero | tr '\\0' x")] * 5,
        say(message="ok"),
        text=text,
        limits=limits(output_bytes=60_000),
    )
    messages = [message["content"] for message in door.bodies("llm")[-1]["messages"]]
    assert messages[1].endswith(text)
    assert len(messages[-1]) > 60_000
    assert "characters omitted" in messages[3]
    assert len(messages[3]) < 500
    assert sum(map(len, messages)) <= 210_000


def test_the_standing_prompt_is_stable(door: FakeDoor, serve: Serve) -> None:
    """The prompt depends on the agent alone, so that it can be cached."""
    agent = {"name": "otto", "role": "cook", "personality": "kind {installed}", "image": "studio"}
    serve(say(message="a"), text="one", agent=agent, now="2026-01-01T00:00:00Z")
    serve(say(message="b"), text="two", agent=agent)
    first, second = (call["messages"][0]["content"] for call in door.bodies("llm"))
    assert first == second
    assert first.endswith("Your name is otto.\nYour role: cook\nYour manner: kind {installed}")
    assert "pandas" in first


@pytest.mark.parametrize(
    ("now", "zone", "line"),
    [
        ("2026-02-28T23:30:00Z", "Europe/Vienna", "[2026-03-01 00:30 Europe/Vienna, Sunday]\nhello"),
        ("2026-07-01T12:00:00Z", "Asia/Kolkata", "[2026-07-01 17:30 Asia/Kolkata, Wednesday]\nhello"),
        ("2026-07-01T12:00:00Z", "../../etc/passwd", "[2026-07-01 12:00 UTC, Wednesday]\nhello"),
        ("soon", "UTC", "hello"),
        ("", "", "hello"),
    ],
)
def test_the_time_is_the_persons(door: FakeDoor, serve: Serve, now: str, zone: str, line: str) -> None:
    """The person's message begins with their local time."""
    serve(say(message="a"), text="hello", now=now, time_zone=zone)
    assert heard(door) == line
