"""McpChecks: a server is started once, so that an operator sees what it offers before any agent calls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orchestrator.core.errors import Conflict, Unavailable
from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp_servers.models import McpServer, Pin, ServerChecker
from orchestrator.mcp_servers.servers import McpServers


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How a check went."""

    catalog: McpCatalog
    news: tuple[Pin, ...]
    """What an operator has to look at that was not so before."""


class NoServerChecker:
    """Where nothing here can start a server."""

    def check(self, server: McpServer) -> McpCatalog:
        """Raises Unavailable."""
        raise Unavailable(f"{server.name} can't be started here: this install runs no MCP servers.")


class McpChecks:
    """One check of a server at a time. Any thread may call."""

    def __init__(self, servers: McpServers, checker: ServerChecker) -> None:
        self._servers, self._checker = servers, checker
        self._lock = threading.Lock()  # protects _under_way
        self._under_way: set[str] = set()

    def check(self, name: str) -> CheckReport:
        """Start it, ask it for everything that it offers, and write that down. Minutes, where packages are fetched.

        Raises:
            NotFound: there is no such server.
            Conflict: a secret has no value, it is being checked already, or it was changed meanwhile.
            Unavailable: it can't be started or reached; the message says what to do.
        """
        server = self._servers.get(name)
        if missing := self._servers.list_missing_secrets(server):
            raise Conflict(
                f"{name} has no value for {', '.join(missing)}. './hermit mcp secret {name} {missing[0]}' sets it."
            )
        with self._alone(server):
            catalog = self._checker.check(server)
            return CheckReport(catalog, self._servers.record_catalog(server, catalog))

    @contextmanager
    def _alone(self, server: McpServer) -> Iterator[None]:
        with self._lock:
            if server.id in self._under_way:
                raise Conflict(f"{server.name} is being checked already. Wait for that to end.")
            self._under_way.add(server.id)
        try:
            yield
        finally:
            with self._lock:
                self._under_way.discard(server.id)
