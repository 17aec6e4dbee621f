"""Vector search: a query's vector, paid for like a model call, compared with those of a cubicle's facts.

A search waits for the vector a second at most and otherwise goes by words alone; while the model fails, nobody waits
for it at all. What fails is logged once, and again only after it has worked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchestrator.agents.agents import Agents
from orchestrator.capabilities.memory.embedder import PROVIDER, Embedded, Embedder, Vector
from orchestrator.capabilities.memory.embedding_worker import EmbeddingWorker
from orchestrator.capabilities.memory.rank_fusion import Found
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError, UpstreamFailed
from orchestrator.core.models import CubicleKey
from orchestrator.llm.budget import Budget
from orchestrator.llm.paid_call import PaidCall
from orchestrator.llm.pricing import Price

if TYPE_CHECKING:
    from orchestrator.capabilities.memory.numpy_index import Nearest  # for its name alone: it loads numpy

logger = logging.getLogger(__name__)

PATIENCE_S = 1.0
PAUSE_S = 30.0
"""How long nobody waits after a failure."""
MAX_QUERY_CHARS = 4_000
_AT_ONCE = 8
"""Queries whose vectors are under way; more of them go by words."""


class VectorSearch:
    """See `searching.Meaning`."""

    def __init__(
        self,
        embedder: Embedder,
        near: Nearest,
        *,
        store: Store,
        agents: Agents,
        budget: Budget,
        price: Callable[[str, str], Price],
        patience_s: float = PATIENCE_S,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``price`` of a provider's model."""
        self._embedder = embedder
        self._near = near
        self._agents = agents
        self._budget = budget
        self._price = price
        self._patience_s = patience_s
        self._pause_s = pause_s
        self._clock = clock
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()  # protects _trouble
        self._trouble = ""
        self._quiet_until = 0.0
        self._vectorizing = EmbeddingWorker(store, embedder.model, self.embed_texts, near.on_facts_changed)

    @property
    def trouble(self) -> str:
        """Why it does not work at the moment; empty when it does."""
        return self._trouble

    def start(self) -> None:
        """Facts get their vectors from now on."""
        if self._embedder.is_free:  # it takes its time to load, which no search shall wait for
            threading.Thread(target=self._call_model, args=(["ok"],), name="loading embeddings", daemon=True).start()
        self._vectorizing.start()

    def close(self) -> None:
        """Nothing of it runs any more."""
        self._vectorizing.close()
        self._embedder.close()

    def on_facts_changed(self, key: CubicleKey) -> None:
        """A cubicle's facts are others now."""
        self._near.on_facts_changed(key)
        self._vectorizing.wake()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until every fact has a vector; False when the time is up before, or when the model fails."""
        return self._vectorizing.wait_idle(timeout_s)

    def find_nearest(self, key: CubicleKey, query: str, *, turn: int | None, limit: int) -> Sequence[Found]:
        """The nearest facts, or none when the query's vector does not come in time. Never raises."""
        vector = self._in_time(key, query[:MAX_QUERY_CHARS], turn)
        if vector is None:
            return ()
        try:
            return self._near.find_nearest(key, vector, limit)
        except OrchestratorError as error:
            logger.warning("%s: its vectors can't be read: %s", key, error.message)
            return ()

    def embed_texts(self, key: CubicleKey, turn: int | None, texts: Sequence[str]) -> tuple[Vector, ...]:
        """The vectors of texts, on the agent's bill. Raises UpstreamFailed, OverBudget, NotFound."""
        if self._embedder.is_free:
            return self._call_model(texts).vectors
        model = self._embedder.model
        call = PaidCall(
            self._budget,
            self._agents.get(key.agent),
            key,
            turn,
            provider=PROVIDER,
            model=model,
            price=self._price(PROVIDER, model),
            size_bytes=sum(len(text.encode()) for text in texts),
            messages=len(texts),
        )
        with call.sending(nothing_came="no embeddings came"):
            found = self._call_model(texts)
        call.settle(found.use)
        return found.vectors

    # --- a query's vector --------------------------------------------------------------------------------------

    def _in_time(self, key: CubicleKey, query: str, turn: int | None) -> Vector | None:
        if self._clock() < self._quiet_until or not self._room.acquire(blocking=False):
            return None
        found: list[Vector] = []
        is_done = threading.Event()

        def ask() -> None:
            try:
                found.extend(self.embed_texts(key, turn, [query]))
            except OrchestratorError as error:
                logger.info("%s: searching by words alone: %s", key, error.message)
            finally:
                self._room.release()
                is_done.set()

        threading.Thread(target=ask, name=f"query vector {key}", daemon=True).start()
        if not is_done.wait(self._patience_s):
            logger.info("%s: the embedding model is slow, so words alone are searched for a while", key)
            self._be_quiet()
        return found[0] if found else None

    def _call_model(self, texts: Sequence[str]) -> Embedded:
        """The model's answer; how it is doing is remembered."""
        try:
            found = self._embedder.embed_texts(texts)
        except UpstreamFailed as error:
            self._note_trouble(error.message)
            self._be_quiet()
            raise
        self._note_trouble("")
        return found

    def _be_quiet(self) -> None:
        self._quiet_until = self._clock() + self._pause_s

    def _note_trouble(self, trouble: str) -> None:
        with self._lock:
            was, self._trouble = self._trouble, trouble
        if trouble and not was:
            logger.warning("memories are searched by words alone for now: %s", trouble)
        elif was and not trouble:
            logger.info("the embedding model answers again")
