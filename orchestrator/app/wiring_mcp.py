"""The part of the composition root for MCP servers that run."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.app.wiring import AppContext
from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.capabilities.mcp.deeds import McpDeeds
from orchestrator.capabilities.mcp.server_files import ServerFiles
from orchestrator.capabilities.mcp.server_process import ServerStarter
from orchestrator.capabilities.mcp.sessions import McpServerChecker, McpSessions, SessionParts
from orchestrator.capabilities.mcp.tool_calls import McpCalls
from orchestrator.capabilities.packages.resolver import PackageResolver
from orchestrator.core.models import CubicleKey
from orchestrator.core.version import VERSION
from orchestrator.jobs.pool import Jobs


class McpNouns:
    """Sessions with servers, and what agents ask of them."""

    def __init__(self, context: AppContext, approvals: Approvals, jobs: Jobs) -> None:
        parts, folder, servers = context.parts, context.home.mcp, context.mcp_servers
        helpers = parts.engine.helpers

        def image() -> str:
            return parts.engine.images.ensure_image("resolver")

        fetching = PackageResolver(
            helpers, context.gates, folder=folder / "fetching", image=image, outside=parts.outside, prefix="mcp-"
        )
        self._servers = servers
        self._files = ServerFiles(helpers, fetching, folder=folder, image=image)
        self.sessions = McpSessions(
            SessionParts(
                servers,
                self._files,
                ServerStarter(helpers, context.gates, folder=folder / "running"),
                parts.internet,
                image,
                context.settings.private_hosts,
                VERSION,
            )
        )
        self.checker = McpServerChecker(servers, self._files, self.sessions)
        self.deeds = McpDeeds(
            servers=servers, agents=context.agents, approvals=approvals, grants=context.grants, jobs=jobs
        )
        landing = WorkspaceStore(context.workspaces, context.agents, context.reserve, context.home.path)
        McpCalls(store=context.store, servers=servers, sessions=self.sessions, landing=landing, jobs=jobs)
        context.hooks.mcp_changed.subscribe(self.sessions.end_server)
        context.hooks.door_closed.subscribe(self.sessions.end_cubicle)

    def start(self) -> None:
        """What a death left is gone, and sessions may begin. Raises Unavailable."""
        self._files.start()
        self._files.keep_only({server.packages_digest for server in self._servers.list_servers()})
        self.sessions.start()

    def end_for(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Sessions of cubicles that are being deleted end."""
        for live in self.sessions.list_alive():
            if live.key is not None and is_theirs(live.key):
                self.sessions.end_cubicle(live.key)

    def close(self) -> None:
        """None runs any more."""
        self.sessions.close()
