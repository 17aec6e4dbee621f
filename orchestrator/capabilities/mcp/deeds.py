"""What `hermit mcp` comes to: words at once, a question to the person, or a call that is made by a job."""

from __future__ import annotations

import hashlib
import sqlite3
from difflib import get_close_matches
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grant_rows import GrantKind
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.sources import sum_up
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.mcp.arguments import read_arguments
from orchestrator.capabilities.mcp.call_records import (
    CALL_TOOL,
    KIND,
    PROMPTS,
    READ,
    RESOURCES,
    McpOrder,
    read_call,
)
from orchestrator.capabilities.mcp.capability import CALL, GRANTS, McpAsked
from orchestrator.capabilities.mcp.tool_search import FindableTool, find_tools
from orchestrator.capabilities.mcp.tool_text import (
    ServerOffer,
    explain_off,
    list_claims,
    wire_of,
    write_found,
    write_help,
    write_offers,
    write_server,
)
from orchestrator.core.errors import BadInput, Forbidden, NotFound, TooMany
from orchestrator.core.models import Approval, ApprovalStatus
from orchestrator.core.text import in_quotes
from orchestrator.jobs import rows
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import JobState
from orchestrator.mcp_servers.models import TOOLSET_PREFIX, McpServer, ServerTool, ToolDecision
from orchestrator.mcp_servers.servers import McpServers

FIND = "find"
MOST_OPEN = 8
_ASKED = "The person is asked whether this may be called. The answer comes here."
_CALLED = "Calling."
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, "The person said no, so nothing was called."),
    ApprovalStatus.EXPIRED: (JobState.FAILED, "Nobody answered in time, so nothing was called."),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, "The question was withdrawn, so nothing was called."),
}
_CHANGED = "The call was changed after a person agreed to it, so nothing was called. Ask again."


