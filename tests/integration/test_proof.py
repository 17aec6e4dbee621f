"""The ways out, tried in a real cubicle, where all are held; and by the same program in a container without our walls,
where each of them works. So what is held is held by a wall.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from orchestrator.core.models import CubicleLimits
from orchestrator.operations.proof.attempts import ATTEMPTS, BY_ID, DONE
from orchestrator.operations.proof.proofs import INSIDE
from orchestrator.operations.proof.reading import Heard, WallVerdict, judge, read_words
from orchestrator.operations.proof.watch import EscapeWatch, find_address
from tests.support.real_app import RealApp, eventually

pytestmark = pytest.mark.docker

ENGINE_SOCKET = "/var/run/docker.sock"
KEY = "sk-of-a-real-provider-0123456789"
PLACES = """
import fcntl, os, socket, struct, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    for number, address in enumerate(("1.1.1.1", "9.9.9.9", "169.254.169.254", "192.0.2.1")):
        for what, value in ((0x8916, address), (0x891C, "255.255.255.255")):
            name, number4 = b"lo:%d" % number, socket.inet_aton(value)
            fcntl.ioctl(probe, what, struct.pack("16sH2s4s8s", name, socket.AF_INET, bytes(2), number4, bytes(8)))
ears = [socket.create_server(("", port)) for port in (443, 80, 2375)]
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("", 53))
open("/etc/hosts", "a").write("192.0.2.1 example.com\\n")
folder = "/run/podman"
for path in ("/run/podman/podman.sock", "/run/containerd/containerd.sock"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ears.append(socket.socket(socket.AF_UNIX))
    ears[-1].bind(path)
    ears[-1].listen()
print("ready", flush=True)
time.sleep(600)
"""
"""The internet as this test has it: the addresses that are tried belong to the container itself, so nothing leaves it,
and beside Docker's socket, which is mounted, it has those of other engines."""


def _proof_of(install: RealApp, agent: str) -> dict[str, Any]:
    now: dict[str, Any] = install.api.get(f"/agents/{agent}/proof")
    return now if now["stage"] not in ("running", "none") else {}


def test_all_twelve_are_held_in_a_real_cubicle(install: RealApp) -> None:
    """While another agent has a conversation; what is left behind is nothing."""
    other, agent = install.agent(), install.agent(limits={"disk_mb": 256})
    other.ask("Hello.")
    agent.wake()
    started = install.api.post(f"/agents/{agent.name}/proof")
    assert started["stage"] == "running"
    found = eventually(lambda: _proof_of(install, agent.name))
    assert [(one["id"], one["verdict"]) for one in found["attempts"]] == [(one.id, "held") for one in ATTEMPTS], found
    assert (found["held"], found["of"], found["stage"]) == (12, 12, "done")
    assert found["attempts"][-2]["answers"]["other"] == "refused"
    assert not (install.home / "proof").exists()
    assert not any("proof" in path.name for path in install.home.glob("workspaces/**/*"))
    assert install.inside(agent, "sh", "-c", "ls -A /tmp").strip() == ""
    assert agent.ask("Still there?")["status"] == "done"
    kinds = [row["kind"] for row in install.api.get("/audit", agent=agent.name)["rows"]]
    assert {"proof.begun", "proof.ended"} <= set(kinds)


def _powers() -> list[str]:
    """What this machine itself has of the powers that a container is usually denied."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    held = int(status.partition("CapBnd:")[2].split()[0], 16)
    return [name for name, bit in (("SYS_MODULE", 16), ("SYS_ADMIN", 21), ("NET_ADMIN", 12)) if held >> bit & 1]


@pytest.fixture(scope="module")
def open_container(client: docker.DockerClient, image: str) -> Iterator[Container]:
    """A container without our walls: root, every capability, the host's processes and files, the engine's socket, and
    a network; its own internet (see above)."""
    api = client.api
    walls = api.create_host_config(
        cap_add=_powers(),
        security_opt=["seccomp=unconfined"],
        pid_mode="host",
        network_mode="bridge",
        binds={"/": {"bind": "/host", "mode": "ro"}, ENGINE_SOCKET: {"bind": ENGINE_SOCKET, "mode": "rw"}},
    )
    walls |= {"MaskedPaths": [], "ReadonlyPaths": []}
    made = api.create_container(
        image,
        ["python3", "-c", PLACES],
        user="0:0",
        environment={"SOME_API_KEY": KEY},
        labels={"hermitshell.test": str(os.getpid())},
        host_config=walls,
    )
    made = client.containers.get(made["Id"])
    made.start()
    try:
        eventually(lambda: b"ready" in made.logs())
        yield made
    finally:
        made.remove(force=True)


@pytest.fixture(scope="module")
def tried(open_container: Container, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Heard, bool | None]]:
    """What the same program says there, and what the host knows of it."""
    home = tmp_path_factory.mktemp("home")
    (home / "run" / "another").mkdir(parents=True)
    found = {}
    with EscapeWatch(home / "proof", [KEY], doors=home / "run", address=find_address()) as watch:
        given = watch.given(CubicleLimits(pids=64, disk_mb=16), other=None)
        for attempt in ATTEMPTS:
            command = ["python3", "-I", "-S", "-c", INSIDE.read_text("utf-8"), attempt.id, json.dumps(given)]
            code, output = open_container.exec_run(command)
            assert code == 0, output
            heard = read_words(bytes(output), attempt)  # type: ignore[arg-type]  # bytes, as it is not streamed
            assert heard is not None, output
            has_come = watch.has_come(attempt.id, heard.brought) if attempt.is_watched else None
            found[attempt.id] = (heard, has_come)
    return found


ONLY_ELSEWHERE = {
    "internet": {"ipv6"},  # nobody here has IPv6
    "machine": {"loopback", "gateway"},  # a container's loopback is its own; the host listens at its own address
    "files": {"path", "root", "disks"},  # the host's root is mounted elsewhere, and no disk is handed in
    "root": {"programs"},  # the image has no set-uid program
    "kernel": {"driver", "trigger"},  # this kernel may have been built without
    "door": {"dashboard", "settings", "other"},  # there is no door here; see below
}
"""What even this container can't do."""


@pytest.mark.parametrize("name", [attempt.id for attempt in ATTEMPTS])
def test_each_way_out_is_one_where_there_is_no_wall(name: str, tried: dict[str, tuple[Heard, bool | None]]) -> None:
    """The same program gets through, try by try, and the verdict says so."""
    heard, has_come = tried[name]
    assert judge(BY_ID[name], heard, has_come=has_come).verdict is WallVerdict.NOT_HELD, heard
    assert has_come is (True if BY_ID[name].is_watched else None)
    expected = set(BY_ID[name].tries) - ONLY_ELSEWHERE.get(name, set())
    assert {one for one, answer in heard.answers.items() if answer == DONE} >= expected, heard


def test_the_door_answers_whom_it_belongs_to(install: RealApp) -> None:
    """What is refused to another agent is answered to the one whose turn it is: by the same program."""
    agent = install.agent()
    turn = agent.ask("Hello.")["id"]
    given = json.dumps({"other": turn, "doors": "/nowhere"})
    said = install.inside(agent, "python3", "-I", "-S", "-c", INSIDE.read_text("utf-8"), "door", given)
    assert json.loads(said)["answers"]["other"] == DONE
