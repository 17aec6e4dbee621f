"""The background worker that gives every fact its vector: new ones, and after a start or a change of model the others.

It never stands in the way of a turn. While the model fails it waits longer and longer; a text that it refuses by itself
is left without a vector until the next start; an agent without budget has its turn again later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.embedder import MOST_TEXTS, Vector
from orchestrator.capabilities.memory.rows import Pending
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError, OverBudget, UpstreamFailed
from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 600.0
MOST_REFUSALS = 3
_AGAIN_S = 600.0
"""When facts that had to be left out, for want of budget, are looked at again."""

Embed = Callable[[CubicleKey, int | None, Sequence[str]], Sequence[Vector]]


class EmbeddingWorker:
    """One thread for all cubicles."""

    def __init__(
        self,
        store: Store,
        model: str,
        embed: Embed,
        changed: Callable[[CubicleKey], None],
        *,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        """``changed`` is told whose facts have new vectors."""
        self._store = store
        self._model = model
        self._embed = embed
        self._changed = changed
        self._first_pause_s = first_pause_s
        self._refused: set[int] = set()
        self._refusals = 0
        self._failures = 0
        self._is_wanted = True
        self._is_idle = False
        self._is_closed = False
        self._news = threading.Condition()  # protects the three above
        self._thread = threading.Thread(target=self._run_loop, name="memory vectors", daemon=True)

    def start(self) -> None:
        """Begin, with all that is missing."""
        self._thread.start()

    def wake(self) -> None:
        """There is something new."""
        with self._news:
            self._is_wanted, self._is_idle = True, False
            self._news.notify_all()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until nothing is left to do; False when the time is up before, or the model fails."""
        with self._news:
            self._news.wait_for(lambda: self._is_idle or self._failures, timeout_s)
            return self._is_idle and not self._failures

    def close(self) -> None:
        """No vectors are made any more; a call under way may end by itself."""
        with self._news:
            self._is_closed = True
            self._news.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=2)

    def run_once(self) -> float:
        """Do what there is to do; in how many seconds to look again without being woken."""
        after, is_complete = 0, True
        try:
            while not self._is_closed and (batch := self._next_batch(after)):
                after = batch[-1].id
                is_complete &= self._embed_batch(batch)
        except OrchestratorError as error:
            self._failures += 1
            pause_s: float = min(LONGEST_PAUSE_S, self._first_pause_s * (1 << min(self._failures - 1, 10)))
            logger.info("memories get no vectors for %.0f s: %s", pause_s, error.message)
            return pause_s
        self._failures = 0
        return LONGEST_PAUSE_S * 24 if is_complete else _AGAIN_S

    def _next_batch(self, after: int) -> list[Pending]:
        """The next facts of one cubicle."""
        with self._store.reading() as db:
            waiting = rows.list_pending(db, self._model, after=after, limit=MOST_TEXTS)
        batch: list[Pending] = []
        for fact in waiting:
            if batch and fact.cubicle != batch[0].cubicle:
                break
            batch.append(fact)
        return batch

    def _embed_batch(self, batch: Sequence[Pending]) -> bool:
        """The facts have vectors; False when they had to be left out for now."""
        wanted = [fact for fact in batch if fact.id not in self._refused]
        try:
            self._store_vectors(wanted)
        except (OverBudget, NotFound) as error:  # not found: the agent is going, and its facts with it
            logger.info("%s: its memories get no vectors for now: %s", batch[0].cubicle, error.message)
            return False
        except UpstreamFailed as error:
            if error.may_retry:
                raise
            self._keep_singly(wanted)
        return True

    def _keep_singly(self, facts: Sequence[Pending]) -> None:
        """One of them may be at fault. When one after the other is refused, the fault is not theirs."""
        for fact in facts:
            try:
                self._store_vectors([fact])
            except UpstreamFailed as error:
                if error.may_retry or self._refusals >= MOST_REFUSALS:
                    raise
                self._refusals += 1
                self._refused.add(fact.id)

    def _store_vectors(self, facts: Sequence[Pending]) -> None:
        if not facts:
            return
        key = facts[0].cubicle
        vectors = self._embed(key, None, [fact.text for fact in facts])
        with self._store.writing() as db:
            pairs = zip(facts, vectors, strict=True)
            rows.keep_vectors(db, self._model, [(fact.id, vector.tobytes()) for fact, vector in pairs])
        self._refusals = 0
        self._changed(key)

    def _run_loop(self) -> None:
        while True:
            with self._news:
                self._is_wanted = False
                if self._is_closed:
                    return
            try:
                pause_s = self.run_once()
            except Exception:  # the top of a thread: what broke is logged, and the next pass may do better
                logger.exception("giving memories their vectors broke")
                pause_s = LONGEST_PAUSE_S
            until = time.monotonic() + pause_s
            with self._news:
                self._is_idle = not self._is_wanted
                self._news.notify_all()
                while not self._is_called() and (left := until - time.monotonic()) > 0:
                    self._news.wait(left)

    def _is_called(self) -> bool:
        """No need to wait any longer. What is new does not hurry a model that fails."""
        return self._is_closed or (self._is_wanted and not self._failures)
