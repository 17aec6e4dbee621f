"""Which model providers this install has, by its settings. For the commands that need them: ``up`` and ``doctor``."""

from __future__ import annotations

from orchestrator.commands.context import Context
from orchestrator.llm.upstreams.catalog import build_upstreams, default_name
from orchestrator.memories.catalog import build_embedder
from orchestrator.memories.embedder import Embedder
from orchestrator.nouns import Upstream


def providers(context: Context) -> tuple[dict[str, Upstream], str]:
    """Every provider that can be used, and the name of the default one. Raises ConfigError."""
    settings = context.settings
    keys = settings.secrets.provider_keys()
    upstreams = build_upstreams(
        keys=keys,
        custom_base_url=settings.llm_base_url,
        custom_key=settings.secrets.get("HERMIT_LLM_API_KEY"),
        custom_model=settings.llm_model,
        ca_file=_ca_file(context),
    )
    return upstreams, default_name(keys=keys, custom_base_url=settings.llm_base_url)


def embedder(context: Context) -> Embedder | None:
    """The embedding model, if one is set up. Raises ConfigError."""
    settings = context.settings
    return build_embedder(
        base_url=settings.embeddings_base_url,
        key=settings.secrets.get("HERMIT_EMBEDDINGS_API_KEY"),
        model=settings.embeddings_model,
        ca_file=_ca_file(context),
    )


def _ca_file(context: Context) -> str | None:
    return context.environment.get("SSL_CERT_FILE") or context.environment.get("REQUESTS_CA_BUNDLE")
