"""Embedders: who turns texts into vectors, so that texts of like meaning lie near each other."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from orchestrator.core.models import TokenUse

Vector: TypeAlias = "array[float]"
"""32-bit floats (type code ``f``), of length 1 unless all are 0."""
PROVIDER = "embeddings"
"""How the price table and the bills call whoever embeds."""
MOST_TEXTS = 64
"""In one call."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of a call."""

    vectors: tuple[Vector, ...]
    """One for each text, in their order."""
    use: TokenUse


class Embedder(Protocol):
    """An embedding model. Thread-safe."""

    model: str
    """Its name; vectors of different models can't be compared."""
    is_free: bool
    """It runs in this process, and nobody is paid."""

    def embed_texts(self, texts: Sequence[str]) -> Embedded:
        """The vectors of at most ``MOST_TEXTS`` texts; raises UpstreamFailed."""

    def close(self) -> None:
        """No kept connection is left."""
