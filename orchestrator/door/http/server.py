"""HTTP for the doors and the dashboard: cheroot parses and answers, this module accepts, counts and ends connections.

One thread accepts for all listeners; each connection has a thread while it lives, so a kept connection costs no
hand-over between threads and a long poll holds nothing that others need. A cubicle's listener at its cap stops
accepting until a place is free: what a flooder can fill is its own queue. One that many people share makes room
instead, by ending a connection that only waits (``crowd.droppable``). Requests with doubtful framing are
refused before anything looks at them.
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cheroot import wsgi

from orchestrator.door.http.buffers import streams_of
from orchestrator.door.http.connection import Connection
from orchestrator.door.http.connection_limits import choose_to_drop
from orchestrator.door.http.framing import Gateway

logger = logging.getLogger(__name__)

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_TICK_S = 1.0
_BREATH_S = 0.1
CLOSE_S = 5.0
"""The longest that closing waits for requests under way."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What one listener's clients may use."""

    connections: int = 16
    makes_room: bool = False
    """At the cap, a connection on which nothing is under way goes, so that a new one fits."""
    header_bytes: int = 16 * 1024
    body_bytes: int = 16 * 1024 * 1024
    upload_bytes: int = 0
    """What the body of a PUT may have, which its handler then reads piece by piece; 0: it is like any other."""
    read_s: float = 15.0
    """From a request's first byte until its body is read; in an upload, for each piece."""
    idle_s: float = 300.0
    """How long a connection may be kept without a request."""
    write_s: float = 30.0
    silent_s: float = 10.0
    """How long a fresh connection may wait with its first byte, where room is made."""


class HttpServer:
    """Accepts for any number of listeners, which come and go while it runs."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._listeners: set[Listener] = set()
        self._ending: tuple[Listener, ...] = ()
        self._lock = threading.Lock()  # protects _listeners and the selector's table
        self._bell, self._bell_end = socket.socketpair()
        self._bell.setblocking(False)
        self._selector.register(self._bell_end, selectors.EVENT_READ, None)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._accept_forever, name="http-accept", daemon=True)
        self._thread.start()

    @property
    def is_accepting(self) -> bool:
        """The accepting thread lives."""
        return self._thread.is_alive()

    def add_listener(
        self, listening: socket.socket, app: WsgiApp, *, limits: ServerLimits, environ: dict[str, Any]
    ) -> Listener:
        """Serve ``app`` on a bound and listening socket; ``environ`` joins every request's WSGI environment."""
        listener = Listener(listening, app, limits=limits, environ=environ, on_free=self._resume)
        with self._lock:
            self._listeners.add(listener)
            self._selector.register(listening, selectors.EVENT_READ, listener)
        return listener

    def remove_listener(self, listener: Listener) -> None:
        """Stop serving a listener: its socket is closed and all its connections are cut. Again is fine."""
        with self._lock:
            if listener not in self._listeners:
                return
            self._listeners.discard(listener)
            if listener.socket in self._selector.get_map():
                self._selector.unregister(listener.socket)
        listener.close()

    def close(self) -> None:
        """Remove all listeners and end the accepting thread. ``await_quiet`` waits for what is still under way."""
        with self._lock:
            self._ending = tuple(self._listeners)
        for listener in self._ending:
            self.remove_listener(listener)
        self._stopping.set()
        self._ring()
        self._thread.join(timeout=CLOSE_S)
        self._selector.close()
        self._bell.close()
        self._bell_end.close()

    def await_quiet(self) -> None:
        """After ``close``: no request is under way any more, or waiting for it took too long."""
        deadline = time.monotonic() + CLOSE_S
        for listener in self._ending:
            listener.await_quiet(deadline)

    def _accept_forever(self) -> None:
        next_tick = time.monotonic() + _TICK_S
        while not self._stopping.is_set():
            for key, _ in self._selector.select(timeout=_TICK_S):
                if key.data is None:
                    self._bell_end.recv(4096)
                else:
                    self._accept_safely(key.data)
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + _TICK_S
                with self._lock:
                    listeners = tuple(self._listeners)
                for listener in listeners:
                    listener.end_overdue()

    def _accept_safely(self, listener: Listener) -> None:
        try:
            self._accept(listener)
        except Exception:  # the top of the thread on which every door depends: no descriptor, thread or memory left
            logger.exception("a connection could not be accepted")
            self._stopping.wait(_BREATH_S)

    def _accept(self, listener: Listener) -> None:
        if listener.is_full and not listener.make_room():
            with self._lock:
                if listener.socket in self._selector.get_map():
                    self._selector.unregister(listener.socket)
            if not listener.is_full:  # one ended while we took the listener out
                self._resume(listener)
            return
        try:
            connection, peer = listener.socket.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise
            return  # the client has gone, or the listener was closed just now
        listener.serve_connection(connection, peer)

    def _resume(self, listener: Listener) -> None:
        with self._lock:
            if listener in self._listeners and listener.socket not in self._selector.get_map():
                self._selector.register(listener.socket, selectors.EVENT_READ, listener)
                self._ring()

    def _ring(self) -> None:
        try:
            self._bell.send(b"!")
        except BlockingIOError:
            return  # enough rings are waiting


