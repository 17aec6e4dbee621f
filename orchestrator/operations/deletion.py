"""Deleting agents and people with all that is theirs, which no crash leaves half done.

That somebody leaves is written down first, and nothing of theirs starts from then on; then their turns end, containers,
doors and folders go, and the rows last, the mark with them. What a crash or a refusing disk left over is finished at
the next start, or when the deletion is asked for again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from orchestrator.agents import deletion_rows as rows
from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.agents.users import Users
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.turns.queue import Turns

logger = logging.getLogger(__name__)


class Deletion:
    """The way out of the install."""

    def __init__(
        self,
        store: Store,
        turns: Turns,
        cubicles: Cubicles,
        agents: Agents,
        users: Users,
        *,
        forget: Callable[[str], None],
        cease: Callable[[Callable[[CubicleKey], bool]], None] = lambda _is_theirs: None,
    ) -> None:
        """``forget`` is told the name of an agent that is gone; when ``cease`` returns, the host does nothing more for
        these cubicles, or it raises Unavailable."""
        self._store = store
        self._turns = turns
        self._cubicles = cubicles
        self._agents = agents
        self._users = users
        self._forget = forget
        self._cease = cease

    def remove_agent(self, name: str) -> None:
        """The agent is gone, with its cubicles and folders. Raises NotFound; or Unavailable or UnsafePath when
        something of it can't be deleted now."""
        self._agents.get(name)
        with self._store.writing() as db:
            rows.mark_agent(db, name, time.time())
        self._end_turns(lambda key: key.agent == name, f"The agent {name} was deleted.")
        self._cease(lambda key: key.agent == name)
        self._cubicles.remove_agent(name)
        self._agents.remove(name)
        self._forget(name)

    def remove_user(self, user: int) -> None:
        """The person is gone, with every cubicle and folder of theirs. Raises NotFound, Conflict for the operator, or
        Unavailable or UnsafePath when something can't be deleted now."""
        self._users.check_removable(user)
        with self._store.writing() as db:
            rows.mark_user(db, user, time.time())
        self._end_turns(lambda key: key.user == user, "This person was removed.")
        self._cease(lambda key: key.user == user)
        self._cubicles.remove_user(user)
        self._users.remove(user)

    def reconcile(self) -> None:
        """After a start: whoever was leaving goes now. What can't be deleted yet is left for the next time."""
        with self._store.reading() as db:
            agents, users = rows.list_agents_to_delete(db), rows.list_users_to_delete(db)
        for agent in agents:
            self._finish_deletion(f"the agent {agent}", partial(self.remove_agent, agent))
        for user in users:
            self._finish_deletion(f"the person {user}", partial(self.remove_user, user))

    def _finish_deletion(self, who: str, remove: Callable[[], None]) -> None:
        try:
            remove()
        except OrchestratorError as error:
            logger.error("%s could not be deleted: %s", who, error.message)
        else:
            logger.info("%s was being deleted when HermitShell ended, and is gone now", who)

    def _end_turns(self, is_theirs: Callable[[CubicleKey], bool], why: str) -> None:
        held = [(key, claim.turn) for key, claim in self._turns.list_running() if is_theirs(key)]
        for key in filter(is_theirs, {*self._cubicles.list_cubicles(), *self._turns.list_unserved()}):
            self._turns.fail_queued(key, why)
        for key, turn in held:
            self._turns.end_turn(key, turn, TurnStatus.STOPPED)
