"""Which model providers this install has, by its settings. For the commands that need them: ``up`` and ``doctor``."""

from __future__ import annotations

from functools import partial

from orchestrator.capabilities.memory.catalog import build_embedder
from orchestrator.capabilities.memory.embedder import Embedder
from orchestrator.cli.context import Context
from orchestrator.core.models import Upstream
from orchestrator.llm.key_store import KeyStore
from orchestrator.llm.providers import Build
from orchestrator.llm.upstreams.catalog import OLLAMA, build_own, build_upstreams, default_name
from orchestrator.llm.upstreams.rehearsal import NAME as REHEARSAL


def load_providers(context: Context) -> tuple[dict[str, Upstream], str]:
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


def with_own(context: Context) -> tuple[dict[str, Upstream], str]:
    """The same, with the keys that were given in the dashboard; which of them the operator prefers, only the running
    install knows. Raises ConfigError."""
    given, default = load_providers(context)
    keys = KeyStore(context.settings.home / "keys" / "providers.json").list_keys()
    own = {
        name: provider_factory(context)(name, kept.key, kept.base_url)
        for name, kept in keys.items()
        if name not in given
    }
    is_configured = default not in (OLLAMA, REHEARSAL)
    return {**given, **own}, default if is_configured else next(iter(own), default)


def provider_factory(context: Context) -> Build:
    """How a provider is made of a key that was given in the dashboard."""
    return partial(build_own, ca_file=_ca_file(context))


def load_embedder(context: Context) -> Embedder | None:
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