class McpDeeds:
    """Everything that agents ask of MCP servers."""

    def __init__(
        self, *, servers: McpServers, agents: Agents, approvals: Approvals, grants: Grants, jobs: Jobs
    ) -> None:
        self._servers, self._agents, self._approvals, self._grants, self._jobs = (
            servers,
            agents,
            approvals,
            grants,
            jobs,
        )
        approvals.on_decision(KIND, self._on_decided)

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {CALL.name: self._answer}

    def _answer(self, db: sqlite3.Connection, caller: Caller, asked: McpAsked) -> Outcome:
        held = self._list_held(caller)
        if not asked.server:
            offers = [self._offer_of(server) for server in held]
            return Outcome(write_offers(offers), {"servers": [_offer_json(offer) for offer in offers]})
        if asked.server == FIND:
            return self._find(held, " ".join((asked.tool, *asked.pairs)))
        server = _choose(held, asked.server)
        if asked.read:
            return self._ask_person(db, caller, McpOrder(READ, server, asked.read), claims=[])
        if asked.resources or asked.prompts:
            return self._submit(db, caller, McpOrder(RESOURCES if asked.resources else PROMPTS, server))
        if not asked.tool:
            offer = self._offer_of(server)
            return Outcome(write_server(offer), _offer_json(offer))
        tool = self._get_tool(server, asked.tool)
        if asked.help:
            return Outcome(write_help(tool), {"server": server.name, "tool": tool.name, "claims": dict(wire_of(tool))})
        return self._call(db, caller, server, tool, asked)

    def _find(self, held: list[McpServer], words: str) -> Outcome:
        if not words.strip():
            raise BadInput("words: write what you look for, such as 'hermit mcp find create issue'.")
        known = {(tool.server, tool.name): tool for server in held for tool in self._offer_of(server).tools}
        every = [FindableTool(*place, str(wire_of(tool).get("description", ""))) for place, tool in known.items()]
        found = [known[one.server, one.name] for one in find_tools(every, words)]
        return Outcome(write_found(found), {"tools": [{"server": one.server, "tool": one.name} for one in found]})

    def _call(
        self, db: sqlite3.Connection, caller: Caller, server: McpServer, tool: ServerTool, asked: McpAsked
    ) -> Outcome:
        if tool.in_force is ToolDecision.OFF:
            raise Forbidden(explain_off(tool))
        schema = wire_of(tool).get("inputSchema")
        arguments = read_arguments(asked.pairs, asked.json, schema if isinstance(schema, dict) else {})
        order = McpOrder(CALL_TOOL, server, tool.name, tool.sha256, arguments)
        if tool.in_force is ToolDecision.FREE:
            return self._submit(db, caller, order)
        return self._ask_person(db, caller, order, claims=list_claims(tool))

    def _ask_person(self, db: sqlite3.Connection, caller: Caller, order: McpOrder, *, claims: list[str]) -> Outcome:
        """A person is asked, unless they allowed this tool in advance and no stranger was read since."""
        subject, newcomers = f"{order.server.name}/{order.tool}", None
        detail: dict[str, Any] = {"server": order.server.name, "tool": order.tool, "claims": claims}
        if order.what == CALL_TOOL:
            newcomers = self._grants.list_newcomers(db, caller.key, caller.turn, subject, GrantKind.MCP)
            detail |= {"grants": GRANTS, "kinds": [subject]}
        if newcomers is not None and not newcomers:
            return self._submit(db, caller, order)
        detail |= {"since_allowed": sum_up(newcomers)} if newcomers else {}
        approval = self._approvals.ask_person(
            db,
            caller.key,
            caller.turn,
            kind=KIND,
            text=order.text,
            reason="",
            detail=detail,
            timeout_s=self._agents.get(caller.key.agent).approval_timeout_s,
        )
        waits_for = f"approval:{approval.id}"
        for job in rows.list_waiting_for(db, KIND, waits_for):
            return Outcome(_ASKED, {"mcp": int(job.name)}, waits_for=job_reference(KIND, job.name))
        return self._submit(db, caller, order, waits_for=waits_for)

    def _submit(self, db: sqlite3.Connection, caller: Caller, order: McpOrder, *, waits_for: str = "") -> Outcome:
        if len(rows.list_open_jobs(db, KIND, caller.key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} calls are under way already. Call again when one of them has ended.")
        how: dict[str, Any] = {"state": JobState.WAITING, "waits_for": waits_for} if waits_for else {}
        job = self._jobs.submit(db, KIND, caller.key, caller.turn, order.write(), **how)
        said = _ASKED if waits_for else _CALLED
        return Outcome(said, {"mcp": int(job.name)}, waits_for=job_reference(KIND, job.name))

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, KIND, f"approval:{approval.id}"):
            if approval.status is not ApprovalStatus.APPROVED:
                state, why = _ENDED[approval.status]
                self._jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")
            elif hashlib.sha256(read_call(job).text.encode()).hexdigest() != approval.sha256:
                self._jobs.end_job(db, job, JobState.FAILED, error=_CHANGED)
            else:
                self._jobs.resume_job(db, job, "calling")

    # --- what there is

    def _list_held(self, caller: Caller) -> list[McpServer]:
        toolsets = self._agents.get(caller.key.agent).toolsets
        return [one for one in self._servers.list_servers() if one.toolset in toolsets and one.is_enabled]

    def _offer_of(self, server: McpServer) -> ServerOffer:
        tools = (one for one in self._servers.list_tools(server.name) if one.in_force is not ToolDecision.OFF)
        return ServerOffer(server.name, tuple(tools))

    def _get_tool(self, server: McpServer, name: str) -> ServerTool:
        try:
            return self._servers.get_tool(server.name, name)
        except NotFound:
            known = [tool.name for tool in self._servers.list_tools(server.name)]
            near = get_close_matches(name, known, 3, 0.5)
            hint = f" Near it: {', '.join(near)}." if near else f" 'hermit mcp {server.name}' lists its tools."
            raise NotFound(f"{server.name} has no tool {in_quotes(name, 80)}.{hint}") from None


def _choose(held: list[McpServer], name: str) -> McpServer:
    plain = name.removeprefix(TOOLSET_PREFIX)
    for server in held:
        if server.name == plain:
            return server
    names = ", ".join(server.name for server in held)
    there = f"It has {names}." if names else "It has none: the operator ticks them in the agent's settings."
    raise NotFound(f"This agent has no MCP server {in_quotes(name, 40)}. {there}")


def _offer_json(offer: ServerOffer) -> dict[str, Any]:
    tools = [{"name": tool.name, "decision": str(tool.in_force)} for tool in offer.tools]
    return {"server": offer.name, "tools": tools}
