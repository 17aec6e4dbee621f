"""The reverse tunnel: connections that cubicles opened to us, each waiting to be told which port inside it shall lead
to.

A cubicle's *tunnel* (``crab/tunnel.py``) keeps a few spare connections here while somebody uses an app of its. Whoever
needs a way to a port takes a spare, says ``PORT n``, and has from the tunnel's ``ok`` on a plain stream of bytes to
that port. What comes out of it is a stranger's. The reverse tunnel counts and ends connections; it looks into none of
them. Cubicles offer them from the threads of their doors; requests wait in event loops, so that none of them holds a
thread.
"""

from __future__ import annotations

import asyncio
import select
import socket
import threading
import time
from collections import defaultdict, deque
from typing import NamedTuple

from orchestrator.core.errors import NotFound, TooMany, Unavailable
from orchestrator.core.long_poll import LongPoll
from orchestrator.core.models import CubicleKey

MAX_SPARES = 8
MAX_STREAMS = 128
"""Streams of one cubicle at a time; every one of them holds a descriptor of ours."""
WAIT_S = 5.0
"""How long a request waits for a tunnel that has to be started first."""
ANSWER_S = 5.0
"""How long a tunnel may take to reach a port of its own machine."""
_ANSWER_BYTES = 200
_NO_TUNNEL = "The agent's cubicle does not answer. Start it, or send the agent a message, then try again."


class _Waiter(NamedTuple):
    """Somebody who waits for a spare."""

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event


