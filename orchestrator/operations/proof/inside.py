"""Runs inside a cubicle, never on the host: does one of the twelve attempts and prints what the system answered, as one
JSON object. Standard library only; it is handed over as text, with what the host has prepared as JSON.

Nothing is harmed where a try works: what is made is taken away again, connections carry at most one word, the kernel's
settings are opened and not written, and no key is printed, only its fingerprint.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

QUICK_S = 1.0
MOST_BROUGHT = 64
MOST_PROGRAMS = 2000
WORKSPACE = "/app/workspace"
MOUNTED_AT = ("/host", "/mnt", "/mnt/host", "/rootfs", "/hostfs", "/proc/1/root/host")
_SECRET_NAME = re.compile(rb"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_INIT_MODULE = {"x86_64": 175, "aarch64": 105}
_USER_NAMESPACE, _PTRACE_SEIZE = 0x10000000, 0x4206

Given = dict[str, Any]
Answers = dict[str, str]


class Spoils:
    """What an attempt brings along for the host to look at."""

    def __init__(self) -> None:
        self.brought: list[str] = []

    def add(self, text: str) -> None:
        """One more, while there is room."""
        if len(self.brought) < MOST_BROUGHT:
            self.brought.append(text[:200])


def answer_of(deed: Callable[..., object], *arguments: object) -> str:
    """``done``, or why not."""
    try:
        deed(*arguments)
    except TimeoutError:
        return "timeout"
    except socket.gaierror:
        return "unresolved"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "unknown")
    return "done"


def connect(address: str, port: int, word: str = "", family: int = socket.AF_INET) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(QUICK_S)
        probe.connect((address, port))
        if word:
            probe.sendall(word.encode())


def send_packet(address: str, port: int, word: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(word, (address, port))


def call(number: int, *arguments: int) -> None:
    """A system call; raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(number, *map(ctypes.c_long, arguments)) == -1:
        raise OSError(ctypes.get_errno(), "")


def best_of(answers: list[str]) -> str:
    """``done`` if anything worked; else the last answer."""
    return "done" if "done" in answers else (answers or ["nothing"])[-1]


# --- the twelve ------------------------------------------------------------------------------------------------


def try_internet(_given: Given, _found: Spoils) -> Answers:
    return {
        "server": answer_of(connect, "1.1.1.1", 443),
        "other_server": answer_of(connect, "9.9.9.9", 443),
        "ipv6": answer_of(connect, "2606:4700:4700::1111", 443, "", socket.AF_INET6),
        "metadata": answer_of(connect, "169.254.169.254", 80),
        # An address that is reserved for examples: nobody gets it.
        "packet": answer_of(send_packet, "192.0.2.1", 9, b"\0"),
    }


def try_machine(given: Given, _found: Spoils) -> Answers:
    word, port = given["word"], given["port"]
    return {
        "address": best_of([answer_of(connect, a, port, word) for a in given["addresses"]]),
        "loopback": answer_of(connect, "127.0.0.1", port, word),
        "gateway": best_of([answer_of(connect, g, port, word) for g in gateways()]),
    }


def gateways() -> Iterator[str]:
    with suppress(OSError):
        for line in Path("/proc/net/route").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1] == "00000000" and fields[2] != "00000000":
                yield socket.inet_ntoa(struct.pack("=I", int(fields[2], 16)))


def try_name(given: Given, _found: Spoils) -> Answers:
    question = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + b"\7example\3com\0" + struct.pack(">2H", 1, 1)
    word = given["word"].encode()
    asked = [answer_of(send_packet, a, given["udp_port"], word) for a in (*given["addresses"], *gateways())]
    return {
        "resolver": answer_of(socket.getaddrinfo, "example.com", 80),
        "packet": answer_of(send_packet, "1.1.1.1", 53, question),
        "own": best_of(asked or ["ENETUNREACH"]),
    }


def try_files(given: Given, found: Spoils) -> Answers:
    bait = given["bait"]
    return {
        "path": read_bait(bait, found),
        "root": best_of([read_bait(f"/proc/{pid}/root{bait}", found) for pid in processes()]),
        "mounts": best_of([read_bait(f"{place}{bait}", found) for place in MOUNTED_AT]),
        "disks": best_of([answer_of(open_only, p, os.O_RDONLY) for p in disks()]),
    }


def open_only(path: str, how: int) -> None:
    os.close(os.open(path, how))


