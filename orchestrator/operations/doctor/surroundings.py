"""Examines what lies around the orchestrator: who may read its home, disk, clock, crash helper, open files, ports.
Reads and tries, changes nothing."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.ports import who_listens
from orchestrator.engine.setup.machine import Machine
from orchestrator.files.quota import Room

PERMISSIONS, DISK, CLOCK, CRASHES, PORTS = "permissions", "disk", "clock", "crashes", "ports"
OPENNESS = "network"
WATCHES, DESCRIPTORS = "watches", "open files"
FEW_DESCRIPTORS, NEARLY_ALL = 4096, 0.8
LITTLE_BYTES, LITTLE_RESERVES = 5 * 10**9, 5
"""So much is little, or on a small disk so many times what is kept in reserve."""
CLOCKS_DIFFER_S = 10.0
_CORE_PATTERN = "/proc/sys/kernel/core_pattern"
_WATCHES = ("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches")
LITTLE_INSTANCES, LITTLE_WATCHES = 16, 4096


def examine_permissions(home: Path) -> list[Finding]:
    """HERMIT_HOME is ours, ours alone, and can hold sockets."""
    if not home.exists():
        return [ok(PERMISSIONS, f"{home} does not exist yet; './hermit up' makes it for you alone.")]
    if not is_ours(home):
        return [
            fail(
                PERMISSIONS,
                f"{home} belongs to another user.",
                f"Run as its owner, or 'chown -R {os.geteuid()} {home}'.",
            )
        ]
    open_ones = [path for path in _private(home) if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    if open_ones:
        names = " ".join(str(path) for path in open_ones[:3])
        return [fail(PERMISSIONS, f"Others may read {names}.", f"Run 'chmod go-rwx {names}'.")]
    if problem := _socket_problem(home):
        fix = "Set HERMIT_HOME to a folder on a local disk (not on a network or a shared-folder file system)."
        return [fail(PERMISSIONS, f"{home} can't hold sockets ({problem}).", fix)]
    return [ok(PERMISSIONS, f"{home} is readable by you only.")]


def is_ours(home: Path) -> bool:
    """Looking further may make what is missing in it; in somebody else's nothing is made."""
    return not home.exists() or home.stat().st_uid == os.geteuid()


def examine_openness(host: str, *, is_open: bool) -> list[Finding]:
    """A warning when others on the network reach the dashboard without encryption; nothing else."""
    if not is_open:
        return []
    text = f"HERMIT_HOST={host} lets others on your network reach the dashboard, without encryption."
    fix = "Leave HERMIT_HOST out and use a tunnel, or a proxy with https whose address is HERMIT_PUBLIC_URL."
    return [warn(OPENNESS, text, fix)]


def examine_disk(machine: Machine, places: Mapping[str, Path]) -> list[Finding]:
    """Room where each of these lies, by what is kept there."""
    return [_room(what, machine.free_bytes(path), machine.total_bytes(path)) for what, path in places.items()]


def examine_clock(now: float, *, newest_file: float, engine_time: str) -> Finding:
    """The clock is no earlier than our own files, and the engine's shows the same."""
    fix = "Set the clock, best with a time service (Debian: apt-get install systemd-timesyncd)."
    if now < newest_file - 24 * 3600:
        return fail(CLOCK, f"The clock shows {_day(now)}, before this program was written.", fix)
    theirs = _moment(engine_time)
    if theirs is not None and abs(theirs - now) > CLOCKS_DIFFER_S:
        return warn(CLOCK, f"The engine's clock differs by {abs(theirs - now):.0f} s.", fix)
    return ok(CLOCK, f"It is {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC.")


def examine_crashes(machine: Machine) -> Finding:
    """Whether the kernel hands crashed programs to a helper on the host."""
    pattern = "".join(machine.read_files(_CORE_PATTERN)).strip()
    if not pattern.startswith("|"):
        return ok(CRASHES, "A crashing program starts no helper on the host.")
    return warn(
        CRASHES,
        "The kernel hands every program that crashes, those of cubicles too, to a helper that runs as root on the"
        f" host ({pattern[1:].split()[0]}). Cubicles forbid core dumps, which keeps it from being started.",
        "If you don't need it: sysctl -w kernel.core_pattern=core",
    )


