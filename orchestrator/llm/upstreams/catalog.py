"""The providers that we know: where each answers, which setting holds its key, its default model, its peculiarities.

Owns the table and the rule which provider is the default one. The models are only defaults, chosen in November 2026; an
agent's settings name any other. It reads no environment: keys and addresses come in as plain values.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from orchestrator.core.errors import ConfigError
from orchestrator.core.models import Upstream
from orchestrator.languages.told import to_say
from orchestrator.llm.upstreams.anthropic import BASE_URL as ANTHROPIC_URL
from orchestrator.llm.upstreams.anthropic import Anthropic
from orchestrator.llm.upstreams.http import tls_context
from orchestrator.llm.upstreams.openai_compatible import JSON_OBJECT, OLD_LIMIT, STREAM_OPTIONS, OpenAICompatible
from orchestrator.llm.upstreams.rehearsal import NAME as REHEARSAL
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from orchestrator.llm.upstreams.secret import Secret

CUSTOM = "custom"
OLLAMA = "ollama"
OLLAMA_URL = "http://127.0.0.1:11434/v1"
PROBE_TIMEOUT_S = 0.3
IN_SETTINGS = "the dashboard's settings"
"""Where a key was given, as sentences say it."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider."""

    name: str
    key_setting: str
    base_url: str
    default_model: str
    dialect: Literal["openai", "anthropic"] = "openai"
    refuses: frozenset[str] = frozenset()
    """Fields that it is known not to take; the others are learned."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its own that go along with every call."""


PRESETS: tuple[Preset, ...] = (
    Preset(
        "openrouter",
        "OPENROUTER_API_KEY",
        "https://openrouter.ai/api/v1",
        "anthropic/claude-sonnet-5.5",
        extra={"usage": {"include": True}},  # it then says what the call cost
    ),
    Preset(
        "openai",
        "OPENAI_API_KEY",
        "https://api.openai.com/v1",
        "gpt-6.1-terra",
        refuses=frozenset({OLD_LIMIT}),
    ),
    Preset("anthropic", "ANTHROPIC_API_KEY", ANTHROPIC_URL, "claude-sonnet-5-5", dialect="anthropic"),
    Preset(
        "gemini",
        "GEMINI_API_KEY",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-3.8-flash",
    ),
    Preset(
        "groq",
        "GROQ_API_KEY",
        "https://api.groq.com/openai/v1",
        "openai/gpt-oss-120b",
        # It checks the finished answer and turns one that is no perfect JSON into a failure; we read leniently.
        refuses=frozenset({JSON_OBJECT}),
    ),
    Preset(
        "mistral",
        "MISTRAL_API_KEY",
        "https://api.mistral.ai/v1",
        "mistral-medium-latest",
        # It forbids fields that it does not know, and counts tokens unasked.
        refuses=frozenset({STREAM_OPTIONS}),
    ),
    Preset("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek-v4-flash"),
    Preset("xai", "XAI_API_KEY", "https://api.x.ai/v1", "grok-4.7"),
)
"""In the order in which a key makes its provider the default one."""
LABELS: Mapping[str, str] = {
    "openrouter": "OpenRouter",
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google Gemini",
    "groq": "Groq",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    CUSTOM: to_say("A server of your own"),
    OLLAMA: to_say("Ollama on this machine"),
    REHEARSAL: to_say("Built-in demo"),
}
"""How they are called where people choose, in the order in which they are shown."""
KEY_SETTINGS: Mapping[str, str] = {
    **{preset.name: preset.key_setting for preset in PRESETS},
    CUSTOM: "HERMIT_LLM_BASE_URL",
}
"""The setting that makes a provider usable; the others need none."""


def build_upstreams(
    *,
    keys: Mapping[str, str],
    custom_base_url: str = "",
    custom_key: str = "",
    custom_model: str = "",
    ollama_url: str | None = OLLAMA_URL,
    ca_file: str | None = None,
) -> dict[str, Upstream]:
    """Every provider that can be used, by name; the rehearsal always can. ``keys`` by setting (``OPENAI_API_KEY``).
    Raises ConfigError for an unusable key, address or certificate file."""
    presets = [preset for preset in PRESETS if keys.get(preset.key_setting, "").strip()]
    needs_tls = presets or any(url.startswith("https:") for url in (custom_base_url, ollama_url or ""))
    tls = tls_context(ca_file) if needs_tls else None
    upstreams: dict[str, Upstream] = {}
    if custom_base_url:
        upstreams[CUSTOM] = OpenAICompatible(
            CUSTOM, custom_base_url, custom_key, custom_model, key_setting="HERMIT_LLM_API_KEY", tls=tls
        )
    for preset in presets:
        upstreams[preset.name] = _make_upstream(preset, keys[preset.key_setting], tls)
    if ollama_url:
        # No default model: it takes the first of those that are installed.
        upstreams[OLLAMA] = OpenAICompatible(OLLAMA, ollama_url, tls=tls)
    upstreams[REHEARSAL] = Rehearsal()
    return upstreams


def build_own(name: str, key: str, base_url: str = "", *, ca_file: str | None = None) -> Upstream:
    """One provider with a key that was given in the dashboard: a preset, or a server of one's own at ``base_url``.
    Raises ConfigError for an unusable key or address, and for a name that needs no key."""
    Secret(key, setting="The key")  # the sentence for a person who typed it, whatever the provider
    preset = next((preset for preset in PRESETS if preset.name == name), None)
    if preset is not None:
        return _make_upstream(replace(preset, key_setting=IN_SETTINGS), key, tls_context(ca_file))
    if name != CUSTOM:
        raise ConfigError(f"{name} takes no key. Choose one of {', '.join(KEY_SETTINGS)}.")
    tls = tls_context(ca_file) if base_url.startswith("https:") else None
    return OpenAICompatible(CUSTOM, base_url, key, key_setting=IN_SETTINGS if key else "", tls=tls)


def default_name(
    *,
    keys: Mapping[str, str],
    custom_base_url: str = "",
    ollama_url: str | None = OLLAMA_URL,
    answers: Callable[[str], bool] | None = None,
) -> str:
    """The provider for agents that name none: the user's own server, else the first with a key, else Ollama when it
    answers, else the rehearsal."""
    if custom_base_url:
        return CUSTOM
    with_key = next((preset.name for preset in PRESETS if keys.get(preset.key_setting, "").strip()), "")
    if with_key:
        return with_key
    if ollama_url and (answers or is_listening)(ollama_url):
        return OLLAMA
    return REHEARSAL


def is_listening(url: str, timeout_s: float = PROBE_TIMEOUT_S) -> bool:
    """Somebody takes connections at the address; found out in ``timeout_s`` at most."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=timeout_s):
            return True
    except (OSError, ValueError):
        return False


def _make_upstream(preset: Preset, key: str, tls: ssl.SSLContext | None) -> Upstream:
    if preset.dialect == "anthropic":
        return Anthropic(
            key,
            preset.default_model,
            name=preset.name,
            base_url=preset.base_url,
            key_setting=preset.key_setting,
            tls=tls,
        )
    return OpenAICompatible(
        preset.name,
        preset.base_url,
        key,
        preset.default_model,
        key_setting=preset.key_setting,
        refuses=preset.refuses,
        extra=preset.extra,
        tls=tls,
    )
