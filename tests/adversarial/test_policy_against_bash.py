"""Policy against bash itself: commands put together at random run in a real bash where ``rm`` only leaves a mark.

Whatever policy lets run must leave none. The texts are made from pieces by a fixed seed, so that a failure comes again.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from orchestrator.approvals.policy.judge import judge_command
from orchestrator.core.models import ApprovalPolicy, Ruling

_PIECES = [
    "rm x", "rm x", "'rm' x", "r\\m x", "$(rm x)", "`rm x`", '"$(rm x)"', "echo ", "env ", "bash -c ", "eval ",
    "command ", " ", " ", "\n", "\t", ";", "&&", "||", "|", "&", "(", ")", "{ ", " }", '"', "'", "\\", "\\\n", "`",
    "$(", "${x:-", "}", "$", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "<<< ", "> out", " 2>&1 ", ">out ", "#", " # ",
    "if ", "; then ", "; fi", "! ", "case x in x) ", ";; esac", "f() ", "time ", "x=", "x=(", "$((", "))", "[[ ",
    " ]]", "a", "b ", "{a,", "*", "~", "\u00e9",
]  # fmt: skip
_TOOLS = ("bash", "cat", "env", "true")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder to run in, and a search path with a harmless ``rm`` and little else."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in _TOOLS:
        (tools / name).symlink_to(f"/usr/bin/{name}")
    stub = tools / "rm"
    stub.write_text('#!/bin/sh\necho "$@" >> "$MARK"\n')
    stub.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def _runs_rm(command: str, room: Path) -> bool:
    mark = room / "mark"
    environment = {"PATH": str(room / "bin"), "MARK": str(mark), "HOME": str(room / "work")}
    subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=room / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return mark.exists()


def test_the_stub_is_what_runs(room: Path) -> None:
    """The mark is seen when ``rm`` runs, so that its absence says something."""
    assert not _runs_rm("echo rm", room)
    assert _runs_rm("cd . && rm x", room)


@pytest.mark.parametrize("seed", range(4))
def test_what_policy_lets_run_deletes_nothing(seed: int, room: Path) -> None:
    """No text that is waved through makes bash call ``rm``."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    tried = 0
    while tried < 60:
        command = "".join(chance.choice(_PIECES) for _ in range(chance.randint(2, 8)))
        if "rm" not in command or judge_command(command, ApprovalPolicy.DANGEROUS).ruling is not Ruling.RUN:
            continue
        tried += 1
        assert not _runs_rm(command, room), command
