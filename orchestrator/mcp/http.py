"""MCP over HTTP: streamable, and the two channels of old servers. See `HttpTransport`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.mcp.transport import Hear, JsonObject, McpClock, McpRequest
from orchestrator.web.limits import Internet


class HttpTransport:
    """A server at a URL."""

    mirrors_arguments = True

    def __init__(
        self,
        url: str,
        *,
        internet: Internet,
        headers: Mapping[str, str] | None = None,
        bearer: Callable[[], str] | None = None,
        is_private_allowed: bool = False,
        max_message: int = 4 << 20,
    ) -> None:
        """``bearer`` gives the token for each request, empty for none. ``is_private_allowed``: the operator named a
        host of a private network, so it may be there, over plain HTTP too. Raises BadInput (the URL)."""
        raise NotImplementedError

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """As `McpTransport.exchange`."""
        raise NotImplementedError

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """As `McpTransport.notify`."""
        raise NotImplementedError

    def close(self) -> None:
        """As `McpTransport.close`."""
        raise NotImplementedError
