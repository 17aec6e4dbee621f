"""The gates: a unix socket for each helper container, and one thread with an event loop that serves them all."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import TimeoutError as LoopTimeout
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from orchestrator.core.errors import Unavailable
from orchestrator.core.periodic import Periodic, guarded
from orchestrator.gate.addresses import HostAddresses
from orchestrator.gate.connection import GateConnection, GateLimits, GateParts
from orchestrator.gate.policy import GatePolicy, HostPort
from orchestrator.gate.refusals import NotLetThrough, Reason
from orchestrator.gate.traffic import GateVerdict, HostUsage, Traffic, TrafficRow
from orchestrator.gate.traffic_log import GateUser
from orchestrator.gate.upstream_proxy import UpstreamProxies
from orchestrator.gate.way_out import WayOut, abort_transport
from orchestrator.web.network import Network

logger = logging.getLogger(__name__)

SOCKET_NAME: Final = "gate.sock"
MINUTE_S = 60.0
_CALL_S = 10.0
_ALL_CONNECTIONS = 1024
_PAUSE_S = 0.1
_BACKLOG = 1024
"""A unix socket whose queue is full refuses at once, which not every client takes well."""
_MOST_UNWRITTEN = 1024
"""Rows of one gate that wait for a database that can be written again."""
T = TypeVar("T")
WriteTraffic = Callable[[GateUser, Sequence[TrafficRow]], None]


class _Loop:
    """The thread, and calls into it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gate", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine gives. Raises Unavailable when the thread does not answer, or has ended."""
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise Unavailable("The gate is closed.") from None
        try:
            return future.result(_CALL_S)
        except LoopTimeout:
            future.cancel()
            raise Unavailable("The gate does not answer. Restart with './hermit up'.") from None

    def tell(self, work: Callable[[], object]) -> None:
        """The thread does this next."""
        with suppress(RuntimeError):  # the loop is closed, and with it whatever was open
            self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        """Its tasks are cancelled and the thread has ended."""
        self.call(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_S)
        self._loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _close_cut(sock: socket.socket, task: asyncio.Task[None]) -> None:
    if task.cancelled():
        sock.close()


