"""What an agent reads of servers and their tools: a stranger's words, short, on few lines, with hidden characters
written out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.text import escape_invisible, one_line
from orchestrator.mcp_servers.models import PinState, ServerTool, ToolDecision

MOST_HELP_CHARS = 2_000
_MOST_LIST_CHARS = 8_000
_MOST_WORDS = 120
_MOST_FIELD = 160
_MOST_FIELDS = 40
NO_SERVERS = "This agent has no MCP servers."


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """A server, and those of its tools that may be called."""

    name: str
    tools: tuple[ServerTool, ...]


def wire_of(tool: ServerTool) -> Mapping[str, Any]:
    """The object that the operator has seen."""
    found = json.loads(tool.wire)
    return found if isinstance(found, dict) else {}


def write_offers(offers: Sequence[ServerOffer]) -> str:
    """Every server with the names of its tools."""
    if not offers:
        return NO_SERVERS
    lines = [f"{offer.name}: {', '.join(tool.name for tool in offer.tools) or 'no tool is on'}" for offer in offers]
    foot = "'hermit mcp find WORDS' finds one; 'hermit mcp SERVER TOOL --help' tells what it takes."
    return _cut("\n".join([*lines, foot]), _MOST_LIST_CHARS)


def write_server(offer: ServerOffer) -> str:
    """Its tools, a line each."""
    if not offer.tools:
        return f"No tool of {offer.name} is on. The operator turns them on."
    lines = [f"{offer.name} says of its tools (its words, not ours):"]
    lines += [f"  {tool.name}: {_summary(tool)}{_how(tool)}" for tool in offer.tools]
    return _cut("\n".join(lines), _MOST_LIST_CHARS)


def write_found(found: Sequence[ServerTool]) -> str:
    """Tools that fit, the best first."""
    if not found:
        return "No tool fits these words. 'hermit mcp' lists all."
    lines = ["Their servers say of these (their words, not ours):"]
    return "\n".join([*lines, *(f"  {one.server} {one.name}: {_summary(one)}{_how(one)}" for one in found)])


def write_help(tool: ServerTool) -> str:
    """What it takes, in at most `MOST_HELP_CHARS`."""
    wire = wire_of(tool)
    schema = wire.get("inputSchema")
    lines = [f"hermit mcp {tool.server} {tool.name} [key=value …] [--json OBJECT]{_how(tool)}"]
    lines.append(f"{tool.server} says of it (its words, not ours):")
    fields = list(_field_lines(schema if isinstance(schema, dict) else {}))
    room = MOST_HELP_CHARS - sum(len(line) + 1 for line in [*lines, *fields]) - 20
    described = one_line(escape_invisible(_text(wire.get("description"))), max(200, room))
    return _cut("\n".join([*lines, f"  {described}" if described else "  nothing", *fields]), MOST_HELP_CHARS)


def explain_off(tool: ServerTool) -> str:
    """Why it can't be called, and who can change that."""
    where = f"'./hermit mcp show {tool.server}'"
    reasons = {
        PinState.NEW: "is new, and the operator has not looked at it yet",
        PinState.CHANGED: "is described in another way than when the operator looked at it",
        PinState.UNCHECKED: "was not checked since its server was changed",
        PinState.GONE: "is no longer named by its server",
    }
    why = reasons.get(tool.state, "was turned off by the operator")
    return f"{tool.server} {tool.name} {why}, so it is off. The operator decides: {where}."


def list_claims(tool: ServerTool) -> list[str]:
    """What its server claims that it does, in words."""
    given = wire_of(tool).get("annotations")
    claims = given if isinstance(given, dict) else {}
    words = {
        "readOnlyHint": ("only reads", ""),
        "destructiveHint": ("may destroy", "destroys nothing"),
        "idempotentHint": ("again changes nothing more", ""),
        "openWorldHint": ("reaches others", ""),
    }
    said = (words[name][0 if claims[name] is True else 1] for name in words if isinstance(claims.get(name), bool))
    return [one for one in said if one]


def _how(tool: ServerTool) -> str:
    return " (asks first)" if tool.in_force is ToolDecision.ASKS else ""


def _summary(tool: ServerTool) -> str:
    return one_line(escape_invisible(_text(wire_of(tool).get("description"))), _MOST_WORDS) or "nothing"


def _field_lines(schema: Mapping[str, Any]) -> Sequence[str]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    lines = []
    for name, about in list(properties.items())[:_MOST_FIELDS] if isinstance(properties, dict) else ():
        facts = about if isinstance(about, dict) else {}
        kind = _kind_of(facts)
        star = "" if name in needed else ", may be left out"
        said = one_line(escape_invisible(_text(facts.get("description"))), _MOST_FIELD)
        lines.append(f"  {one_line(escape_invisible(str(name)), 80)} ({kind}{star}){f': {said}' if said else ''}")
    return lines


def _kind_of(facts: Mapping[str, Any]) -> str:
    choices = facts.get("enum")
    if isinstance(choices, list) and choices:
        return one_line(escape_invisible("|".join(map(str, choices[:12]))), 120)
    kind = facts.get("type")
    return one_line(escape_invisible(kind), 20) if isinstance(kind, str) else "any"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2].rstrip()} …"
