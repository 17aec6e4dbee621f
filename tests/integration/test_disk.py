"""A workspace at its limit, and a host whose disk fills up: stopped within seconds, said clearly, and there is a way
out. Real cubicles write real files here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.support.real_app import AppProcess, RealApp, Talker, eventually, process_install, run_inside
from tests.support.small_disks import mounted

pytestmark = pytest.mark.docker

MB = 1 << 20
WRITE_FOREVER = "i=0; while :; do head -c 1000000 /dev/zero > pile-$i || exit; i=$((i+1)); sleep 0.01; done"
SMALL_FILES_FOREVER = "i=0; while :; do mkdir d$i; for j in $(seq 200); do echo x > d$i/$j; done; i=$((i+1)); done"


def disk_of(agent: Talker) -> dict[str, Any]:
    """What the API says of its disk."""
    found: dict[str, Any] = agent.api.get(f"/agents/{agent.name}/cubicle")["disk"]
    return found


def taken(folder: Path) -> int:
    """Bytes on the disk, by another program's count."""
    return int(subprocess.run(["/usr/bin/du", "-s", "-B1", folder], capture_output=True, check=True).stdout.split()[0])


@pytest.mark.parametrize("command", [WRITE_FOREVER, SMALL_FILES_FOREVER], ids=["large", "small"])
def test_a_full_workspace_is_stopped_and_cleaned_up(install: RealApp, command: str) -> None:
    """The turn fails with what is largest and what to do; the container stands still; the agent may delete, and then
    everything goes on."""
    agent = install.agent(limits={"disk_mb": 32})
    turn = agent.ask(install.plays.commands(command))
    assert turn["status"] == "failed"
    assert "workspace is full" in turn["error"]
    assert "work/" in turn["error"]
    assert f"./hermit agent set {agent.name} limits.disk_mb=64" in turn["error"]
    assert eventually(lambda: install.client.containers.get(agent.container).status == "exited")
    full = taken(agent.work)
    assert full < 200 * MB
    assert disk_of(agent)["used_bytes"] >= 32 * MB
    again = agent.ask(install.plays.commands("rm -r pile-* d*; echo cleaned", reply="Tidy again."))
    assert again["reply"] == "Tidy again."
    assert any("your workspace is FULL" in str(request.json["messages"]) for request in install.model.requests)
    assert eventually(lambda: disk_of(agent)["used_bytes"] < 4 * MB)
    assert (
        agent.ask(install.plays.commands("head -c 20000000 /dev/zero > fine", reply="Goes on."))["reply"] == "Goes on."
    )
    kinds = [row["kind"] for row in install.api.get("/audit", agent=agent.name)["rows"]]
    assert kinds.count("disk.full") == 1


WAYS = {
    "sparse files, mapped and touched": """
for n in range(512):
    with open(f"mapped-{n}", "w+b") as file:
        os.ftruncate(file.fileno(), 32 * MB)
        with mmap.mmap(file.fileno(), 32 * MB) as pages:
            for at in range(0, 32 * MB, 4096):
                pages[at] = 1""",
    "copies within the kernel": """
with open("seed", "w+b") as seed:
    seed.write(os.urandom(8 * MB))
    seed.flush()
    for n in range(2048):
        with open(f"copy-{n}", "wb") as copy:
            os.copy_file_range(seed.fileno(), copy.fileno(), 8 * MB, 0)""",
    "sendfile": """
with open("seed", "w+b") as seed:
    seed.write(os.urandom(8 * MB))
    seed.flush()
    for n in range(2048):
        with open(f"copy-{n}", "wb") as copy:
            os.sendfile(copy.fileno(), seed.fileno(), 0, 8 * MB)""",
    "room asked for, block by block": """
for n in range(512):
    with open(f"asked-{n}", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 32 * MB)""",
    "scattered writes of four at once": """
for child in range(3):
    if os.fork() == 0:
        break
else:
    child = 3
for n in range(256):
    with open(f"scattered-{child}-{n}", "wb") as file:
        for at in range(0, 32 * MB, 8192):
            os.pwrite(file.fileno(), b"x", at)""",
}
"""Each asks for 16 GB as fast as it can, in files that are smaller than the limit of one."""


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_taking_room_gets_far(install: RealApp, way: str) -> None:
    """Whatever calls a program uses, it is stopped long before it has what it asked for."""
    agent = install.agent(limits={"disk_mb": 64})
    program = f"import mmap, os\nMB = 1 << 20\n{WAYS[way]}\n"
    turn = agent.ask(install.plays.commands(f"cat > fill.py <<'END'\n{program}END\npython3 fill.py"))
    assert turn["status"] == "failed", install.api.get(f"/turns/{turn['turn']}")["steps"]
    assert "workspace is full" in turn["error"]
    assert eventually(lambda: install.client.containers.get(agent.container).status == "exited")
    assert taken(agent.work) < 1500 * MB