def list_names(folder: str) -> list[str]:
    """Of a folder; raises OSError."""
    return [path.name for path in Path(folder).iterdir()]


def read_bait(path: str, found: Spoils) -> str:
    def read() -> None:
        with Path(path).open("rb") as file:
            found.add(file.read(100).decode("ascii", "replace").strip())

    return answer_of(read)


def processes() -> list[str]:
    return [name for name in list_names("/proc") if name.isdecimal() and int(name) != os.getpid()][:500]


def disks() -> list[str]:
    paths = [entry.path for entry in os.scandir("/dev")]
    return [path for path in paths if stat.S_ISBLK(Path(path).stat().st_mode)][:50]


def try_key(given: Given, found: Spoils) -> Answers:
    read = [fingerprint_environment(pid, found) for pid in (*processes(), "self")]
    places = ("", *MOUNTED_AT, "/proc/1/root")
    return {
        "environment": best_of([answer for answer in read if answer == "done"]),
        "settings": best_of([read_bait(f"{place}{given['key_bait']}", found) for place in places]),
    }


def fingerprint_environment(pid: str, found: Spoils) -> str:
    """``done`` where something in it is called a key. What it is stays here."""
    answer = "nothing"
    with suppress(OSError):
        for pair in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = pair.partition(b"=")
            if len(value) >= 8 and _SECRET_NAME.search(name):
                found.add(hashlib.sha256(value).hexdigest())
                answer = "done"
    return answer


def try_programs(given: Given, found: Spoils) -> Answers:
    names = [name for name in thread_names() if name.startswith(given["prefix"])]
    for name in names:
        found.add(name)
    strangers = [pid for pid in processes() if is_strange(pid)]
    return {
        "strangers": "done" if strangers else "nothing",
        "names": "done" if names else "nothing",
        "debugger": answer_of(seize_child),
    }


def thread_names() -> Iterator[str]:
    for pid in processes():
        with suppress(OSError):
            for thread in list_names(f"/proc/{pid}/task")[:200]:
                with suppress(OSError):
                    yield Path(f"/proc/{pid}/task/{thread}/comm").read_text("ascii", "replace").strip()


def is_strange(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}").stat().st_uid != os.getuid()
    except OSError:
        return False


def seize_child() -> None:
    """A program of its own is taken over as a debugger would: with nothing in the way that is allowed."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(there)
        os.read(here, 1)
        os._exit(0)
    os.close(here)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.ptrace(_PTRACE_SEIZE, child, 0, 0) == -1:
            raise OSError(ctypes.get_errno(), "")
    finally:
        os.close(there)
        os.waitpid(child, 0)


def try_engine(_given: Given, _found: Spoils) -> Answers:
    return {
        "docker": answer_of(lambda: ping("/run/docker.sock")),
        "docker_too": answer_of(lambda: ping("/var/run/docker.sock")),
        "podman": answer_of(lambda: ping("/run/podman/podman.sock")),
        "containerd": answer_of(lambda: ping("/run/containerd/containerd.sock")),
        "tcp": answer_of(connect, "127.0.0.1", 2375),
    }


def ping(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(QUICK_S)
        probe.connect(path)


def try_root(_given: Given, _found: Spoils) -> Answers:
    return {
        "setuid": "done" if os.getuid() == 0 else answer_of(os.setuid, 0),
        "programs": "done" if gives_root_away() else "nothing",
        "capabilities": "done" if int(status()["CapEff"], 16) else "nothing",
        "namespace": in_child(unshare, _USER_NAMESPACE),
    }


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def gives_root_away() -> bool:
    """There is a set-uid program, and nothing keeps it from having its owner's power."""
    if status().get("NoNewPrivs") == "1":
        return False
    for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib", "/usr/local/bin"):
        with suppress(OSError):
            for entry in os.scandir(folder):
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if found.st_mode & stat.S_ISUID and stat.S_ISREG(found.st_mode) and found.st_uid == 0:
                        return True
    return False


