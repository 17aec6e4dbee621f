"""``hermit``: from the words of a command line to a call at the door, and from its answer to what a script sees."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crab import hermit
from crab.hermit_commands import FILE, Command, CommandList, read_commands, write_commands
from crab.hermit_files import NoFile, into_out, within
from crab.hermit_words import Misused, parse_words
from orchestrator.capabilities.actions.parse import read_command
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput
from tests.support.fake_door import FakeDoor

Json = dict[str, Any]
COMMANDS = CommandList(REGISTRY.commands)
START = ["--start", "2026-03-02T09:00"]


# --- words ---------------------------------------------------------------------------------------------------------


def fields(line: list[str]) -> Json:
    """What a command line sends."""
    command, count = COMMANDS.find_command(line)
    assert command is not None
    return parse_words(command, line[count:]).fields


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        (["calendar", "add", "T", "P", *START], {"title": "T", "prompt": "P", "start": START[1]}),
        (["calendar", "create", "T", "P", "--start=x"], {"title": "T", "prompt": "P", "start": "x"}),
        (["calendar", "add", *START, "T", "-P is it"], {"title": "T", "prompt": "-P is it", "start": START[1]}),
        (["calendar", "update", "12", "--end", "-"], {"id": "12", "end": "-"}),
        (["calendar", "delete", "12"], {"id": "12"}),
        (["Calendar", "ls"], {}),
        (["calendar", "list", "--from", "2026-01-01"], {"from": "2026-01-01"}),
        (["memory", "add", "likes", "tea"], {"text": "likes tea"}),
        (["memory", "add", "--", "--not", "an option"], {"text": "--not an option"}),
        (["memory", "list", "--limit", "5"], {"query": "", "limit": "5"}),
        (["fetch", "https://a.b/c", "--why", "w", "--type", "pdf"],
         {"url": "https://a.b/c", "description": "w", "file_type": "pdf"}),
        (["install", "pip", "a", "b==1"], {"system": "pip", "packages": ["a", "b==1"]}),
        (["ask", "Go", "on?", "--choices", "a, b,", "--choice", "c, d"],
         {"question": "Go on?", "choices": ["a", "b", "c, d"]}),
        (["ask", "Go?", "--free-text", "--timeout", "10m"], {"question": "Go?", "free_text": True, "timeout": 600}),
        (["ask", "-5 or 5?"], {"question": "-5 or 5?"}),
        (["ask", "Warmer?", "--choice", "-5"], {"question": "Warmer?", "choices": ["-5"]}),
        (["send", "a b.txt", "--caption", "--"], None),
        (["video", "Good", "news", "--seconds", "10", "--out", "a.mp4"],
         {"prompt": "Good news", "duration": "10", "output_file": "a.mp4"}),
        (["send", "a b.txt", "--caption", "é"], {"file": "a b.txt", "caption": "é"}),
        (["status"], {}),
        (["checkpoint", "create", "before", "it"], {"name": "before it"}),
        (["checkpoint", "ls", "--limit", "3"], {"limit": "3"}),
        (["checkpoint", "diff"], {}),
        (["checkpoint", "restore", "12"], {"id": "12", "paths": ""}),
        (["checkpoint", "restore", "12", "a b", "www"], {"id": "12", "paths": ["a b", "www"]}),
    ],
)  # fmt: skip
def test_words(line: list[str], sent: Json | None) -> None:
    """Options and places in any order; text without quotes is put together."""
    if sent is None:
        with pytest.raises(Misused):
            fields(line)
        return
    assert fields(line) == sent


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["calendar", "add", "T", *START], "PROMPT is missing"),
        (["calendar", "add", "T", "P"], "--start is missing"),
        (["calendar", "add", "T", "P", "--start"], "--start needs a value"),
        (["calendar", "add", "T", "P", "--start", "--json"], "--start needs a value"),
        (["calendar", "add", "T", "P", *START, *START], "there twice"),
        (["calendar", "rm", "1", "2"], "'2' is one too many"),
        (["fetch", "u", "--why", "w", "--no-wait=1"], "--no-wait takes no value"),
        (["status", "-x"], "there is no -x"),
        (["ask", "Go?", "--timeout", "soon"], "--timeout must be a number of seconds"),
        (["ask", "Go?", "--timeout", "٣"], "--timeout must be"),
        (["install"], "SYSTEM is missing"),
        (["install", "pip"], "PACKAGES is missing"),
    ],
)
def test_mistakes(line: list[str], told: str) -> None:
    """One sentence, with the usage where that helps."""
    with pytest.raises(Misused, match=told):
        fields(line)


def test_a_list_that_may_be_left_out_is_shown_so() -> None:
    """In the usage line; a word of a command that is another's alias elsewhere is its own here."""
    command, count = COMMANDS.find_command(["checkpoint", "restore"])
    assert command is not None
    assert (command.usage, count) == ("hermit checkpoint restore ID [PATHS…] [--no-wait]", 2)
    assert COMMANDS.find_command(["calendar", "create"])[0] is COMMANDS.find_command(["calendar", "add"])[0]


