"""What MCP servers say in tests, and a checker that says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orchestrator.core.errors import Unavailable
from orchestrator.mcp.models import McpCatalog, McpHello, McpPrompt, McpTool
from orchestrator.mcp_servers.models import McpServer


def make_tool(name: str, description: str = "Does things.", **more: Any) -> McpTool:
    """A tool with a schema."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return McpTool(name, {"name": name, "description": description, "inputSchema": schema, **more})


def make_catalog(*tools: McpTool, instructions: str = "", prompts: tuple[str, ...] = ()) -> McpCatalog:
    """What a server offers."""
    hello = McpHello("2026-07-28", "sample", "1.0", instructions, {})
    found = tuple(McpPrompt(name, {"name": name, "description": f"About {name}."}) for name in prompts)
    return McpCatalog(hello, tools, (), (), found, ())


@dataclass
class FakeServerChecker:
    """Says what a test wants."""

    catalog: McpCatalog = field(default_factory=lambda: make_catalog(make_tool("search"), make_tool("write")))
    trouble: str = ""
    asked: list[McpServer] = field(default_factory=list)

    def check(self, server: McpServer) -> McpCatalog:
        """The catalog, or the trouble."""
        self.asked.append(server)
        if self.trouble:
            raise Unavailable(self.trouble)
        return self.catalog
