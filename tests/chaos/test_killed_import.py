"""A process that imports agents is killed at random moments, again and again: after the next start each agent is there
whole, with every memory, schedule and file once, or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from orchestrator.core.models import CubicleKey
from orchestrator.files.uploads import PREFIX
from tests.support.app_fixture import run_app

ROOT = Path(__file__).resolve().parents[2]
KILLS = 8
LATEST_S = 0.25
WHOLE = (8, 2, 5)
"""Memories, schedules and files of each."""


def test_an_import_is_all_or_nothing(tmp_path: Path) -> None:
    """Also its files, which come after the rest."""
    chance = random.Random(11)  # noqa: S311 - no secret
    with run_app(tmp_path, crabs=False):
        pass
    for _ in range(KILLS):
        victim = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.import_victim", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert victim.stdout is not None
        for _ in range(chance.randrange(1, 4)):
            assert victim.stdout.read(1) == b"."
        time.sleep(chance.random() * LATEST_S)
        victim.kill()
        victim.wait(10)
        victim.stdout.close()
    with run_app(tmp_path, crabs=False) as install:
        services = install.services
        names = [agent.name for agent in services.agents.list_agents() if agent.name.startswith("agent-")]
        assert len(names) >= KILLS
        for name in names:
            inbox = tmp_path / "workspaces" / name / "1" / "in"
            found = (
                len(services.memories.list_facts(CubicleKey(name, 1), limit=100)),
                len(services.calendar.list_entries(name, 1)),
                len([path for path in inbox.iterdir() if not path.name.startswith(PREFIX)]),
            )
            assert found == WHOLE, name
