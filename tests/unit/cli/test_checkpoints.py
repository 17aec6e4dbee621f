"""``./hermit checkpoints`` and ``./hermit undo`` against an install without containers, as a person uses them."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey, TurnStatus
from tests.support.app_fixture import AppFixture, run_app

ROOT = Path(__file__).resolve().parents[3]
KEY = CubicleKey("crab", 1)


@dataclass
class Terminal:
    """A person, and an agent whose commands change files."""

    install: AppFixture
    work: Path
    capture: pytest.CaptureFixture[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    _steps: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def hermit(self, *arguments: str) -> str:
        """What a command prints; raises the error that would be its one line."""
        options = parser().parse_args(list(arguments))
        self.capture.readouterr()
        assert options.run(Context(ROOT, self.environment, self.install.services.settings), options) == 0
        return self.capture.readouterr().out

    def refused(self, *arguments: str) -> str:
        """The one line of a command that fails."""
        with pytest.raises(OrchestratorError) as caught:
            self.hermit(*arguments)
        return caught.value.message

    def turn(self, prompt: str, *commands: Callable[[Path], object]) -> int:
        """A message, and what its commands do; its number, once its last point is taken."""
        turns = self.install.services.turns
        turns.submit(KEY, prompt, source="test")
        taken = turns.take_next(KEY, "boot", 20)
        assert taken is not None
        for command in commands:
            n = next(self._steps)
            self.install.steps.start_step(KEY, taken.id, n, thought="", command=f"true {n}", approval=None)
            command(self.work)
            self.install.steps.end_step(KEY, taken.id, n, exit_code=0, output="", ended="exited")
        turns.end_turn(KEY, taken.id, TurnStatus.DONE, reply="done")
        undo, deadline = self.install.services.undo, time.monotonic() + 20
        while commands and ((span := undo.get_span(taken.id)) is None or span.after is None):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return taken.id

    def points(self) -> list[dict[str, Any]]:
        """As JSON."""
        listed: list[dict[str, Any]] = json.loads(self.hermit("checkpoints", "crab", "list", "--json"))["checkpoints"]
        return listed


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """With an agent that has done nothing yet."""
    with run_app(tmp_path, crabs=False) as install:
        install.services.cubicles.ensure_running(KEY)
        mounts = install.services.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        yield Terminal(install, Path(mounts.work), capsys)


def write(name: str, text: str) -> Callable[[Path], object]:
    """A command that writes a file."""
    return lambda work: (work / name).write_text(text)


def test_a_message_is_taken_back(terminal: Terminal) -> None:
    """Its files go back and are named, and so is how to take that back; the one before it is next."""
    terminal.turn("one", write("a", "1\n"))
    turn = terminal.turn("two", write("a", "2\n"), write("b", "2\n"))
    said = terminal.hermit("undo", "crab", "--yes")
    assert said.startswith("Put back: 2 files.\nTo take that back: ./hermit checkpoints crab restore ")
    assert "The conversation goes on from before this message." in said
    assert ((terminal.work / "a").read_text(), (terminal.work / "b").exists()) == ("1\n", False)
    assert terminal.refused("undo", "crab", "--turn", str(turn), "--yes") == "This message was undone already."
    terminal.hermit("checkpoints", "crab", "restore", said.splitlines()[1].rpartition(" ")[2], "--yes")
    assert (terminal.work / "b").read_text() == "2\n"
    terminal.hermit("undo", "crab", "--yes")
    assert terminal.refused("undo", "crab", "--yes") == "There is nothing to undo in this conversation."


def test_it_says_first_what_would_change(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, what was changed again since, what stays; without a yes nothing happens."""
    terminal.turn("zero", write("a", "0\n"), write("evil\x1b[2J", "0"))
    turn = terminal.turn("one", write("a", "1\n"), write("b", "1\n"), lambda work: (work / "evil\x1b[2J").unlink())
    terminal.turn("two", write("a", "2\n"))
    arguments = ("undo", "crab", "--turn", str(turn))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    options = parser().parse_args(list(arguments))
    with pytest.raises(OrchestratorError, match="Nothing was changed: add --yes"):
        options.run(Context(ROOT, {}, terminal.install.services.settings), options)
    said = terminal.capture.readouterr().out
    assert said.splitlines() == [
        "You wrote: one",
        "Files that change: 2 files.",
        "  work/b is deleted",
        "  work/evil\\x1b[2J is there again",
        "Changed again since, so these stay as they are:",
        "  work/a",
    ]
    assert (terminal.work / "b").exists()
    done = terminal.hermit(*arguments, "--yes")
    assert "Put back: 2 files." in done
    assert "  left: work/a: " in done
    assert ((terminal.work / "a").read_text(), (terminal.work / "b").exists()) == ("2\n", False)


def test_a_file_that_was_changed_again_goes_back_by_name(terminal: Terminal) -> None:
    """Others need no mention."""
    terminal.turn("zero", write("a b", "0\n"))
    turn = terminal.turn("one", write("a b", "1\n"), write("c", "1\n"))
    terminal.turn("two", write("a b", "2\n"))
    arguments = ("undo", "crab", "--turn", str(turn), "--yes")
    assert "was not changed again since" in terminal.refused(*arguments, "--including", "work/c")
    assert (terminal.work / "c").exists()
    done = terminal.hermit(*arguments, "--including", "work/a b")
    assert "Changed again since" not in done
    assert ((terminal.work / "a b").read_text(), (terminal.work / "c").exists()) == ("0\n", False)


