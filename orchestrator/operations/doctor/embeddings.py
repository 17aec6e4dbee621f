"""Examines the embedding model of the memories, by one tiny call."""

from __future__ import annotations

import time

from orchestrator.capabilities.memory.embedder import Embedder
from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.finding import Finding, ok, warn

EMBEDDINGS = "embeddings"


def examine_embeddings(embedder: Embedder) -> Finding:
    """It answers. Without it memories are found by their words alone, so nothing is broken when it does not."""
    began = time.monotonic()
    try:
        found = embedder.embed_texts(["ok"])
    except UpstreamFailed as error:
        return warn(
            EMBEDDINGS,
            f"{error.message} Memories are searched by their words alone.",
            "Check HERMIT_EMBEDDINGS_BASE_URL, …_API_KEY and …_MODEL in hermit.env.",
        )
    took_ms = (time.monotonic() - began) * 1000
    return ok(EMBEDDINGS, f"{embedder.model} answers with {len(found.vectors[0])} numbers ({took_ms:.0f} ms).")
