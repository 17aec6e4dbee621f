"""McpServers: the servers of this install, added and decided about by operators.

Owns their rows, their pins and the file of their secrets. What runs them and speaks with them is far above: it asks
here what it may call, and brings what a server said.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound, Outdated, TooMany
from orchestrator.core.hooks import Hooks
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import in_quotes
from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp_servers import pins, rows
from orchestrator.mcp_servers.fields import CHANGES_WHAT_RUNS, apply_fields, check_secret, parse_name
from orchestrator.mcp_servers.models import (
    McpServer,
    Pin,
    PinState,
    SeenPin,
    ServerTool,
    ToolDecision,
)
from orchestrator.mcp_servers.secrets import McpSecrets

_CHANGES_SESSIONS = ("mcp.added", "mcp.changed", "mcp.removed", "mcp.secret")
"""After these a session that is under way is no longer what the operator wants."""
MOST = 64
"""Servers of an install."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server, and what an operator has to do about it."""

    server: McpServer
    missing_secrets: tuple[str, ...]
    """Secrets that have no value yet."""
    waiting: int
    """Things that it says and that wait for an operator."""


class McpServers:
    """All of them. Any thread may call."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        secrets: McpSecrets,
        hooks: Hooks,
        *,
        private_hosts: frozenset[tuple[str, int]] = frozenset(),
        blot: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``private_hosts`` are those of a private network that the settings name; ``blot`` keeps a text out of the
        log."""
        self._store, self._agents, self._secrets, self._hooks = store, agents, secrets, hooks
        self._private_hosts, self._blot, self._now = private_hosts, blot, now

    def start(self) -> None:
        """What a death left of removed servers goes; secrets stay out of the log. Raises Unavailable."""
        self._secrets.keep_only({server.id for server in self.list_servers()})
        for value in self._secrets.list_values():
            self._blot(value)

    # --- looking

    def list_servers(self) -> list[McpServer]:
        """All, by name."""
        with self._store.reading() as db:
            return rows.list_servers(db)

    def list_states(self) -> list[ServerState]:
        """All, by name, with what is to be done about them."""
        with self._store.reading() as db:
            servers, waiting = rows.list_servers(db), rows.count_waiting(db)
        return [ServerState(one, self.list_missing_secrets(one), waiting.get(one.id, 0)) for one in servers]

    def get(self, name: str) -> McpServer:
        """The server of this name; raises NotFound."""
        with self._store.reading() as db:
            return _get_server(db, name)

    def list_pins(self, name: str) -> list[Pin]:
        """Everything that it says. Raises NotFound."""
        with self._store.reading() as db:
            return rows.list_pins(db, _get_server(db, name).id)

    def list_tools(self, name: str) -> list[ServerTool]:
        """Its tools, by name. Raises NotFound."""
        return [_tool_of(name, pin) for pin in self.list_pins(name) if pin.kind == "tool"]

    def get_tool(self, name: str, tool: str) -> ServerTool:
        """One of its tools; raises NotFound."""
        with self._store.reading() as db:
            return _tool_of(name, _get_tool_pin(db, _get_server(db, name), tool))

    def list_missing_secrets(self, server: McpServer) -> tuple[str, ...]:
        """Its secrets that have no value."""
        kept = self._secrets.list_names(server.id)
        return tuple(name for name in server.secret_keys if name not in kept)

    def secrets_for(self, server: McpServer) -> Mapping[str, str]:
        """The values of its secrets by name, or of its headers where it is at a URL. For what starts it, alone."""
        kept = self._secrets.read_values(server.id)
        return {name: kept[name] for name in server.secret_keys if name in kept}

    # --- what an operator does

    def add(self, name: str, fields: Mapping[str, Any], values: Mapping[str, str], *, by: str) -> McpServer:
        """A new server. No agent has it, and its tools are off, before an operator says so.

        Args:
            name: what commands call it.
            fields: see ``fields.apply_fields``.
            values: of its secrets, by name; more can be given later.
            by: who adds it, and where.

        Raises:
            BadInput: a field is of no use; the message names it.
            Conflict: there is one of this name.
            TooMany: there are as many as there may be.
        """
        now = self._now()
        blank = McpServer(typed_id(), parse_name(name), "command", "", (), (), (), (), "", (), True, now, by)
        server = apply_fields(blank, fields, self._private_hosts)
        for key, value in values.items():
            self._blot(value)
            check_secret(server, key, value)
        with self._store.writing() as db:
            if rows.get_server(db, name) is not None:
                raise Conflict(f"name: there is a server {name} already. Choose another name, or remove it first.")
            if len(rows.list_servers(db)) >= MOST:
                raise TooMany(f"There are {MOST} servers already. Remove one first.")
            rows.insert_server(db, server)
            self._note(db, "mcp.added", f"MCP server {name} was added by {by}.", server, **_facts_of(server))
            if values:
                self._secrets.save_values(server.id, values)
        return server

    def change(self, name: str, fields: Mapping[str, Any], *, by: str) -> McpServer:
        """Change some fields. Where that changes what runs, all that was seen of its words is to be checked again.
        Raises NotFound or BadInput, and then nothing has changed."""
        with self._store.writing() as db:
            old = _get_server(db, name)
            server = apply_fields(old, fields, self._private_hosts)
            runs_other = any(getattr(old, field) != getattr(server, field) for field in CHANGES_WHAT_RUNS)
            if runs_other:
                server = replace(server, checked_at=None)
                self._uncheck(db, server)
            if (old.how, old.package) != (server.how, server.package):
                server = replace(server, packages_digest="")
            rows.update_server(db, server)
            self._note(db, "mcp.changed", f"MCP server {name} was changed by {by}.", server, **_facts_of(server))
            kept = self._secrets.read_values(server.id)
            if set(kept) - set(server.secret_keys):
                self._secrets.save_values(server.id, {key: kept[key] for key in server.secret_keys if key in kept})
        return server

    def remove(self, name: str, *, by: str) -> None:
        """It is gone, with its secrets and what was decided; no agent has it any more. Raises NotFound."""
        with self._store.writing() as db:
            server = _get_server(db, name)
            self._agents.drop_toolset(server.toolset)
            rows.delete_server(db, server.id)
            self._note(db, "mcp.removed", f"MCP server {name} was removed by {by}.", server)
        self._secrets.save_values(server.id, {})

    def set_secret(self, name: str, key: str, value: str, *, by: str) -> McpServer:
        """Keep this value for one of its secrets, in the place of what was there; an empty one forgets it. Raises
        NotFound, BadInput or Unavailable."""
        with self._store.writing() as db:
            server = _get_server(db, name)
            self._blot(value)
            if value or key not in server.secret_keys:
                check_secret(server, key, value)
            others = {one: kept for one, kept in self._secrets.read_values(server.id).items() if one != key}
            said = "set" if value else "removed"
            self._note(db, "mcp.secret", f"Secret {key} of MCP server {name} was {said} by {by}.", server, key=key)
            self._secrets.save_values(server.id, {**others, key: value} if value else others)
        return server

    def set_decision(self, name: str, tool: str, decision: ToolDecision, *, by: str) -> ServerTool:
        """From now on a tool is called so. Raises NotFound, or Conflict for one that waits to be looked at."""
        with self._store.writing() as db:
            server = _get_server(db, name)
            pin = _get_tool_pin(db, server, tool)
            if pin.state is not PinState.SEEN and decision is not ToolDecision.OFF:
                raise Conflict(_explain_state(name, pin))
            pin = replace(pin, decision=decision)
            rows.put_pin(db, server.id, pin)
            said = f"Tool {name}/{tool} was set to {decision} by {by}."
            self._note(db, "mcp.decided", said, server, tool=tool, decision=str(decision))
        return _tool_of(name, pin)

    def accept_changes(self, name: str, seen: Iterable[SeenPin], *, by: str) -> list[Pin]:
        """An operator has looked at these and takes them as they are; what was off for that asks from now on.

        Raises:
            NotFound: there is no such server, or it says no such thing.
            Outdated: it says something else by now than what was looked at; nothing has changed.
        """
        accepted = []
        with self._store.writing() as db:
            server = _get_server(db, name)
            for one in seen:
                pin = rows.get_pin(db, server.id, one.kind, one.name)
                if pin is None:
                    raise NotFound(f"{name} has no {one.kind} {in_quotes(one.name, 80)}.")
                if not pin.is_waiting:
                    raise Conflict(_explain_state(name, pin))
                if pin.offered_sha256 != one.sha256:
                    raise Outdated(f"{name} says something else of {in_quotes(one.name, 80)} by now. Look again.")
                accepted.append(self._accept(db, server, pin, by))
        return accepted

    # --- what is brought from above

    def record_catalog(self, server: McpServer, catalog: McpCatalog) -> tuple[Pin, ...]:
        """What the server said just now. What differs from what an operator has seen is off from here on.

        Args:
            server: as it was when it was started.
            catalog: what it said then.

        Returns:
            What an operator has to look at that was not so before.

        Raises:
            NotFound: it was removed meanwhile.
            Conflict: what runs was changed meanwhile, so this says nothing of it.
        """
        said, now = pins.list_said(catalog), self._now()
        with self._store.writing() as db:
            present = _get_server(db, server.name)
            if any(getattr(present, field) != getattr(server, field) for field in ("id", *CHANGES_WHAT_RUNS)):
                raise Conflict(f"{server.name} was changed while it was being checked. Check it again.")
            known = rows.list_pins(db, server.id)
            changes = pins.compare(known, said, now)
            for pin in changes.dropped:
                rows.delete_pin(db, server.id, pin)
            for pin in changes.kept:
                if pin not in known:
                    rows.put_pin(db, server.id, pin)
            rows.update_server(db, replace(present, checked_at=now))
            if changes.news:
                named = ", ".join(_called(pin) for pin in changes.news[:10])
                text = f"MCP server {server.name} says {len(changes.news)} new things: {named}."
                self._note(db, "mcp.said", text, server, count=len(changes.news))
        return changes.news

    def record_packages(self, server: McpServer, digest: str) -> None:
        """Its packages were fetched. Raises NotFound, or Conflict where it has another package by now."""
        with self._store.writing() as db:
            present = _get_server(db, server.name)
            if (present.id, present.package) != (server.id, server.package):
                raise Conflict(f"{server.name} was changed while its packages were being fetched. Check it again.")
            rows.update_server(db, replace(present, packages_digest=digest))
            text = f"The packages of MCP server {server.name} were fetched."
            self._note(db, "mcp.packages", text, present, package=server.package, digest=digest)

    def _accept(self, db: sqlite3.Connection, server: McpServer, pin: Pin, by: str) -> Pin:
        taken = pins.accept(pin, self._now())
        if taken is None:
            rows.delete_pin(db, server.id, pin)
        else:
            rows.put_pin(db, server.id, taken)
        text = f"What MCP server {server.name} says of {_called(pin)} was accepted by {by}."
        self._note(db, "mcp.accepted", text, server, what=pin.kind, name=pin.name, sha256=pin.offered_sha256)
        return taken or pin

    def _uncheck(self, db: sqlite3.Connection, server: McpServer) -> None:
        for pin in rows.list_pins(db, server.id):
            unchecked = pins.uncheck(pin)
            if unchecked is None:
                rows.delete_pin(db, server.id, pin)
            else:
                rows.put_pin(db, server.id, unchecked)

    def _note(self, db: sqlite3.Connection, kind: str, text: str, server: McpServer, **detail: Any) -> None:
        audit_rows.insert_record(db, kind, text, now=self._now(), detail={"server": server.name, **detail})
        if kind in _CHANGES_SESSIONS:
            self._store.after_commit(partial(self._hooks.mcp_changed.fire, server.name))