def unshare(flags: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(flags) == -1:
        raise OSError(ctypes.get_errno(), "")


def in_child(deed: Callable[..., object], *arguments: object) -> str:
    """The same in a process of its own, which takes what it got with it."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(there, answer_of(deed, *arguments).encode())
        finally:
            os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        said = pipe.read(40).decode("ascii", "replace")
    os.waitpid(child, 0)
    return said or "unknown"


def try_system(given: Given, _found: Spoils) -> Answers:
    places = {
        "programs": "/usr/bin",
        "settings": "/etc",
        "top": "/",
        "uploads": f"{WORKSPACE}/in",
        "snapshots": f"{WORKSPACE}/data",
        "door": "/run/hermit",
    }
    return {name: answer_of(make_file, folder, given["word"]) for name, folder in places.items()}


def make_file(folder: str, word: str) -> None:
    path = Path(folder, f".proof-{word[:12]}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    path.unlink()


def try_kernel(given: Given, _found: Spoils) -> Answers:
    return {
        # Of nothing at all, which a kernel that would take one answers with EFAULT or ENOEXEC.
        "driver": answer_of(call, _INIT_MODULE.get(os.uname().machine, -1), 0, 0, 0),
        "mount": in_child(mount_something, given["word"]),
        "setting": answer_of(open_only, "/proc/sys/kernel/core_pattern", os.O_WRONLY),
        "trigger": answer_of(open_only, "/proc/sysrq-trigger", os.O_WRONLY),
        "traffic": answer_of(open_packet_socket),
    }


def mount_something(word: str) -> None:
    folder = Path("/tmp", f".proof-{word[:12]}")  # noqa: S108 - of the container
    folder.mkdir(mode=0o700)
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if library.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=4k") == -1:
            raise OSError(ctypes.get_errno(), "")
        library.umount2(os.fsencode(folder), 0)
    finally:
        folder.rmdir()


def open_packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


def try_door(given: Given, _found: Spoils) -> Answers:
    other = given["other"]
    places = ("", *MOUNTED_AT, "/proc/1/root")
    return {
        "dashboard": ask_door("/api/agents", given),
        "settings": ask_door("/api/settings", given),
        "other": "nothing" if other is None else ask_door(f"/api/internal/turns/{int(other)}/steps", given, _HARMLESS),
        "doors": best_of([answer_of(list_names, f"{p}{given['doors']}") for p in places]),
    }


_HARMLESS = json.dumps({"n": 999_999, "phase": "output", "output": ""})
"""What a command printed, in words of the agent whose turn it is: nothing, of a step that there never was."""


def ask_door(path: str, given: Given, body: str = "") -> str:
    """``done`` where it is answered, ``refused`` where somebody says no."""
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: hermit\r\nX-Hermit-Agent: another\r\n"
    message = f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    answer = b""

    def ask() -> None:
        nonlocal answer
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(2 * QUICK_S)
            door.connect(given.get("door", "/run/hermit/door.sock"))
            door.sendall(message.encode())
            answer = door.recv(64)

    failed = answer_of(ask)
    if failed != "done":
        return failed
    words = answer.split()
    if len(words) < 2 or not words[1].isdigit():
        return "nothing"
    return "done" if words[1].startswith(b"2") else "refused"


def try_share(given: Given, _found: Spoils) -> Answers:
    return {
        "programs": reach_limit(int(given["pids"])),
        "file": answer_of(write_far, int(given["file_bytes"])),
    }


def reach_limit(limit: int) -> str:
    """The answer at the limit of programs; a large one is read and not reached, as that would take long."""
    if limit <= MOST_PROGRAMS:
        return answer_of(fork_many, limit + 64)
    for path in ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"):
        with suppress(OSError, ValueError):
            return "limited" if int(Path(path).read_text("ascii")) <= limit else "done"
    return "done"


def fork_many(most: int) -> None:
    """So many programs at once, which all end with this one, whatever becomes of it."""
    here, there = os.pipe()
    children: list[int] = []
    try:
        for _ in range(most):
            child = os.fork()
            if not child:
                os.close(there)
                os.read(here, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(there)
        os.close(here)
        for child in children:
            with suppress(OSError):
                os.waitpid(child, 0)


def write_far(size: int) -> None:
    """One byte, behind a hole as long as that, in a file without a name."""
    folder = next((f for f in (f"{WORKSPACE}/work", "/tmp") if os.access(f, os.W_OK)), "/")  # noqa: S108 - as above
    file = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    try:
        os.pwrite(file, b"\0", size)
    finally:
        os.close(file)


TRIES: dict[str, Callable[[Given, Spoils], Answers]] = {
    name.removeprefix("try_"): deed for name, deed in list(globals().items()) if name.startswith("try_")
}


def main(attempt: str, given: Given) -> str:
    found = Spoils()
    answers = TRIES[attempt](given, found)
    return json.dumps({"attempt": attempt, "answers": answers, "brought": found.brought})


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1], json.loads(sys.argv[2])))
