"""One conversation with one MCP server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.mcp.models import (
    McpAnswer,
    McpCatalog,
    McpContent,
    McpHello,
    McpLimits,
    McpPromptMessage,
    McpQuestion,
    McpResult,
)
from orchestrator.mcp.transport import McpTransport

OnProgress = Callable[[float, float | None, str], None]
"""How far it is, of how much where that is known, and what the server says."""
OnQuestion = Callable[[McpQuestion], McpAnswer]


class McpSession:
    """A conversation with one server. Used by one thread at a time."""

    def __init__(
        self,
        transport: McpTransport,
        limits: McpLimits | None = None,
        *,
        client_version: str,
        asks_persons: bool = False,
        tries_newest: bool = True,
    ) -> None:
        """``asks_persons``: calls come with ``on_question``, so servers may be told that questions are answered.
        ``tries_newest``: False for a server that ended when it was asked for the newest protocol."""
        raise NotImplementedError

    @property
    def is_changed(self) -> bool:
        """The server said since the last `fetch_catalog` that a list of its changed."""
        raise NotImplementedError

    def connect(self) -> McpHello:
        """Agree on a protocol. Raises McpError, and Stopped."""
        raise NotImplementedError

    def fetch_catalog(self) -> McpCatalog:
        """Everything that the server offers; what is malformed is left out and said. Raises McpError."""
        raise NotImplementedError

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> McpResult:
        """Call a tool. Raises McpRefused, McpSlow, McpBroken, McpUnauthorized, and Stopped."""
        raise NotImplementedError

    def read(
        self,
        uri: str,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[McpContent, ...]:
        """Read a resource. Raises as `call`."""
        raise NotImplementedError

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[McpPromptMessage, ...]:
        """The messages of a prompt, as data. Raises as `call`."""
        raise NotImplementedError

    def close(self) -> None:
        """End it. Never raises."""
        raise NotImplementedError
