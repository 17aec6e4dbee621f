"""One command: ``bash -c`` in a session of its own, its output within bounds, its end noticed at once.

Owns the process from spawn to reaping, and the pipe it prints into. Whatever a command does (prints without end, leaves
a server behind, ignores signals, runs away into other sessions), :meth:`Shell.run_command` returns by the deadline, and
of a command that was timed out or stopped nothing stays. Judges no command; keeps nothing of an output beyond its
limit.
"""

from __future__ import annotations

import _thread  # threading costs 2 ms of start and is not needed for one loop that never ends
import errno
import os
import select
import time
from collections.abc import Callable
from signal import SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ

from crab.output import Output
from crab.reaper import end_step

BASH = "/bin/bash"
CHUNK = 64 * 1024
LOOK_FOR_STOP_S = 0.1
SHOW_EVERY_S = 0.5
"""How often what a command printed so far is shown, and how long one runs before it is."""
LOOK_FOR_ANSWER_S = 1.0
"""How often a command whose time is up is looked at again while a person is waited for."""
PLENTY_BYTES = 64 * 1024 * 1024
"""A command that printed this much is read slowly from then on, so that an endless one costs next to no CPU."""
SPAWN_FAILURES = {
    errno.E2BIG: "The command is too long (the limit is 128 KiB). Write it into a file in parts and run that.",
    errno.EAGAIN: "No process could be started: too many are running. End some background processes first.",
    errno.ENOMEM: "No process could be started: memory is full. End some background processes first.",
}


class Result:
    """How a command ended."""

    __slots__ = ("duration_s", "ended", "exit_code", "omitted_bytes", "output")

    def __init__(self, *, exit_code: int, output: str, omitted_bytes: int, duration_s: float, ended: str) -> None:
        self.exit_code = exit_code
        """128 and the signal's number for a command that died of one; 124 for one that ran out of time."""
        self.output = output
        self.omitted_bytes = omitted_bytes
        self.duration_s = duration_s
        self.ended = ended
        """``exited``, ``timeout`` or ``stopped``."""


class Shell:
    """Runs commands one after the other, in the working folder of the crab itself."""

    __slots__ = ("_boot", "_drain", "_home")

    def __init__(self, *, home: str) -> None:
        self._home = home
        self._boot = os.urandom(4).hex()
        self._drain = _Drain()

    def run_command(
        self,
        command: str,
        *,
        step: str,
        timeout_s: float,
        output_bytes: int,
        time_zone: str,
        is_stopped: Callable[[], bool],
        waited: Callable[[], tuple[float, bool]] = lambda: (0.0, False),
        show: Callable[[str], None] = lambda _: None,
    ) -> Result:
        """Runs ``command`` to its end, its deadline or a stop; ``step`` marks its processes.

        ``waited`` is asked when the time is up: how many seconds of it were spent waiting for a person, which do not
        count, and whether one is still waited for. ``show`` gets the output so far, now and then, when there is more.
        """
        started = time.monotonic()
        mark = f"{step}.{self._boot}"  # unique: a crab before this one may have left servers behind
        try:
            process = _Process(command, make_environment(self._home, step=mark, time_zone=time_zone))
        except OSError as error:
            text = SPAWN_FAILURES.get(error.errno or 0, f"The command could not be started: {error.strerror}.")
            return Result(exit_code=126, output=text, omitted_bytes=0, duration_s=0.0, ended="exited")
        output = Output(output_bytes)
        try:
            deadline = _Deadline(started + timeout_s, waited)
            window = _Window(output, show, started)
            ended = process.read_until_end(output, deadline=deadline, is_stopped=is_stopped, window=window)
        finally:
            code = process.finish_command(f"HERMIT_STEP={mark}", output, self._drain)
        text, omitted = output.get_text()
        exit_code = {"timeout": 124, "stopped": 128 + SIGTERM}.get(ended, code)
        duration_s = round(time.monotonic() - started, 3)
        return Result(exit_code=exit_code, output=text, omitted_bytes=omitted, duration_s=duration_s, ended=ended)


def make_environment(home: str, *, step: str, time_zone: str) -> dict[str, str]:
    """All that a command finds in its environment; nothing of the crab's own is passed on."""
    return {
        "PATH": f"/usr/local/bin:/usr/bin:/bin:{home}/.local/bin",
        "HOME": home,
        "USER": "hermit",
        "SHELL": BASH,
        "LANG": "C.UTF-8",
        "TZ": time_zone,
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "DEBIAN_FRONTEND": "noninteractive",
        "PYTHONUNBUFFERED": "1",  # what a program printed before it was timed out is seen
        "UV_USE_IO_URING": "0",  # libuv would probe a system call that the cubicle forbids
        "HERMIT_STEP": step,
    }


class _Deadline:
    """When a command must have ended; it moves while a person is waited for."""

    __slots__ = ("_due", "_waited", "at")

    def __init__(self, due: float, waited: Callable[[], tuple[float, bool]]) -> None:
        self._due = due
        self._waited = waited
        self.at = due

    def has_passed(self, now: float) -> bool:
        """The time is up, also when what was waited is not counted."""
        if now < self.at:
            return False
        waited_s, is_waiting = self._waited()
        self.at = self._due + waited_s
        if is_waiting:
            self.at = max(self.at, now + LOOK_FOR_ANSWER_S)
        return now >= self.at


