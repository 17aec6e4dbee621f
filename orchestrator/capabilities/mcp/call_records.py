"""A call of an MCP server's, as the row of its job has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.capabilities.mcp.arguments import write_arguments
from orchestrator.core.models import CubicleKey
from orchestrator.files.names import safe_name
from orchestrator.jobs.rows import Job
from orchestrator.mcp_servers.models import McpServer

KIND = "mcp"
CALL_TOOL, READ, RESOURCES, PROMPTS = "call", "read", "resources", "prompts"


@dataclass(frozen=True, slots=True)
class McpOrder:
    """What is to be done, before there is a job for it."""

    what: str
    """``call``, ``read``, ``resources`` or ``prompts``."""
    server: McpServer
    tool: str = ""
    pin: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What a person agrees to."""
        return describe_call(self.what, self.server.name, self.tool, self.arguments)

    def write(self) -> dict[str, Any]:
        """As the row of a job has it."""
        server = self.server
        given = {"what": self.what, "server": server.name, "server_id": server.id, "tool": self.tool, "pin": self.pin}
        return {**given, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class McpCall:
    """One of them."""

    job: Job
    what: str
    """``call``, ``read``, ``resources`` or ``prompts``."""
    server: str
    server_id: str
    tool: str
    """Of ``read`` the URI."""
    pin: str
    """The SHA-256 of what the operator had seen of the tool when it was asked for."""
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What a person agrees to."""
        return describe_call(self.what, self.server, self.tool, self.arguments)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A part of a result that goes into ``in/`` (`landing.LandingFile`)."""

    cubicle: CubicleKey
    wanted: str
    name: str
    size_bytes: int
    sha256: str


def describe_call(what: str, server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """The exact text of a question."""
    if what == READ:
        return f"{server} reads {tool}"
    return f"{server} {tool}\n{write_arguments(arguments)}"


def read_call(job: Job) -> McpCall:
    """The call of this job."""
    given = job.payload
    return McpCall(
        job, given["what"], given["server"], given["server_id"], given["tool"], given["pin"], given["arguments"]
    )


def file_name(call: McpCall, number: int, ending: str) -> str:
    """What a file of its result shall be called: by our words and a known ending alone."""
    tool = call.tool if call.what == CALL_TOOL else call.what
    return safe_name(f"{call.server}-{tool[:60]}{f'-{number}' if number > 1 else ''}.{ending}")
