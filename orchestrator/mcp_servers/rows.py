"""Rows of MCP servers and of what they say. No secret is in them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from orchestrator.mcp_servers.models import TOOLSET_PREFIX, McpServer, Pin, PinState, ToolDecision

_LISTS = ("argv", "secret_names", "hosts", "header_names")
_COLUMNS = (
    "id, name, how, package, argv, env, secret_names, hosts, url, header_names, is_enabled, created_at, created_by, "
    "packages_digest, checked_at"
)
_PIN = "kind, name, wire, sha256, state, decision, seen_at, offered"


def insert_server(db: sqlite3.Connection, server: McpServer) -> None:
    """A new one. Raises sqlite3.IntegrityError where its name is taken."""
    db.execute(
        f"INSERT INTO mcp_servers ({_COLUMNS}) VALUES (:id, :name, :how, :package, :argv, :env, :secret_names, :hosts, "  # noqa: S608 - constant
        ":url, :header_names, :is_enabled, :created_at, :created_by, :packages_digest, :checked_at)",
        _as_row(server),
    )


def update_server(db: sqlite3.Connection, server: McpServer) -> None:
    """All of it but its id, name and origin."""
    db.execute(
        "UPDATE mcp_servers SET how = :how, package = :package, argv = :argv, env = :env, "
        "secret_names = :secret_names, hosts = :hosts, url = :url, header_names = :header_names, "
        "is_enabled = :is_enabled, packages_digest = :packages_digest, checked_at = :checked_at WHERE id = :id",
        _as_row(server),
    )


def delete_server(db: sqlite3.Connection, server: str) -> None:
    """It and its pins are gone, by its id."""
    db.execute("DELETE FROM mcp_servers WHERE id = ?", (server,))


def get_server(db: sqlite3.Connection, name: str) -> McpServer | None:
    """The server of this name."""
    row = db.execute(f"SELECT {_COLUMNS} FROM mcp_servers WHERE name = ?", (name,)).fetchone()  # noqa: S608 - constant
    return None if row is None else _from_row(row)


def list_servers(db: sqlite3.Connection) -> list[McpServer]:
    """All, by name."""
    return [_from_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM mcp_servers ORDER BY name")]  # noqa: S608 - constant


def list_toolsets(db: sqlite3.Connection) -> list[str]:
    """What agents may have among their toolsets for the servers that there are."""
    return [TOOLSET_PREFIX + str(row["name"]) for row in db.execute("SELECT name FROM mcp_servers ORDER BY name")]


def count_waiting(db: sqlite3.Connection) -> dict[str, int]:
    """How much of each server's words waits for an operator, by the server's id; servers without are left out."""
    waiting = (PinState.CHANGED, PinState.NEW, PinState.GONE)
    found = db.execute(
        "SELECT server, count(*) AS many FROM mcp_pins WHERE state IN (?, ?, ?) GROUP BY server", waiting
    )
    return {str(row["server"]): int(row["many"]) for row in found}


def list_pins(db: sqlite3.Connection, server: str) -> list[Pin]:
    """What the server of this id says, by kind and name."""
    found = db.execute(f"SELECT {_PIN} FROM mcp_pins WHERE server = ? ORDER BY kind, name", (server,))  # noqa: S608 - constant
    return [_pin_from(row) for row in found]


def get_pin(db: sqlite3.Connection, server: str, kind: str, name: str) -> Pin | None:
    """One of them."""
    row = db.execute(
        f"SELECT {_PIN} FROM mcp_pins WHERE server = ? AND kind = ? AND name = ?",  # noqa: S608 - constant
        (server, kind, name),
    ).fetchone()
    return None if row is None else _pin_from(row)


def put_pin(db: sqlite3.Connection, server: str, pin: Pin) -> None:
    """Write it down, in the place of what was there."""
    db.execute(
        f"INSERT OR REPLACE INTO mcp_pins (server, {_PIN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constant
        (server, pin.kind, pin.name, pin.wire, pin.sha256, pin.state, pin.decision, pin.seen_at, pin.offered),
    )


def delete_pin(db: sqlite3.Connection, server: str, pin: Pin) -> None:
    """It is gone."""
    db.execute("DELETE FROM mcp_pins WHERE server = ? AND kind = ? AND name = ?", (server, pin.kind, pin.name))


def _as_row(server: McpServer) -> dict[str, Any]:
    fields = {name: getattr(server, name) for name in McpServer.__dataclass_fields__}
    return {
        **fields,
        "env": json.dumps(dict(server.env)),
        "is_enabled": int(server.is_enabled),
        **{name: json.dumps(fields[name]) for name in _LISTS},
    }


def _from_row(row: sqlite3.Row) -> McpServer:
    fields = dict(row)
    lists = {name: tuple(json.loads(fields[name])) for name in _LISTS}
    env = tuple(json.loads(fields["env"]).items())
    return McpServer(**{**fields, **lists, "env": env, "is_enabled": bool(fields["is_enabled"])})


def _pin_from(row: sqlite3.Row) -> Pin:
    fields = dict(row)
    return Pin(**{**fields, "state": PinState(fields["state"]), "decision": ToolDecision(fields["decision"])})
