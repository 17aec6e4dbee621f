"""Who holds a TCP port of this machine, for an error that names it."""

from __future__ import annotations

from pathlib import Path

_LISTENING = "0A"


def who_listens(port: int) -> str:
    """``nginx (process 812)``, or an empty text when nobody does or it can't be seen."""
    inodes = _inodes(port)
    if not inodes:
        return ""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if any(_inode(link) in inodes for link in (process / "fd").iterdir()):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
        except OSError:
            continue  # it has ended, or it is not ours to look into
    return ""


def _inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _inode(link: Path) -> str:
    return str(link.readlink()).removeprefix("socket:[").removesuffix("]")
