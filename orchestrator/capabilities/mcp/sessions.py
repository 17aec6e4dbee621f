"""Sessions with MCP servers: one for each server and cubicle, begun at the first call, asleep between calls, ended
after ten minutes without one. No agent shares a session with another, so none sees what another left in it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from orchestrator.capabilities.mcp.server_process import ServerProcess, ServerStarter
from orchestrator.core.errors import Conflict, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import in_quotes
from orchestrator.gate.policy import HostPort
from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.http import HttpTransport
from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp.session import McpSession
from orchestrator.mcp.stdio import StdioTransport
from orchestrator.mcp_servers.models import McpServer
from orchestrator.mcp_servers.servers import McpServers
from orchestrator.web.limits import Internet

logger = logging.getLogger(__name__)

MOST, MOST_OF_CUBICLE = 16, 4
IDLE_S, LINGERS_S = 600.0, 5.0
_LOOK_S = 1.0
T = TypeVar("T")


class PackageTrees(Protocol):
    """The packages of servers, each server's as one archive."""

    def find_tree(self, server: McpServer) -> Path:
        """The archive of its packages. Raises Conflict when they were not fetched yet."""

    def has_tree(self, server: McpServer) -> bool:
        """Its packages are here."""

    def fetch(self, server: McpServer) -> str:
        """Its packages are here; the digest of their list. Raises Unavailable and Stopped."""


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What sessions are made of."""

    servers: McpServers
    files: PackageTrees
    starter: ServerStarter
    internet: Internet
    image: Callable[[], str]
    """That of the containers, built first where it is missing."""
    private_hosts: frozenset[HostPort]
    version: str
    """Ours, for servers that want to know."""
    idle_s: float = IDLE_S
    lingers_s: float = LINGERS_S


@dataclass(eq=False, slots=True)
class LiveSession:
    """One of them."""

    server: McpServer
    key: CubicleKey | None
    session: McpSession
    process: ServerProcess | None
    close: Callable[[], None]
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Whoever has it calls, pauses or ends."""
    idle_since: float = field(default_factory=time.monotonic)
    is_over: bool = False

    def end(self) -> None:
        """Nothing of it is left; again is fine. To be called with the lock."""
        if self.is_over:
            return
        self.is_over = True
        self.session.close()
        with contextlib.suppress(Unavailable):  # a container that is left is removed at the next start of ours
            self.close()


