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

from tests.real_house import ProcessHouse, RealHouse, Talker, eventually, process_house
from tests.small_disks import mounted

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
def test_a_full_workspace_is_stopped_and_cleaned_up(house: RealHouse, command: str) -> None:
    """The turn fails with what is largest and what to do; the container stands still; the agent may delete, and then
    everything goes on."""
    agent = house.agent(limits={"disk_mb": 32})
    turn = agent.ask(house.plays.commands(command))
    assert turn["status"] == "failed"
    assert "workspace is full" in turn["error"]
    assert "work/" in turn["error"]
    assert f"./hermit agent set {agent.name} limits.disk_mb=64" in turn["error"]
    assert eventually(lambda: house.client.containers.get(agent.container).status == "exited")
    full = taken(agent.work)
    assert full < 200 * MB
    assert disk_of(agent)["used_bytes"] >= 32 * MB
    again = agent.ask(house.plays.commands("rm -r pile-* d*; echo cleaned", reply="Tidy again."))
    assert again["reply"] == "Tidy again."
    assert any("your workspace is FULL" in str(request.json["messages"]) for request in house.model.requests)
    assert eventually(lambda: disk_of(agent)["used_bytes"] < 4 * MB)
    assert agent.ask(house.plays.commands("head -c 20000000 /dev/zero > fine", reply="Goes on."))["reply"] == "Goes on."
    kinds = [row["kind"] for row in house.api.get("/audit", agent=agent.name)["rows"]]
    assert kinds.count("disk.full") == 1


def test_nobody_else_is_hurt(house: RealHouse) -> None:
    """Another agent works on while one fills its workspace and is stopped."""
    bad, good = house.agent(limits={"disk_mb": 32}), house.agent(limits={"disk_mb": 32})
    going = good.send(
        house.plays.commands("for i in $(seq 60); do echo $i >> counted; sleep 0.05; done", reply="Counted.")
    )
    assert "workspace is full" in bad.ask(house.plays.commands(WRITE_FOREVER))["error"]
    assert good.ended(going)["reply"] == "Counted."
    assert (good.work / "counted").read_text().splitlines()[-1] == "60"


def test_it_is_stopped_without_a_turn_too(house: RealHouse) -> None:
    """What a command left running in the background; the next turn is told."""
    agent = house.agent(limits={"disk_mb": 32})
    agent.ask(house.plays.commands(f"({WRITE_FOREVER}) > /dev/null 2>&1 &", reply="Started."))
    assert eventually(lambda: house.client.containers.get(agent.container).status == "exited")
    assert eventually(lambda: house.api.get("/audit", agent=agent.name, kind="disk.full")["rows"])
    assert taken(agent.work) < 200 * MB


def test_near_the_limit_everybody_is_told(house: RealHouse) -> None:
    """The API's figures, the audit log, and the agent in its next turn; the turn itself goes on."""
    agent = house.agent(limits={"disk_mb": 32})
    agent.ask(house.plays.commands("head -c 28000000 /dev/zero > big", reply="Written."))
    rows = eventually(lambda: house.api.get("/audit", agent=agent.name, kind="disk.warning")["rows"])
    assert "of 32 MB" in rows[0]["text"]
    disk = eventually(lambda: disk_of(agent) if disk_of(agent)["level"] == "nearly full" else None)
    assert disk["limit_bytes"] == 32 * MB
    assert 0 < disk["inodes"] < disk["inode_limit"]
    assert agent.ask("And now?")["status"] == "done"
    assert "nearly full" in str(house.model.requests[-1].json["messages"][-1])


# --- the host's own disk ---------------------------------------------------------------------------------------


@pytest.fixture
def cramped(tmp_path: Path, client: docker.DockerClient, image: str) -> Iterator[ProcessHouse]:
    """A house on a disk of 64 MiB."""
    with mounted(tmp_path, "size=64m") as disk, process_house(disk / "home", client) as house:
        yield house


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
def test_the_host_keeps_its_reserve(cramped: ProcessHouse, command: str) -> None:
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
