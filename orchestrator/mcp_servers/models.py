"""A server as an operator added it, and what it said of itself. Texts of a server's are a stranger's: claims, shown as
such, and no part of any prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from orchestrator.mcp.models import McpCatalog

McpHow = Literal["npm", "pip", "command", "url"]
"""A package of npm's or of PyPI's, or a command, in a container of its own; or elsewhere, at a URL."""
SaidKind = Literal["instructions", "prompt", "template"]
PinKind = Literal["tool", "instructions", "prompt", "template"]

TOOLSET_PREFIX = "mcp-"


class ToolDecision(StrEnum):
    """What an operator decided about a tool."""

    OFF = "off"
    """No agent may call it."""
    ASKS = "asks"
    """A person is asked before each call."""
    FREE = "free"
    """It is called without asking."""


class PinState(StrEnum):
    """What a server says of a tool beside what the operator has seen."""

    SEEN = "seen"
    """It says what the operator has seen."""
    CHANGED = "changed"
    """It says something else now."""
    NEW = "new"
    """No operator has seen it yet."""
    GONE = "gone"
    """The server no longer names it."""
    UNCHECKED = "unchecked"
    """What runs was changed since: the server must be checked first."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server of this install."""

    id: str
    """Another one for a server that is added again under the same name."""
    name: str
    how: McpHow
    package: str
    """Of npm ``@scope/name@1.2.3``, of PyPI ``name==1.2.3``; empty for others."""
    argv: tuple[str, ...]
    """The command, or what follows the package's own program; empty for a URL."""
    env: tuple[tuple[str, str], ...]
    """What is set for it that is no secret, by name."""
    secret_names: tuple[str, ...]
    """Environment variables whose values are secrets."""
    hosts: tuple[str, ...]
    """The only hosts that it reaches: ``api.github.com``, with a port where that is not 443."""
    url: str
    header_names: tuple[str, ...]
    """Headers of requests to the URL; their values are secrets."""
    is_enabled: bool
    created_at: float
    created_by: str
    """Who added it, and where."""
    packages_digest: str = ""
    """Over the files of its packages, where they have been fetched; empty: not yet, or of another version."""
    checked_at: float | None = None
    """When it was last asked what it offers; None: never since what runs was changed."""

    @property
    def toolset(self) -> str:
        """What an agent needs among its toolsets to use it."""
        return TOOLSET_PREFIX + self.name

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """Every name that a secret value can be kept under."""
        return self.header_names if self.how == "url" else self.secret_names


@dataclass(frozen=True, slots=True)
class ServerTool:
    """One tool of a server's."""

    server: str
    """The server's name."""
    name: str
    wire: str
    """The whole object as an operator has seen it, as canonical JSON; of a new tool what the server says."""
    sha256: str
    """Of ``wire``: the pin."""
    decision: ToolDecision
    """What the operator decided. ``in_force`` is what holds."""
    state: PinState
    seen_at: float
    """When the server first said ``wire``, or the operator accepted it."""
    offered: str = ""
    """Of a changed tool what the server says now, as canonical JSON; empty for others."""

    @property
    def in_force(self) -> ToolDecision:
        """What holds: a tool that doesn't say what the operator has seen is off."""
        return self.decision if self.state is PinState.SEEN else ToolDecision.OFF


@dataclass(frozen=True, slots=True)
class ServerSaid:
    """Something else that a server says: its instructions, a prompt, a template of resources."""

    server: str
    kind: SaidKind
    name: str
    wire: str
    sha256: str
    state: PinState
    seen_at: float
    offered: str = ""


class ServerChecker(Protocol):
    """Starts a server once and asks it for everything that it offers."""

    def check(self, server: McpServer) -> McpCatalog:
        """What it offers. Fetches its packages where they aren't there yet.

        Raises:
            Unavailable: it can't be started or reached, or it breaks the protocol; the message says what to do.
        """


@dataclass(frozen=True, slots=True)
class Pin:
    """What an operator has seen of one thing that a server says, and what the server says of it now."""

    kind: PinKind
    name: str
    wire: str
    sha256: str
    state: PinState
    decision: ToolDecision
    seen_at: float
    offered: str = ""

    @property
    def offered_sha256(self) -> str:
        """Of what is to be accepted: what the server says now, or what it said before it was silent."""
        return hash_wire(self.offered) if self.offered else self.sha256

    @property
    def is_waiting(self) -> bool:
        """An operator has to look at it."""
        return self.state in (PinState.CHANGED, PinState.NEW, PinState.GONE)


@dataclass(frozen=True, slots=True)
class SeenPin:
    """What an operator has looked at and accepts."""

    kind: PinKind
    name: str
    sha256: str
    """``Pin.offered_sha256`` as it was shown."""


def hash_wire(text: str) -> str:
    """The SHA-256 of canonical JSON, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
