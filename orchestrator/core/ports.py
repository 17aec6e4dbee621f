"""TCP ports of this machine: listening at one, and who holds one, for an error that names it."""

from __future__ import annotations

import socket
from pathlib import Path

from orchestrator.core.errors import Unavailable

_LISTENING = "0A"


def open_listener(host: str, port: int, *, setting: str = "HERMIT_PORT") -> socket.socket:
    """A socket that takes connections there, and never waits; raises Unavailable with who holds the port, which
    ``setting`` names."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise Unavailable(f"HERMIT_HOST is {host!r}, which is no address of this machine. Use 127.0.0.1.") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        holder = who_listens(port)
        by = f" by {holder}" if holder else ""
        raise Unavailable(
            f"{host}:{port} can't be used ({error.strerror}{by}). Stop that, or choose another {setting}."
        ) from error
    listening.listen(256)
    listening.setblocking(False)
    return listening


def who_listens(port: int) -> str:
    """``nginx (process 812)``, or an empty text when nobody does or it can't be seen."""
    inodes = _list_inodes(port)
    if not inodes:
        return ""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if any(_parse_inode(link) in inodes for link in (process / "fd").iterdir()):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
        except OSError:
            continue  # it has ended, or it is not ours to look into
    return ""


def _list_inodes(port: int) -> set[str]:
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


def _parse_inode(link: Path) -> str:
    return str(link.readlink()).removeprefix("socket:[").removesuffix("]")