class Listener:
    """One listening socket, its application and its connections."""

    def __init__(
        self,
        listening: socket.socket,
        app: WsgiApp,
        *,
        limits: ServerLimits,
        environ: dict[str, Any],
        on_free: Callable[[Listener], None],
    ) -> None:
        self.socket = listening
        self._limits = limits
        self._on_free = on_free
        self._connections: dict[Connection, threading.Thread] = {}
        self._closing: dict[Connection, threading.Thread] = {}  # cut to make room; their threads are about to end
        self._is_closed = False
        self._lock = threading.Lock()  # protects _connections, _leaving and _is_closed
        self._http = _Http(app, limits=limits, environ=environ)

    @property
    def is_full(self) -> bool:
        """No further connection fits."""
        with self._lock:
            return len(self._connections) >= self._limits.connections

    def make_room(self) -> bool:
        """End a connection that only waits; False where none may be ended. Its place is free at once."""
        if not self._limits.makes_room:
            return False
        with self._lock:
            found = choose_to_drop(tuple(self._connections), now=time.monotonic())
            if found is None or len(self._closing) >= self._limits.connections:
                return False
            self._closing[found] = self._connections.pop(found)
        found.cut()
        return True

    def serve_connection(self, accepted: socket.socket, peer: Any) -> None:
        """Serve a fresh connection in a thread of its own; ``peer`` is whom the socket calls its other end."""
        accepted.settimeout(self._limits.write_s)
        if accepted.family != socket.AF_UNIX:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._http, accepted, streams_of)
        connection.since = time.monotonic()
        if isinstance(peer, tuple):  # a unix socket's end has no address
            connection.remote_addr = str(peer[0])
        thread = threading.Thread(target=self._converse, args=(connection,), name="http", daemon=True)
        with self._lock:
            if not self._is_closed:
                self._connections[connection] = thread
        try:
            if connection in self._connections:
                thread.start()
                return
        except RuntimeError:  # no thread to be had: this client goes, the others stay
            logger.warning("there is no thread left for another connection")
            self._forget(connection)
        connection.close()

    def end_overdue(self) -> None:
        """Cut the connections whose request takes too long to arrive."""
        now = time.monotonic()
        with self._lock:
            overdue = [c for c in self._connections if c.deadline is not None and c.deadline < now]
        for connection in overdue:
            connection.cut()

    def close(self) -> None:
        """Close the listening socket and cut every connection."""
        self.socket.close()
        with self._lock:
            self._is_closed = True
            connections = tuple(self._connections)
        for connection in connections:
            connection.cut()

    def await_quiet(self, deadline: float) -> None:
        """Every connection's thread has ended, or the monotonic ``deadline`` has passed."""
        with self._lock:
            threads = (*self._connections.values(), *self._closing.values())
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _converse(self, connection: Connection) -> None:
        try:
            idle_s = self._limits.silent_s if self._limits.makes_room else self._limits.idle_s
            while connection.await_request(idle_s):
                idle_s = self._limits.idle_s
                connection.deadline = time.monotonic() + self._limits.read_s
                is_kept = connection.communicate()  # type: ignore[no-untyped-call]  # cheroot: half typed
                connection.wfile.flush()
                if connection.heir is not None:
                    connection.leave_to(connection.heir)
                    return
                if not is_kept:
                    connection.hear_out()
                    return
                connection.mark_idle()
                if self._limits.makes_room and self.is_full:
                    self._on_free(self)  # this one may go, should somebody wait to be let in
        except Exception:  # the top of a thread: this connection ends, the server goes on
            logger.exception("a connection broke")
        finally:
            connection.close()
            if self._forget(connection):
                self._on_free(self)

    def _forget(self, connection: Connection) -> bool:
        """A place is free; True when there was none before."""
        with self._lock:
            was_full = len(self._connections) >= self._limits.connections
            self._connections.pop(connection, None)
            self._closing.pop(connection, None)
        return was_full


class _Http(wsgi.Server):
    """cheroot's server object without its own accepting and threads: the settings that its requests look up."""

    wsgi_version = (1, 0)
    can_add_keepalive_connection = True

    def __init__(self, app: WsgiApp, *, limits: ServerLimits, environ: dict[str, Any]) -> None:
        super().__init__(("unused", 0), app, numthreads=1, server_name="hermit")
        self.gateway = Gateway
        self.max_request_header_size = limits.header_bytes
        self.max_request_body_size = 0  # the request looks after this, as not all bodies are alike
        self.body_bytes, self.upload_bytes, self.read_s = limits.body_bytes, limits.upload_bytes, limits.read_s
        self.environ = environ
        self.ready = True

    def clear_stats(self) -> None:
        """cheroot puts each server into a table of the whole process, which nobody reads here and nobody clears: a
        listener, its application and all that hangs on that would stay in memory for good."""
        super().clear_stats()  # type: ignore[no-untyped-call]
        statistics: dict[str, object] = vars(logging)["statistics"]
        statistics.pop(f"Cheroot HTTPServer {id(self)}", None)

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:  # noqa: FBT001
        """cheroot's own reports go to our log; a client that breaks off is no news."""
        logger.log(level, "%s", msg, exc_info=traceback and level >= logging.ERROR)
