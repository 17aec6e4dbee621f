"""Runs inside a cubicle, not on the host: with ``leave`` puts a mark into everything that could be shared, says in a
file what it could, and waits; with ``look`` finds such marks and prints them, as JSON."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

MARK = "mark-of-a-neighbour"
PORT = 45_671
KEY = 0x4D41524B
CREATE = 0o1600
LEFT = "/tmp/left"
HELD: list[object] = []
"""What lives as long as this program."""

_libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def listen(family: int, address: object) -> None:
    made = socket.socket(family)
    made.bind(address)  # type: ignore[arg-type]  # of each family its own
    made.listen()
    HELD.append(made)


def lock(path: str) -> Callable[[], None]:
    """Locked for as long as this program lives."""

    def attempt() -> None:
        opened = Path(path).open("rb")  # noqa: SIM115 - held
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        HELD.append(opened)

    return attempt


def see_lock(path: str) -> Callable[[], None]:
    def attempt() -> None:
        with Path(path).open("rb") as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        raise FileNotFoundError("nobody holds it")

    return attempt


def reach(family: int, address: object) -> None:
    with socket.socket(family) as made:
        made.connect(address)  # type: ignore[arg-type]  # of each family its own


def find_in(path: str) -> Callable[[], None]:
    def attempt() -> None:
        if MARK not in Path(path).read_text(encoding="utf-8", errors="replace"):
            raise FileNotFoundError(path)

    return attempt


def see_process() -> None:
    own = str(os.getpid())
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.parent.name != own and f"{MARK}-process" in path.read_text(encoding="utf-8", errors="replace"):
                return
        except OSError:
            continue
    raise ProcessLookupError


def start_process() -> None:
    if os.fork() == 0:
        os.execv("/bin/sleep", [f"{MARK}-process", "60"])  # noqa: S606 - no shell is wanted


def queue(flags: int) -> Callable[[], int]:
    return lambda: checked(_libc.mq_open(f"/{MARK}".encode(), flags, 0o666, None))


def touch(path: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(MARK, encoding="ascii")


LEAVE: dict[str, Callable[[], object]] = {
    "abstract socket": lambda: listen(socket.AF_UNIX, f"\0{MARK}"),
    "loopback": lambda: listen(socket.AF_INET, ("127.0.0.1", PORT)),
    "loopback of IPv6": lambda: listen(socket.AF_INET6, ("::1", PORT)),
    "file in /tmp": touch(f"/tmp/{MARK}"),
    "shared memory of POSIX": touch(f"/dev/shm/{MARK}"),
    "shared memory of System V": lambda: checked(_libc.shmget(KEY, 4096, CREATE)),
    "semaphore": lambda: checked(_libc.semget(KEY, 1, CREATE)),
    "message queue of System V": lambda: checked(_libc.msgget(KEY, CREATE)),
    "message queue of POSIX": queue(os.O_RDWR | os.O_CREAT),
    "process": start_process,
    "host name": lambda: checked(_libc.sethostname(MARK.encode(), len(MARK))),
    "lock on the image": lock("/usr/bin/env"),
    "lock on the init": lock("/proc/1/exe"),
}
LOOK: dict[str, Callable[[], object]] = {
    "abstract socket": lambda: reach(socket.AF_UNIX, f"\0{MARK}"),
    "list of sockets": find_in("/proc/net/unix"),
    "loopback": lambda: reach(socket.AF_INET, ("127.0.0.1", PORT)),
    "loopback of IPv6": lambda: reach(socket.AF_INET6, ("::1", PORT)),
    "file in /tmp": find_in(f"/tmp/{MARK}"),
    "shared memory of POSIX": find_in(f"/dev/shm/{MARK}"),
    "shared memory of System V": lambda: checked(_libc.shmget(KEY, 0, 0)),
    "semaphore": lambda: checked(_libc.semget(KEY, 0, 0)),
    "message queue of System V": lambda: checked(_libc.msgget(KEY, 0)),
    "message queue of POSIX": queue(os.O_RDWR),
    "process": see_process,
    "host name": find_in("/proc/sys/kernel/hostname"),
    "mounts": find_in("/proc/self/mountinfo"),
    "lock on the image": see_lock("/usr/bin/env"),
    "lock on the init": see_lock("/proc/1/exe"),
}


def works(deed: Callable[[], object]) -> bool:
    try:
        deed()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    is_leaving = "leave" in sys.argv
    done = [name for name, deed in (LEAVE if is_leaving else LOOK).items() if works(deed)]
    namespaces = {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}
    found = json.dumps({"done": done, "namespaces": namespaces})
    if is_leaving:
        Path(f"{LEFT}.new").write_text(found, encoding="ascii")
        Path(f"{LEFT}.new").rename(LEFT)
        time.sleep(60)
    sys.stdout.write(found + "\n")
