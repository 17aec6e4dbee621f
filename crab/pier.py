"""The pier: waits, beside the loop, for the host to want a ferry (``crab.ferry``), and starts one.

A thread with a connection to the door of its own. It starts that one program and nothing else.
"""

from __future__ import annotations

import _thread  # threading costs 2 ms of start and is not needed for one thread that never ends
import os
import time

from crab.door import Door, DoorRefused

PYTHON = "/usr/bin/python3"
_FERRY = "import sys; sys.path.insert(0, '/app'); from crab.ferry import main; main()"
WAIT_S = 600
BREATH_S = 1.0


def start(door: str) -> None:
    """From now on a ferry is started whenever the host wants one."""
    try:
        _thread.start_new_thread(_serve, (Door(door),))
    except RuntimeError:
        return  # no thread to be had: apps stay out of reach, all else works


def _serve(door: Door) -> None:
    ferry = 0
    while True:
        try:
            answer = door.get(f"streams?wait={WAIT_S}", timeout_s=WAIT_S + 30)
        except DoorRefused:
            time.sleep(BREATH_S)
            continue
        if (answer or {}).get("wanted") is True:
            if not _lives(ferry):
                ferry = _started()
            time.sleep(0.2)  # it needs a moment until its spares are there


def _lives(pid: int) -> bool:
    """The ferry runs; one that ended is reaped."""
    if pid == 0:
        return False
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _started() -> int:
    """A new ferry's pid, or 0 when none could be started."""
    argv = [PYTHON, "-I", "-S", "-c", _FERRY]
    try:
        return os.posix_spawn(PYTHON, argv, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, setsid=True)
    except OSError:
        return 0  # too many processes, or no memory: the host asks again
