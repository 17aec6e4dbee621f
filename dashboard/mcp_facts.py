"""MCP servers as the API and the pages show them: what a server says stands beside whose words they are, with hidden
characters written out, and no value of a secret."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.core.text import escape_invisible
from orchestrator.mcp_servers.models import McpServer, Pin, PinState
from orchestrator.mcp_servers.servers import ServerState
from orchestrator.mcp_servers.wording import find_difference, list_arguments, read_claims, read_description


def server_json(state: ServerState) -> dict[str, Any]:
    """A server without its words."""
    server = state.server
    shown = {
        "name": server.name,
        "how": server.how,
        "package": server.package,
        "args": list(server.argv),
        "env": dict(server.env),
        "secrets": _secrets_json(state),
        "hosts": list(server.hosts),
        "url": server.url,
        "is_enabled": server.is_enabled,
        "created_by": server.created_by,
        "waiting": state.waiting,
        "agents": list_agents_with(server),
    }
    return {**shown, **with_iso_times({"created_at": server.created_at, "checked_at": server.checked_at})}


def server_detail_json(name: str) -> dict[str, Any]:
    """A server with everything that it says. Raises NotFound."""
    pins = get_services().mcp_servers.list_pins(name)
    return {
        **server_json(find_state(name)),
        "tools": [tool_json(pin) for pin in pins if pin.kind == "tool"],
        "said": [said_json(pin) for pin in pins if pin.kind != "tool"],
    }


def find_state(name: str) -> ServerState:
    """One server, and what is to be done about it. Raises NotFound."""
    servers = get_services().mcp_servers
    server = servers.get(name)
    waiting = sum(pin.is_waiting for pin in servers.list_pins(name))
    return ServerState(server, servers.list_missing_secrets(server), waiting)


def list_agents_with(server: McpServer) -> list[str]:
    """The agents that may use it."""
    return [agent.name for agent in get_services().agents.list_agents() if server.toolset in agent.toolsets]


def tool_json(pin: Pin) -> dict[str, Any]:
    """A tool as its server describes it, and what holds for it."""
    said = pin.offered or pin.wire
    return {
        **said_json(pin),
        "decision": str(pin.decision),
        "claims": list(read_claims(said)),
        "arguments": list(list_arguments(said)),
    }


def said_json(pin: Pin) -> dict[str, Any]:
    """Something that a server says, and how that differs from what was seen."""
    said = pin.offered or pin.wire
    difference = asdict(find_difference(pin.wire, pin.offered)) if pin.state is PinState.CHANGED else None
    if difference is not None:
        difference["parts"] = list(difference["parts"])
    return {
        "kind": pin.kind,
        "name": pin.name if pin.kind == "tool" else escape_invisible(pin.name),
        "key": pin.name,
        "state": str(pin.state),
        "description": read_description(said),
        "wire": said,
        "sha256": pin.offered_sha256,
        "difference": difference,
    }


def _secrets_json(state: ServerState) -> list[dict[str, Any]]:
    return [{"name": name, "is_set": name not in state.missing_secrets} for name in state.server.secret_keys]
