"""A workspace at its limit, and a host whose disk fills up: stopped within seconds, said clearly, and there is a way
out. Real cubicles write real files here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real_house import RealHouse, Talker, eventually

pytestmark = pytest.mark.docker

MB = 1 << 20
WRITE_FOREVER = "i=0; while :; do head -c 1000000 /dev/zero > pile-$i || exit; i=$((i+1)); sleep 0.01; done"
SMALL_FILES_FOREVER = "i=0; while :; do mkdir d$i; for j in $(seq 200); do echo x > d$i/$j; done; i=$((i+1)); done"


def disk_of(agent: Talker) -> dict[str, int]:
    """What the API says of its disk."""
    found: dict[str, int] = agent.api.get(f"/agents/{agent.name}/cubicle")["disk"]
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
