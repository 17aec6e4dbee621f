"""The harbour: connections that cubicles opened to us, each waiting to be told which port inside it shall lead to.

A cubicle's *ferry* (``crab/ferry.py``) keeps a few spare connections here while somebody uses an app of its. Whoever
needs a way to a port takes a spare, says ``PORT n``, and has from the ferry's ``ok`` on a plain stream of bytes to that
port. What comes out of it is a stranger's. The harbour counts and ends connections; it looks into none of them.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import defaultdict, deque

from orchestrator.errors import NotFound, TooMany, Unavailable
from orchestrator.nouns import CubicleKey

MAX_SPARES = 8
MAX_STREAMS = 128
"""Streams of one cubicle at a time; every one of them holds a descriptor of ours."""
WAIT_S = 5.0
"""How long a request waits for a ferry that has to be started first."""
ANSWER_S = 5.0
"""How long a ferry may take to reach a port of its own machine."""
_ANSWER_BYTES = 200


class Harbour:
    """The spare and the busy connections of every cubicle."""

    def __init__(self) -> None:
        self._spares: defaultdict[CubicleKey, deque[socket.socket]] = defaultdict(deque)
        self._busy: defaultdict[CubicleKey, set[socket.socket]] = defaultdict(set)
        self._calls: dict[CubicleKey, float] = {}
        """Cubicles that need a ferry, and since when."""
        self._changed = threading.Condition()  # notified of every new spare and call; protects all of the above
        self._is_closed = False

    # --- the cubicle's side ------------------------------------------------------------------------------------

    def moor(self, key: CubicleKey, connection: socket.socket) -> None:
        """A ferry offers a connection; one too many is closed."""
        with self._changed:
            spares = self._spares[key]
            while spares and _has_ended(spares[0]):
                spares.popleft().close()
            if self._is_closed or len(spares) >= MAX_SPARES:
                connection.close()
                return
            spares.append(connection)
            self._calls.pop(key, None)
            self._changed.notify_all()

    def await_call(self, key: CubicleKey, timeout_s: float) -> bool:
        """Wait until this cubicle needs a ferry; False when it did not in time."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not self._is_closed:
                since = self._calls.get(key)
                if since is not None and time.monotonic() - since < WAIT_S:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
        return False

    # --- the side of whoever has a request ---------------------------------------------------------------------

    def stream(self, key: CubicleKey, port: int) -> socket.socket:
        """A connection to that port inside the cubicle, blocking, for whoever called alone; given back by ``end``.

        Raises NotFound when nothing answers there, TooMany, or Unavailable when the cubicle has no ferry.
        """
        deadline = time.monotonic() + WAIT_S
        while True:
            connection = self._take(key, deadline)
            answer = _ask(connection, port)
            if answer == "ok":
                return connection
            self.end(key, connection)
            if answer:
                raise NotFound(f"Nothing answers at port {port} of this cubicle. Is the server running?")
            # The ferry had gone before it heard us: the next spare, or a new ferry, may do.

    def end(self, key: CubicleKey, connection: socket.socket) -> None:
        """The stream is over; again is fine."""
        with self._changed:
            self._busy[key].discard(connection)
            if not self._busy[key]:
                del self._busy[key]
        connection.close()

    def streams(self, key: CubicleKey) -> int:
        """How many are in use."""
        with self._changed:
            return len(self._busy.get(key, ()))

    def close_cubicle(self, key: CubicleKey) -> None:
        """Every connection of this cubicle is cut."""
        with self._changed:
            spares, busy = self._spares.pop(key, deque()), self._busy.pop(key, set())
            self._calls.pop(key, None)
        for connection in (*spares, *busy):
            _cut(connection)
        for connection in spares:
            connection.close()

    def close(self) -> None:
        """Everything is cut, and nobody waits any more."""
        with self._changed:
            self._is_closed = True
            keys = {*self._spares, *self._busy}
            self._changed.notify_all()
        for key in keys:
            self.close_cubicle(key)

    def _take(self, key: CubicleKey, deadline: float) -> socket.socket:
        with self._changed:
            while not self._is_closed:
                if len(self._busy.get(key, ())) >= MAX_STREAMS:
                    raise TooMany("This app has too many connections open. Close some of its pages.")
                spares = self._spares[key]
                while spares:
                    connection = spares.popleft()
                    if not _has_ended(connection):
                        self._busy[key].add(connection)
                        return connection
                    connection.close()
                self._calls.setdefault(key, time.monotonic())
                self._changed.notify_all()
                left = deadline - time.monotonic()
                if left <= 0:
                    self._calls.pop(key, None)
                    break
                self._changed.wait(left)
        raise Unavailable("The agent's cubicle does not answer. Start it, or send the agent a message, then try again.")


def _ask(connection: socket.socket, port: int) -> str:
    """What the ferry says to a port: ``ok``, why not, or nothing when it is gone."""
    try:
        connection.settimeout(ANSWER_S)
        connection.sendall(f"PORT {port}\n".encode())
        said = b""
        while not said.endswith(b"\n") and len(said) < _ANSWER_BYTES:
            piece = connection.recv(1)  # a byte at a time: what follows the line belongs to the stream
            if not piece:
                return ""
            said += piece
    except OSError:
        return ""
    return said.decode("ascii", "replace").strip() or "?"


def _has_ended(connection: socket.socket) -> bool:
    """The other end is gone, or speaks before it was spoken to."""
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(0))


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # ended by itself


