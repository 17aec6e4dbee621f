"""The tunnel listener: waits, beside the loop, for the host to want a tunnel (``crab.tunnel``), and starts one.

A thread with a connection to the door of its own. It starts that one program and nothing else.
"""

from __future__ import annotations

import _thread  # threading costs 2 ms of start and is not needed for one thread that never ends
import os
import time

from crab.door import Door, DoorRefused

PYTHON = "/usr/bin/python3"
_TUNNEL = "import sys; sys.path.insert(0, '/app'); from crab.tunnel import main; main()"
WAIT_S = 600
RETRY_S = 1.0


def start_listener(door: str) -> None:
    """From now on a tunnel is started whenever the host wants one."""
    try:
        _thread.start_new_thread(_listen, (Door(door),))
    except RuntimeError:
        return  # no thread to be had: apps stay out of reach, all else works


def _listen(door: Door) -> None:
    tunnel = 0
    while True:
        try:
            answer = door.get(f"streams?wait={WAIT_S}", timeout_s=WAIT_S + 30)
        except DoorRefused:
            time.sleep(RETRY_S)
            continue
        if (answer or {}).get("wanted") is True:
            if not _is_running(tunnel):
                tunnel = _start_process()
            time.sleep(0.2)  # it needs a moment until its spares are there


def _is_running(pid: int) -> bool:
    """The tunnel runs; one that ended is reaped."""
    if pid == 0:
        return False
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _start_process() -> int:
    """A new tunnel's pid, or 0 when none could be started."""
    argv = [PYTHON, "-I", "-S", "-c", _TUNNEL]
    try:
        return os.posix_spawn(PYTHON, argv, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, setsid=True)
    except OSError:
        return 0  # too many processes, or no memory: the host asks again
