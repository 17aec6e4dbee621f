"""A program for the inside of a cubicle: ends what was started in a terminal, as the end of the connection would on a
machine of one's own. Its text is handed to the Python in there; it imports nothing of ours.

It finds processes by the variable that all of them inherit, and by descent from one that has it. A process that shed
both is the cubicle's affair and ends with it. Signals nothing else, and never the first process.
"""

from __future__ import annotations

import os
import sys
import time
from signal import SIGCONT, SIGHUP, SIGKILL

GRACE_S = 0.5
"""How long a program may tidy up after it was hung up on."""
PATIENCE_S = 4.0
"""How long SIGKILL is repeated against something that forks faster than it dies."""

Known = set[tuple[int, str]]


def hang_up(mark: bytes) -> None:
    """Nothing that is marked runs when this returns."""
    known: Known = set()
    deadline = time.monotonic() + GRACE_S
    _send_signal(_list_members(mark, known), SIGHUP, SIGCONT)
    while time.monotonic() < deadline and _list_members(mark, known):
        time.sleep(0.02)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and (left := _list_members(mark, known)):
        _send_signal(left, SIGKILL)
        time.sleep(0.01)


def _list_members(mark: bytes, known: Known) -> list[int]:
    """In order of start parents come before their children, so one pass finds whole families."""
    found: set[int] = set()
    for start, pid, parent in sorted(_list_processes(), key=lambda process: int(process[0])):
        if (pid, start) in known or parent in found or _is_marked(pid, mark):
            known.add((pid, start))
            found.add(pid)
    return sorted(found)


def _list_processes() -> list[tuple[str, int, int]]:
    """Start time, pid and parent of every process but the dead, the first and this one."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - pathlib is half of the start time
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # gone in between
        if fields and fields[0] not in "ZX" and int(name) not in (1, os.getpid()):
            found.append((fields[19], int(name), int(fields[1])))
    return found


def _is_marked(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - as above
            entries = file.read().split(b"\0")
    except OSError:
        return False  # gone in between
    return mark in entries if not mark.endswith(b"=") else any(entry.startswith(mark) for entry in entries)


def _send_signal(pids: list[int], *numbers: int) -> None:
    for number in numbers:
        for pid in pids:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue  # gone in between


if __name__ == "__main__":
    hang_up(os.fsencode(sys.argv[1]))
