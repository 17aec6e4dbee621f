"""Tools from others: MCP servers as operators see them. What a server says of itself is shown as its own words."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.mcp_facts import find_state, list_agents_with, said_json, tool_json
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services

pages = Blueprint("mcp_seen", __name__)


@pages.get("/mcp")
@operator_only
def servers() -> str:
    """The list, and how one is added."""
    return render_template("mcp.html", **shell_frame(), **_list())


@pages.get("/parts/mcp")
@operator_only
def server_list() -> str:
    """The list alone."""
    return render_template("parts/mcp_list.html", **_list())


@pages.get("/mcp/<server>")
@operator_only
def server(server: str) -> str:
    """One server with its tools."""
    return render_template("mcp_server.html", **shell_frame(), **_detail(server))


@pages.get("/parts/mcp/<server>")
@operator_only
def server_part(server: str) -> str:
    """What changes of it."""
    return render_template("parts/mcp_server.html", **_detail(server))


def _list() -> dict[str, Any]:
    states = get_services().mcp_servers.list_states()
    return {"states": states, "used_by": {state.server.name: list_agents_with(state.server) for state in states}}


def _detail(name: str) -> dict[str, Any]:
    services = get_services()
    state = find_state(name)
    pins = services.mcp_servers.list_pins(name)
    tools = [tool_json(pin) for pin in pins if pin.kind == "tool"]
    said = [said_json(pin) for pin in pins if pin.kind != "tool"]
    waiting = [one for one in (*tools, *said) if one["state"] in ("new", "changed", "gone")]
    seen = [{"kind": one["kind"], "name": one["key"], "sha256": one["sha256"]} for one in waiting]
    return {
        "state": state,
        "server": state.server,
        "tools": tools,
        "said": said,
        "pins": {"pins": seen},
        "all_agents": services.agents.list_agents(),
        "used_by": list_agents_with(state.server),
    }
