"""MCP servers, for operators: added, checked, decided about, removed. Values of secrets go in and never come out."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.api.providers import current_actor
from dashboard.auth import operator_only
from dashboard.mcp_facts import find_state, server_detail_json, server_json
from dashboard.services import get_services
from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.core.text import escape_invisible
from orchestrator.mcp_servers.fields import FIELDS
from orchestrator.mcp_servers.imports import McpImportPlan, ServerProposal, plan_import
from orchestrator.mcp_servers.models import SeenPin, ToolDecision

api = Blueprint("mcp", __name__)

_LISTS = ("secrets", "headers", "hosts")
"""May be one text too, of names with blanks or commas between them."""
_KINDS = ("tool", "instructions", "prompt", "template")
_MOST_PINS = 1_000
_ONE = "/api/mcp/<server>"


@api.get("/api/mcp")
@operator_only
def list_servers() -> Any:
    """All, without their words."""
    return {"servers": [server_json(state) for state in get_services().mcp_servers.list_states()]}


@api.post("/api/mcp")
@operator_only
def add_server() -> Any:
    """A new one, which no agent has yet."""
    body = bodies.json_body("name", "values", *FIELDS)
    name, values = bodies.text_field(body, "name"), _values(body)
    get_services().mcp_servers.add(name, _fields(body), values, by=current_actor())
    return server_json(find_state(name)), 201


@api.get(_ONE)
@operator_only
def get_server(server: str) -> Any:
    """One, with everything that it says."""
    return server_detail_json(server)


@api.patch(_ONE)
@operator_only
def change_server(server: str) -> Any:
    """Another package, other hosts, other names of secrets, or off for now."""
    get_services().mcp_servers.change(server, _fields(bodies.json_body(*FIELDS)), by=current_actor())
    return server_json(find_state(server))


@api.delete(_ONE)
@operator_only
def remove_server(server: str) -> Any:
    """It is gone, with its secrets."""
    get_services().mcp_servers.remove(server, by=current_actor())
    return "", 204


@api.post(f"{_ONE}/check")
@operator_only
def check_server(server: str) -> Any:
    """It is started once, and what it offers is written down."""
    report = get_services().mcp_checks.check(server)
    dropped = [escape_invisible(sentence) for sentence in report.catalog.dropped]
    return {**server_detail_json(server), "news": len(report.news), "dropped": dropped}


@api.post(f"{_ONE}/accept")
@operator_only
def accept_changes(server: str) -> Any:
    """The operator has looked at what it says now."""
    given = bodies.json_body("pins").get("pins")
    if not isinstance(given, list) or len(given) > _MOST_PINS:
        raise BadInput('pins: send a list such as [{"kind": "tool", "name": "search", "sha256": "…"}].')
    get_services().mcp_servers.accept_changes(server, [_seen_pin(one) for one in given], by=current_actor())
    return server_detail_json(server)


@api.put(f"{_ONE}/secrets")
@operator_only
def set_secret(server: str) -> Any:
    """A value for one of its secrets; an empty one forgets it."""
    body = bodies.json_body("name", "value")
    name, value = bodies.text_field(body, "name"), bodies.text_field(body, "value")
    get_services().mcp_servers.set_secret(server, name, value, by=current_actor())
    return server_json(find_state(server))


@api.put(f"{_ONE}/tools/<tool>")
@operator_only
def set_decision(server: str, tool: str) -> Any:
    """How a tool is called from now on."""
    wanted = bodies.text_field(bodies.json_body("decision"), "decision")
    if wanted not in tuple(ToolDecision):
        raise BadInput(f"decision: choose one of {', '.join(ToolDecision)}.")
    get_services().mcp_servers.set_decision(server, tool, ToolDecision(wanted), by=current_actor())
    return server_detail_json(server)


@api.put(f"{_ONE}/agents")
@operator_only
def set_agents(server: str) -> Any:
    """Exactly these agents may use it."""
    services = get_services()
    toolset = services.mcp_servers.get(server).toolset
    wanted = set(bodies.texts_field(bodies.json_body("agents"), "agents", most=1_000))
    for name in wanted:
        services.agents.get(name)
    for agent in services.agents.list_agents():
        has = toolset in agent.toolsets
        if has != (agent.name in wanted):
            left = [one for one in agent.toolsets if one != toolset]
            services.agents.update_agent(agent.name, {"toolsets": left if has else [*left, toolset]})
    return server_json(find_state(server))


@api.post("/api/mcp-import")
@operator_only
def import_servers() -> Any:
    """What a file of another program lists; those that are named in ``take`` are added."""
    body = bodies.large_json_body(max_bytes=2 << 20, max_items=1_000)
    if unknown := sorted(set(body) - {"text", "take"}):
        raise BadInput(f"{unknown[0][:40]}: there is no such field here; there are text, take.")
    plan, take = plan_import(bodies.text_field(body, "text")), bodies.texts_field(body, "take", most=100)
    known = {one.name for one in plan.proposals}
    if missing := [name for name in take if name not in known]:
        raise BadInput(f"take: the file lists no server {missing[0][:40]!r}.")
    outcomes = {one.name: _take(one) for one in plan.proposals if one.name in take}
    return _plan_json(plan, outcomes)


def _take(proposal: ServerProposal) -> str:
    """Why it was not added; empty where it was."""
    if proposal.needs:
        return proposal.needs[0]
    try:
        get_services().mcp_servers.add(proposal.name, proposal.fields, proposal.values, by=current_actor())
    except OrchestratorError as error:
        return error.message
    return ""


def _plan_json(plan: McpImportPlan, outcomes: dict[str, str]) -> dict[str, Any]:
    proposals = []
    for one in plan.proposals:
        fields = {name: one.fields[name] for name in one.fields if one.fields[name] not in ([], {}, "")}
        trouble = outcomes.get(one.name)
        shown = {"name": one.name, "fields": fields, "values": sorted(one.values), "asks_for": list(one.asks_for)}
        told = {
            "needs": list(one.needs),
            "notes": list(one.notes),
            "is_added": trouble == "",
            "trouble": trouble or None,
        }
        proposals.append({**shown, **told})
    return {"proposals": proposals, "refused": list(plan.refused)}


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in body.items() if name in FIELDS}
    for name in _LISTS:
        if isinstance(found.get(name), str):
            found[name] = [word for word in re.split(r"[\s,]+", found[name]) if word]
    return found


def _values(body: dict[str, Any]) -> dict[str, str]:
    value = body.get("values", {})
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise BadInput("values: send an object with the value of each secret, by its name.")
    return {name: one for name, one in value.items() if one}


def _seen_pin(given: Any) -> SeenPin:
    if not isinstance(given, dict) or set(given) != {"kind", "name", "sha256"}:
        raise BadInput("pins: each has kind, name and sha256.")
    kind, name, sha256 = given["kind"], given["name"], given["sha256"]
    if kind not in _KINDS or not isinstance(name, str) or not isinstance(sha256, str):
        raise BadInput(f"pins: kind is one of {', '.join(_KINDS)}; name and sha256 are texts.")
    return SeenPin(kind, name, sha256)