def _get_server(db: sqlite3.Connection, name: str) -> McpServer:
    found = rows.get_server(db, name)
    if found is None:
        raise NotFound(f"There is no MCP server {in_quotes(name, 40)}. './hermit mcp list' shows all.")
    return found


def _get_tool_pin(db: sqlite3.Connection, server: McpServer, tool: str) -> Pin:
    pin = rows.get_pin(db, server.id, "tool", tool)
    if pin is None:
        raise NotFound(f"{server.name} has no tool {in_quotes(tool, 80)}.")
    return pin


def _tool_of(server: str, pin: Pin) -> ServerTool:
    return ServerTool(server, pin.name, pin.wire, pin.sha256, pin.decision, pin.state, pin.seen_at, pin.offered)


def _called(pin: Pin) -> str:
    return "its instructions" if pin.kind == "instructions" else f"{pin.kind} {in_quotes(pin.name, 80)}"


def _explain_state(name: str, pin: Pin) -> str:
    match pin.state:
        case PinState.GONE:
            return f"{name} no longer names {_called(pin)}. './hermit mcp check {name}' looks again."
        case PinState.UNCHECKED:
            return f"What runs as {name} was changed. Check it first: './hermit mcp check {name}'."
        case PinState.SEEN:
            return f"{name} says of {_called(pin)} what was accepted already. There is nothing to accept."
        case _:
            return f"{name} says something of {_called(pin)} that nobody has looked at. Accept it first."


def _facts_of(server: McpServer) -> dict[str, Any]:
    """For the audit log: names alone of what may be secret."""
    return {
        "how": server.how,
        "package": server.package,
        "argv": list(server.argv),
        "env": [name for name, _ in server.env],
        "secrets": list(server.secret_keys),
        "hosts": list(server.hosts),
        "url": server.url.partition("?")[0],
        "is_enabled": server.is_enabled,
    }
