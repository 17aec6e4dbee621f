"""Rows of agents and of their cubicles."""

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import asdict

from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.models import Agent, ApprovalPolicy, CubicleKey, CubicleLimits

FIRST_NUMBERS = 1_000
"""Among so many the first cubicle of an install gets its number."""
_COLUMNS = (
    "name, display_name, avatar, color, role, personality, provider, model, fallback_model, image, approval, "
    "approval_timeout_s, asks_again, step_limit, command_timeout_s, daily_budget_micro, daily_budget_tokens, limits, "
    "toolsets, created_at"
)


def insert_agent(db: sqlite3.Connection, agent: Agent) -> None:
    """Insert an agent; raises ``sqlite3.IntegrityError`` when the name is taken."""
    marks = ", ".join("?" * len(_COLUMNS.split(", ")))
    db.execute(f"INSERT INTO agents ({_COLUMNS}) VALUES ({marks})", _row_values(agent))  # noqa: S608 - constant columns


def update_agent(db: sqlite3.Connection, agent: Agent) -> None:
    """Store every field of an existing agent again."""
    columns = ", ".join(f"{column} = ?" for column in _COLUMNS.split(", "))
    db.execute(f"UPDATE agents SET {columns} WHERE name = ?", (*_row_values(agent), agent.name))  # noqa: S608 - constants


def list_agents(db: sqlite3.Connection) -> list[Agent]:
    """All agents, oldest first."""
    return [_make_agent(row) for row in db.execute(f"SELECT {_COLUMNS} FROM agents ORDER BY created_at, name")]  # noqa: S608


def get_agent(db: sqlite3.Connection, name: str) -> Agent | None:
    """The agent of this name."""
    row = db.execute(f"SELECT {_COLUMNS} FROM agents WHERE name = ?", (name,)).fetchone()  # noqa: S608 - constants
    return None if row is None else _make_agent(row)


def find_called(db: sqlite3.Connection, words: str, but: str) -> str | None:
    """The name of another agent than ``but`` that people know by these words, whatever their capitals."""
    wanted = words.casefold()
    for row in db.execute("SELECT name, display_name FROM agents WHERE name <> ? ORDER BY created_at, name", (but,)):
        if wanted in (row["name"], row["display_name"].casefold()):
            return str(row["name"])
    return None


def called_as(db: sqlite3.Connection, name: str) -> str:
    """What people call the agent of this name; the name itself for one that is gone."""
    row = db.execute("SELECT display_name FROM agents WHERE name = ?", (name,)).fetchone()
    return name if row is None else row["display_name"] or name


def delete_agent(db: sqlite3.Connection, name: str) -> None:
    """Delete an agent with its cubicle rows, turns, steps and approvals. The audit rows and the spending stay."""
    db.execute("DELETE FROM turns WHERE agent = ?", (name,))
    db.execute("DELETE FROM conversations WHERE agent = ?", (name,))
    db.execute("DELETE FROM agents WHERE name = ?", (name,))


def get_telegram_token(db: sqlite3.Connection, name: str) -> str | None:
    """The agent's bot token. The only reader is the Telegram channel."""
    row = db.execute("SELECT telegram_token FROM agents WHERE name = ?", (name,)).fetchone()
    return None if row is None else row["telegram_token"]


def set_telegram_token(db: sqlite3.Connection, name: str, token: str | None) -> None:
    """Store the agent's bot token, or forget it."""
    db.execute("UPDATE agents SET telegram_token = ? WHERE name = ?", (token, name))


def get_cubicle_number(db: sqlite3.Connection, key: CubicleKey, now: float) -> int:
    """The cubicle's number, made on first use; it stays with the cubicle for ever. An install begins with a random one:
    users come from the number, and two installs on one host shall not share what the kernel counts for a user."""
    is_first = db.execute("SELECT 1 FROM sqlite_sequence WHERE name = 'cubicles'").fetchone() is None
    first = 1 + secrets.randbelow(FIRST_NUMBERS) if is_first else None
    db.execute(
        "INSERT INTO cubicles (id, agent, user, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (first, key.agent, key.user, now),
    )
    row = db.execute("SELECT id FROM cubicles WHERE agent = ? AND user = ?", (key.agent, key.user)).fetchone()
    return int(row["id"])


def list_cubicles(db: sqlite3.Connection, agent: str | None = None) -> list[CubicleKey]:
    """The cubicles that were ever started, of one agent or of all."""
    rows = db.execute("SELECT agent, user FROM cubicles WHERE ? IS NULL OR agent = ? ORDER BY id", (agent, agent))
    return [CubicleKey(str(row["agent"]), int(row["user"])) for row in rows]


def _row_values(agent: Agent) -> tuple[object, ...]:
    return (
        agent.name,
        agent.display_name,
        agent.avatar,
        agent.color,
        agent.role,
        agent.personality,
        agent.provider,
        agent.model,
        agent.fallback_model,
        agent.image,
        agent.approval,
        agent.approval_timeout_s,
        agent.asks_again,
        agent.step_limit,
        agent.command_timeout_s,
        agent.daily_budget_micro,
        agent.daily_budget_tokens,
        json.dumps(asdict(agent.limits)),
        json.dumps(agent.toolsets),
        agent.created_at,
    )


def _make_agent(row: sqlite3.Row) -> Agent:
    fields = dict(row)
    fields["approval"] = ApprovalPolicy(fields["approval"])
    fields["asks_again"] = AsksAgain(fields["asks_again"])
    fields["limits"] = CubicleLimits(**json.loads(fields["limits"]))
    fields["toolsets"] = tuple(json.loads(fields["toolsets"]))
    return Agent(**fields)
