"""What agents did for a person, summed up: what was done, made and spent while they were away, and what is newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from orchestrator.core.db.database import Store
from orchestrator.core.models import Delivery, TurnStatus
from orchestrator.operations import recap_rows as rows
from orchestrator.operations.recap_rows import EndedTurn, MadeApp
from orchestrator.operations.visits import Absence, Visits

_LOOKED_AT = 60
"""Turns with apps among which the newest are found."""


@dataclass(frozen=True, slots=True)
class AgentRecap:
    """What one agent did for a person in some time."""

    agent: str
    done: int
    """Tasks that were finished; runs of the calendar that had nothing to tell are none."""
    failed: int
    files: int
    apps: tuple[str, ...]
    """The web apps that it made or changed, by name."""
    last_done: int | None
    """The newest of those turns."""
    last_failed: int | None


@dataclass(frozen=True, slots=True)
class Recap:
    """What all agents did for a person in some time, those who did most first."""

    agents: tuple[AgentRecap, ...]
    spent_micro: int
    is_cut: bool
    """There was more than was summed up."""


class Recaps:
    """Everybody's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.visits = Visits(store)

    def sum_up(self, user: int, away: Absence, *, agents: Collection[str]) -> Recap:
        """What these agents did for the person while they were away."""
        with self._store.reading() as db:
            turns = rows.list_ended(db, user, away.since, away.until)
            files = rows.count_files(db, user, away.since, away.until)
            spent_micro, has_more = rows.sum_spent(db, user, away.since, away.until)
        is_cut = has_more or len(turns) == rows.MOST_TURNS or sum(files.values()) == rows.MOST_FILES
        told = [turn for turn in turns if not turn.is_silent]
        sums = [_sum_of(name, [turn for turn in told if turn.agent == name], files.get(name, 0)) for name in agents]
        sums = [one for one in sums if one.done or one.failed or one.files or one.apps]
        sums.sort(key=lambda one: (-one.done - one.failed - one.files, one.agent))
        return Recap(tuple(sums), spent_micro, is_cut)

    def list_made_apps(self, user: int) -> list[MadeApp]:
        """The newest apps that the person's turns made or changed, newest first; some may be gone."""
        with self._store.reading() as db:
            return rows.list_made_apps(db, user, limit=_LOOKED_AT)

    def list_files(self, user: int, *, limit: int, before: int | None = None) -> list[Delivery]:
        """The newest files that were delivered to the person, newest first; ``before`` is the id to go on from."""
        with self._store.reading() as db:
            return rows.list_files(db, user, limit=limit, before=before)

    def last_agent(self, user: int) -> str:
        """The agent that the person wrote to last; empty for who never did, or not lately."""
        with self._store.reading() as db:
            return rows.get_last_agent(db, user)

    def is_new_here(self, user: int) -> bool:
        """No agent ever had anything to do for this person."""
        with self._store.reading() as db:
            return not rows.has_turns(db, user)


def _sum_of(agent: str, turns: list[EndedTurn], files: int) -> AgentRecap:
    """``turns`` are the agent's, the last first."""
    count = Counter(turn.status for turn in turns)
    return AgentRecap(
        agent,
        count[TurnStatus.DONE],
        count[TurnStatus.FAILED],
        files,
        tuple(dict.fromkeys(name for turn in turns for name in turn.apps)),
        next((turn.id for turn in turns if turn.status == TurnStatus.DONE), None),
        next((turn.id for turn in turns if turn.status == TurnStatus.FAILED), None),
    )