def test_the_table_is_the_hosts() -> None:
    """Each command is a call of the host's, with fields that it has, and can give all that it needs."""
    assert {command.call for command in COMMANDS.every} == set(REGISTRY.actions)
    for command in COMMANDS.every:
        known = {field.name for field in REGISTRY.actions[command.call].fields}
        needed = {field.name for field in REGISTRY.actions[command.call].fields if field.is_required}
        given = {place.rstrip("?…*") for place in command.places} | {option.field for option in command.options}
        assert given - {"no_wait", "choice", *command.local} <= known, command.words
        assert needed <= given | set(command.fields), command.words


@pytest.mark.parametrize("command", [c for c in COMMANDS.every if c.example], ids=lambda c: c.words)
def test_examples_work(command: Command) -> None:
    """What help shows can be typed, and is what the host takes."""
    words = shlex.split(command.example)[1:]
    found, count = COMMANDS.find_command(words)
    assert found is command
    try:
        read_command(command.call, parse_words(command, words[count:]).fields, REGISTRY.actions)
    except BadInput as wrong:
        pytest.fail(wrong.message)


def test_each_command_is_its_actions_own() -> None:
    """It stands beside the action that it asks for."""
    for action in REGISTRY.actions.values():
        assert {command.call for command in action.commands} <= {action.name}


def test_what_is_written_for_a_cubicle_is_read_as_the_same() -> None:
    """Every word of usage and help."""
    again = read_commands(write_commands(COMMANDS))
    assert [command.page() for command in again.every] == [command.page() for command in COMMANDS.every]
    assert again.get_overview(None) == COMMANDS.get_overview(None)


@pytest.mark.parametrize("text", [None, "", "[", "{}x", "[1]", '[{"odd": 1}]', '[{"words": "a"}]', "null"])
def test_a_file_that_is_not_there_yet(run: Callable[..., Ran], tmp_path: Path, text: str | None) -> None:
    """Or is not the host's: one sentence, and nothing is asked."""
    path = tmp_path / "ws" / "data" / FILE
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    ran = run("status")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "hermit: the host has not said yet what it does for you. Try again later.\n"


# --- at the door ---------------------------------------------------------------------------------------------------


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def door(tmp_path: Path) -> Iterator[FakeDoor]:
    """A door that is open, and a workspace."""
    for name in ("run", "ws/work", "ws/out", "ws/data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ws" / "data" / FILE).write_text(write_commands(COMMANDS), encoding="utf-8")
    with FakeDoor(tmp_path / "run") as opened:
        yield opened
    assert opened.broken == []


