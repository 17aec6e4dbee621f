"""Undo with real cubicles: what commands did to files goes back byte by byte while the cubicle stands still, the agent
is told, and a death of the orchestrator in the middle leaves nothing half done.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_app import AppProcess, RealApp, Talker, eventually

pytestmark = pytest.mark.docker


def tree(top: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below, but for the agent's own log: what it is, its permissions, its content or where it leads."""
    found = {}
    for path in sorted(top.rglob("*")):
        facts = path.lstat()
        if path.name.startswith(".hermit"):
            continue
        if path.is_symlink():
            found[str(path.relative_to(top))] = ("link", 0, bytes(path.readlink()))
        elif path.is_dir():
            found[str(path.relative_to(top))] = ("folder", facts.st_mode & 0o7777, b"")
        elif path.is_file():
            found[str(path.relative_to(top))] = ("file", facts.st_mode & 0o7777, path.read_bytes())
    return found


def undo(agent: Talker, turn: int, **body: object) -> dict[str, Any]:
    """The turn is taken back."""
    done: dict[str, Any] = agent.api.post(f"/turns/{turn}/undo", body)
    return done


def worked(agent: Talker, text: str) -> int:
    """A message whose commands have run, once the point after it is taken; its number."""
    # What the agent is told of an undo has the first words of the message, which must not begin the play again.
    turn = int(agent.ask(f"Do all of this, one after the other and in the order in which it stands here. {text}")["id"])
    eventually(lambda: agent.api.get(f"/turns/{turn}/undo")["total"] > 0)
    return turn


def is_told(install: RealApp | AppProcess) -> bool:
    """The model was told in its last turn that something was taken back."""
    return "took back what you did" in json.dumps([request.json for request in install.model.requests[-2:]])


MAKE = (
    "mkdir -p src/deep && echo one > src/a.txt && echo two > src/deep/b.txt && chmod 640 src/a.txt",
    "ln -s ../a.txt src/deep/link && mkdir empty && mkdir -p repo/.git/hooks && echo x > repo/.git/config",
)
WRECK = (
    "rm -rf src && mkdir src && echo new > src/a.txt && chmod 755 src/a.txt",
    "rmdir empty && echo file > empty && rm -rf repo && ln -s /etc/passwd leak",
    "mkfifo pipe; head -c 300000 /dev/urandom > big",
)


def test_what_commands_did_goes_back(install: RealApp) -> None:
    """Modes, links, empty folders, a repository; and it can be done again, and the agent is told once."""
    agent = install.agent()
    worked(agent, install.plays.commands(*MAKE))
    before = tree(agent.work)
    assert "src/deep/link" in before
    turn = worked(agent, install.plays.commands(*WRECK))
    wrecked = {name: what for name, what in tree(agent.work).items() if name != "pipe"}
    plan = agent.api.get(f"/turns/{turn}/undo")
    assert plan["conflicts"] == []
    done = undo(agent, turn)
    assert done["files"]["left"] == []
    assert {name: what for name, what in tree(agent.work).items() if name != "pipe"} == before
    assert Path("/etc/passwd").read_text(encoding="utf-8").startswith("root:")
    agent.api.post(f"/agents/{agent.name}/checkpoints/{done['files']['before']}/restore", {})
    assert {name: what for name, what in tree(agent.work).items() if name != "pipe"} == wrecked
    agent.ask(install.plays.commands("true"))
    assert is_told(install)


def test_the_cubicle_stands_still_meanwhile(install: RealApp) -> None:
    """A program that writes all the time writes nothing while files go back, and goes on afterwards."""
    agent = install.agent()
    ticking = "nohup sh -c 'n=0; while true; do n=$((n+1)); echo $n > /app/workspace/work/tick; done' >/dev/null 2>&1 &"
    worked(agent, install.plays.commands("mkdir many && for n in $(seq 1 400); do echo $n > many/$n; done", ticking))
    turn = worked(agent, install.plays.commands("for n in $(seq 1 400); do echo changed > many/$n; done"))
    seen: list[bytes] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            paused = install.client.api.inspect_container(agent.container)["State"]["Paused"]
            if paused:
                seen.append((agent.work / "tick").read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    undo(agent, turn, including=["work/tick"])
    is_over.set()
    watcher.join()
    assert {path.read_text() for path in (agent.work / "many").iterdir()} == {f"{n}\n" for n in range(1, 401)}
    tick = (agent.work / "tick").read_text()
    eventually(lambda: (agent.work / "tick").read_text() not in ("", tick))
    assert not install.client.api.inspect_container(agent.container)["State"]["Paused"]


def test_killed_while_files_go_back(process: AppProcess) -> None:
    """After the restart all of them are as before, the cubicle goes on, and the agent is told."""
    agent = process.agent()
    count = 1_500
    fill = f"mkdir many; for n in $(seq 1 {count}); do echo $n > many/$n; done"
    worked(agent, process.plays.commands(fill))
    turn = worked(agent, process.plays.commands(f"for n in $(seq 1 {count}); do echo changed $n > many/$n; done"))

    def is_under_way() -> bool:
        done = sum((agent.work / f"many/{n}").read_text() == f"{n}\n" for n in range(1, count + 1, 50))
        return done > 0

    asking = threading.Thread(target=lambda: _ignore_lost(lambda: undo(agent, turn)))
    asking.start()
    eventually(is_under_way)
    process.kill()
    asking.join()
    process.start()
    assert agent.api.get(f"/turns/{turn}/undo")["undone_at"] is not None
    assert turn not in [each["id"] for each in agent.api.get(f"/agents/{agent.name}/history")["turns"]]
    expected = {str(n): f"{n}\n" for n in range(1, count + 1)}
    assert {path.name: path.read_text() for path in (agent.work / "many").iterdir()} == expected
    assert agent.ask(process.plays.commands("cat many/7", reply="Yes."))["steps"][0]["output"] == "7\n"
    assert is_told(process)


def _ignore_lost(call: Any) -> None:
    """The call's connection goes with the process."""
    try:
        call()
    except (AssertionError, OSError):
        return
