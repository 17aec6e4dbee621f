"""One client's connection: whether it waits or works, until when, and how it ends."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cheroot.server import HTTPConnection

from orchestrator.door.http.framing import HttpRequest

_HEAR_S = 5.0
"""How long a client that still sends may go on, so that it hears the answer."""


class Connection(HTTPConnection):
    """A client's connection: what cheroot reads and writes, and what its listener has to know of it."""

    deadline: float | None = None
    has_asked = False
    """A whole request came through it."""
    is_waiting = True
    """Nothing is under way: its client has not sent its next request, or not all of it."""
    since = 0.0
    """Monotonic time since when it waits."""
    is_unheard = False
    """It was answered before all that the client sends was read."""
    heir: Callable[[socket.socket], None] | None = None
    """Who gets the socket after this answer."""

    def mark_idle(self) -> None:
        """A request was answered, or cannot be."""
        self.deadline, self.is_waiting, self.since = None, True, time.monotonic()

    def mark_busy(self) -> None:
        """A request's head has come, and is handled."""
        self.deadline, self.is_waiting, self.has_asked = None, False, True

    @contextmanager
    def reading(self, deadline: float, *, may_be_dropped: bool) -> Iterator[None]:
        """The client's bytes are waited for until a monotonic time."""
        self.deadline, self.is_waiting, self.since = deadline, may_be_dropped, time.monotonic()
        try:
            yield
        finally:
            self.deadline, self.is_waiting = None, False

    def hand_over_to(self, heir: Callable[[socket.socket], None]) -> None:
        """After this answer the connection is no longer ours."""
        self.heir = heir

    def leave_to(self, heir: Callable[[socket.socket], None]) -> None:
        """The heir gets a socket of its own on the same connection; a client that sent more than its request, before it
        was told that it may, gets nothing."""
        if self.rfile.has_data():
            return
        theirs = self.socket.dup()
        self.linger = True  # else cheroot would shut the connection down, for the heir too
        self.socket.close()
        heir(theirs)

    def await_request(self, idle_s: float) -> bool:
        """True when bytes are there to read; False when the client is gone or has been silent for too long."""
        if self.rfile.has_data():
            return True
        poller = select.poll()
        try:
            poller.register(self.socket, select.POLLIN)
            return bool(poller.poll(idle_s * 1000)) and bool(self.socket.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):
            return False

    def hear_out(self) -> None:
        """What a client still sends is thrown away for a while: closed at once, it would lose our answer."""
        if not self.is_unheard:
            return
        self.mark_idle()
        self.deadline = time.monotonic() + _HEAR_S
        try:
            self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(1 << 16):
                pass
        except OSError:
            return  # gone, or cut as overdue

    def cut(self) -> None:
        """End the connection under whatever reads or writes it."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # gone already


Connection.RequestHandlerClass = HttpRequest
