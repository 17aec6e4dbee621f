"""What a conversation takes: its cost so far, and how much of what the model can read at once it fills."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.core.db.database import Store
from orchestrator.llm import conversation_use_rows as rows
from orchestrator.llm.upstreams.shortlist import SHORTLIST


@dataclass(frozen=True, slots=True)
class ConversationUse:
    """What all of a conversation's turns took, and its last call."""

    cost_micro: int
    tokens: int
    provider: str
    """Of the last call; empty before the first one, as is ``model``."""
    model: str
    prompt_tokens: int
    """What the model read in the last call."""
    context_tokens: int | None
    """What it can read at once; None where we don't know."""

    @property
    def percent(self) -> int | None:
        """How full the context is; None where we don't know."""
        if not self.context_tokens:
            return None
        return min(100, -(-self.prompt_tokens * 100 // self.context_tokens))


def read_use(store: Store, conversation: int) -> ConversationUse:
    """How a conversation stands; one without calls, or without an id that exists, has taken nothing."""
    with store.reading() as db:
        micro, tokens = rows.sum_conversation(db, conversation)
        last = rows.get_last_call(db, conversation)
    if last is None:
        return ConversationUse(micro, tokens, "", "", 0, None)
    return ConversationUse(
        micro, tokens, last.provider, last.model, last.prompt_tokens, context_of(last.provider, last.model)
    )


def context_of(provider: str, model: str) -> int | None:
    """Tokens that a model can read at once; None where we don't know."""
    return next((known.context_tokens for known in SHORTLIST.get(provider, ()) if known.name == model), None)
