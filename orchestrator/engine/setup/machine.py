"""The host as the set-up sees it: who we are, what is installed, how much room there is, how to run a command.

It runs argument lists, never a shell line, each with a time limit and its output in a log file. The set-up decides;
this module only does. Tests put a machine of their own in its place (:class:`Machine`).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.core.errors import Unavailable

POLL_S = 0.1
SOCKET_S = 5.0
_KEPT = frozenset({"HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"})


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    code: int
    output: str
    """All that it printed, both streams."""

    @property
    def last_line(self) -> str:
        """The last line that says something, for a person."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "no reason given")


class Machine(Protocol):
    """The host's facts and commands."""

    env: Mapping[str, str]
    state_dir: Path
    """Where logs go; made when first needed."""

    def is_root(self) -> bool:
        """We may change the host."""

    def user_id(self) -> int:
        """The numeric id of whoever runs us."""

    def has_command(self, command: str) -> bool:
        """The command is installed."""

    def has_systemd(self) -> bool:
        """Services are systemd's to start."""

    def socket_error(self, path: str) -> OSError | None:
        """Why nobody can be reached at that unix socket; None when somebody listens."""

    def read_files(self, pattern: str) -> list[str]:
        """The texts of the files whose absolute paths match, in the order of their names; unreadable ones left out."""

    def age_s(self, pattern: str) -> float | None:
        """Seconds since the newest file that matches was written; None when none does."""

    def free_bytes(self, path: Path) -> int:
        """Room for us on the file system which holds ``path`` or its nearest existing parent."""

    def total_bytes(self, path: Path) -> int:
        """How large that file system is."""

    def run_command(
        self, argv: Sequence[str], *, timeout_s: float, log: str, on_line: Callable[[str], None] | None = None
    ) -> CommandResult:
        """Runs a command to its end; its output goes to the file ``log`` in the state folder.

        Raises :class:`Unavailable` when it takes longer; nothing of it is left running then.
        """

    def spawn_command(self, argv: Sequence[str], *, log: str) -> int:
        """Starts a command that outlives us, in a session of its own, its output in ``log``. Returns its process id."""

    def has_ended(self, pid: int) -> bool:
        """The process that ``spawn_command`` started is gone."""

    def log_text(self, log: str) -> str:
        """What the log holds by now."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class LocalMachine:
    """The machine that we run on."""

    def __init__(self, state_dir: Path, env: Mapping[str, str]) -> None:
        self.state_dir = state_dir
        self.env = env

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def user_id(self) -> int:
        return os.getuid()

    def has_command(self, command: str) -> bool:
        return shutil.which(command, path=_system_path(self.env)) is not None

    def has_systemd(self) -> bool:
        return Path("/run/systemd/system").is_dir()

    def socket_error(self, path: str) -> OSError | None:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(SOCKET_S)
            try:
                knocking.connect(path)
            except OSError as error:
                return error
        return None

    def read_files(self, pattern: str) -> list[str]:
        texts = []
        for path in sorted(Path("/").glob(pattern.lstrip("/"))):
            try:
                texts.append(path.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue  # what we may not read cannot tell us anything
        return texts

    def age_s(self, pattern: str) -> float | None:
        times = [path.stat().st_mtime for path in Path("/").glob(pattern.lstrip("/"))]
        return time.time() - max(times) if times else None

    def free_bytes(self, path: Path) -> int:
        return shutil.disk_usage(_existing_parent(path)).free

    def total_bytes(self, path: Path) -> int:
        return shutil.disk_usage(_existing_parent(path)).total

    def run_command(
        self, argv: Sequence[str], *, timeout_s: float, log: str, on_line: Callable[[str], None] | None = None
    ) -> CommandResult:
        # Through a file and not a pipe: a service that the command starts would keep a pipe open for ever.
        path = self._log(log)
        with path.open("wb") as sink, path.open(encoding="utf-8", errors="replace") as source:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=_command_environment(self.env),
                start_new_session=True,
            )
            try:
                ended_by_itself = _follow_output(process, source.readlines, on_line, time.monotonic() + timeout_s)
            finally:
                _end_process(process)
        if not ended_by_itself:
            raise Unavailable(f"{argv[0]} took longer than {timeout_s:.0f} s and was ended; its log is {path}.")
        return CommandResult(process.returncode, path.read_text(encoding="utf-8", errors="replace"))

    def spawn_command(self, argv: Sequence[str], *, log: str) -> int:
        path = str(self._log(log))
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        # From the root folder, so that it holds no other file system busy.
        argv = ["env", "-C", "/", *argv]
        return os.posix_spawn("/usr/bin/env", argv, _command_environment(self.env), file_actions=actions, setsid=True)

    def has_ended(self, pid: int) -> bool:
        try:
            return os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            return True

    def log_text(self, log: str) -> str:
        try:
            return self._log(log).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _log(self, name: str) -> Path:
        self.state_dir.mkdir(parents=True, exist_ok=True)
        return self.state_dir / name


def _command_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a command needs of ours: how to reach the network, and none of our secrets."""
    kept = {
        name: value
        for name, value in env.items()
        if name in _KEPT or name.startswith("PIP_") or name.lower().endswith("_proxy")
    }
    return {**kept, "PATH": _system_path(env), "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def _system_path(env: Mapping[str, str]) -> str:
    """The caller's PATH with the folders of system tools, which an ordinary user's lacks."""
    return f"{env.get('PATH', '/usr/local/bin:/usr/bin:/bin')}:/usr/local/sbin:/usr/sbin:/sbin"


def _follow_output(
    process: subprocess.Popen[bytes],
    read_lines: Callable[[], list[str]],
    on_line: Callable[[str], None] | None,
    deadline: float,
) -> bool:
    """Waits for the end, passing on what is printed; False when the time ran out first."""
    while True:
        has_ended = process.poll() is not None
        for line in read_lines():
            if on_line and line.strip():
                on_line(line.strip())
        if has_ended or time.monotonic() > deadline:
            return has_ended
        time.sleep(POLL_S)


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends the command with its children if it still runs: it took too long, or the person pressed Ctrl-C."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _existing_parent(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
