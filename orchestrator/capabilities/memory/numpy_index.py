"""Which facts of a cubicle lie nearest to a vector. The one module that needs numpy, so it is loaded only where vectors
are used.

A cubicle's vectors are kept in memory as one matrix, of the cubicles searched last and within a bound, and read again
after a change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.embedder import Vector
from orchestrator.capabilities.memory.rank_fusion import Found
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey

MOST_BYTES = 256 * 1024 * 1024
"""What the matrices may take; the one in use is kept even when it is larger."""
_FEW = 20
"""So few facts are all worth ranking."""

_MANY = 10_000
"""With more facts than this the signs choose which are looked at closely, as reading all numbers would take longer."""
_CLOSELY = 1_000

Matrix = npt.NDArray[np.float32]
Signs = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Loaded:
    ids: tuple[int, ...]
    matrix: Matrix
    signs: Signs
    """One bit for each number, whether it is above 0: what looks near by these alone is looked at closely."""


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

    def on_facts_changed(self, key: CubicleKey) -> None:
        """The cubicle's facts or vectors are others now."""
        with self._lock:
            self._generations[key] = self._generations.get(key, 0) + 1
            self._loaded.pop(key, None)

    def find_nearest(self, key: CubicleKey, vector: Vector, limit: int) -> list[Found]:
        """The nearest facts, the nearest first. Among many, only those that stand out from the rest."""
        loaded = self._load_matrix(key)
        if not loaded.ids or loaded.matrix.shape[1] != len(vector):
            return []  # no vectors yet, or of another size: the model behind the name is another one
        wanted = np.frombuffer(vector, dtype=np.float32)
        places = _likely(loaded, wanted)
        scores = loaded.matrix[places] @ wanted
        usual = scores if len(loaded.ids) <= _MANY else loaded.matrix[:: len(loaded.ids) // _CLOSELY] @ wanted
        least = float(usual.mean() + usual.std()) if len(usual) > _FEW else -np.inf
        best = np.argsort(-scores)[:limit]
        ids = np.arange(len(loaded.ids))[places]
        return [Found(loaded.ids[ids[place]], float(scores[place])) for place in best if scores[place] >= least]

    def _load_matrix(self, key: CubicleKey) -> _Loaded:
        with self._lock:
            known = self._loaded.get(key)
            if known is not None:
                self._loaded.move_to_end(key)
                return known
            generation = self._generations.get(key, 0)
        loaded = self._read_vectors(key)
        with self._lock:
            if self._generations.get(key, 0) == generation:  # else it may be old already, and serves this once
                self._loaded[key] = loaded
                self._evict_old()
        return loaded

    def _read_vectors(self, key: CubicleKey) -> _Loaded:
        with self._store.reading() as db:
            vectors = rows.get_vectors(db, key, self._model)
        size = len(vectors[-1][1]) if vectors else 0
        fitting = [(fact, vector) for fact, vector in vectors if len(vector) == size]
        matrix = np.frombuffer(b"".join(vector for _, vector in fitting), dtype=np.float32)
        shaped = matrix.reshape(len(fitting), size // 4) if fitting else np.empty((0, 0), dtype=np.float32)
        signs = np.packbits(shaped > 0, axis=1) if len(fitting) > _MANY else np.empty((0, 0), dtype=np.uint8)
        return _Loaded(tuple(fact for fact, _ in fitting), shaped, signs)

    def _evict_old(self) -> None:
        while len(self._loaded) > 1 and sum(one.matrix.nbytes for one in self._loaded.values()) > self._most_bytes:
            self._loaded.popitem(last=False)


def _likely(loaded: _Loaded, wanted: Matrix) -> npt.NDArray[np.intp] | slice:
    """Which rows to look at closely: all of them, or of many those whose signs differ least."""
    if len(loaded.ids) <= _MANY:
        return slice(None)
    differing = np.bitwise_xor(loaded.signs, np.packbits(wanted > 0))
    padding = -differing.shape[1] % 8
    if padding:
        differing = np.pad(differing, ((0, 0), (0, padding)))
    counts = np.bitwise_count(differing.view(np.uint64)).sum(axis=1, dtype=np.uint16)
    return np.argpartition(counts, _CLOSELY)[:_CLOSELY]