class ReverseTunnel:
    """The spare and the busy connections of every cubicle."""

    def __init__(self) -> None:
        self._spares: defaultdict[CubicleKey, deque[socket.socket]] = defaultdict(deque)
        self._busy: defaultdict[CubicleKey, set[socket.socket]] = defaultdict(set)
        self._calls: dict[CubicleKey, float] = {}
        """Cubicles that need a tunnel, and since when."""
        self._waiters: defaultdict[CubicleKey, deque[_Waiter]] = defaultdict(deque)
        self._is_closed = False
        self._lock = threading.Lock()  # protects all of the above
        self._long_poll = LongPoll()  # rung at every new call

    # --- the cubicle's side ------------------------------------------------------------------------------------

    def offer(self, key: CubicleKey, connection: socket.socket) -> None:
        """A tunnel offers a connection; one too many is closed."""
        with self._lock:
            spares = self._spares[key]
            while spares and _has_ended(spares[0]):
                spares.popleft().close()
            if self._is_closed or len(spares) >= MAX_SPARES:
                connection.close()
                return
            spares.append(connection)
            self._calls.pop(key, None)
            self._wake(key)

    def await_call(self, key: CubicleKey, timeout_s: float, *, hang_up: int | None = None) -> bool:
        """Wait until this cubicle needs a tunnel; False when it did not in time, or the cubicle hung up, as
        ``hang_up`` tells, the descriptor of its connection."""
        deadline = time.monotonic() + timeout_s
        with self._long_poll.listening(key, hang_up) as waiter:
            while not self._is_closed:
                with self._lock:
                    since = self._calls.get(key)
                if since is not None and time.monotonic() - since < WAIT_S:
                    return True
                if not waiter.wait(deadline):
                    break
        return False

    # --- the side of whoever has a request ---------------------------------------------------------------------

    async def open_stream(self, key: CubicleKey, port: int) -> socket.socket:
        """A connection to that port inside the cubicle, not blocking, for whoever called alone; given back by
        ``end_stream``.

        Raises NotFound when nothing answers there, TooMany, or Unavailable when the cubicle has no tunnel.
        """
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() <= deadline:
            connection = await self._take_spare(key, deadline)
            answer = ""
            try:
                answer = await _ask(connection, port)
            finally:
                if answer != "ok":
                    self.end_stream(key, connection)
            if answer == "ok":
                return connection
            if answer:
                raise NotFound(f"Nothing answers at port {port} of this cubicle. Is the server running?")
            # The tunnel had gone before it heard us: the next spare, or a new tunnel, may do.
        raise Unavailable(_NO_TUNNEL)

    def end_stream(self, key: CubicleKey, connection: socket.socket) -> None:
        """The stream is over; again is fine."""
        with self._lock:
            self._busy[key].discard(connection)
            if not self._busy[key]:
                del self._busy[key]
        connection.close()

    def count_streams(self, key: CubicleKey) -> int:
        """How many are in use."""
        with self._lock:
            return len(self._busy.get(key, ()))

    def close_cubicle(self, key: CubicleKey) -> None:
        """Every connection of this cubicle is cut."""
        with self._lock:
            spares, busy = self._spares.pop(key, deque()), self._busy.pop(key, set())
            self._calls.pop(key, None)
        for connection in (*spares, *busy):
            _cut_connection(connection)
        for connection in spares:
            connection.close()

    def close(self) -> None:
        """Everything is cut, and nobody waits any more."""
        with self._lock:
            self._is_closed = True
            keys = {*self._spares, *self._busy}
            for key in list(self._waiters):
                while self._waiters[key]:
                    self._wake(key)
        self._long_poll.wake_all()
        for key in keys:
            self.close_cubicle(key)

    async def _take_spare(self, key: CubicleKey, deadline: float) -> socket.socket:
        waiter = _Waiter(asyncio.get_running_loop(), asyncio.Event())
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                while (connection := self._take_waiting(key, waiter)) is None:
                    await waiter.woken.wait()
                    waiter.woken.clear()
                return connection
        except TimeoutError as error:
            raise Unavailable(_NO_TUNNEL) from error
        finally:
            self._stop_waiting(key, waiter)

    def _take_waiting(self, key: CubicleKey, waiter: _Waiter) -> socket.socket | None:
        """A spare; None where there is none, and then it is called for, and the waiter is woken once there is one."""
        with self._lock:
            if self._is_closed:
                raise Unavailable(_NO_TUNNEL)
            if len(self._busy.get(key, ())) >= MAX_STREAMS:
                raise TooMany("This app has too many connections open. Close some of its pages.")
            spares = self._spares[key]
            while spares:
                connection = spares.popleft()
                if not _has_ended(connection):
                    self._busy[key].add(connection)
                    return connection
                connection.close()
            now = time.monotonic()
            if now - self._calls.get(key, -WAIT_S) >= WAIT_S:
                self._calls[key] = now
                self._long_poll.wake_listeners(key)
            self._waiters[key].append(waiter)
        return None

    def _stop_waiting(self, key: CubicleKey, waiter: _Waiter) -> None:
        """It waits no more; what it was woken for may be somebody else's."""
        with self._lock:
            waiters = self._waiters[key]
            if waiter in waiters:
                waiters.remove(waiter)
            if self._spares[key]:
                self._wake(key)
            if not waiters:
                self._waiters.pop(key, None)
                self._calls.pop(key, None)

    def _wake(self, key: CubicleKey) -> None:
        """The one who has waited longest looks again. The lock is held."""
        if self._waiters[key]:
            waiter = self._waiters[key].popleft()
            waiter.loop.call_soon_threadsafe(waiter.woken.set)


async def _ask(connection: socket.socket, port: int) -> str:
    """What the tunnel says to a port: ``ok``, why not, or nothing when it is gone."""
    loop = asyncio.get_running_loop()
    connection.setblocking(False)
    said = b""
    try:
        async with asyncio.timeout(ANSWER_S):
            await loop.sock_sendall(connection, f"PORT {port}\n".encode())
            while not said.endswith(b"\n") and len(said) < _ANSWER_BYTES:
                piece = await loop.sock_recv(connection, 1)  # one at a time: what follows belongs to the stream
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


def _cut_connection(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # ended by itself
