"""Runs inside a cubicle, not on the host: looks at the walls from within, prints what it found as one JSON object."""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

PSEUDO = ("/proc", "/sys")
WORKSPACE = Path("/app/workspace")
MINE = WORKSPACE / "work" / "mine"
DOOR = Path("/run/hermit/door.sock")
FORGEABLE = (DOOR, DOOR.with_name("hermit_approval.x.lock"), WORKSPACE / "in" / "x", WORKSPACE / "data" / "x")


def read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"<{error.strerror}>"


def processes() -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdecimal()]


def status() -> dict[str, str]:
    pairs = (line.partition(":") for line in read("/proc/self/status").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def mounts() -> dict[str, list[str]]:
    """Mount point: file system, and ``ro`` or ``rw``."""
    found = {}
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        options = fields[5].split(",") + right.split()[2].split(",")
        found[fields[4]] = [right.split()[0], "ro" if "ro" in options else "rw"]
    return found


def everything(top: str, *, without: tuple[str, ...] = ()) -> Iterator[tuple[Path, os.stat_result]]:
    """All of a tree."""
    for name, folders, files in os.walk(top):
        folder = Path(name)
        folders[:] = [each for each in folders if str(folder / each) not in without]
        links = [each for each in folders if (folder / each).is_symlink()]
        for path in (folder, *(folder / each for each in (*files, *links))):
            try:
                yield path, path.lstat()
            except OSError:
                continue


def can_make(folder: Path) -> bool:
    path = folder / ".wall-probe"
    try:
        path.touch(exist_ok=False)
    except OSError:
        return False
    path.unlink()
    return True


def tree() -> dict[str, list[str]]:
    kinds = ("folders", "files", "setuid", "devices", "sockets", "inodes")
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    for path, facts in everything("/", without=PSEUDO):
        mode = facts.st_mode
        found["inodes"].append(f"{facts.st_dev}:{facts.st_ino}")
        if stat.S_ISDIR(mode) and can_make(path):
            found["folders"].append(str(path))
        elif stat.S_ISREG(mode) and os.access(path, os.W_OK):
            found["files"].append(str(path))
        elif stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
            found["devices"].append(str(path))
        elif stat.S_ISSOCK(mode):
            found["sockets"].append(str(path))
        if not stat.S_ISLNK(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            found["setuid"].append(str(path))
    return found


def kernel() -> list[str]:
    """What of the kernel's own files could be written."""
    tops = ("/sys", "/proc/sys", "/proc/irq", "/proc/bus")
    return [str(path) for top in tops for path, facts in everything(top) if is_open(path, facts)]


def is_open(path: Path, facts: os.stat_result) -> bool:
    return not stat.S_ISLNK(facts.st_mode) and os.access(path, os.W_OK)


def attempt(deed: Callable[[], object]) -> str:
    try:
        deed()
    except OSError as error:
        return os.strerror(error.errno or 0)
    return "it worked"


def forgeries() -> dict[str, str]:
    MINE.touch()
    tries: dict[str, Callable[[], object]] = {
        "unlink the door": DOOR.unlink,
        "open the door for all": partial(DOOR.chmod, 0o777),
        "rename the door's folder": partial(DOOR.parent.rename, "/run/other"),
        "rename a workspace folder": partial((WORKSPACE / "in").rename, WORKSPACE / "old"),
        "replace a workspace folder": (WORKSPACE / "out").rmdir,
        "hard link across mounts": partial((WORKSPACE / "out" / "mine").hardlink_to, MINE),
    }
    for path in FORGEABLE:
        tries[f"write {path}"] = partial(path.write_text, "x", encoding="ascii")
        tries[f"link {path}"] = partial(path.with_suffix(".link").symlink_to, "/tmp/mine")
        tries[f"rename to {path}"] = partial(MINE.rename, path)
    return {name: attempt(deed) for name, deed in tries.items()}


def leaks() -> list[str]:
    """Descriptors of the processes that live here which name something that is not what has that name here."""
    found = []
    for pid in processes():
        if int(pid) == os.getpid():
            continue  # the engine started this probe, not the cubicle
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(link.readlink())
                if target.startswith("/") and not os.path.samestat(link.stat(), Path(target).stat()):
                    found.append(f"{pid}: {target}")
            except FileNotFoundError:
                found.append(f"{pid}: {link} leads out")
    return found


if __name__ == "__main__":
    facts = {
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "routes": read("/proc/net/route").splitlines()[1:],
        "resolver": read("/etc/resolv.conf"),
        "status": status(),
        "ids": [os.getuid(), os.getgid(), *os.getgroups()],
        "init": read("/proc/1/cmdline").replace("\0", " ").strip(),
        "environments": [read(f"/proc/{pid}/environ") for pid in processes()],
        "mounts": mounts(),
        "limits": {
            name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in ("FSIZE", "CORE", "NOFILE")
        },
        "tree": tree(),
        "kernel": kernel(),
        "forgeries": forgeries(),
        "leaks": leaks(),
    }
    sys.stdout.write(json.dumps(facts))