class OpenGate:
    """One gate. Its methods may be called from any thread but the gate's own."""

    def __init__(self, loop: _Loop, user: GateUser, parts: GateParts, places: threading.Semaphore) -> None:
        self.user = user
        self._loop, self._parts, self._places = loop, parts, places
        self._listening: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._live: set[GateConnection] = set()
        self._is_closed = False
        self._path: Path | None = None
        self._on_close: Callable[[OpenGate], None] = lambda _: None

    def recheck(self) -> int:
        """Every open connection whose host the policy no longer lets through is cut; returns how many."""
        return self._loop.call(self._recheck())

    def recheck_soon(self) -> None:
        """The same without waiting for it: it is done before whatever arrives at the gate after this call."""
        self._loop.tell(self._recheck_now)

    def usage(self) -> tuple[HostUsage, ...]:
        """What went through it since it was opened, and what was refused."""
        return self._loop.call(self._usage())

    def take_rows(self) -> tuple[TrafficRow, ...]:
        """What has come since this was asked the last time."""
        return self._loop.call(self._take_rows())

    def close(self) -> None:
        """Nobody answers any more, and what was open is cut. Again is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.call(self._close())
            self._on_close(self)

    async def listen(self, listening: socket.socket, path: Path, on_close: Callable[[OpenGate], None]) -> None:
        """Begin, at a socket that lies at ``path``; ``on_close`` hears of the end. In the gate's thread."""
        self._path, self._on_close, self._listening = path, on_close, listening
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Some are waiting. Each is either in a task of its own when this returns, or still waits."""
        loop = asyncio.get_running_loop()
        try:
            sock, _ = listening.accept()
            sock.setblocking(False)
        except BlockingIOError:
            return
        except OSError as error:  # too many files are open
            logger.warning("gate: no connection is accepted for a moment: %s", error)
            loop.remove_reader(listening)
            loop.call_later(_PAUSE_S, self._accept_again, listening)
            return
        task = loop.create_task(self._serve(sock))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # One that is cut before it has begun closes nothing itself.
        task.add_done_callback(partial(_close_cut, sock))

    def _accept_again(self, listening: socket.socket) -> None:
        if self._listening is listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def _serve(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=self._parts.limits.head_bytes)
        if len(self._live) >= self._parts.limits.connections or not self._places.acquire(blocking=False):
            self._parts.traffic.count_connection("", 0, GateVerdict.REFUSED, Reason.CONNECTIONS)
            writer.write(NotLetThrough(Reason.CONNECTIONS).refusal.as_response())
            writer.close()
            return
        connection = GateConnection(self._parts, reader, writer)
        self._live.add(connection)
        try:
            await connection.run()
        except Exception:  # the top of a task: the others go on
            logger.exception("gate: a connection broke")
        finally:
            self._live.discard(connection)
            self._places.release()
            abort_transport(writer.transport)

    async def _recheck(self) -> int:
        return self._recheck_now()

    def _recheck_now(self) -> int:
        return sum(connection.recheck() for connection in tuple(self._live))

    async def _usage(self) -> tuple[HostUsage, ...]:
        return self._parts.traffic.usage()

    async def _take_rows(self) -> tuple[TrafficRow, ...]:
        return self._parts.traffic.take_rows()

    async def _close(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._path is not None:
            with suppress(OSError):  # its folder may be gone already
                self._path.unlink()


class Gates:
    """All gates of this install."""

    def __init__(
        self,
        network: Network,
        *,
        proxies: UpstreamProxies,
        named: frozenset[HostPort] = frozenset(),
        write: WriteTraffic,
        limits: GateLimits | None = None,
    ) -> None:
        """``named`` are hosts of a private network that the operator named, and ``write`` writes down what went
        through. Its thread begins with the first gate."""
        self._network, self._proxies, self._named, self._write = network, proxies, named, write
        self._limits = limits or GateLimits()
        self._places = threading.Semaphore(_ALL_CONNECTIONS)
        self._open: set[OpenGate] = set()
        self._lock = threading.Lock()  # protects _open and _loop
        self._unwritten: dict[OpenGate, tuple[TrafficRow, ...]] = {}
        self._writing = threading.Lock()  # protects _unwritten, and the order of rows
        self._loop: _Loop | None = None
        self._rounds = Periodic("gate-traffic", self.write_traffic, every_s=lambda: MINUTE_S)

    def start(self) -> None:
        """What goes through is written down every minute from now on."""
        self._rounds.start()

    def open_gate(
        self,
        folder: Path,
        policy: GatePolicy,
        user: GateUser,
        *,
        uid: int,
        gid: int,
        named: frozenset[HostPort] = frozenset(),
    ) -> OpenGate:
        """A gate at ``folder/gate.sock``, for programs of this user and group alone. ``named`` are further private
        hosts that the operator named for this purpose. Raises Unavailable."""
        with self._lock:
            self._loop = self._loop or _Loop()
            loop = self._loop
        all_named, limits = self._named | named, self._limits
        addresses = HostAddresses(self._network, all_named, limits.connect_s)
        way_out = WayOut(self._network, addresses, self._proxies, timeout_s=limits.connect_s)
        parts = GateParts(policy, all_named, way_out, Traffic(), limits, asyncio.Semaphore(limits.opening))
        gate = OpenGate(loop, user, parts, self._places)
        try:
            listening = bind_socket(folder, uid, gid)
        except OSError as error:
            raise Unavailable(
                f"The gate can't be opened ({error.strerror}). HERMIT_HOME must lie on a local disk."
            ) from error
        try:
            loop.call(gate.listen(listening, folder / SOCKET_NAME, self._forget))
        except BaseException:
            listening.close()
            raise
        with self._lock:
            self._open.add(gate)
        return gate

    def write_traffic(self) -> None:
        """What went through since the last time is written down. Raises Unavailable."""
        with self._lock:
            gates = tuple(self._open)
        for gate in gates:
            self._write_rows(gate)

    def close(self) -> None:
        """Every gate is closed, and the thread has ended."""
        self._rounds.close()
        with self._lock:
            gates, loop, self._loop = tuple(self._open), self._loop, None
        for gate in gates:
            guarded("closing a gate", gate.close)
        if loop is not None:
            loop.close()

    def _forget(self, gate: OpenGate) -> None:
        with self._lock:
            was_open = gate in self._open
            self._open.discard(gate)
        if was_open:
            guarded("writing down what went through a gate", lambda: self._write_rows(gate))
            self._unwritten.pop(gate, None)

    def _write_rows(self, gate: OpenGate) -> None:
        with self._writing:
            rows = (*self._unwritten.pop(gate, ()), *gate.take_rows())
            try:
                if rows:
                    self._write(gate.user, rows)
            except BaseException:
                self._unwritten[gate] = rows[-_MOST_UNWRITTEN:]
                raise


def bind_socket(folder: Path, uid: int, gid: int, name: str = SOCKET_NAME) -> socket.socket:
    """A socket that listens at ``folder/name``, for this user and group alone. The folder is the host's own and is
    mounted read-only. Raises OSError."""
    path = folder / name
    # By way of the descriptor: socket paths end at 107 bytes, HERMIT_HOME may be longer.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        path.unlink(missing_ok=True)
        listening.bind(f"/proc/self/fd/{descriptor}/{name}")
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, uid, gid)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    finally:
        os.close(descriptor)
    return listening
