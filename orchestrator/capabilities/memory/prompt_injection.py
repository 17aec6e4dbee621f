"""The proxy's hook: what is remembered that a turn's prompt is about goes into the turn's model calls, as data.

A block stands before the prompt's own words in the message that brings them, the same for every call of the turn, so
that providers can go on using what they have cached. It is a courtesy: without it a turn goes on as well.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.capabilities.memory.capability import TOOLSET
from orchestrator.capabilities.memory.hybrid_search import Search
from orchestrator.capabilities.memory.rows import AGENT, Fact
from orchestrator.core.cache import Cache
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.llm import memory_block as block
from orchestrator.turns import rows as turn_rows

MAX_FACTS = 12
MAX_CHARS = 1_500
_MOST_TURNS = 256
_NOTHING = ("", "")

Messages = tuple[dict[str, Any], ...]


class MemoryInjection:
    """Remembers for prompts."""

    def __init__(self, store: Store, agents: Agents, search: Search) -> None:
        self._store = store
        self._agents = agents
        self._search = search
        self._known: Cache[int, tuple[str, str]] = Cache(most=_MOST_TURNS)
        """The block and the prompt of turns; the latest turns alone."""

    def inject_memories(self, key: CubicleKey, turn: int | None, messages: Messages) -> Messages:
        """The messages with what is remembered, or as they were."""
        if turn is None or not self.is_on(key):
            return messages
        remembered, prompt = self._known.get(turn, partial(self._looked_up, key, turn))
        return insert_block(messages, prompt, remembered) if remembered else messages

    def is_on(self, key: CubicleKey) -> bool:
        """The agent of this cubicle has a memory."""
        return TOOLSET.name in self._agents.get(key.agent).toolsets

    def _looked_up(self, key: CubicleKey, turn: int) -> tuple[str, str]:
        with self._store.reading() as db:
            asked = turn_rows.get_turn(db, turn)
        if asked is None or asked.cubicle != key or not asked.prompt.strip():
            return _NOTHING
        facts = self._search.find_best(key, asked.prompt, MAX_FACTS, turn=turn)
        text = block.block_of((_shown(fact) for fact in facts), max_facts=MAX_FACTS, max_chars=MAX_CHARS)
        return text, asked.prompt


def insert_block(messages: Messages, prompt: str, remembered: str) -> Messages:
    """The block before the prompt in the last user message that ends with it; without such a one nothing changes."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        content = _with(message["content"], prompt, remembered) if message["role"] == "user" else None
        if content is not None:
            return (*messages[:place], {**message, "content": content}, *messages[place + 1 :])
    return messages


def _with(content: Any, prompt: str, remembered: str) -> Any:
    if isinstance(content, str):
        if not content.endswith(prompt):
            return None
        return f"{content[: len(content) - len(prompt)]}{remembered}\n\n{prompt}"
    for place in range(len(content) - 1, -1, -1):
        text = _with(content[place]["text"], prompt, remembered) if content[place]["type"] == "text" else None
        if text is not None:
            return [*content[:place], {"type": "text", "text": text}, *content[place + 1 :]]
    return None


def _shown(fact: Fact) -> block.PromptFact:
    noted_by = f"the agent {fact.cubicle.agent}" if fact.by == AGENT else fact.by
    return block.PromptFact(fact.id, fact.text, noted_by, fact.at, fact.turn)