class McpSessions:
    """All of them. Any thread may call."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._lock = threading.Lock()  # protects both below
        self._alive: dict[tuple[str, CubicleKey], LiveSession] = {}
        self._starting: dict[tuple[str, CubicleKey], threading.Lock] = {}
        self._closing = threading.Event()
        self._janitor: threading.Thread | None = None

    def start(self) -> None:
        """Nothing of an earlier run is left, as far as the engine answers."""
        try:
            self._parts.starter.clear_leftovers()
        except Unavailable as error:
            logger.warning("MCP servers of another run could not be cleared away: %s", error.message)
        self._janitor = threading.Thread(target=self._tidy_often, name="mcp-sessions", daemon=True)
        self._janitor.start()

    def close(self) -> None:
        """None lives any more."""
        self._closing.set()
        if self._janitor is not None:
            self._janitor.join()
        self._end_all(lambda _: True)

    def call(self, server: McpServer, key: CubicleKey, work: Callable[[McpSession], T]) -> T:
        """What ``work`` makes of the session of this server and cubicle, which is begun where there is none. One call
        at a time. Raises what it raises, Conflict, TooMany and Unavailable."""
        live = self._get(server, key)
        with live.lock:
            if live.is_over:
                raise Unavailable(f"{server.name} was ended in between. Try again.")
            try:
                if live.process is not None:
                    live.process.resume()
                return work(live.session)
            except McpBroken as error:
                raise self._explain_end(live, error) from error
            finally:
                live.idle_since = time.monotonic()

    def end_server(self, name: str) -> None:
        """What runs as this server is not what the operator wants any more."""
        self._end_soon(lambda live: live.server.name == name)

    def end_cubicle(self, key: CubicleKey) -> None:
        """Nobody in this cubicle asks any more."""
        self._end_soon(lambda live: live.key == key)

    def list_alive(self) -> list[LiveSession]:
        """Those that live."""
        with self._lock:
            return list(self._alive.values())

    @contextlib.contextmanager
    def open_once(self, server: McpServer) -> Iterator[McpSession]:
        """A session for nobody's cubicle, which ends afterwards. Raises Unavailable and McpError."""
        live = self._begin(server, None)
        with live.lock:
            try:
                yield live.session
            except McpBroken as error:
                raise self._explain_end(live, error) from error
            finally:
                live.end()

    # --- within

    def _get(self, server: McpServer, key: CubicleKey) -> LiveSession:
        place = (server.id, key)
        with self._lock:
            starting = self._starting.setdefault(place, threading.Lock())
        with starting:
            with self._lock:
                found = self._alive.get(place)
            if found is not None and not found.is_over and found.server == server:
                return found
            if found is not None:
                self._end_all(lambda live: live is found)
            self._make_room(key)
            live = self._begin(server, key)
            with self._lock:
                self._alive[place] = live
            return live

    def _make_room(self, key: CubicleKey) -> None:
        """The one that nobody has called for longest gives way. Raises TooMany when all are busy."""
        with self._lock:
            every = sorted(self._alive.values(), key=lambda live: live.idle_since)
        own = [live for live in every if live.key == key]
        crowd = own if len(own) >= MOST_OF_CUBICLE else every if len(every) >= MOST else []
        if crowd and not any(self._end_idle(live) for live in crowd):
            raise TooMany("All MCP servers that may run at a time are busy. Try again when one of them has answered.")

    def _end_idle(self, live: LiveSession) -> bool:
        if not live.lock.acquire(blocking=False):
            return False
        try:
            live.end()
        finally:
            live.lock.release()
        self._forget(live)
        return True

    def _begin(self, server: McpServer, key: CubicleKey | None) -> LiveSession:
        parts = self._parts
        if missing := parts.servers.list_missing_secrets(server):
            raise Conflict(f"{server.name} has no value for {', '.join(missing)}. The operator sets it.")
        secrets = parts.servers.secrets_for(server)
        if server.how == "url":
            live = self._begin_http(server, key, secrets)
        else:
            tree = parts.files.find_tree(server) if server.how in ("npm", "pip") else None
            live = self._begin_process(server, key, secrets, tree)
        try:
            with live.lock:
                live.session.connect()
        except McpBroken as error:
            raise self._explain_end(live, error) from error
        except BaseException:
            with live.lock:
                live.end()
            raise
        return live

    def _begin_http(self, server: McpServer, key: CubicleKey | None, headers: Mapping[str, str]) -> LiveSession:
        link = place_of(server)
        transport = HttpTransport(
            server.url,
            internet=self._parts.internet,
            headers=headers,
            is_private_allowed=link in self._parts.private_hosts,
        )
        session = McpSession(transport, client_version=self._parts.version)
        return LiveSession(server, key, session, None, lambda: None)

    def _begin_process(
        self, server: McpServer, key: CubicleKey | None, secrets: Mapping[str, str], tree: Path | None
    ) -> LiveSession:
        parts = self._parts
        process = parts.starter.start(
            server,
            secrets,
            image=parts.image(),
            tree=tree,
            key=key,
            name=typed_id(),
            private_hosts=parts.private_hosts,
        )
        session = McpSession(StdioTransport(process.stream), client_version=parts.version)
        return LiveSession(server, key, session, process, process.stop)

    def _explain_end(self, live: LiveSession, error: McpBroken) -> Unavailable:
        """It is over; why, with its last words as a stranger's."""
        said = "" if live.process is None else self._await_words(live.process)
        with live.lock:
            live.end()
        self._forget(live)
        secrets = self._parts.servers.secrets_for(live.server).values()
        hides = any(value and value in said for value in secrets)
        quoted = f" It said last: {in_quotes(said, 300)}" if said and not hides else ""
        return Unavailable(f"{live.server.name}: {error.message}{quoted}")

    def _await_words(self, process: ServerProcess) -> str:
        """Its container ends a moment after its output."""
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            if words := process.read_last_words():
                return words
            try:
                if process.is_over_limits():
                    return process.read_last_words()
            except Unavailable:
                return ""
            time.sleep(0.1)
        return ""

    def _end_soon(self, is_meant: Callable[[LiveSession], bool]) -> None:
        """In a thread of its own: a call that is under way may take a while to break off."""
        threading.Thread(target=self._end_all, args=(is_meant,), name="mcp-session-ends", daemon=True).start()

    def _end_all(self, is_meant: Callable[[LiveSession], bool]) -> None:
        for live in filter(is_meant, self.list_alive()):
            if live.process is not None:
                live.process.stream.close()
            with live.lock:
                live.end()
            self._forget(live)

    def _forget(self, live: LiveSession) -> None:
        with self._lock:
            for place in [place for place, one in self._alive.items() if one is live]:
                del self._alive[place]

    def _tidy_often(self) -> None:
        while not self._closing.wait(_LOOK_S):
            for live in self.list_alive():
                self._tidy(live)

    def _tidy(self, live: LiveSession) -> None:
        """Pause it or end it when nobody has called for a while."""
        if not live.lock.acquire(blocking=False):
            return
        is_gone = live.is_over
        try:
            idle_s = time.monotonic() - live.idle_since
            if not is_gone and idle_s > self._parts.idle_s:
                live.end()
                is_gone = True
            elif not is_gone and live.process is not None and idle_s > self._parts.lingers_s:
                live.process.pause()
        except OrchestratorError as error:  # the engine is away: the next call says so
            logger.warning("MCP server %s is not paused: %s", live.server.name, error.message)
        finally:
            live.lock.release()
        if is_gone:
            self._forget(live)


def place_of(server: McpServer) -> HostPort:
    """Host and port of a server at a URL."""
    scheme, _, rest = server.url.partition("://")
    place = rest.partition("/")[0].partition("?")[0]
    host, colon, port = place.rpartition(":")
    usual = 443 if scheme == "https" else 80
    return (host, int(port)) if colon and port.isdecimal() else (place, usual)


class McpServerChecker:
    """Starts a server once and asks it for everything (`mcp_servers.models.ServerChecker`)."""

    def __init__(self, servers: McpServers, files: PackageTrees, sessions: McpSessions) -> None:
        self._servers, self._files, self._sessions = servers, files, sessions

    def check(self, server: McpServer) -> McpCatalog:
        """What it offers; its packages are fetched where they aren't there. Raises Unavailable."""
        if server.how in ("npm", "pip") and not self._files.has_tree(server):
            self._servers.record_packages(server, self._files.fetch(server))
            server = self._servers.get(server.name)
        with self._sessions.open_once(server) as session:
            return session.fetch_catalog()
