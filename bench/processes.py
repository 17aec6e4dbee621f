"""What processes take: time on the processor and memory, as /proc tells it. Linux only, like all of this."""

from __future__ import annotations

import os
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_KIB = 1024.0


def cpu_s(pid: int) -> float:
    """Seconds that a process has had of a core, all its threads together; 0 when it is gone."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def run_s(pid: int) -> float:
    """The same to the nanosecond, of the threads that live: for many processes that take next to nothing each."""
    total = 0
    for task in (_PROC / str(pid) / "task").glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[0])
        except OSError:  # it ended meanwhile
            continue
    return total / 1e9


def rss_mib(pid: int) -> float:
    """What it keeps resident."""
    return _field(_PROC / str(pid) / "status", "VmRSS")


def pss_mib(pid: int) -> float:
    """The same with each shared page divided among those who share it."""
    return _field(_PROC / str(pid) / "smaps_rollup", "Pss")


def parent(pid: int) -> int:
    """Who started it."""
    return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])


def families() -> dict[int, list[int]]:
    """Every process's children."""
    found: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                found.setdefault(parent(int(entry.name)), []).append(int(entry.name))
            except OSError:  # it ended meanwhile
                continue
    return found


def _field(file: Path, name: str) -> float:
    for line in file.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / _KIB
    return 0.0


def cgroup_number(pid: int, controller: str, *files: str) -> int:
    """A number of a process's control group: of version 1's ``controller``, or of version 2. 0 where there is none."""
    for line in (_PROC / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup") / (controller if controllers else "")
        if controllers and controller not in controllers.split(","):
            continue
        places = [root / path.lstrip("/") / name for name in files]
        found = next((place for place in places if place.is_file()), None)
        if found is not None:
            return int(found.read_text().split()[0])
    return 0
