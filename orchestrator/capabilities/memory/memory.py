"""Memory put together: what surfaces, the proxy and the table of capabilities use of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.agents import agent_rows
from orchestrator.agents.agents import Agents
from orchestrator.agents.publisher import Publisher
from orchestrator.capabilities.capability import Deeds
from orchestrator.capabilities.memory import published_db as published_memories
from orchestrator.capabilities.memory.deeds import MemoryDeeds
from orchestrator.capabilities.memory.facts import MAX_FACTS, Facts
from orchestrator.capabilities.memory.hybrid_search import NoMeaning, Search
from orchestrator.capabilities.memory.prompt_injection import MemoryInjection, Messages
from orchestrator.capabilities.memory.rows import Fact
from orchestrator.capabilities.memory.vector_search import VectorSearch
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.kinds import Finish

SNAPSHOT = "rag.db"
MOST_FOUND = 50
_FOR_THE_DOOR = 10


class Memories:
    """What every agent remembers of every person."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        hooks: Hooks,
        agents: Agents,
        workspaces: Workspaces,
        scratch: Path,
        finish: Finish,
        meaning: VectorSearch | None,
    ) -> None:
        """``meaning``: where an embedding model is set up; ``finish`` ends calls that waited for a search."""
        self._store = store
        self._facts = Facts(store, broker, hooks)
        self._meaning = meaning
        self._search = Search(store, meaning or NoMeaning())
        self._recollection = MemoryInjection(store, agents, self._search)
        self._handlers = MemoryDeeds(store, self._facts, self._search, finish)
        self._snapshots = Publisher(SNAPSHOT, self._build, store=store, workspaces=workspaces, scratch=scratch)
        hooks.fact_changed.subscribe(self._snapshots.request_publish)
        hooks.cubicle_starting.subscribe(self._snapshots.publish_now)
        if meaning is not None:
            hooks.fact_changed.subscribe(meaning.on_facts_changed)

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return self._handlers.deeds

    @property
    def trouble(self) -> str:
        """Why facts are found by their words alone although a model is set up; empty when all is well."""
        return "" if self._meaning is None else self._meaning.trouble

    def start(self) -> None:
        """Snapshots and vectors are made from now on, and those that are missing."""
        self._handlers.reconcile()
        with self._store.reading() as db:
            cubicles = agent_rows.list_cubicles(db)
        self._snapshots.start(cubicles)  # a crash may have come between a change and its snapshot
        if self._meaning is not None:
            self._meaning.start()

    def close(self) -> None:
        """Nothing of it runs any more."""
        self._snapshots.close()
        if self._meaning is not None:
            self._meaning.close()

    def add_fact(self, key: CubicleKey, text: str, *, by: str, turn: int | None = None) -> Fact:
        """A person notes a fact; one that says the same already stays. Raises BadInput, TooLarge or TooMany."""
        return self._facts.add_fact(key, text, by=by, turn=turn)

    def list_facts(self, key: CubicleKey, *, before: int | None = None, limit: int = 50) -> list[Fact]:
        """The newest facts of a cubicle, newest first; ``before`` is an id to page on from."""
        return self._facts.list_facts(key, before=before, limit=limit)

    def get_fact(self, key: CubicleKey, fact: int) -> Fact:
        """The fact of this number; raises NotFound when it is none of this cubicle's."""
        return self._facts.get_fact(key, fact)

    def search_facts(self, key: CubicleKey, query: str, limit: int = 10) -> list[Fact]:
        """The facts that fit a text best, the best first."""
        return self._search.find_best(key, query, max(1, min(limit, MOST_FOUND)))

    def remove_fact(self, key: CubicleKey, fact: int, *, by: str) -> Fact:
        """The fact is forgotten; raises NotFound."""
        return self._facts.remove_fact(key, fact, by=by)

    def inject_memories(self, key: CubicleKey, turn: int | None, messages: Messages) -> Messages:
        """The proxy's hook: the messages of a turn's call with what is remembered put in."""
        return self._recollection.inject_memories(key, turn, messages)

    def for_the_door(self, key: CubicleKey, query: str) -> list[dict[str, Any]]:
        """What is remembered that a text may be about, for the cubicle itself."""
        if not self._recollection.is_on(key):
            return []
        found = self._search.find_best(key, query, _FOR_THE_DOOR)
        return [{"id": fact.id, "text": fact.text, "by": fact.by, "at": fact.at} for fact in found]

    def _build(self, key: CubicleKey, path: Path) -> None:
        published_memories.write_facts(path, self._facts.list_facts(key, limit=MAX_FACTS))