def examine_watches(machine: Machine) -> Finding:
    """Whether the kernel lets us hear at once of new files in ``out/``: one watch for each cubicle."""
    limits = [
        int(text) if (text := "".join(machine.read_files(path)).strip()).isdecimal() else None for path in _WATCHES
    ]
    if None in limits:
        return ok(WATCHES, "The kernel does not say how many folders may be watched; all are scanned anyway.")
    instances, watches = (limit or 0 for limit in limits)
    text = f"The kernel allows each user {instances:,} watchers and {watches:,} watched folders."
    if instances < LITTLE_INSTANCES or watches < LITTLE_WATCHES:
        return warn(
            WATCHES,
            f"{text} If they run out, new files in out/ are noticed within seconds instead of at once.",
            "sysctl -w fs.inotify.max_user_instances=128 fs.inotify.max_user_watches=65536",
        )
    return ok(WATCHES, f"New files in out/ are noticed at once. {text}")


def examine_descriptors(used_of_limit: tuple[int, int] | None) -> Finding:
    """How many files and connections the running install has open, of how many; None where nobody knows."""
    if used_of_limit is None:
        return ok(DESCRIPTORS, "Not checked: HermitShell is not running here.")
    used, limit = used_of_limit
    text = f"{used:,} of {limit:,} files and connections are open."
    fix = "Allow more ('ulimit -Hn 65536', or LimitNOFILE=65536 for systemd), and start HermitShell again."
    if used > NEARLY_ALL * limit:
        return fail(DESCRIPTORS, f"{text} Soon no new connections will be possible.", fix)
    if limit < FEW_DESCRIPTORS:
        return warn(DESCRIPTORS, f"{text} That is low: each working agent needs up to 20.", fix)
    return ok(DESCRIPTORS, text)


def examine_ports(ports: Mapping[str, int]) -> list[Finding]:
    """Nobody else holds our ports, by the name of their settings. Only asked while we are not running."""
    found = []
    for name, port in ports.items():
        holder = who_listens(port)
        if holder:
            found.append(fail(PORTS, f"Port {port} is taken by {holder}.", f"Stop that, or choose another {name}."))
    return found or [ok(PORTS, f"Free: {', '.join(str(port) for port in ports.values())}.")]


def newest_change(files: Path) -> float:
    """When the newest program file below a folder was written."""
    return max((path.stat().st_mtime for path in files.rglob("*.py")), default=0.0)


def _private(home: Path) -> list[Path]:
    return [path for path in (home, home / "hermit.env", *sorted((home / "keys").glob("*"))) if path.exists()]


def _socket_problem(home: Path) -> str:
    """Why no socket can be made in the home, or empty. By way of a descriptor, as its path may be too long."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    name = f".doctor-{os.getpid()}.sock"
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(f"/proc/self/fd/{folder}/{name}")
        os.unlink(name, dir_fd=folder)
    except OSError as error:
        return error.strerror or errno.errorcode.get(error.errno or 0, "unknown")
    finally:
        os.close(folder)
    return ""


def _room(what: str, free: int, total: int) -> Finding:
    reserve = Room(free, 0, total).reserve_bytes
    text = f"{free / 10**9:.1f} GB are free where {what} lie."
    if free < reserve:
        fix = f"Free some space: while less than {reserve / 10**9:.1f} GB are left, agents can't work."
        return fail(DISK, text, fix)
    if free < min(LITTLE_BYTES, LITTLE_RESERVES * reserve):
        return warn(DISK, text, f"Free some space soon: below {reserve / 10**9:.1f} GB agents are stopped.")
    return ok(DISK, text)


def _moment(text: str) -> float | None:
    """The engine's RFC 3339 time with nanoseconds, or None when it is none."""
    try:
        return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC).timestamp() if text.endswith("Z") else None
    except ValueError:
        return None


def _day(now: float) -> str:
    return f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
