"""Deleting works whatever an agent made: trees that are made from inside a real cubicle, then deleted over the API; and
a deletion that is killed on the way is finished at the next start."""

from __future__ import annotations

import threading
from pathlib import Path

import docker
import pytest
import requests

from tests.support.real_app import AppProcess, RealApp, Talker, eventually

pytestmark = pytest.mark.docker

DEEP = """
import os
for _ in range(5_000):
    os.mkdir("d")
    os.chdir("d")
    open("f", "w").close()
"""
WIDE = """
import os
for folder in range(12):
    os.mkdir(f"w{folder}")
    for file in range(500):
        open(f"w{folder}/{file}", "w").close()
"""
SEALED = """
import os
os.makedirs("a/b/c")
for path in ("a/b/c/f", "a/b/f", "a/f"):
    open(path, "w").close()
    os.chmod(path, 0)
for path in ("a/b/c", "a/b", "a"):
    os.chmod(path, 0)
"""
ODD_NAMES = """
import os
names = [b"new\\nline", b"\\xff\\xfe", b"x" * 255, b"-rf", b" ", b"..." , b"\\x01\\x1b[31m", b"*"]
names += [b"\\xe2\\x80\\xae", b"$(id)", b"a\\\\b"]
for name in names:
    os.mkdir(name)
    open(os.path.join(name, name), "w").close()
    os.symlink("/etc", os.path.join(name, b"link"))
os.mkfifo("pipe")
os.link("pipe", "pipe2")
import socket
socket.socket(socket.AF_UNIX).bind("socket")
"""
IMMUTABLE = """
import fcntl, os, struct
fd = os.open("stays", os.O_CREAT | os.O_RDONLY)
try:
    fcntl.ioctl(fd, 0x40086602, struct.pack("l", 0x10))
    raise SystemExit("it became immutable")
except PermissionError:
    pass
open("open", "w").write("x")
os.chmod("open", 0o7777)
"""
LOOP = """
import os
os.makedirs("l/m")
os.symlink("..", "l/m/up")
os.symlink("l", "self")
os.symlink("/proc/self/root", "root")
os.symlink("nowhere", "dangling")
"""
TREES = {"deep": DEEP, "wide": WIDE, "sealed": SEALED, "odd": ODD_NAMES, "immutable": IMMUTABLE, "loop": LOOP}


def make_all(install: RealApp, agent: Talker, *trees: str) -> None:
    """The agent makes these trees in each of its folders."""
    commands = [
        f"mkdir -p ../{folder}/{name} && cd ../{folder}/{name} && python3 - <<'EOF'\n{TREES[name]}\nEOF"
        for folder in ("work", "out", "www")
        for name in trees
    ]
    turn = agent.ask(install.plays.commands(*commands), timeout=120)
    assert [(step["exit_code"], step["output"]) for step in turn["steps"]] == [(0, "")] * len(commands)


def left_of(home: Path, agent: Talker) -> list[Path]:
    """Folders that carry its name."""
    return [path for path in (home / "workspaces" / agent.name, home / "run" / agent.name) if path.exists()]


@pytest.mark.parametrize("tree", TREES)
def test_an_agent_goes_whatever_it_made(install: RealApp, tree: str) -> None:
    """Its container too, while what it started still runs."""
    agent = install.agent()
    make_all(install, agent, tree)
    agent.ask(install.plays.commands("sleep 1000 > /dev/null 2>&1 &"))
    assert install.api.call("DELETE", f"/agents/{agent.name}").status_code == 204
    assert left_of(install.home, agent) == []
    assert not install.client.containers.list(all=True, filters={"name": agent.container})
    assert install.api.call("GET", f"/agents/{agent.name}").status_code == 404


def test_an_agent_goes_while_it_makes_more(install: RealApp) -> None:
    """Its running command ends with it."""
    agent = install.agent()
    turn = agent.send(install.plays.commands("while :; do mkdir -p $RANDOM/$RANDOM; echo x > $RANDOM; done"))
    agent.running(turn)
    assert install.api.call("DELETE", f"/agents/{agent.name}").status_code == 204
    assert left_of(install.home, agent) == []


def test_a_person_goes_with_all_their_workspaces(install: RealApp) -> None:
    """Of every agent; what others have with the same agents stays."""
    agent = install.agent()
    person = install.api.post("/users", {"name": "leaver"})["id"]
    agent.ask(install.plays.commands("echo stays > kept"))
    theirs = install.home / "workspaces" / agent.name / str(person)
    asked = install.plays.commands(
        *(f"mkdir {name} && cd {name} && python3 - <<'EOF'\n{TREES[name]}\nEOF" for name in TREES)
    )
    sent = install.api.call(
        "POST",
        f"/agents/{agent.name}/messages",
        params={"user": person},
        json={"text": asked, "wait": True, "timeout": 120},
    ).json()
    assert sent["status"] == "done"
    assert theirs.exists()
    assert install.api.call("DELETE", f"/users/{person}").status_code == 204
    assert not theirs.exists()
    assert (agent.work / "kept").read_text() == "stays\n"


def test_a_killed_deletion_is_finished_at_the_next_start(process: AppProcess, client: docker.DockerClient) -> None:
    """The agent is gone, not half gone."""
    agent = process.agent()
    wide = WIDE.replace("range(12)", "range(80)")
    agent.ask(process.plays.commands(f"python3 - <<'EOF'\n{wide}\nEOF"), timeout=120)
    deleting = threading.Thread(target=_delete, args=(process, agent))
    deleting.start()
    eventually(lambda: list(agent.work.parent.glob(".removing-*")))
    process.kill()
    deleting.join(30)
    assert left_of(process.home, agent)
    process.start()
    assert left_of(process.home, agent) == []
    assert process.api.call("GET", f"/agents/{agent.name}").status_code == 404
    assert not client.containers.list(all=True, filters={"name": agent.container})


def _delete(process: AppProcess, agent: Talker) -> None:
    with pytest.raises(requests.ConnectionError):
        process.api.call("DELETE", f"/agents/{agent.name}")
