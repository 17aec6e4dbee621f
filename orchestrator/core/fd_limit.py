"""How many files and connections this process may have open at a time: raised at the start, and how much of it is used.

It closes nothing; whoever opens too many is kept from it where they come in, at a door or a port.
"""

from __future__ import annotations

import resource
from pathlib import Path

ENOUGH = 65_536
"""A hundred cubicles at all their doors, and as many pages, take a tenth of it."""


def raise_limit(wanted: int = ENOUGH) -> int:
    """As many as we may allow ourselves, up to ``wanted``; returns how many these are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def used_of(pid: int, proc: Path = Path("/proc")) -> tuple[int, int] | None:
    """How many a process has open, and how many it may; None where that can't be seen."""
    try:
        lines = (proc / str(pid) / "limits").read_text(encoding="ascii").splitlines()
        limit = next(line.split()[3] for line in lines if line.startswith("Max open files"))
        used = sum(1 for _ in (proc / str(pid) / "fd").iterdir())
    except (OSError, StopIteration, IndexError):
        return None
    return used, int(limit) if limit.isdecimal() else ENOUGH
