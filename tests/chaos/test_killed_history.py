"""A process that takes points of time or goes back is killed at random moments, again and again: the history opens,
every point that it still has is whole, and what was cut short can be finished."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.checkpoints.models import PointKind
from tests.chaos.history_victim import CAP_BYTES, DONE, FILES, digest, prepare
from tests.support.history_fixture import HistoryFixture, assert_sound

ROOT = Path(__file__).resolve().parents[2]
KILLS = 25
LATEST_S = 0.04


def kill_one(mode: str, base: Path, chance: random.Random, *, deeds: int) -> None:
    """A victim does some deeds, not more than so many, begins another one, and is gone."""
    command = [sys.executable, "-m", "tests.chaos.history_victim", mode, str(base)]
    victim = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, bufsize=0)
    assert victim.stdout is not None
    for _ in range(1 + chance.randrange(deeds)):
        assert victim.stdout.read(1) == DONE
    time.sleep(chance.random() * LATEST_S)
    victim.kill()
    victim.wait(10)
    victim.stdout.close()


def check_points(history: HistoryFixture) -> None:
    """Each is what its label says."""
    points = history.store.list_checkpoints(limit=10_000)
    assert points
    for point in points:
        if point.label:
            assert digest(history.kept(point.id)) == point.label


@pytest.mark.parametrize("seed", range(4))
def test_going_back_is_killed(tmp_path: Path, seed: int) -> None:
    """Each file is as before or as then, never half of it; finishing gives the whole of then."""
    chance, unfinished = random.Random(seed), 0  # noqa: S311 - no secret
    history = HistoryFixture(tmp_path)
    prepare(history)
    history.store.close()
    for _ in range(KILLS):
        kill_one("go back", tmp_path, chance, deeds=3)
        history.store = history.open()
        for number in range(FILES):
            content = (history.work / f"d{number % 7}" / f"f{number}").read_bytes()
            assert content in (f"old {number} ".encode() * 500, f"new {number} ".encode() * 900)
        pending = history.store.pending_restore
        if pending is not None:
            unfinished += 1
            assert not history.store.finish_restore().left
            assert history.store.pending_restore is None
            assert history.tree() == history.kept(pending.target)
        check_points(history)
        assert_sound(history.store)
        history.store.close()
    assert unfinished > KILLS // 5


@pytest.mark.parametrize("seed", range(2))
def test_taking_is_killed(tmp_path: Path, seed: int) -> None:
    """While bytes are written, old points go and files are rewritten; named points are never lost."""
    chance, named = random.Random(seed), set[int]()  # noqa: S311 - no secret
    history = HistoryFixture(tmp_path)
    history.store.close()
    for _ in range(KILLS):
        kill_one("take", tmp_path, chance, deeds=40)
        history.cap = CAP_BYTES
        history.store = history.open()
        check_points(history)
        assert_sound(history.store)
        points = history.store.list_checkpoints(limit=10_000)
        assert named <= {point.id for point in points}
        named = {point.id for point in points if point.kind is PointKind.NAMED}
        for point in sorted(named)[:-2]:
            history.store.forget_checkpoint(point)
            named.remove(point)
        assert history.size() < 2 * CAP_BYTES
        history.store.close()
    assert min(point.id for point in points if point.kind is not PointKind.NAMED) > KILLS, "the oldest stayed"
