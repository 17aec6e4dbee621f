"""Whatever goes wrong at whatever moment, nothing is lost, nothing is done twice, and nothing is left behind: two
random workloads on a whole install while things break. ``./hermit test --soak 30m`` does many more."""

from __future__ import annotations

import os
from pathlib import Path

import docker
import pytest

from tests.chaos.plan import Size
from tests.chaos.run import run_seed

pytestmark = pytest.mark.docker

SIZE = Size(duration_s=8.0, messages=18, faults=8, entries=1, stops=1)


@pytest.mark.parametrize("seed", [1018, 1208])  # of two, these meet the most kinds of faults
def test_nothing_is_lost(seed: int, tmp_path: Path, client: docker.DockerClient, image: str) -> None:
    """After a storm of faults every invariant holds; a failure shows the seed and what was done."""
    if not os.environ.get("DOCKER_HOST", "unix:").startswith("unix:"):
        pytest.skip("the engine is not at a unix socket")
    outcome = run_seed(seed, SIZE, tmp_path, client)
    assert outcome.faults, "no fault happened, so nothing was tried"
    assert not outcome.complaints, outcome.in_words()