def test_room_is_not_taken_in_one_call(install: RealApp) -> None:
    """The kernel would reserve gigabytes in a moment. It answers as a file system that can't, so that programs write
    instead; giving room back works."""
    agent = install.agent(limits={"disk_mb": 64})
    agent.ask("hello")
    script = """
touch big-n big-z big-i
for mode in -n -z -i; do fallocate $mode -l 4G big$mode; done
fallocate -l 4G big
head -c 8M /dev/urandom > full
fallocate -p -l 8M full && du -m full
python3 -c "import os; os.posix_fallocate(os.open('small', os.O_CREAT | os.O_WRONLY), 0, 1 << 20)" && echo fits
"""
    ran = run_inside(install.client, agent, "bash", "-c", script, folder="/app/workspace/work")
    said = ran.out + ran.err
    assert said.count("supported") == 4, said
    assert "fits" in said
    assert taken(agent.work) < 16 * MB


def test_nobody_else_is_hurt(install: RealApp) -> None:
    """Another agent works on while one fills its workspace and is stopped."""
    bad, good = install.agent(limits={"disk_mb": 32}), install.agent(limits={"disk_mb": 32})
    going = good.send(
        install.plays.commands("for i in $(seq 60); do echo $i >> counted; sleep 0.05; done", reply="Counted.")
    )
    assert "workspace is full" in bad.ask(install.plays.commands(WRITE_FOREVER))["error"]
    assert good.ended(going)["reply"] == "Counted."
    assert (good.work / "counted").read_text().splitlines()[-1] == "60"


def test_it_is_stopped_without_a_turn_too(install: RealApp) -> None:
    """What a command left running in the background; the next turn is told."""
    agent = install.agent(limits={"disk_mb": 32})
    agent.ask(install.plays.commands(f"({WRITE_FOREVER}) > /dev/null 2>&1 &", reply="Started."))
    assert eventually(lambda: install.client.containers.get(agent.container).status == "exited")
    assert eventually(lambda: install.api.get("/audit", agent=agent.name, kind="disk.full")["rows"])
    assert taken(agent.work) < 200 * MB


def test_near_the_limit_everybody_is_told(install: RealApp) -> None:
    """The API's figures, the audit log, and the agent in its next turn; the turn itself goes on."""
    agent = install.agent(limits={"disk_mb": 32})
    agent.ask(install.plays.commands("head -c 28000000 /dev/zero > big", reply="Written."))
    rows = eventually(lambda: install.api.get("/audit", agent=agent.name, kind="disk.warning")["rows"])
    assert "of 32 MB" in rows[0]["text"]
    disk = eventually(lambda: disk_of(agent) if disk_of(agent)["level"] == "nearly full" else None)
    assert disk["limit_bytes"] == 32 * MB
    assert 0 < disk["inodes"] < disk["inode_limit"]
    assert agent.ask("And now?")["status"] == "done"
    assert "nearly full" in str(install.model.requests[-1].json["messages"][-1])


# --- the host's own disk ---------------------------------------------------------------------------------------


@pytest.fixture
def cramped(tmp_path: Path, client: docker.DockerClient, image: str) -> Iterator[AppProcess]:
    """An install on a disk of 64 MiB."""
    with mounted(tmp_path, "size=64m") as disk, process_install(disk / "home", client) as install:
        yield install


WRITE_STEADILY = "i=0; while :; do head -c 300000 /dev/zero > pile-$i || exit; i=$((i+1)); sleep 0.03; done"
UNSEEN = """python3 - <<'EOF'
import os, time
kept = []
while True:
    file = open("unseen", "wb", buffering=0)
    os.unlink("unseen")
    kept.append(file)
    file.write(bytes(500_000))
    time.sleep(0.02)
EOF"""
"""Takes room that no walk through the workspace can find."""


@pytest.mark.parametrize("command", [WRITE_STEADILY, UNSEEN], ids=["files", "unlinked"])
def test_the_host_keeps_its_reserve(cramped: AppProcess, command: str) -> None:
    """Who writes is stopped before the disk is full, and told why; the outcome is written down, and when there is room
    again, work goes on."""
    agent = cramped.agent()
    turn = agent.ask(cramped.plays.commands(command))
    assert turn["status"] == "failed"
    assert "disk of the machine" in turn["error"]
    if command == WRITE_STEADILY:
        refused = cramped.api.call("POST", f"/agents/{agent.name}/messages", json={"text": "more"})
        assert (refused.status_code, "kept in reserve" in refused.json()["error"]["message"]) == (503, True)
        for pile in agent.work.glob("pile-*"):
            pile.unlink()
    eventually(lambda: os.statvfs(cramped.home).f_bavail * 4096 > 20 * MB)
    assert agent.ask("hello")["status"] == "done"
    assert cramped.api.get("/audit", kind="disk.host_full")["rows"]
