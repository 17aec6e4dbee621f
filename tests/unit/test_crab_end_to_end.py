"""A crab as the image starts it, against a scripted door: whole turns, with real commands, restarts and approvals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_door import FakeDoor, serve_crab


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The five folders of an agent."""
    for name in ("work", "in", "out", "www", "data"):
        (tmp_path / "ws" / name).mkdir(parents=True)
    return tmp_path / "ws"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[FakeDoor]:
    """A door that is open."""
    folder = tmp_path / "r"
    folder.mkdir()
    with FakeDoor(folder) as opened:
        yield opened


@pytest.fixture
def crab(door: FakeDoor, workspace: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A crab that runs."""
    with subprocess.Popen(serve_crab(door.folder, workspace, sys.executable), env={}) as process:
        yield process
        assert process.poll() is None, "the crab must outlive everything"
        process.terminate()


def say(**keys: object) -> str:
    """A model's answer."""
    return json.dumps(keys)


def test_a_turn_with_a_command_and_an_approval(door: FakeDoor, workspace: Path, crab: object) -> None:
    """The command runs once after the approval, its output reaches the model, the reply ends the turn."""
    door.rule = lambda command: ("ask", "It deletes files (rm).") if "rm" in command else ("run", "")
    door.answers = [
        say(message="I look.", terminal="echo hello > note; cat note"),
        say(message="I tidy up.", terminal="rm note; echo gone"),
        lambda body: say(message=f"Heard: {body['messages'][-1]['content']}"),
    ]
    ended = door.wait_finished(door.turn("tidy up"))
    assert ended["status"] == "done"
    assert ended["message"].endswith("Output:\ngone\n")
    assert not (workspace / "work" / "note").exists()
    first, second, again = door.bodies("/steps", "start")
    assert (first["n"], first["thought"], first["approval"]) == (1, "I look.", None)
    assert (second["n"], second["approval"]) == (2, None)
    assert again == second | {"approval": "A17x2"}
    assert [body["output"] for body in door.bodies("/steps", "end")] == ["hello\n", "gone\n"]
    log = (workspace / "work" / ".hermit.log").read_text()
    assert [line.split(" ")[2] for line in log.splitlines()] == [
        *("turn", "thought", "command", "output", "exit"),
        *("thought", "command", "waiting", "approval", "output", "exit", "reply"),
    ]
