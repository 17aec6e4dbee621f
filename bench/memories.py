"""Memory search: how often the right fact is among the first three, and how long it takes among 100,000.

``python -m bench.memories [--write]`` measures by words alone and with the embedding model in this process (an optional
package), and with ``--write`` keeps the figures in docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.embedder import Embedded, Embedder
from orchestrator.capabilities.memory.facts import Facts
from orchestrator.capabilities.memory.hybrid_search import NoMeaning, Search
from orchestrator.capabilities.memory.local_embedder import LocalEmbedder
from orchestrator.capabilities.memory.rank_fusion import Found
from orchestrator.capabilities.memory.vector_search import VectorSearch
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, TokenUse
from orchestrator.llm.budget import Budget
from orchestrator.llm.pricing import Price

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- memory figures -->", "<!-- end of memory figures -->"
SETS = {
    "72 facts, 83 questions in English and German": "memories.json",
    "20 facts, 27 questions in eight languages, in other words": "memories_paraphrased.json",
}
KEY = CubicleKey("crab", 1)
MANY = 100_000
FREE = Price(0, 0, known=True)


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory with one way of searching it."""

    store: Store
    facts: Facts
    search: Search
    meaning: VectorSearch | None


class RandomEmbedder:
    """Vectors of any size that mean nothing, for times alone."""

    is_free = True

    def __init__(self, size: int) -> None:
        self.model = f"random-{size}"
        self._size = size
        self._dice = random.Random(7)  # noqa: S311 - no secret, the same each time

    def embed_texts(self, texts: Sequence[str]) -> Embedded:
        """As many as texts."""
        return Embedded(tuple(self._one() for _ in texts), TokenUse(0, 0, 0))

    def close(self) -> None:
        """Nothing to close."""

    def _one(self) -> array[float]:
        return array("f", (self._dice.gauss(0, 1) / self._size**0.5 for _ in range(self._size)))


@contextmanager
def memory(embedder: Embedder | None) -> Iterator[Memory]:
    """An empty one."""
    with tempfile.TemporaryDirectory() as folder:
        store, broker, hooks = Store(Path(folder) / "hermit.db"), Broker(), Hooks()
        Users(store).ensure_operator("ada", "")
        agents = Agents(store, providers=(), toolsets=TOOLSETS, hooks=hooks)
        agents.create({"name": KEY.agent})
        facts = Facts(store, broker, hooks, max_facts=MANY * 2)
        meaning = None
        if embedder is not None:
            from orchestrator.capabilities.memory.numpy_index import Nearest  # noqa: PLC0415  # as below

            near = Nearest(store, embedder.model)
            meaning = VectorSearch(
                embedder,
                near,
                store=store,
                agents=agents,
                budget=Budget(store),
                price=lambda _provider, _model: FREE,
                patience_s=30,
            )
            hooks.fact_changed.subscribe(meaning.on_facts_changed)
            meaning.start()
        try:
            yield Memory(store, facts, Search(store, meaning or NoMeaning()), meaning)
        finally:
            if meaning is not None:
                meaning.close()
            store.close()


def among_the_first_three(file: str, embedder: Embedder | None) -> tuple[int, int]:
    """For how many of the questions the right fact is, and how many there are."""
    data = json.loads((ROOT / "tests" / "data" / file).read_text(encoding="utf-8"))
    with memory(embedder) as made:
        ids = {fact["id"]: made.facts.add_fact(KEY, fact["text"], by="ada").id for fact in data["facts"]}
        assert made.meaning is None or made.meaning.wait_idle(60)
        found = [
            ids[question["fact"]] in [fact.id for fact in made.search.find_best(KEY, question["text"], 3)]
            for question in data["questions"]
        ]
    return sum(found), len(found)


def times_among_many(size: int | None, count: int = 200, *, many: int = MANY) -> list[float]:
    """Milliseconds of a search among so many facts of one cubicle, with vectors of this size or by words alone."""
    dice = random.Random(7)  # noqa: S311 - no secret, the same heap each time
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    vocabulary = ["".join(dice.choices(syllables, k=dice.randint(2, 5))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))

    def text(words: int) -> str:
        return " ".join(dice.choices(vocabulary, cum_weights=weights, k=words))

    embedder = None if size is None else RandomEmbedder(size)
    with memory(None) as made:
        with made.store.writing() as db:
            for n in range(many):
                fact = rows.insert_fact(db, KEY, f"{text(10)} {n}", by="ada", turn=None, now=float(n))
                if size is not None and embedder is not None:
                    vector = memoryview(dice.randbytes(size)).cast("b")
                    rows.keep_vectors(db, embedder.model, [(fact, array("f", vector).tobytes())])
        search = made.search
        if embedder is not None:
            from orchestrator.capabilities.memory.numpy_index import Nearest  # noqa: PLC0415  # numpy is only where vectors are measured

            search = Search(made.store, _Near(Nearest(made.store, embedder.model), embedder))
        questions = [text(8) for _ in range(count)]
        search.find_best(KEY, questions[0], 3)  # reads the vectors
        took = []
        for question in questions:
            began = time.perf_counter()
            search.find_best(KEY, question, 12)
            took.append((time.perf_counter() - began) * 1000)
    return took


class Vectors(Protocol):
    """What is nearest to a vector among a cubicle's facts."""

    def find_nearest(self, key: CubicleKey, vector: array[float], limit: int) -> Sequence[Found]:
        """The best first."""


class _Near:
    """Compares at once: the time that a model takes for the question is the model's."""

    def __init__(self, near: Vectors, embedder: Embedder) -> None:
        self._near = near
        self._vectors = embedder.embed_texts([""] * 16).vectors
        self._n = 0

    def find_nearest(self, key: CubicleKey, query: str, *, turn: int | None, limit: int) -> Sequence[Found]:  # noqa: ARG002  # the protocol's
        """Of one vector after the other."""
        self._n += 1
        return self._near.find_nearest(key, self._vectors[self._n % 16], limit)


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = ["| the right fact among the first three | words alone | fused with `local` |", "|---|---:|---:|"]
    for name, file in SETS.items():
        words, many = among_the_first_three(file, None)
        fused, _ = among_the_first_three(file, LocalEmbedder())
        lines.append(f"| {name} | {words / many:.1%} | {fused / many:.1%} |")
    lines += ["", f"| search among {MANY:,} facts of one cubicle | p50 ms | p99 ms | goal |", "|---|---:|---:|---|"]
    for size in (None, 512, 1536):
        took = sorted(times_among_many(size))
        what = "words alone" if size is None else f"fused, vectors of {size} numbers"
        p99 = took[int(len(took) * 0.99)]
        lines.append(f"| {what} | {statistics.median(took):.1f} | {p99:.1f} | ≤ 50 |")
    text = "\n".join(lines)
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
