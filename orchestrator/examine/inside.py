"""Runs inside a throw-away cubicle, never on the host: tries the walls and prints what came of it as one JSON object.
Standard library only; it is handed to the cubicle as text."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

FAMILIES = {"AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40}
ENGINE_SOCKETS = (
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
)
WORKSPACE = "/app/workspace"
CLOSED = ("/", "/etc", "/usr/bin", "/app", WORKSPACE, f"{WORKSPACE}/in", f"{WORKSPACE}/data", "/run/hermit")
OPEN = (f"{WORKSPACE}/work", f"{WORKSPACE}/out", f"{WORKSPACE}/www", "/tmp")  # noqa: S108 - looked at, not used


def is_possible(deed: Callable[[], object]) -> bool:
    try:
        deed()
    except OSError:
        return False
    return True


def can_open(family: int) -> bool:
    return is_possible(
        lambda: socket.socket(family, socket.SOCK_RAW if family in (16, 17) else socket.SOCK_STREAM).close()
    )


def reaches_out() -> bool:
    """A packet to an address that exists nowhere would leave; without a network not even that is begun."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            return error.errno != errno.ENETUNREACH
    return True


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def can_write(folder: str) -> bool:
    return is_possible(partial(Path(folder, ".probe").touch, exist_ok=False))


def look() -> dict[str, object]:
    now = status()
    return {
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "reaches_out": reaches_out(),
        "capabilities": [now[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb") if int(now[name], 16)],
        "no_new_privs": now["NoNewPrivs"] == "1",
        "seccomp": now["Seccomp"] == "2",
        "families": [name for name, number in FAMILIES.items() if can_open(number)],
        "uid": os.getuid(),
        "writes": [folder for folder in CLOSED if can_write(folder)],
        "keeps": [folder for folder in OPEN if not can_write(folder)],
        "sockets": [path for path in ENGINE_SOCKETS if Path(path).exists()],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look()))
