"""Ending a command with all that it started, also what left its process group.

Finds a step's processes in ``/proc`` by three marks: the session that bash opened, the ``HERMIT_STEP`` variable that
every child inherits, and descent from a process known already. Only a process that shed all three while nobody looked
(cleared its environment, left the session, lost its parent) is missed; it ends with the cubicle. Signals nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from signal import SIGCONT, SIGKILL, SIGTERM

GRACE_S = 0.5
"""How long a command may tidy up after SIGTERM."""
PATIENCE_S = 5.0
"""How long SIGKILL is repeated against something that forks faster than it dies."""


def end_step(leader: int, marker: str, *, has_ended: Callable[[], bool]) -> None:
    """Nothing of the step runs when this returns. ``has_ended`` reaps the leader, which is our child."""
    family = _Family(leader, marker.encode())
    deadline = time.monotonic() + GRACE_S
    family.send_signal(SIGTERM)
    family.send_signal(SIGCONT)  # one that was halted hears it too
    while time.monotonic() < deadline:
        time.sleep(0.01)
        if has_ended() and not family.list_alive():
            return
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        family.send_signal(SIGKILL)
        time.sleep(0.005)
        if has_ended() and not family.list_alive():
            return


class _Family:
    """The processes of one step. Known ones stay known after their parents are gone."""

    __slots__ = ("_known", "_leader", "_marker")

    def __init__(self, leader: int, marker: bytes) -> None:
        self._leader = leader
        self._marker = marker
        self._known: set[tuple[int, str]] = set()

    def send_signal(self, number: int) -> None:
        """Sends to every member that lives."""
        for pid in self.list_alive():
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue  # gone in between

    def list_alive(self) -> list[int]:
        """The members that run, as ``/proc`` shows them now."""
        members: set[int] = set()
        # In order of start, parents come before their children, so one pass finds whole families.
        for start, pid, parent, session in sorted(_list_processes(), key=lambda process: int(process[0])):
            identity = (pid, start)
            is_ours = identity in self._known or session == self._leader or parent in members
            if is_ours or self._is_marked(pid):
                self._known.add(identity)
                members.add(pid)
        return sorted(members)

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return self._marker in file.read().split(b"\0")
        except OSError:
            return False


def _list_processes() -> list[tuple[str, int, int, int]]:
    """Start time, pid, parent and session of every process but the dead ones and ourselves."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields and fields[0] not in "ZX":
            found.append((fields[19], int(name), int(fields[1]), int(fields[3])))
    return found
