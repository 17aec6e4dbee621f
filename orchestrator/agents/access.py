"""Access: which people an agent is for. Everybody, unless an operator named some; operators may use every agent.

Every surface asks here, and whoever may not use an agent hears what is said of one that does not exist. What was under
way for them is ended by ``operations/closing``, which follows the hook.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from orchestrator.agents import access_rows as rows
from orchestrator.agents import user_rows
from orchestrator.agents.agents import Agents, find_missing
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Agent, CubicleKey, User

MOST_PEOPLE = 1_000
_NOBODY = "people: one of these people doesn't exist. GET /api/users lists them."


class Access:
    """Who may use what."""

    def __init__(self, store: Store, agents: Agents, hooks: Hooks) -> None:
        self._store = store
        self._agents = agents
        self._hooks = hooks

    def is_open(self, key: CubicleKey) -> bool:
        """This person may use this agent, if there is such an agent."""
        with self._store.reading() as db:
            return not rows.is_closed(db, key)

    def check_open(self, key: CubicleKey) -> None:
        """Raises NotFound, the same when there is no such agent and when this person may not use it."""
        self._agents.get(key.agent)
        if not self.is_open(key):
            raise find_missing(key.agent)

    def list_agents(self, user: User) -> list[Agent]:
        """The agents that this person may use, oldest first."""
        with self._store.reading() as db:
            closed = rows.list_closed_agents(db, user.id)
        return [agent for agent in self._agents.list_agents() if agent.name not in closed]

    def list_closed(self) -> frozenset[CubicleKey]:
        """Every person with every agent that they may not use."""
        with self._store.reading() as db:
            return rows.list_closed(db)

    def list_people(self, agent: str) -> tuple[int, ...] | None:
        """The people that the agent is for beside operators; None when it is for everybody."""
        with self._store.reading() as db:
            return rows.list_people(db, agent)

    def set_people(self, agent: str, people: Any, *, by: str) -> None:
        """The agent is for these people from now on, or for everybody with None. What was under way for others has
        ended when this returns. Raises NotFound, or BadInput for what is no list of people."""
        self._agents.get(agent)
        self.check_people(people)
        wanted = None if people is None else _read_people(people)
        with self._store.writing() as db:
            before = rows.list_people(db, agent)
            if before == wanted:
                return
            try:
                rows.set_people(db, agent, wanted)
            except sqlite3.IntegrityError as error:  # somebody was removed just now
                raise BadInput(_NOBODY) from error
            text = f"Agent {agent} is for {_names(db, wanted)} now. By {by}."
            audit_rows.insert_record(
                db,
                "agent.access",
                text,
                now=time.time(),
                agent=agent,
                detail={"people": None if wanted is None else list(wanted)},
            )
        self._hooks.access_changed.fire(agent)

    def check_people(self, people: Any) -> None:
        """Raises BadInput unless the agent could be for these."""
        if people is None:
            return
        with self._store.reading() as db:
            known = {user.id for user in user_rows.list_users(db)}
        if not set(_read_people(people)) <= known:
            raise BadInput(_NOBODY)

    def let_in(self, agent: str, user: int, *, by: str) -> None:
        """The agent is for this person too; open to everybody is fine. Raises NotFound."""
        people = self.list_people(agent)
        if people is not None and user not in people:
            self.set_people(agent, [*people, user], by=by)


def _read_people(people: Any) -> tuple[int, ...]:
    if not isinstance(people, list) or len(people) > MOST_PEOPLE or any(type(one) is not int for one in people):
        raise BadInput("people: write a list of the people's numbers, such as [2, 3], or null for everybody.")
    return tuple(sorted(set(people)))


def _names(db: sqlite3.Connection, people: tuple[int, ...] | None) -> str:
    if people is None:
        return "everybody"
    named = [user.name for user in user_rows.list_users(db) if user.id in people]
    return f"{', '.join(named)} and operators" if named else "operators alone"
