"""Running commands on the host: bounded, logged, without our secrets."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.machine import LocalMachine


@pytest.fixture
def machine(tmp_path: Path) -> LocalMachine:
    return LocalMachine(
        tmp_path / "state", {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-1", "HTTP_PROXY": "http://p"}
    )


def test_a_command_runs_with_its_output_logged_and_told(machine: LocalMachine) -> None:
    """Both streams land in the log, the answer and the listener."""
    lines: list[str] = []
    ran = machine.run_command(
        ["sh", "-c", "echo one; echo two >&2; exit 3"], timeout_s=10, log="x.log", on_line=lines.append
    )
    assert (ran.code, ran.output, ran.last_line, lines) == (3, "one\ntwo\n", "two", ["one", "two"])
    assert (machine.state_dir / "x.log").read_text() == "one\ntwo\n"


def test_a_command_gets_no_secret(machine: LocalMachine) -> None:
    """It learns how to reach the network and nothing else of ours."""
    output = machine.run_command(["env"], timeout_s=10, log="x.log").output
    assert "sk-1" not in output
    assert "HTTP_PROXY=http://p" in output
    assert "/usr/sbin" in output


def test_a_command_that_takes_too_long_ends_with_its_children(machine: LocalMachine, tmp_path: Path) -> None:
    """Nothing of it is left running, and one sentence says what happened."""
    script = f"sleep 60 & echo $! >{tmp_path}/pid; wait"
    with pytest.raises(Unavailable, match=r"sh took longer than 1 s"):
        machine.run_command(["sh", "-c", script], timeout_s=1.0, log="x.log")
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _is_running(pid)


def test_a_service_started_by_a_command_does_not_hold_it_up(machine: LocalMachine) -> None:
    """A package that starts a daemon ends when it ends, not when the daemon does."""
    started = time.monotonic()
    ran = machine.run_command(["sh", "-c", "sleep 30 & echo $!"], timeout_s=20, log="x.log")
    os.kill(int(ran.output), signal.SIGKILL)
    assert time.monotonic() - started < 10


def test_a_spawned_process_is_followed_to_its_end(machine: LocalMachine) -> None:
    """It runs in a session of its own, from the root folder, and its words can be read."""
    pid = machine.spawn_command(["sh", "-c", "pwd; ps -o sid= -p $$"], log="daemon.log")
    deadline = time.monotonic() + 10
    while not machine.has_ended(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert machine.log_text("daemon.log").split() == ["/", str(pid)]
    assert machine.has_ended(pid)


def test_facts_about_files(machine: LocalMachine, tmp_path: Path) -> None:
    """Texts, ages and room, also where nothing is there yet."""
    (tmp_path / "b.list").write_text("two")
    (tmp_path / "a.list").write_text("one")
    (tmp_path / "c.list").mkdir()
    assert machine.read_files(f"{tmp_path}/*.list") == ["one", "two"]
    assert 0 <= (machine.age_s(f"{tmp_path}/*.list") or -1) < 60
    assert machine.age_s(f"{tmp_path}/*.none") is None
    assert 0 < machine.free_bytes(tmp_path / "not" / "there") <= machine.total_bytes(tmp_path / "not" / "there")
    assert machine.log_text("never-written.log") == ""


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
