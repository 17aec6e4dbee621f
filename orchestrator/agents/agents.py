"""Agents: making and changing them. What a setting may be stands in ``agent_fields``, once, for every surface."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from orchestrator.agents import agent_rows as rows
from orchestrator.agents.agent_fields import CHECKS, FIELDS, NAME, RESERVED, check_token, parse_limits, parse_number
from orchestrator.agents.looks import shown_name
from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.cache import Cache
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, Unavailable
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import MICRO, Agent, ApprovalPolicy, CubicleLimits
from orchestrator.languages.told import worded


class Agents:
    """All agents of this install."""

    def __init__(
        self,
        store: Store,
        *,
        providers: Collection[str],
        toolsets: Collection[str],
        hooks: Hooks,
        more_toolsets: Callable[[sqlite3.Connection], Collection[str]] = lambda _: (),
    ) -> None:
        """``providers`` are the upstreams that an agent may name; which those are may change. A new agent has all of
        ``toolsets``, and of ``more_toolsets`` none before somebody gives it one."""
        self._store = store
        self._providers = providers
        self._toolsets = tuple(toolsets)
        self._more_toolsets = more_toolsets
        self._hooks = hooks
        self._known: Cache[str, Agent] = Cache()

    def list_agents(self) -> list[Agent]:
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

    def called(self, name: str) -> str:
        """What people call the agent of this name; the name itself for one that is gone."""
        try:
            return shown_name(self.get(name))
        except NotFound:
            return name

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
            raise BadInput(
                worded(
                    "name: %(name)s is what the page for new agents is called. Choose another name.", name=repr(name)
                )
            )
        agent = self._with(_make_agent(name, self._toolsets), {k: v for k, v in fields.items() if k != "name"})
        with self._store.writing() as db:
            _check_called(db, agent)
            try:
                rows.insert_agent(db, agent)
            except sqlite3.IntegrityError as error:
                raise Conflict(
                    worded("An agent called %(name)s exists already. Choose another name.", name=name)
                ) from error
            self._store_token(db, name, fields)
            audit_rows.insert_record(db, "agent.created", f"Agent {name} was created.", now=time.time(), agent=name)
            self._store.after_commit(partial(self._changed, name))
        return agent

    def update_agent(self, name: str, fields: Mapping[str, Any]) -> Agent:
        """Change some settings; raises NotFound or BadInput, and then nothing has changed."""
        if fields.get("name", name) != name:
            raise BadInput("name: an agent's name can't be changed, but what it is called can: set display_name.")
        with self._store.writing() as db:
            agent = self._with(_get_agent(db, name), {k: v for k, v in fields.items() if k != "name"})
            _check_called(db, agent)
            rows.update_agent(db, agent)
            self._store_token(db, name, fields)
            detail = {k: v for k, v in fields.items() if k != "telegram_token"}
            audit_rows.insert_record(
                db, "agent.changed", f"Agent {name} was changed.", now=time.time(), agent=name, detail=detail
            )
            self._store.after_commit(partial(self._changed, name))
        return agent

    def drop_toolset(self, toolset: str) -> None:
        """No agent has this toolset any more; may be part of a larger transaction."""
        with self._store.writing() as db:
            for agent in rows.list_agents(db):
                if toolset in agent.toolsets:
                    left = [one for one in agent.toolsets if one != toolset]
                    rows.update_agent(db, replace(agent, toolsets=tuple(left)))
                    said = f"Agent {agent.name} lost its toolset {toolset}."
                    audit_rows.insert_record(
                        db, "agent.changed", said, now=time.time(), agent=agent.name, detail={"toolsets": left}
                    )
                    self._store.after_commit(partial(self._changed, agent.name))

    def set_telegram_token(self, name: str, token: str | None) -> None:
        """Store the agent's bot token, or forget it; raises NotFound. For ``Bots`` alone, which looked at it before:
        the agent itself is as it was, so nobody is told of a change."""
        with self._store.writing() as db:
            _get_agent(db, name)
            rows.set_telegram_token(db, name, token)
            said = f"Agent {name} was given a Telegram bot." if token else f"The Telegram bot of {name} was taken away."
            audit_rows.insert_record(db, "telegram.token", said, now=time.time(), agent=name)

    def remove(self, name: str) -> None:
        """Delete an agent's rows; raises NotFound. Its cubicles must be gone already."""
        with self._store.writing() as db:
            _get_agent(db, name)
            rows.delete_agent(db, name)
            audit_rows.insert_record(db, "agent.removed", f"Agent {name} was deleted.", now=time.time(), agent=name)
            self._store.after_commit(partial(self._changed, name))

    def _read(self, name: str) -> Agent:
        with self._store.reading() as db:
            return _get_agent(db, name)

    def _changed(self, name: str) -> None:
        self._known.forget(name)
        self._hooks.agent_changed.fire(name)

    def _with(self, agent: Agent, fields: Mapping[str, Any]) -> Agent:
        changes: dict[str, Any] = {}
        for field, value in fields.items():
            if field == "limits":
                changes["limits"] = parse_limits(agent.limits, value)
            elif field == "daily_budget_usd":
                changes["daily_budget_micro"] = round(parse_number(field, value, 0, 100_000) * MICRO)
            elif field == "telegram_token":
                check_token(value)
            elif field == "toolsets":
                changes["toolsets"] = self._choose_toolsets(value)
            elif field in CHECKS:
                changes[field] = CHECKS[field](field, value)
            else:
                raise BadInput(f"{field[:40]}: an agent has no such setting; there are {', '.join(FIELDS)}.")
        provider = changes.get("provider", "")
        if provider and provider not in self._providers:
            raise BadInput(
                worded(
                    "provider: choose one of %(names)s, or leave it empty for the default.",
                    names=", ".join(self._providers),
                )
            )
        return replace(agent, **changes)

    def _choose_toolsets(self, value: Any) -> tuple[str, ...]:
        with self._store.reading() as db:
            known = (*self._toolsets, *self._more_toolsets(db))
        if not isinstance(value, list) or any(item not in known for item in value):
            raise BadInput(f"toolsets: write a list of any of {', '.join(known)}.")
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


def find_missing(name: str) -> NotFound:
    """There is no such agent, or none for whoever asks."""
    return NotFound(f"There is no agent called {name[:40]!r}. './hermit agent list' shows all.")


def _get_agent(db: sqlite3.Connection, name: str) -> Agent:
    found = rows.get_agent(db, name)
    if found is None:
        raise find_missing(name)
    return found


def _check_called(db: sqlite3.Connection, agent: Agent) -> None:
    """Nobody shall take one agent for another. Raises Conflict."""
    words = agent.display_name
    if words and (other := rows.find_called(db, words, agent.name)) is not None:
        raise Conflict(f"display_name: the agent {other} is called {words} already. Choose another name.")
    if (other := rows.find_called(db, agent.name, agent.name)) is not None:
        raise Conflict(f"name: the agent {other} is called {agent.name} already. Choose another name.")


def _make_agent(name: str, toolsets: tuple[str, ...]) -> Agent:
    return Agent(
        name=name,
        display_name="",
        avatar="",
        color="",
        role="General assistant",
        personality="Friendly, practical and brief.",
        provider="",
        model="",
        fallback_model="",
        image="base",
        approval=ApprovalPolicy.DANGEROUS,
        approval_timeout_s=3600,
        asks_again=AsksAgain.STRICT,
        step_limit=30,
        command_timeout_s=120,
        daily_budget_micro=5 * MICRO,
        daily_budget_tokens=2_000_000,
        limits=CubicleLimits(),
        toolsets=toolsets,
        created_at=time.time(),
    )
