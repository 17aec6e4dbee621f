"""What can go wrong with an MCP server. No message holds a word of the server's, but for `McpRefused.said`."""

from __future__ import annotations

from orchestrator.core.errors import Unavailable

_SAID_CHARS = 500


class McpError(Unavailable):
    """An MCP server did not do what was asked; the message says what to do."""

    code = "mcp_failed"


class McpRefused(McpError):
    """The server answered with an error of the protocol: it is alive, and the session goes on."""

    code = "mcp_refused"

    def __init__(self, number: int, said: str, *, details: object = None) -> None:
        """``number`` and ``said`` are the server's: its code, and its words, which are cut here. ``details`` are what
        came with them, as they came."""
        super().__init__(f"The server refused this (error {number}).")
        self.number = number
        self.said = said[:_SAID_CHARS]
        """The server's own words: a stranger's."""
        self.details = details


class McpBroken(McpError):
    """The server broke the protocol or a bound, or it ended. The session is of no more use."""

    code = "mcp_broken"


class McpSlow(McpError):
    """The server did not answer in time; it was told that nobody waits any more."""

    code = "mcp_slow"


class McpUnauthorized(McpError):
    """The server wants a login, or another one than it was shown."""

    code = "mcp_unauthorized"

    def __init__(self, message: str, *, status: int = 401, challenge: str = "") -> None:
        """``challenge`` is the header ``WWW-Authenticate`` as it came: a stranger's words."""
        super().__init__(message)
        self.status = status
        self.challenge = challenge