class _Window:
    """Through which an output is seen while it grows."""

    __slots__ = ("_at", "_output", "_show", "_total")

    def __init__(self, output: Output, show: Callable[[str], None], now: float) -> None:
        self._output = output
        self._show = show
        self._at = now + SHOW_EVERY_S
        self._total = 0

    def show_new(self, now: float) -> None:
        """Shows it, when there is more and the last look is long enough ago."""
        if now >= self._at and self._output.total > self._total:
            self._at, self._total = now + SHOW_EVERY_S, self._output.total
            self._show(self._output.get_text()[0])


class _Process:
    """A bash that runs: its pid, a descriptor that tells its end, and the pipe into which it prints."""

    __slots__ = ("code", "pid", "pidfd", "pipe")

    def __init__(self, command: str, env: dict[str, str]) -> None:
        self.pipe, theirs = os.pipe()
        self.code: int | None = None
        files = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_DUP2, theirs, 2),
        ]
        argv = ["bash", "-c", "--", command]  # "--": a command may begin with a dash
        # Python ignores SIGPIPE and SIGXFSZ; a command must not inherit that, or `yes | head` would never end.
        signals = [SIGPIPE, SIGXFSZ]
        try:
            self.pid = os.posix_spawn(BASH, argv, env, file_actions=files, setsid=True, setsigdef=signals)
        except BaseException:
            os.close(self.pipe)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(self.pipe, False)
        self.pidfd = _open_pidfd(self.pid)
        _prefer_as_victim(self.pid)

    def read_until_end(
        self, output: Output, *, deadline: _Deadline, is_stopped: Callable[[], bool], window: _Window
    ) -> str:
        """Reads until the command ends (``exited``), the deadline passes (``timeout``) or a person stops it."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        if self.pidfd >= 0:
            poll.register(self.pidfd, select.POLLIN)
        longest_s = LOOK_FOR_STOP_S if self.pidfd >= 0 else 0.005
        look_at = 0.0
        while True:
            now = time.monotonic()
            if now >= look_at:
                if is_stopped():
                    return "stopped"
                look_at = now + LOOK_FOR_STOP_S
            if deadline.has_passed(now):
                return "timeout"
            window.show_new(now)
            ready = dict(poll.poll(max(0.0, min(longest_s, deadline.at - now)) * 1000))
            if self.pipe in ready and not self._read(output):
                poll.unregister(self.pipe)
            if (self.pidfd in ready or self.pidfd < 0) and self.has_ended():
                return "exited"
            if output.total > PLENTY_BYTES:
                time.sleep(0.01)

    def has_ended(self) -> bool:
        """The command ended and was reaped; ``code`` is set."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.code = code if code >= 0 else 128 - code
        return self.code is not None

    def finish_command(self, marker: str, output: Output, drain: _Drain) -> int:
        """Ends the command if it still runs, takes the rest of its output, gives all descriptors back."""
        if not self.has_ended():
            end_step(self.pid, marker, has_ended=self.has_ended)
        if self.pidfd >= 0:
            os.close(self.pidfd)
        # A pipe holds 64 KiB. What is there now was printed before the end; a server left behind may print for ever.
        is_open = all(self._read(output) for _ in range(2))
        if is_open:
            drain.take_pipe(self.pipe)
        else:
            os.close(self.pipe)
        return 128 + SIGKILL if self.code is None else self.code

    def _read(self, output: Output) -> bool:
        """Takes what is there; False when nobody holds the other end any more."""
        try:
            chunk = os.read(self.pipe, CHUNK)
        except BlockingIOError:
            return True
        output.add_bytes(chunk)
        return bool(chunk)


class _Drain:
    """Reads away what processes left behind still print, so that they neither block nor die of a closed pipe."""

    __slots__ = ("_poll", "_runs")

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._runs = False

    def take_pipe(self, pipe: int) -> None:
        """The pipe is read until its last writer is gone, then closed. The thread starts with the first one."""
        self._poll.register(pipe, select.EPOLLIN)
        if not self._runs:
            try:
                _thread.start_new_thread(self._loop, ())
                self._runs = True
            except RuntimeError:
                pass  # the limit of processes is reached: the next pipe tries again

    def _loop(self) -> None:
        while True:
            for pipe, _ in self._poll.poll():
                try:
                    is_open = bool(os.read(pipe, CHUNK))
                except BlockingIOError:
                    is_open = True
                if not is_open:
                    self._poll.unregister(pipe)
                    os.close(pipe)
            time.sleep(0.005)  # bounds what an endless printer in the background costs


def _open_pidfd(pid: int) -> int:
    """A descriptor that becomes readable at the end of ``pid``, or -1 where the kernel has none (gVisor)."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def _prefer_as_victim(pid: int) -> None:
    """When memory runs out the kernel takes the command, not the crab."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "wb", buffering=0) as file:
            file.write(b"500")
    except OSError:
        pass  # ended already, or not allowed here: then the kernel chooses as it likes
