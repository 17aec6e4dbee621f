"""HERMIT_HOME on a file system that fills up: a clear error, nothing lost, and it goes on when there is room again."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import docker
import pytest

from tests.support.real_app import AppProcess, process_install
from tests.support.small_disks import mounted

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """24 MiB."""
    with mounted(tmp_path_factory.mktemp("disk"), "size=24m") as disk:
        yield disk


@pytest.fixture(scope="module")
def cramped(small_disk: Path, client: docker.DockerClient, image: str) -> Iterator[AppProcess]:
    """An install on the small disk."""
    with process_install(small_disk / "home", client) as install:
        yield install


def fill(disk: Path) -> Path:
    """Every last byte is taken by the file that comes back."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
                _write_until_it_fails(file, size)
    return filler


def _write_until_it_fails(file: FileIO, size: int) -> None:
    while True:
        file.write(b"x" * size)


def test_a_full_disk_is_said_and_nothing_is_lost(cramped: AppProcess, small_disk: Path) -> None:
    """A message that cannot be written down is refused with the reason; what was there before is still there after."""
    agent = cramped.agent()
    assert agent.ask("before")["reply"].endswith("before")
    filler = fill(small_disk)
    refused = [
        cramped.api.call("POST", f"/agents/{agent.name}/messages", json={"text": "x" * 100_000}) for _ in range(3)
    ]
    filler.unlink()
    assert {answer.status_code for answer in refused} == {503}
    assert all("disk" in answer.json()["error"]["message"].lower() for answer in refused)
    assert agent.ask("after")["reply"].endswith("after")
    history = cramped.api.get(f"/agents/{agent.name}/history")["turns"]
    assert [turn["prompt"] for turn in history] == ["before", "after"]
