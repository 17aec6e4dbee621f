"""Which facts of a cubicle lie nearest to a vector. The one module that needs numpy, so it is loaded only where vectors
are used.

A cubicle's vectors are kept in memory as one matrix, of the cubicles searched last and within a bound, and read anew
after a change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.memories.embedder import Vector
from orchestrator.nouns import CubicleKey
from orchestrator.recall.ranking import Found
from orchestrator.store import memories as rows
from orchestrator.store.database import Store

MOST_BYTES = 256 * 1024 * 1024
"""What the matrices may take; the one in use is kept even when it is larger."""
_FEW = 20
"""So few facts are all worth ranking."""

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Loaded:
    generation: int
    ids: tuple[int, ...]
    matrix: Matrix


class Nearest:
    """Compares vectors. Thread-safe."""

    def __init__(self, store: Store, model: str, *, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._model = model
        self._most_bytes = most_bytes
        self._lock = threading.Lock()  # protects _loaded and _generations
        self._loaded: OrderedDict[CubicleKey, _Loaded] = OrderedDict()
        self._generations: dict[CubicleKey, int] = {}
        """How often each cubicle's facts have changed since we started."""

    def changed(self, key: CubicleKey) -> None:
        """The cubicle's facts or vectors are others now."""
        with self._lock:
            self._generations[key] = self._generations.get(key, 0) + 1
            self._loaded.pop(key, None)

    def of(self, key: CubicleKey, vector: Vector, limit: int) -> list[Found]:
        """The nearest facts, the nearest first. Among many, only those that stand out from the rest."""
        loaded = self._matrix(key)
        if not loaded.ids or loaded.matrix.shape[1] != len(vector):
            return []  # no vectors yet, or of another size: the model behind the name is another one
        scores = loaded.matrix @ np.frombuffer(vector, dtype=np.float32)
        best = np.argsort(-scores) if len(scores) <= limit else np.argpartition(-scores, limit)[:limit]
        least = float(scores.mean() + scores.std()) if len(scores) > _FEW else -np.inf
        found = [Found(loaded.ids[place], float(scores[place])) for place in best if scores[place] >= least]
        return sorted(found, key=lambda item: -item.score)

    def _matrix(self, key: CubicleKey) -> _Loaded:
        with self._lock:
            known = self._loaded.get(key)
            if known is not None:
                self._loaded.move_to_end(key)
                return known
            generation = self._generations.get(key, 0)
        loaded = self._read(key, generation)
        with self._lock:
            if self._generations.get(key, 0) == generation:  # else it may be old already, and serves this once
                self._loaded[key] = loaded
                self._shrink()
        return loaded

    def _read(self, key: CubicleKey, generation: int) -> _Loaded:
        with self._store.reading() as db:
            vectors = rows.vectors(db, key, self._model)
        size = len(vectors[-1][1]) if vectors else 0
        fitting = [(fact, vector) for fact, vector in vectors if len(vector) == size]
        matrix = np.frombuffer(b"".join(vector for _, vector in fitting), dtype=np.float32)
        shaped = matrix.reshape(len(fitting), size // 4) if fitting else np.empty((0, 0), dtype=np.float32)
        return _Loaded(generation, tuple(fact for fact, _ in fitting), shaped)

    def _shrink(self) -> None:
        while len(self._loaded) > 1 and sum(one.matrix.nbytes for one in self._loaded.values()) > self._most_bytes:
            self._loaded.popitem(last=False)
