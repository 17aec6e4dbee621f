"""The harbour: connections that cubicles opened to us, each waiting to be told which port inside it shall lead to.

A cubicle's *ferry* (``crab/ferry.py``) keeps a few spare connections here while somebody uses an app of its. Whoever
needs a way to a port takes a spare, says ``PORT n``, and has from the ferry's ``ok`` on a plain stream of bytes to that
port. What comes out of it is a stranger's. The harbour counts and ends connections; it looks into none of them.
Cubicles moor from the threads of their doors; requests wait in event loops, so that none of them holds a thread.
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
"""How long a request waits for a ferry that has to be started first."""
ANSWER_S = 5.0
"""How long a ferry may take to reach a port of its own machine."""
_ANSWER_BYTES = 200
_NO_FERRY = "The agent's cubicle does not answer. Start it, or send the agent a message, then try again."


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
        """Cubicles that need a ferry, and since when."""
        self._waiters: defaultdict[CubicleKey, deque[_Waiter]] = defaultdict(deque)
        self._is_closed = False
        self._lock = threading.Lock()  # protects all of the above
        self._bells = LongPoll()  # rung at every new call

    # --- the cubicle's side ------------------------------------------------------------------------------------

    def moor(self, key: CubicleKey, connection: socket.socket) -> None:
        """A ferry offers a connection; one too many is closed."""
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
        """Wait until this cubicle needs a ferry; False when it did not in time, or the cubicle hung up, as
        ``hang_up`` tells, the descriptor of its connection."""
        deadline = time.monotonic() + timeout_s
        with self._bells.listening(key, hang_up) as ear:
            while not self._is_closed:
                with self._lock:
                    since = self._calls.get(key)
                if since is not None and time.monotonic() - since < WAIT_S:
                    return True
                if not ear.wait(deadline):
                    break
        return False

    # --- the side of whoever has a request ---------------------------------------------------------------------

    async def stream(self, key: CubicleKey, port: int) -> socket.socket:
        """A connection to that port inside the cubicle, not blocking, for whoever called alone; given back by ``end``.

        Raises NotFound when nothing answers there, TooMany, or Unavailable when the cubicle has no ferry.
        """
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() <= deadline:
            connection = await self._spare(key, deadline)
            answer = ""
            try:
                answer = await _ask(connection, port)
            finally:
                if answer != "ok":
                    self.end(key, connection)
            if answer == "ok":
                return connection
            if answer:
                raise NotFound(f"Nothing answers at port {port} of this cubicle. Is the server running?")
            # The ferry had gone before it heard us: the next spare, or a new ferry, may do.
        raise Unavailable(_NO_FERRY)

    def end(self, key: CubicleKey, connection: socket.socket) -> None:
        """The stream is over; again is fine."""
        with self._lock:
            self._busy[key].discard(connection)
            if not self._busy[key]:
                del self._busy[key]
        connection.close()

    def streams(self, key: CubicleKey) -> int:
        """How many are in use."""
        with self._lock:
            return len(self._busy.get(key, ()))

    def close_cubicle(self, key: CubicleKey) -> None:
        """Every connection of this cubicle is cut."""
        with self._lock:
            spares, busy = self._spares.pop(key, deque()), self._busy.pop(key, set())
            self._calls.pop(key, None)
        for connection in (*spares, *busy):
            _cut(connection)
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
        self._bells.ring_all()
        for key in keys:
            self.close_cubicle(key)

    async def _spare(self, key: CubicleKey, deadline: float) -> socket.socket:
        waiter = _Waiter(asyncio.get_running_loop(), asyncio.Event())
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                while (connection := self._take(key, waiter)) is None:
                    await waiter.woken.wait()
                    waiter.woken.clear()
                return connection
        except TimeoutError as error:
            raise Unavailable(_NO_FERRY) from error
        finally:
            self._leave(key, waiter)

    def _take(self, key: CubicleKey, waiter: _Waiter) -> socket.socket | None:
        """A spare; None where there is none, and then it is called for, and the waiter is woken once there is one."""
        with self._lock:
            if self._is_closed:
                raise Unavailable(_NO_FERRY)
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
                self._bells.ring(key)
            self._waiters[key].append(waiter)
        return None

    def _leave(self, key: CubicleKey, waiter: _Waiter) -> None:
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
    """What the ferry says to a port: ``ok``, why not, or nothing when it is gone."""
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


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # ended by itself
