"""Agents: making, changing and checking them. What a setting may be is written here, once, for every surface."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from orchestrator.agents import agent_rows as rows
from orchestrator.core.cache import Cache
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, Unavailable
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import MICRO, Agent, ApprovalPolicy, CubicleLimits

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
"""An agent's name is part of container and folder names, so nothing in it needs escaping anywhere."""

RESERVED = ("new",)
"""No agent is called so: ``/agents/new`` is the page that makes one."""
TELEGRAM_TOKEN = re.compile(r"\d{5,16}:[A-Za-z0-9_-]{35}")
"""A bot's number and its secret, as BotFather gives them."""
ANY_TELEGRAM_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{3,100}")
"""The same from any Bot API server: one of one's own may give shorter secrets, and knows best whose they are."""
NOT_OF_A_BOT = (
    "telegram_token: this doesn't look like a bot token. BotFather gives one such as 123456789:AAE…: digits, a colon, "
    "then 35 letters, digits, hyphens or underscores."
)


class Agents:
    """All agents of this install."""

    def __init__(self, store: Store, *, providers: Collection[str], toolsets: Collection[str], hooks: Hooks) -> None:
        """``providers`` are the upstreams that an agent may name; which those are may change."""
        self._store = store
        self._providers = providers
        self._toolsets = tuple(toolsets)
        self._hooks = hooks
        self._known: Cache[str, Agent] = Cache()

    def every(self) -> list[Agent]:
        """All agents, oldest first. Raises Unavailable for a database with a name in it that no agent can have, since
        folders and containers are called by it."""
        with self._store.reading() as db:
            found = rows.list_agents(db)
        for agent in found:
            if not NAME.fullmatch(agent.name):
                raise Unavailable(
                    f"The database names an agent {agent.name[:40]!r}, which no agent can be called: it was edited "
                    "or is damaged. Restore a backup that you trust: './hermit restore FILE --force'."
                )
        return found

    def get(self, name: str) -> Agent:
        """The agent of this name; raises NotFound. Every step of every turn asks, so what was read once is known until
        it changes here, where alone agents are changed."""
        return self._known.get(name, partial(self._read, name))

    def has_telegram(self, name: str) -> bool:
        """The agent has a bot of its own."""
        with self._store.reading() as db:
            return bool(rows.get_telegram_token(db, name))

    def create(self, fields: Mapping[str, Any]) -> Agent:
        """A new agent from its settings; what is not given has its default. Raises BadInput or Conflict."""
        name = fields.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadInput("name: use 1 to 32 lowercase letters, digits and hyphens, such as 'helper-2'.")
        if name in RESERVED:
            raise BadInput(f"name: {name!r} is what the page for new agents is called. Choose another name.")
        agent = self._with(_new(name, self._toolsets), {k: v for k, v in fields.items() if k != "name"})
        with self._store.writing() as db:
            try:
                rows.insert_agent(db, agent)
            except sqlite3.IntegrityError as error:
                raise Conflict(f"An agent called {name} exists already. Choose another name.") from error
            self._store_token(db, name, fields)
            audit_rows.insert_record(db, "agent.created", f"Agent {name} was created.", now=time.time(), agent=name)
            self._store.after_commit(partial(self._changed, name))
        return agent

    def change(self, name: str, fields: Mapping[str, Any]) -> Agent:
        """Change some settings; raises NotFound or BadInput, and then nothing has changed."""
        if fields.get("name", name) != name:
            raise BadInput("name: an agent's name can't be changed. Create another agent instead.")
        with self._store.writing() as db:
            agent = self._with(_found(db, name), {k: v for k, v in fields.items() if k != "name"})
            rows.update_agent(db, agent)
            self._store_token(db, name, fields)
            detail = {k: v for k, v in fields.items() if k != "telegram_token"}
            audit_rows.insert_record(
                db, "agent.changed", f"Agent {name} was changed.", now=time.time(), agent=name, detail=detail
            )
            self._store.after_commit(partial(self._changed, name))
        return agent

    def set_telegram_token(self, name: str, token: str | None) -> None:
        """Store the agent's bot token, or forget it; raises NotFound. For ``Bots`` alone, which looked at it before:
        the agent itself is as it was, so nobody is told of a change."""
        with self._store.writing() as db:
            _found(db, name)
            rows.set_telegram_token(db, name, token)
            said = f"Agent {name} was given a Telegram bot." if token else f"The Telegram bot of {name} was taken away."
            audit_rows.insert_record(db, "telegram.token", said, now=time.time(), agent=name)

    def remove(self, name: str) -> None:
        """Delete an agent's rows; raises NotFound. Its cubicles must be gone already."""
        with self._store.writing() as db:
            _found(db, name)
            rows.delete_agent(db, name)
            audit_rows.insert_record(db, "agent.removed", f"Agent {name} was deleted.", now=time.time(), agent=name)
            self._store.after_commit(partial(self._changed, name))

    def _read(self, name: str) -> Agent:
        with self._store.reading() as db:
            return _found(db, name)

    def _changed(self, name: str) -> None:
        self._known.forget(name)
        self._hooks.agent_changed.fire(name)

    def _with(self, agent: Agent, fields: Mapping[str, Any]) -> Agent:
        changes: dict[str, Any] = {}
        for field, value in fields.items():
            if field == "limits":
                changes["limits"] = _limits(agent.limits, value)
            elif field == "daily_budget_usd":
                changes["daily_budget_micro"] = round(_number(field, value, 0, 100_000) * MICRO)
            elif field == "telegram_token":
                _check_token(value)
            elif field == "toolsets":
                changes["toolsets"] = self._choose_toolsets(value)
            elif field in _CHECKS:
                changes[field] = _CHECKS[field](field, value)
            else:
                raise BadInput(f"{field[:40]}: an agent has no such setting; there are {', '.join(FIELDS)}.")
        provider = changes.get("provider", "")
        if provider and provider not in self._providers:
            raise BadInput(f"provider: choose one of {', '.join(self._providers)}, or leave it empty for the default.")
        return replace(agent, **changes)

    def _choose_toolsets(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or any(item not in self._toolsets for item in value):
            raise BadInput(f"toolsets: write a list of any of {', '.join(self._toolsets)}.")
        return tuple(dict.fromkeys(value))

    def _store_token(self, db: sqlite3.Connection, name: str, fields: Mapping[str, Any]) -> None:
        if "telegram_token" in fields:
            rows.set_telegram_token(db, name, fields["telegram_token"] or None)


def as_json(agent: Agent) -> dict[str, Any]:
    """The agent as the API shows it."""
    body = asdict(agent)
    del body["created_at"]
    body["daily_budget_usd"] = body.pop("daily_budget_micro") / MICRO
    body["toolsets"] = list(agent.toolsets)
    return body


def _found(db: sqlite3.Connection, name: str) -> Agent:
    found = rows.get_agent(db, name)
    if found is None:
        raise NotFound(f"There is no agent called {name[:40]!r}. './hermit agent list' shows all.")
    return found


def _new(name: str, toolsets: tuple[str, ...]) -> Agent:
    return Agent(
        name=name,
        role="General assistant",
        personality="Friendly, practical and brief.",
        provider="",
        model="",
        fallback_model="",
        image="base",
        approval=ApprovalPolicy.DANGEROUS,
        approval_timeout_s=3600,
        step_limit=30,
        command_timeout_s=120,
        daily_budget_micro=5 * MICRO,
        daily_budget_tokens=2_000_000,
        limits=CubicleLimits(),
        toolsets=toolsets,
        created_at=time.time(),
    )


def _text(limit: int) -> Callable[[str, Any], str]:
    def check(field: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > limit or "\0" in value:
            raise BadInput(f"{field}: write a text of at most {limit:,} characters.")
        return value.strip()

    return check


def _choice(*choices: str) -> Callable[[str, Any], str]:
    def check(field: str, value: Any) -> str:
        if value not in choices:
            raise BadInput(f"{field}: choose one of {', '.join(choices)}.")
        return str(value)

    return check


def _whole(low: int, high: int) -> Callable[[str, Any], int]:
    def check(field: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise BadInput(f"{field}: write a whole number from {low:,} to {high:,}.")
        return value

    return check


def _policy(field: str, value: Any) -> ApprovalPolicy:
    return ApprovalPolicy(_choice(*ApprovalPolicy)(field, value))


BOUNDS: dict[str, tuple[int, int]] = {
    "approval_timeout_s": (5, 7 * 24 * 3600),
    "step_limit": (1, 500),
    "command_timeout_s": (1, 6 * 3600),
    "daily_budget_tokens": (0, 100_000_000_000),
}
"""The least and the most of each setting that is a whole number."""

_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "role": _text(200),
    "personality": _text(4000),
    "provider": _text(64),
    "model": _text(200),
    "fallback_model": _text(200),
    "image": _choice("base", "studio"),
    "approval": _policy,
    **{field: _whole(low, high) for field, (low, high) in BOUNDS.items()},
}
FIELDS = (*_CHECKS, "toolsets", "daily_budget_usd", "limits", "telegram_token")
"""Every setting of an agent that may be given or changed."""

LIMITS: dict[str, tuple[float, float]] = {
    "cpus": (0.1, 64),
    "memory_mb": (64, 1024 * 1024),
    "pids": (16, 32768),
    "disk_mb": (16, 1024 * 1024),
}
"""The least and the most of each limit."""


def _limits(limits: CubicleLimits, value: Any) -> CubicleLimits:
    if not isinstance(value, dict):
        raise BadInput(f"limits: write an object with any of {', '.join(LIMITS)}.")
    for name, number in value.items():
        if name not in LIMITS:
            raise BadInput(f"limits.{str(name)[:40]}: there is no such limit; there are {', '.join(LIMITS)}.")
        _number(f"limits.{name}", number, *LIMITS[name])
        if name != "cpus" and type(number) is not int:
            raise BadInput(f"limits.{name}: write a whole number.")
    return replace(limits, **value)


def _number(field: str, value: Any, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        raise BadInput(f"{field}: write a number from {low:,} to {high:,}.")
    return float(value)


def _check_token(value: Any) -> None:
    if value in (None, ""):
        return
    if not isinstance(value, str) or not ANY_TELEGRAM_TOKEN.fullmatch(value):
        raise BadInput(NOT_OF_A_BOT)
