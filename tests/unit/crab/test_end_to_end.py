"""A crab as the image starts it, against a scripted door: whole turns, with real commands, restarts and approvals."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_door import FakeDoor, serve_crab


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


def test_a_command_sees_three_descriptors(door: FakeDoor, crab: object) -> None:
    """Nothing of the crab's own is open in a command: not the door, not a pipe."""
    door.answers = [say(terminal="ls /proc/self/fd | wc -l; pwd"), say(message="ok")]
    assert door.wait_finished(door.turn())["status"] == "done"
    (end,) = door.bodies("/steps", "end")
    assert end["output"].split()[0] == "4"  # 0, 1, 2 and the folder that ls reads
    assert end["output"].split()[1].endswith("/work")


def test_the_host_restarts_in_a_turn(door: FakeDoor, workspace: Path, crab: object) -> None:
    """A host that goes away while a command runs finds the turn where it was; the command runs once."""
    door.answers = [say(terminal="echo x >> ran; touch begun; sleep 0.3"), say(message="ok")]
    turn = door.turn()
    begun = workspace / "work" / "begun"
    with door.changed:
        assert door.changed.wait_for(lambda: any(name.endswith("/steps") for name, _ in door.calls), 20)
    while not begun.exists():
        time.sleep(0.01)
    door.shut()
    time.sleep(0.1)
    door.open()
    assert door.wait_finished(turn)["message"] == "ok"
    assert (workspace / "work" / "ran").read_text() == "x\n"


def test_the_host_restarts_while_a_person_thinks(door: FakeDoor, workspace: Path, crab: object) -> None:
    """A question outlives the host that asked it."""
    door.rule = lambda _: ("ask", "why")
    asked: list[dict[str, object]] = []
    door.decide = asked.append
    door.answers = [say(terminal="echo x >> ran"), say(message="ok")]
    turn = door.turn()
    with door.changed:
        assert door.changed.wait_for(lambda: any(name == "approvals" for name, _ in door.calls), 20)
    door.shut()
    door.open()
    door.approve(str(asked[0]["id"]))
    door.write_lock("approval", asked[0]["id"], asked[0] | {"status": "approved"})
    assert door.wait_finished(turn)["message"] == "ok"
    assert (workspace / "work" / "ran").read_text() == "x\n"


def test_many_turns_leave_nothing_behind(door: FakeDoor, crab: subprocess.Popen[bytes]) -> None:
    """Turn after turn the crab keeps its size and its descriptors."""

    def size() -> tuple[int, int]:
        folder = Path(f"/proc/{crab.pid}")
        return int((folder / "statm").read_text().split()[1]) * 4, len(list((folder / "fd").iterdir()))

    sizes = []
    for _ in range(60):
        door.answers = [say(terminal="echo hi; exit 1"), say(terminal="seq 20000"), say(message="ok")]
        assert door.wait_finished(door.turn())["status"] == "done"
        sizes.append(size())
    assert sizes[-1][1] == sizes[5][1]
    assert sizes[-1][0] - sizes[5][0] < 512
    assert door.connections == 2  # the loop's and the tunnel listener's


@pytest.mark.parametrize("python", sorted({sys.executable, "/usr/bin/python3"}))
def test_the_crab_is_light(tmp_path: Path, python: str) -> None:
    """Its imports stay few: each heavy module would cost every cubicle its start and its memory."""
    root = Path(__file__).resolve().parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); import crab.agent; print(*sorted(sys.modules))"
    command = [python, "-I", "-S", "-B", "-c", f"{code}; print(open('/proc/self/statm').read().split()[1])"]
    *_, names, pages = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    heavy = {
        "ssl",
        "http",
        "http.client",
        "urllib",
        "asyncio",
        "subprocess",
        "inspect",
        "dataclasses",
        "typing",
        "logging",
    }
    heavy |= {"threading", "pathlib", "contextlib", "datetime", "_hashlib", "hashlib", "tempfile", "shutil", "email"}
    assert heavy.isdisjoint(names.split())
    assert {name for name in names.split() if name.startswith("orchestrator")} == set()
    if python == "/usr/bin/python3":
        assert int(pages) * 4 < 12 * 1024
