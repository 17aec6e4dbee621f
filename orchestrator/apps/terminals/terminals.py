"""All open terminals: opened for an operator in their own cubicle, and ended with the login, the page, the cubicle, the
install, or after a while without a key. Whatever ends one, nothing that was started in it goes on inside.

What a terminal shows and takes is written down nowhere; that it was open, for whom, how long and how much is in the
audit log. A file for each cubicle with terminals says after a crash of ours where there is something to end.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from orchestrator.agents.cubicles import Cubicles
from orchestrator.apps.terminals.terminal import Opener, Terminal, is_login_valid
from orchestrator.core.audit import Audit
from orchestrator.core.errors import NotFound, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.core.periodic import guarded
from orchestrator.engine.protocol import ExecEngine
from orchestrator.engine.tty import MARK, Size

logger = logging.getLogger(__name__)

MOST = 4
"""Open at a time in the whole install."""
IDLE_S = 15 * 60.0
LOST_S = 60.0
"""How long the page of a terminal may be away: a telephone in a tunnel comes back, a closed lid does not."""
LOOK_S = 1.0


class Terminals:
    """Opens, finds and ends terminals."""

    def __init__(
        self,
        cubicles: Cubicles,
        audit: Audit,
        programs: ExecEngine,
        *,
        folder: Path,
        on_close: Callable[[CubicleKey], None] = lambda _: None,
    ) -> None:
        """``on_close`` is told whose cubicle a terminal was closed in."""
        self._on_close = on_close
        self._cubicles, self._audit, self._programs, self._folder = cubicles, audit, programs, folder
        self._open: dict[str, Terminal] = {}
        self._opening = 0
        self._lock = threading.Lock()  # protects _open, _opening, _watch, and the files in the folder
        self._watch: threading.Thread | None = None
        self._closing = threading.Event()

    def open_terminal(self, key: CubicleKey, opener: Opener, size: Size) -> Terminal:
        """A terminal in a cubicle, which is started where it does not run. Raises TooMany, NotFound, Unavailable or
        UnsafePath."""
        self._take_place()
        try:
            self._cubicles.start(key)
            terminal = self._open_checked(key, opener, size)
        finally:
            with self._lock:
                self._opening -= 1
        terminal.start(self._ended_itself)
        try:
            self._audit.record_event(
                "terminal.opened", f"{opener.user.name} opened a terminal in the cubicle of {key.agent}.", key
            )
        except Unavailable:
            self._end_safely(terminal, "It could not be written down.")
            raise
        if self._closing.is_set():
            self.end_terminal(terminal, "HermitShell was stopped.")
        return terminal

    def get_terminal(self, key: CubicleKey, number: str, login: str) -> Terminal:
        """The open terminal that this login opened in this cubicle; raises NotFound."""
        with self._lock:
            found = self._open.get(number)
        if found is None or found.key != key or not found.belongs_to(login):
            raise NotFound("This terminal is closed. Open another.")
        return found

    def end_terminal(self, terminal: Terminal, why: str) -> None:
        """A terminal is closed, and nothing of it goes on inside. Again is fine."""
        if not terminal.begin_end(why):
            return
        self._forget_terminal(terminal, is_quiet=self._hang_up(terminal))
        terminal.finish()
        self._on_close(terminal.key)
        seconds = round(time.monotonic() - terminal.opened_at)
        text = (
            f"The terminal of {terminal.opener.user.name} in the cubicle of {terminal.key.agent} was closed after "
            f"{seconds} s. {why}"
        )
        counts = {"seconds": seconds, "bytes_in": terminal.bytes_in, "bytes_out": terminal.bytes_out}
        self._audit.record_event("terminal.closed", text, terminal.key, **counts)

    def reconcile(self) -> None:
        """After a start: what an earlier process of ours left running in terminals is ended."""
        for mark in sorted(self._folder.glob("hermit-*")):
            try:
                self._programs.end_terminals(mark.name)
                mark.unlink()
            except OrchestratorError as error:
                logger.warning("what was left in a terminal of %s may still run: %s", mark.name, error.message)
            else:
                self._audit.record_event(
                    "terminal.ended", "What was left in terminals was ended.", None, container=mark.name
                )

    def close(self) -> None:
        """Every terminal is closed, and none is opened any more."""
        self._closing.set()
        for terminal in self._list_all():
            self.end_terminal(terminal, "HermitShell was stopped.")
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.join()

    def end_expired(self) -> None:
        """End the terminals whose time has come."""
        for terminal in self._list_all():
            if why := _reason_to_end(terminal):
                self._end_safely(terminal, why)

    def _take_place(self) -> None:
        if self._closing.is_set():
            raise Unavailable("There are no terminals here now.")
        with self._lock:
            if len(self._open) + self._opening >= MOST:
                raise TooMany(f"{MOST} terminals are open already. Close one of them first.")
            self._opening += 1

    def _open_checked(self, key: CubicleKey, opener: Opener, size: Size) -> Terminal:
        number, container = secrets.token_urlsafe(18), self._cubicles.container_name(key)
        with self._lock:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            (self._folder / container).touch(mode=0o600)
        tty = self._programs.open_terminal(container, size, {MARK: number, "TZ": opener.user.time_zone})
        terminal = Terminal(number, key, opener, tty)
        with self._lock:
            self._open[number] = terminal
            if self._watch is None:
                self._watch = threading.Thread(target=self._keep_looking, name="terminals", daemon=True)
                self._watch.start()
        return terminal

    def _hang_up(self, terminal: Terminal) -> bool:
        """Nothing of it runs inside; False when that can't be told."""
        try:
            if not terminal.is_quiet:
                self._programs.end_terminals(self._cubicles.container_name(terminal.key), terminal.id)
        except OrchestratorError as error:
            logger.warning("what was started in a terminal of %s may go on: %s", terminal.key, error.message)
            return False
        terminal.is_quiet = True
        return True

    def _forget_terminal(self, terminal: Terminal, *, is_quiet: bool) -> None:
        with self._lock:
            self._open.pop(terminal.id, None)
            if is_quiet and not self._opening and not any(other.key == terminal.key for other in self._open.values()):
                (self._folder / self._cubicles.container_name(terminal.key)).unlink(missing_ok=True)

    def _ended_itself(self, terminal: Terminal) -> None:
        """At the top of a terminal's thread: its shell is silent for good."""
        if terminal.is_over:
            return
        self._hang_up(terminal)  # of a cubicle that is just being stopped, this returns when it is
        try:
            has_stopped = self._cubicles.poll(terminal.key) is not None
        except Unavailable:
            self._end_safely(terminal, "The Docker engine does not answer any more.")
            return
        self._end_safely(terminal, "The cubicle was stopped." if has_stopped else "The shell has ended.")

    def _list_all(self) -> list[Terminal]:
        with self._lock:
            return list(self._open.values())

    def _keep_looking(self) -> None:
        """At the top of a thread that lives while terminals are open."""
        while not self._closing.wait(LOOK_S):
            self.end_expired()
            with self._lock:
                if not self._open:
                    self._watch = None
                    return

    def _end_safely(self, terminal: Terminal, why: str) -> None:
        guarded(f"{terminal.key}: ending a terminal", partial(self.end_terminal, terminal, why))


def _reason_to_end(terminal: Terminal) -> str:
    """Why a terminal is to be ended now; empty for a good one."""
    if not is_login_valid(terminal.opener):
        return "The login that opened it has ended."
    if terminal.silent_s() > IDLE_S:
        return f"Nobody typed for {IDLE_S / 60:.0f} minutes."
    if terminal.alone_s() > LOST_S:
        return "Its page was closed."
    return ""
