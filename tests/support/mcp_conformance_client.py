"""The program that the official conformance suite of MCP starts: our client, told what to do by the scenario's name.

``python -m tests.support.mcp_conformance_client URL``, with ``MCP_CONFORMANCE_SCENARIO`` and ``…_CONTEXT`` set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from orchestrator.mcp.faults import McpRefused
from orchestrator.mcp.http import HttpTransport
from orchestrator.mcp.models import McpAnswer, McpCatalog, McpQuestion
from orchestrator.mcp.session import McpSession
from orchestrator.web.limits import Internet


def answer(question: McpQuestion) -> McpAnswer:
    """A person who leaves every default as it is."""
    content: dict[str, Any] = {}
    for field in question.fields:
        if field.default is not None:
            content[field.name] = field.default
        elif field.required:
            content[field.name] = {"yes_no": True, "number": 1, "integer": 1}.get(field.kind, "x")
    return McpAnswer("accept", content)


def arguments_for(name: str, catalog: McpCatalog, calls: Mapping[str, Any]) -> dict[str, Any]:
    """What the scenario wants a tool to be called with."""
    if name in calls:
        return dict(calls[name])
    if name == "json_schema_echo":
        schemas = [tool.input_schema for tool in catalog.tools if tool.name != name] or [catalog.tools[0].input_schema]
        return {"schema": schemas[0]}
    return {"a": 1, "b": 2} if "add" in name else {}


def main() -> None:
    """Connect, list, and call each tool."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    calls = {call["name"]: call.get("arguments", {}) for call in context.get("toolCalls", [])}
    transport = HttpTransport(sys.argv[-1], internet=Internet(), is_private_allowed=True)
    session = McpSession(transport, client_version="1", asks_persons=True)
    hello = session.connect()
    print(hello, flush=True)
    catalog = session.fetch_catalog()
    print(catalog.dropped)
    for tool in catalog.tools:
        try:
            print(tool.name, session.call(tool.name, arguments_for(tool.name, catalog, calls), on_question=answer))
        except McpRefused as error:
            print(tool.name, error, error.said)
    session.close()


if __name__ == "__main__":
    main()
