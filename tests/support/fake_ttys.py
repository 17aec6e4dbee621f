"""Lines of terminals for tests: one that a test speaks through itself, and one to a real shell of this machine, for
pages that want to look at something that lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.engine.kill_session import hang_up
from orchestrator.engine.tty import MARK, Size, Tty
from tests.support.fakes import NoExec


class ScriptedTty:
    """What a shell prints is what the test says."""

    def __init__(self, size: Size, environment: Mapping[str, str]) -> None:
        self.sizes, self.environment = [size], dict(environment)
        self.typed = b""
        self.is_closed = False
        self._said: queue.Queue[bytes] = queue.Queue()

    def say(self, data: bytes) -> None:
        """The shell prints this; nothing: it has ended."""
        self._said.put(data)

    @property
    def unread(self) -> int:
        """How many pieces nobody has asked for yet."""
        return self._said.qsize()

    def read(self) -> bytes:
        """The next piece."""
        return self._said.get()

    def write(self, data: bytes) -> None:
        """Remember it."""
        if self.is_closed:
            raise Unavailable("The shell takes nothing more. Close this terminal and open another.")
        self.typed += data

    def resize(self, size: Size) -> None:
        """Remember it."""
        self.sizes.append(size)

    def close(self) -> None:
        """The reading ends."""
        self.is_closed = True
        self._said.put(b"")


@dataclass
class ScriptedTtys(NoExec):
    """Lays lines that tests speak through."""

    lines: list[ScriptedTty] = field(default_factory=list)
    hung_up: list[tuple[str, str]] = field(default_factory=list)
    is_broken: bool = False

    def open_terminal(self, container: str, size: Size, environment: Mapping[str, str]) -> Tty:
        """Another one."""
        self._answer()
        self.lines.append(ScriptedTty(size, environment))
        return self.lines[-1]

    def end_terminals(self, container: str, terminal: str = "") -> None:
        """Remember it."""
        self._answer()
        self.hung_up.append((container, terminal))

    def _answer(self) -> None:
        if self.is_broken:
            raise Unavailable("The Docker engine does not answer.")


class ShellTty:
    """A shell of this machine in a terminal of its own."""

    def __init__(self, size: Size, environment: Mapping[str, str], folder: Path) -> None:
        self._ours, theirs = os.openpty()
        self._woken, self._wake = os.pipe()
        self._lock = threading.Lock()  # protects the descriptors from being closed under a call
        self._is_closed = False
        self.resize(size)
        self._process = subprocess.Popen(
            # Tests that run in the background may be deaf for Ctrl-C, which a shell would hand on to its programs.
            [
                "/usr/bin/env",
                "--default-signal",
                "/usr/bin/setsid",
                "--ctty",
                "/bin/bash",
                "--noprofile",
                "--norc",
                "-i",
            ],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "TERM": "xterm-256color",
                "PS1": "crab$ ",
                "HISTFILE": "",
                **environment,
            },
        )
        os.close(theirs)

    def read(self) -> bytes:
        """The next piece."""
        ready, _, _ = select.select([self._ours, self._woken], [], [])
        if self._woken in ready:
            return b""
        with contextlib.suppress(OSError):  # nobody has the other end any more
            return os.read(self._ours, 32 * 1024)
        return b""

    def write(self, data: bytes) -> None:
        """The shell gets it."""
        with self._lock:
            if not self._is_closed:
                os.write(self._ours, data)

    def resize(self, size: Size) -> None:
        """The window has another size."""
        with self._lock:
            if not self._is_closed:
                fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))

    def close(self) -> None:
        """It is gone; the descriptors go with the process of the test."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.write(self._wake, b"!")
                self._process.kill()
                self._process.wait()


class ShellTtys(NoExec):
    """Lays lines to shells of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open_terminal(self, container: str, size: Size, environment: Mapping[str, str]) -> Tty:
        """Another shell."""
        return ShellTty(size, environment, self._folder)

    def end_terminals(self, container: str, terminal: str = "") -> None:
        """Nothing of it runs on this machine."""
        if terminal:
            hang_up(f"{MARK}={terminal}".encode())