@pytest.fixture
def run(door: FakeDoor, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process."""

    def run(*line: str) -> Ran:
        code = hermit.main(list(line), str(door.folder), str(tmp_path / "ws"))
        return Ran(code, *capfd.readouterr())

    return run


def done(text: str, **result: Any) -> tuple[int, Json]:
    """A call that has ended well."""
    return 200, {"call": "c", "status": "done", "text": text, "result": result}


def failed(text: str, code: str) -> tuple[int, Json]:
    """A call that has not."""
    return 200, {"call": "c", "status": "failed", "text": text, "result": {"code": code}}


def test_a_call(door: FakeDoor, run: Callable[..., Ran]) -> None:
    """Under a random id; the sentence on stdout, or the result as JSON."""
    door.call = lambda _route, _body: done("Kept: é.", id=7)
    assert run("memory", "add", "é") == Ran(0, "Kept: é.\n", "")
    assert json.loads(run("memory", "add", "é", "--json").out) == {"id": 7}
    first, second = door.bodies("calls")
    assert (first["name"], first["fields"]) == ("MEMORY_ADD", {"text": "é"})
    assert first["call"] != second["call"]


@pytest.mark.parametrize("fault", ["drop", "drop_after", "garbage", "500"])
def test_repeated_with_the_same_id(door: FakeDoor, run: Callable[..., Ran], fault: str) -> None:
    """Whatever happens to the connection, it is one call."""
    door.faults = [fault, fault]
    door.call = lambda _route, _body: done("ok")
    assert run("status").code == 0
    assert len({body["call"] for body in door.bodies("calls")}) == 1


def test_waiting(door: FakeDoor, run: Callable[..., Ran]) -> None:
    """What is waited for is said once on stderr, again when it changes; then the answer."""
    told = ["asked", "asked", "downloading"]

    def call(route: str, body: Json) -> tuple[int, Json]:
        if not told:
            return done("in/a.pdf is there.")
        assert route == "calls" or route == f"calls/{door.bodies('calls')[0]['call']}"
        return 200, {"call": "c", "status": "waiting", "text": told.pop(0), "result": {}}

    door.call = call
    assert run("fetch", "https://a.b/c", "--why", "w") == Ran(0, "in/a.pdf is there.\n", "asked\ndownloading\n")


def test_pages_are_read(door: FakeDoor, run: Callable[..., Ran], tmp_path: Path) -> None:
    """Each is asked for before any is waited for; one that was refused keeps no other from being printed."""
    page = tmp_path / "page.html"
    page.write_text("<html><body><article><p>" + "The sea is calm today. " * 20 + "</p></article>", encoding="utf-8")

    def call(route: str, body: Json) -> tuple[int, Json]:
        if body and body["fields"]["url"].endswith("/no"):
            return failed("The person said no.", "denied")
        return (
            (200, {"call": "c", "status": "waiting", "text": "A person is asked."})
            if body
            else done("", path=str(page))
        )

    door.call = call
    ran = run("read", "https://a.example/1", "https://a.example/no", "--links", "--why", "the weather")
    assert ran.code == 3
    assert ran.out.count("The sea is calm today.") == 20
    assert "== https://a.example/1" in ran.out
    assert "The person said no." in ran.err
    asked = [body["fields"] for route, body in door.calls if route == "calls"]
    common = {"description": "the weather", "max_age": 900}
    assert asked == [{**common, "url": f"https://a.example/{end}"} for end in ("1", "no")]
    assert [route.partition("/")[0] for route, _ in door.calls[:2]] == ["calls", "calls"]
    assert run("read", *(f"https://a.example/{n}" for n in range(6))).code == 2


def test_a_copy_that_was_deleted_is_fetched_again(door: FakeDoor, run: Callable[..., Ran], tmp_path: Path) -> None:
    """What the host remembers may not lie there any more."""
    again = tmp_path / "again.txt"
    again.write_text("as new\n", encoding="utf-8")

    def call(_route: str, body: Json) -> tuple[int, Json]:
        return done("", path=str(tmp_path / "gone.txt") if "max_age" in body["fields"] else str(again))

    door.call = call
    ran = run("read", "https://a.example/1")
    assert (ran.code, ran.out, ran.err) == (0, "as new\n", "")


def test_no_wait(door: FakeDoor, run: Callable[..., Ran]) -> None:
    """It returns at once, with what a program may want to know."""
    door.call = lambda _route, body: (
        200,
        {"call": body["call"], "status": "waiting", "text": "A person is asked.", "result": {"approval": "k3"}},
    )
    assert run("fetch", "https://a.b/c", "--why", "w", "--no-wait") == Ran(0, "A person is asked.\n", "")
    told = json.loads(run("install", "pip", "a", "--no-wait", "--json").out)
    assert (told["status"], told["approval"]) == ("waiting", "k3")
    assert len(door.bodies("calls")) == 2


@pytest.mark.parametrize(
    ("answer", "code", "name"),
    [
        (failed("No.", "denied"), 3, "denied"),
        (failed("Late.", "expired"), 3, "expired"),
        (failed("Gone.", "cancelled"), 3, "cancelled"),
        (failed("Broken.\nBadly.", "too_large"), 1, "too_large"),
        ((200, {"call": "c", "status": "failed", "text": "Hm.", "result": None}), 1, "failed"),
        ((429, {"error": {"code": "too_many", "message": "Too much."}}), 1, "too_many"),
        ((400, {"error": {"code": "bad_input", "message": "ASK: choices …"}}), 1, "bad_input"),
    ],
)
def test_what_went_wrong(
    door: FakeDoor, run: Callable[..., Ran], answer: tuple[int, Json], code: int, name: str
) -> None:
    """A code for scripts and one line for people; with --json the same as an object."""
    door.call = lambda _route, _body: answer
    plain, told = run("ask", "Go?"), run("ask", "Go?", "--json")
    assert (plain.code, told.code, plain.out) == (code, code, "")
    assert plain.err.startswith("hermit: ")
    assert plain.err.count("\n") == 1
    assert json.loads(told.out)["error"] == {"code": name, "message": plain.err[8:-1]}


@pytest.mark.parametrize(("offered", "code"), [(["STATUS"], 4), (["STATUS", "MEMORY_DELETE"], 1)])
def test_not_found(door: FakeDoor, run: Callable[..., Ran], offered: list[str], code: int) -> None:
    """A memory that is not there is a failure, a memory that the agent does not have another."""

    def call(_route: str, body: Json) -> tuple[int, Json]:
        return (404, {"error": {"code": "not_found", "message": "None."}}) if body else (200, {"commands": offered})

    door.call = call
    ran = run("memory", "rm", "5")
    assert (ran.code, ran.err) == (code, "hermit: None.\n")


def test_help(door: FakeDoor, run: Callable[..., Ran]) -> None:
    """All that is offered; without the host's word everything. A command's own help asks nobody."""
    door.call = lambda _route, _body: (200, {"commands": ["STATUS", "ASK"]})
    asked = [run(), run("--help"), run("help"), run("-h")]
    assert {ran.code for ran in asked} == {0}
    assert len({ran.out for ran in asked}) == 1
    assert "hermit ask " in asked[0].out
    assert "hermit send " not in asked[0].out
    heard = len(door.calls)
    for command in COMMANDS.every:
        ran = run(*command.words.split(), "--help")
        assert ran.code == 0
        assert ran.out.startswith(command.usage)
        assert "Exit codes" in ran.out
    for group in COMMANDS.list_groups():
        assert run("help", group).code == run(group, "--help").code == 0
    assert len(door.calls) == heard
    door.call = lambda _route, _body: (400, {"error": {"code": "no_route", "message": "?"}})
    assert "hermit send " in run("--help").out


def test_a_host_that_is_not_there(door: FakeDoor, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while it gives up, and says so."""
    door.shut()
    monkeypatch.setattr(hermit, "PATIENCE_S", 0.1)
    ran = run("status")
    assert (ran.code, ran.err) == (1, "hermit: The host does not answer. Try again later.\n")


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, and we are in its work/."""
    for name in ("work/deep", "out/set"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "sent"),
    [("a.txt", "a.txt"), ("deep/b c.txt", "b c.txt"), ("link", "link"), ("../out/o.txt", "o.txt"),
     ("../out/set", "set"), ("../out/set/in.txt", "set/in.txt"), ("../out/twice", "twice"), ("../out/away", "away")],
)  # fmt: skip
def test_into_out(workspace: Path, path: str, sent: str) -> None:
    """What lies in out/ is named, what lies elsewhere is copied there whole; a link as what it leads to."""
    for place in ("work/a.txt", "work/deep/b c.txt", "out/o.txt", "out/set/in.txt"):
        (workspace / place).write_text("new")
    (workspace / "work" / "link").symlink_to("a.txt")
    (workspace / "out" / "away").symlink_to(workspace / "work" / "a.txt")
    os.link(workspace / "out" / "o.txt", workspace / "out" / "twice")
    (workspace / "out" / "a.txt").write_text("an older one")
    assert into_out(path, str(workspace)) == sent
    there = workspace / "out" / sent
    assert there.is_dir() or (there.read_text() == "new" and not there.is_symlink())
    assert not list((workspace / "out").glob(".*"))


@pytest.mark.parametrize("path", ["none", "deep", "deep/none", "/dev/null", "", "pipe", "loop"])
def test_what_is_no_file(workspace: Path, path: str) -> None:
    """One sentence, and nothing new in out/."""
    os.mkfifo(workspace / "work" / "pipe")
    (workspace / "work" / "loop").symlink_to("loop")
    with pytest.raises(NoFile):
        into_out(path, str(workspace))
    assert sorted(path.name for path in (workspace / "out").iterdir()) == ["set"]


def test_a_full_disk_or_a_closed_folder(workspace: Path) -> None:
    """Says why, and leaves no half of a copy."""
    (workspace / "work" / "a.txt").write_text("new")
    (workspace / "out" / "a.txt").mkdir()
    with pytest.raises(NoFile, match=r"a\.txt could not be copied"):
        into_out("a.txt", str(workspace))
    assert sorted(path.name for path in (workspace / "out").iterdir()) == ["a.txt", "set"]


@pytest.mark.parametrize(
    ("path", "sent"),
    [("a.txt", "work/a.txt"), ("deep/../a.txt", "work/a.txt"), ("link", "work/a.txt"), ("../out/o.txt", "out/o.txt")],
)
def test_within(workspace: Path, path: str, sent: str) -> None:
    """The path within the workspace; a link's is that of what it leads to."""
    (workspace / "work" / "a.txt").write_text("new")
    (workspace / "out" / "o.txt").write_text("new")
    (workspace / "work" / "link").symlink_to("a.txt")
    assert within(path, str(workspace)) == sent


@pytest.mark.parametrize("path", ["none", "deep", "/etc/passwd", "away", "pipe", "loop", ""])
def test_what_is_not_within(workspace: Path, path: str) -> None:
    """No plain file, or one elsewhere: one sentence."""
    os.mkfifo(workspace / "work" / "pipe")
    (workspace / "work" / "loop").symlink_to("loop")
    (workspace / "work" / "away").symlink_to("/etc/passwd")
    with pytest.raises(NoFile):
        within(path, str(workspace))


# --- as a program --------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away(door: FakeDoor, tmp_path: Path) -> None:
    """A closed pipe is no error, and no message of Python's appears."""
    door.call = lambda _route, _body: done("x" * 1_000_000)
    root = Path(__file__).resolve().parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from crab.hermit import main; "
    code += f"sys.exit(main(['status'], {str(door.folder)!r}, {str(tmp_path / 'ws')!r}))"
    with subprocess.Popen(
        [sys.executable, "-ISBXutf8", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_it_is_light(tmp_path: Path) -> None:
    """No heavy module: it is started often."""
    root = Path(__file__).resolve().parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); import crab.hermit; print(*sys.modules)"
    command = [sys.executable, "-ISBXutf8", "-c", code]
    names = set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
    assert names.isdisjoint({"argparse", "typing", "dataclasses", "inspect", "subprocess", "ssl", "http", "threading"})
    assert names.isdisjoint({"pathlib", "shutil", "tempfile", "contextlib", "datetime", "hashlib", "email", "urllib"})


@pytest.mark.parametrize(("mark", "turn"), [("17.3.ab12", 17), ("", None), ("x.1.ab", None), ("9" * 30 + ".1.a", None)])
def test_a_call_names_the_turn_of_its_command(
    door: FakeDoor, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, mark: str, turn: int | None
) -> None:
    """As the shell marked it; in a terminal there is none."""
    monkeypatch.setenv("HERMIT_STEP", mark)
    door.call = lambda _route, _body: done("ok")
    assert run("status").code == 0
    assert [body["turn"] for body in door.bodies("calls")] == [turn]