def test_since_takes_all_that_followed(terminal: Terminal) -> None:
    """Whoever changed it."""
    turn = terminal.turn("one", write("a", "1\n"))
    terminal.turn("two", write("b", "2\n"))
    (terminal.work / "mine").write_text("m")
    terminal.hermit("undo", "crab", "--turn", str(turn), "--since", "--yes")
    assert list(terminal.work.iterdir()) == []


def test_another_agents_message_is_none_of_its(terminal: Terminal) -> None:
    """The number of a turn alone is not enough."""
    turn = terminal.turn("one", write("a", "1\n"))
    terminal.install.services.agents.create({"name": "clerk"})
    assert terminal.refused("undo", "clerk", "--turn", str(turn), "--yes") == f"Turn {turn} is none of clerk's."
    assert (terminal.work / "a").exists()


def test_differences_are_shown_line_by_line(terminal: Terminal) -> None:
    """Of the last message that changed something, from a point until now, and between two; coloured for a terminal
    alone, and safe for it."""
    first = terminal.turn("one", write("a", "same\nold\n"))
    turn = terminal.turn("two", write("a", "same\nnew \x1b[2J\n"), write("raw", "\0"))
    terminal.turn("thanks")
    said = terminal.hermit("checkpoints", "crab", "diff").splitlines()
    assert said[0].startswith(f"What turn {turn} changed, between the points ")
    assert said[1:6] == ["~ work/a", "@@ -1,2 +1,2 @@", " same", "-old", "+new \\x1b[2J"]
    assert said[6:] == ["+ work/raw", "  no text, or too long to compare  (1 bytes)"]
    points = {(one["kind"], one["turn"]): one["id"] for one in terminal.points()}
    older, middle = points["before", first], points["command", first]
    between = terminal.hermit("checkpoints", "crab", "diff", str(older), str(middle))
    assert between.splitlines() == ["+ work/a", "@@ -0,0 +1,2 @@", "+same", "+old"]
    until_now = json.loads(terminal.hermit("checkpoints", "crab", "diff", str(middle), "--json"))
    assert {one["path"]: one["kind"] for one in until_now["changes"]} == {"work/a": "changed", "work/raw": "made"}
    terminal.environment = {"FORCE_COLOR": "1"}
    assert "\033[32m+new \\x1b[2J\033[0m" in terminal.hermit("checkpoints", "crab", "diff")


def test_the_last_message_is_found_among_others_points(terminal: Terminal) -> None:
    """What somebody changed meanwhile, or named, is no turn; before there is one it says so."""
    assert terminal.refused("checkpoints", "crab", "diff").startswith("No message has changed a file")
    terminal.turn("one", write("a", "1\n"))

    def meanwhile(work: Path) -> None:
        (work / "mine").write_text("m\n")
        terminal.install.services.restores.create_point(KEY, "meanwhile")

    turn = terminal.turn("two", write("b", "2\n"), meanwhile, write("c", "3\n"))
    terminal.hermit("checkpoints", "crab", "create", "later")
    said = terminal.hermit("checkpoints", "crab", "diff")
    assert said.startswith(f"What turn {turn} changed")
    assert [line for line in said.splitlines() if "work/" in line] == ["+ work/b", "+ work/c", "+ work/mine"]


def test_a_point_is_named_listed_gone_back_to_and_deleted(terminal: Terminal) -> None:
    """Some files, or all; going back asks first, and says what becomes of each."""
    terminal.turn("one", write("a", "1"), write("ü b", "1"))
    said = terminal.hermit("checkpoints", "crab", "create", "good")
    number = int(said.split()[1])
    assert said == f"Point {number} is called “good”: ./hermit checkpoints crab diff {number}\n"
    terminal.turn("two", write("a", "2"), write("ü b", "2"), write("c", "2"))
    listed = terminal.hermit("checkpoints", "crab", "list").splitlines()
    assert listed[0].split() == ["ID", "WHEN", "(UTC)", "CHANGED", "WHAT"]
    assert any(line.startswith(str(number)) and line.endswith("“good”") for line in listed)
    assert "--limit 8 shows more" in terminal.hermit("checkpoints", "crab", "list", "--limit", "2")
    restore = ("checkpoints", "crab", "restore", str(number))
    options = parser().parse_args([*restore, "work/ü b"])
    with pytest.raises(OrchestratorError, match="puts 1 file of crab back as at point"):
        options.run(Context(ROOT, {}, terminal.install.services.settings), options)
    assert "  work/ü b goes back to what it was" in terminal.capture.readouterr().out
    assert terminal.hermit(*restore, "work/ü b", "--yes").startswith("Put back: 1 file.")
    assert [(terminal.work / name).read_text() for name in ("a", "ü b", "c")] == ["2", "1", "2"]
    assert terminal.hermit(*restore, "--yes").startswith("Put back: 2 files.")
    assert sorted(path.name for path in terminal.work.iterdir()) == ["a", "ü b"]
    assert "is not a path in the workspace" in terminal.refused(*restore, "work/../../x", "--yes")
    assert "add --yes" in terminal.refused("checkpoints", "crab", "rm", str(number))
    assert terminal.hermit("checkpoints", "crab", "rm", str(number), "--yes") == f"Point {number} is deleted.\n"
    assert "name" in terminal.refused("checkpoints", "crab", "create", "a\nb\x00")
