"""Debian's package manager on the host, for root alone: the few packages that the set-up needs.

It installs what it is told to and nothing recommended beside it; it never changes apt's own settings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress, Task

LISTS = "/var/lib/apt/lists/*_Packages*"
LISTS_OLD_S = 24 * 3600
INSTALL_S = 900.0
NEEDED_BYTES = 2_000_000_000

_CARRIED = re.compile(
    r'^(Acquire::(?:http|https)::Proxy(?:::[\w.-]+)?|Acquire::Check-(?:Valid-Until|Date)) "([^"\s]+)";$', re.MULTILINE
)


def install_packages(machine: Machine, progress: SetupProgress, packages: Sequence[str], *, what: str) -> None:
    """The packages are installed. Raises :class:`Unavailable` with the first thing that a person can fix."""
    if not machine.has_command("apt-get"):
        raise Unavailable(
            f"{what} is missing, and without apt I can't install it: install it with your system's package manager,"
            " then try again."
        )
    free = machine.free_bytes(Path("/var/lib"))
    if free < NEEDED_BYTES:
        raise Unavailable(
            f"The disk of /var/lib has {free >> 20} MB left, and {what} with the cubicle's image needs about"
            f" {NEEDED_BYTES >> 20} MB: free some, then try again."
        )
    with progress.task(f"Installing {what}") as task:
        age_s = machine.age_s(LISTS)
        is_new = age_s is not None and age_s < LISTS_OLD_S
        if not is_new:
            _update_lists(machine, task)
        ran = _install_packages(machine, task, packages)
        if ran and is_new:
            _update_lists(machine, task)  # the lists named a version that the archive no longer has
            ran = _install_packages(machine, task, packages)
        if ran:
            raise Unavailable(
                f"apt could not install {what}: {ran}. Try 'apt-get install {' '.join(packages)}' by hand; the log is"
                f" {machine.state_dir / 'apt.log'}."
            )


def carried_settings(machine: Machine) -> str:
    """The host's apt settings that a build on this host needs as well, as options; usually empty.

    A proxy, or a clock that does not suit the archive's dates: where the host's own apt would fail without them, so
    would the one in a build.
    """
    if not machine.has_command("apt-config"):
        return ""
    ran = machine.run_command(["apt-config", "dump"], timeout_s=20, log="apt-config.log")
    return " ".join(f"-o {name}={value}" for name, value in _CARRIED.findall(ran.output)) if ran.code == 0 else ""


def _update_lists(machine: Machine, task: Task) -> None:
    task.show_step("reading the package lists")
    # A list that cannot be read need not matter; if it does, the installation says what is missing.
    machine.run_command(["apt-get", "update"], timeout_s=300, log="apt-update.log", on_line=task.show_detail)


def _install_packages(machine: Machine, task: Task, packages: Sequence[str]) -> str:
    """Empty when it worked, else why not."""
    task.show_step(f"installing {', '.join(packages)}")
    ran = machine.run_command(
        # A lock held by another apt is worth waiting for.
        ["apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", *packages],
        timeout_s=INSTALL_S,
        log="apt.log",
        on_line=task.show_detail,
    )
    if ran.code == 0:
        return ""
    errors = [line.removeprefix("E:").strip() for line in ran.output.splitlines() if line.startswith("E:")]
    return errors[0] if errors else ran.last_line
