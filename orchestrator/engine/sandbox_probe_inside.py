"""Runs inside a cubicle, never on the host: tries the walls and prints what came of it as one JSON object. Standard
library only; it is handed to the cubicle as text. With the argument ``closed`` nothing is written where an agent works.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
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
KERNEL_KNOBS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
)
KERNEL_MEMORY = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware")
"""What an engine masks: there may be nothing in it."""

_REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_ANYWHERE = {
    "io_uring_setup": (425, 1, 0),
    "open_tree": (428, -100, 0, 0),
    "clone3": (435, 0, 0),
    "pidfd_getfd": (438, -1, -1, 0),
}
_USER_NAMESPACE = 0x10000000
_TRIES = {
    "ptrace": (2, -1, 0, 0),
    "unshare": (_USER_NAMESPACE,),
    "setns": (-1, 0),
    "keyctl": (0, -3, 0),
    "personality": (0x0040000,),
    "process_vm_readv": (-1, 0, 0, 0, 0, 0),
    "name_to_handle_at": (-100, 0, 0, 0, 0),
    "userfaultfd": (1,),
    "kcmp": (-1, -1, 0, 0, 0),
    "perf_event_open": (0, 0, -1, -1, 0),
    "bpf": (0, 0, 0),
}
"""Each with arguments that do no harm, and that a kernel without a filter answers otherwise than by a refusal."""
_NUMBERS = {
    "x86_64": dict(zip(_TRIES, (101, 272, 308, 250, 135, 310, 303, 323, 312, 298, 321), strict=True)),
    "aarch64": dict(zip(_TRIES, (117, 97, 268, 219, 92, 270, 264, 282, 272, 241, 280), strict=True)),
}


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
    """A file can be made there; it is taken away again."""
    path = Path(folder, f".probe-{os.getpid()}")
    if not is_possible(partial(path.touch, exist_ok=False)):
        return False
    path.unlink()
    return True


def calls() -> list[str]:
    """The system calls that are let through, of those that no program of an agent needs."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    numbers = _NUMBERS.get(os.uname().machine, {})
    tries = {**_ANYWHERE, **{name: (number, *_TRIES[name]) for name, number in numbers.items()}}
    return [name for name, arguments in tries.items() if _passes(call, arguments)]


def _passes(call: Callable[..., int], arguments: tuple[int, ...]) -> bool:
    ctypes.set_errno(0)
    return call(*map(ctypes.c_long, arguments)) != -1 or ctypes.get_errno() not in _REFUSALS


def knobs() -> Iterator[str]:
    """What of the kernel's settings could be written, those of control groups too."""
    groups = [path for name in ("release_agent", "*/release_agent") for path in Path("/sys/fs/cgroup").glob(name)]
    for path in (*map(Path, KERNEL_KNOBS), *groups, Path("/sys/fs/cgroup/cgroup.procs")):
        if os.access(path, os.W_OK):
            yield str(path)


def bared() -> Iterator[str]:
    """What an engine masks and something is in."""
    for path in map(Path, KERNEL_MEMORY):
        try:
            if any(path.iterdir()) if path.is_dir() else path.open("rb").read(1):
                yield str(path)
        except OSError:
            continue


def strangers() -> int:
    """Processes of other users: there is nobody in a cubicle but its own."""
    found = 0
    for path in Path("/proc").iterdir():
        try:
            found += path.name.isdecimal() and path.stat().st_uid != os.getuid()
        except OSError:  # it ended meanwhile
            continue
    return found


def look(*, is_closed: bool = False) -> dict[str, object]:
    now = status()
    return {
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "reaches_out": reaches_out(),
        "capabilities": [now[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb") if int(now[name], 16)],
        "no_new_privs": now["NoNewPrivs"] == "1",
        "seccomp": now["Seccomp"] == "2",
        "families": [name for name, number in FAMILIES.items() if can_open(number)],
        "calls": calls(),
        "uid": os.getuid(),
        "writes": [folder for folder in CLOSED if can_write(folder)],
        "keeps": [] if is_closed else [folder for folder in OPEN if not can_write(folder)],
        "sockets": [path for path in ENGINE_SOCKETS if is_possible(Path(path).lstat)],
        "knobs": list(knobs()),
        "bared": list(bared()),
        "strangers": strangers(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look(is_closed="closed" in sys.argv)))
