"""A backup of an install in the middle of its work, and the install that comes of it elsewhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.support.real_app import ROOT, AppProcess, Talker, eventually, process_install

pytestmark = pytest.mark.docker

MESSAGES = 200


def turns(home: Path, agent: str) -> list[tuple[int, str, str, str]]:
    """The history of an agent as the database has it."""
    with closing(sqlite3.connect(home / "db" / "hermit.db")) as db:
        found = db.execute("SELECT id, status, prompt, reply FROM turns WHERE agent = ? ORDER BY id", (agent,))
        return [tuple(row) for row in found]


def restore(install: AppProcess, archive: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """``./hermit restore`` into a home that is not there yet."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "orchestrator", "restore", str(archive)],
        env={**os.environ, **install.environment, "HERMIT_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def done(install: AppProcess, agents: list[Talker]) -> int:
    """How many messages were answered."""
    return sum(status == "done" for agent in agents for _, status, _, _ in turns(install.home, agent.name))


def delivered(agent: Talker) -> list[str]:
    """The names of what reached its person, once nothing more is on its way."""
    found = agent.api.get(f"/agents/{agent.name}/deliveries")
    return [] if found["settling"] else [one["file"] for one in found["deliveries"]]


def _busy(install: AppProcess) -> list[Talker]:
    """Two agents with a long queue of messages, each of which writes two files."""
    agents = [install.agent(), install.agent()]
    for agent in agents:
        random = "mkdir -p kept && head -c 3000000 /dev/urandom > kept/random && chmod 640 kept/*"
        agent.ask(install.plays.commands(f"{random} && echo hi > /app/workspace/out/report.txt"))
        eventually(lambda: delivered(agent))  # noqa: B023 - called at once
    for number in range(MESSAGES):
        is_last = number >= MESSAGES - len(agents)  # a slow backup still finds somebody at work
        command = f"echo {number} > file-{number}; echo {number} >> all" + ("; sleep 15" if is_last else "")
        agents[number % 2].send(install.plays.commands(command, reply=f"Reply {number}."))
    eventually(lambda: done(install, agents) >= 12, patience_s=120)
    return agents


def test_a_backup_of_a_busy_install_is_the_install_of_one_moment(
    tmp_path: Path, client: docker.DockerClient, image: str
) -> None:
    """It is made while messages are answered. Elsewhere it has their history up to one moment, every file that belongs
    to it, the same id; it answers what was waiting, and works on in the old files."""
    archive, other = tmp_path / "b.tgz", tmp_path / "elsewhere" / "home"
    with process_install(tmp_path / "home", client) as install:
        asking = install.agent(approval="all")
        question = asking.question(asking.send(install.plays.commands("echo asked")))
        agents = _busy(install)
        made = install.command("backup", str(archive))
        assert made.returncode == 0, made.stderr
        while_it_ran = done(install, agents)
        refused = install.command("restore", str(archive), "--force")
        assert refused.returncode == 1
        assert "./hermit down" in refused.stderr
        eventually(lambda: done(install, agents) == MESSAGES + 2, patience_s=300)
        install.terminate()
        restored = restore(install, archive, other)
        assert restored.returncode == 0, restored.stderr
        assert 12 < while_it_ran < MESSAGES + 2, "the house was not busy"
        for agent in agents:
            _is_one_moment(install.home, other, agent)
    with process_install(other, client) as again:
        assert again.install == install.install
        _goes_on(again, agents, question)


def _is_one_moment(home: Path, other: Path, agent: Talker) -> None:
    """What was answered then is answered alike, in order; what was not is waiting; the files are there."""
    whole, then = turns(home, agent.name), turns(other, agent.name)
    statuses = [status for _, status, _, _ in then]
    count = statuses.count("done")
    assert then[:count] == whole[:count]
    assert set(statuses[count + 1 :]) <= {"queued"}
    assert [row[0] for row in then] == [row[0] for row in whole[: len(then)]]
    old, new = (path / "workspaces" / agent.name / "1" / "work" for path in (home, other))
    for path in old.glob("kept/*"):
        there = new / path.relative_to(old)
        assert there.read_bytes() == path.read_bytes()
        assert [getattr(there.stat(), f"st_{what}") for what in ("mode", "uid", "gid", "mtime")] == [
            getattr(path.stat(), f"st_{what}") for what in ("mode", "uid", "gid", "mtime")
        ]
    written = [row[3].removeprefix("Reply ").removesuffix(".") for row in then[:count] if row[3].startswith("Reply")]
    assert [(new / f"file-{number}").read_text().strip() for number in written] == written
    assert (new / "all").read_text().split()[: len(written)] == written


def _goes_on(again: AppProcess, agents: list[Talker], question: dict[str, Any]) -> None:
    """The same history to its people, an answer to each message, and the agent's hands in its own files."""
    for before in agents:
        agent = Talker(again.api, before.name, 1, again.home, again.install)
        for number, *_ in turns(again.home, agent.name):
            assert agent.ended(number, patience_s=120)["status"] in ("done", "failed")
        ended = agent.ask(again.plays.commands("echo more >> all && echo new > kept/new && wc -c < kept/random"))
        assert ended["steps"][0]["output"] == "3000000\n"
        assert eventually(lambda: delivered(agent)) == ["report.txt"]  # noqa: B023 - called at once; not sent again
    status = again.api.get("/approvals")["approvals"]
    assert [one["status"] for one in status if one["id"] == question["id"]] in (
        [],
        ["pending"],
        ["expired"],
        ["cancelled"],
    )
    assert again.command("agent", "list").returncode == 0
