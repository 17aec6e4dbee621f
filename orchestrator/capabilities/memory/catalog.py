"""Which embedding model this install has, by its settings: none, one over HTTP, or one in this process."""

from __future__ import annotations

import importlib.util

from orchestrator.capabilities.memory.embedder import Embedder
from orchestrator.capabilities.memory.http_embedder import HttpEmbedder
from orchestrator.capabilities.memory.local_embedder import NAME as LOCAL
from orchestrator.capabilities.memory.local_embedder import PACKAGE, LocalEmbedder
from orchestrator.core.errors import ConfigError
from orchestrator.llm.upstreams.http import tls_context

INSTALL = "./.venv/bin/pip install --require-hashes -r requirements-embeddings.lock"
_NEEDED = ("numpy", PACKAGE)


def build_embedder(*, base_url: str, key: str, model: str, ca_file: str | None = None) -> Embedder | None:
    """The embedding model, or None when none is set up. Raises ConfigError, also when its packages are missing."""
    found = _set_up(base_url, key, model, ca_file)
    if found is not None and any(importlib.util.find_spec(package) is None for package in _NEEDED):
        raise ConfigError(f"An embedding model needs two packages more. Install them: {INSTALL}")
    return found


def _set_up(base_url: str, key: str, model: str, ca_file: str | None) -> Embedder | None:
    if model == LOCAL:
        return LocalEmbedder()
    if not base_url:
        if model:
            raise ConfigError(
                "HERMIT_EMBEDDINGS_MODEL is set, but HERMIT_EMBEDDINGS_BASE_URL is not: say where the model answers, "
                "or write HERMIT_EMBEDDINGS_MODEL=local."
            )
        return None
    tls = tls_context(ca_file) if base_url.startswith("https:") else None
    return HttpEmbedder(base_url, key, model, tls=tls)
