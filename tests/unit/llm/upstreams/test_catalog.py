"""The catalog: which upstreams there are for which settings, and which is the default."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from orchestrator.core.config import PROVIDER_KEYS
from orchestrator.core.errors import ConfigError, UpstreamFailed
from orchestrator.core.models import ModelRequest
from orchestrator.llm.pricing import load_prices, price_of
from orchestrator.llm.upstreams.catalog import PRESETS, build_upstreams, default_name, is_listening
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from tests.support.scripted_upstream import ScriptedUpstream, http

OLLAMA = "http://127.0.0.1:11434/v1"


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


def test_every_key_setting_has_its_provider_in_order() -> None:
    """The catalog's order is that of the settings, so that "the first found" means one thing."""
    assert tuple(preset.key_setting for preset in PRESETS) == PROVIDER_KEYS


def test_every_default_model_has_a_price() -> None:
    """No default model falls under the fallback price."""
    table = load_prices()
    unknown = [each.name for each in PRESETS if not price_of(each.name, each.default_model, table).known]
    assert unknown == []


@pytest.mark.parametrize(
    ("keys", "custom", "ollama", "names"),
    [
        ({}, "", None, ["rehearsal"]),
        ({}, "", OLLAMA, ["ollama", "rehearsal"]),
        ({"OPENAI_API_KEY": "sk-1"}, "", None, ["openai", "rehearsal"]),
        ({"OPENAI_API_KEY": "  "}, "", None, ["rehearsal"]),
        ({"UNHEARD_OF_API_KEY": "sk-1"}, "", None, ["rehearsal"]),
        (
            {"XAI_API_KEY": "a", "OPENROUTER_API_KEY": "b"},
            "http://x/v1",
            None,
            ["custom", "openrouter", "xai", "rehearsal"],
        ),
        (dict.fromkeys(PROVIDER_KEYS, "k"), "", None, [*(preset.name for preset in PRESETS), "rehearsal"]),
    ],
)
def test_upstreams_follow_the_settings(keys: dict[str, str], custom: str, ollama: str | None, names: list[str]) -> None:
    """Only what can be used is there, and the rehearsal always is."""
    upstreams = build_upstreams(keys=keys, custom_base_url=custom, ollama_url=ollama)
    assert list(upstreams) == names
    assert [upstream.name for upstream in upstreams.values()] == names


def test_the_custom_server_gets_its_key_and_model(provider: ScriptedUpstream) -> None:
    """HERMIT_LLM_* end up in the request."""
    upstreams = build_upstreams(
        keys={}, custom_base_url=provider.base_url, custom_key="sk-custom", custom_model="mine", ollama_url=None
    )
    assert list(upstreams["custom"].complete(ModelRequest("", ({"role": "user", "content": "hi"},), 9)))
    assert provider.calls[0].headers["authorization"] == "Bearer sk-custom"
    assert provider.calls[0].json["model"] == "mine"
    assert {name: each.default_model for name, each in upstreams.items()} == {
        "custom": "mine",
        "rehearsal": "rehearsal",
    }


def test_an_unusable_key_names_its_setting() -> None:
    """A key with a line break in it stops the start with a sentence, not with the key."""
    with pytest.raises(ConfigError, match="GROQ_API_KEY"):
        build_upstreams(keys={"GROQ_API_KEY": "a\nb"})


def test_an_unusable_certificate_file_is_named() -> None:
    """SSL_CERT_FILE that is not there stops the start with a sentence."""
    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        build_upstreams(keys={"GROQ_API_KEY": "a"}, ca_file="/nowhere/ca.pem")


def refuse_to_probe(_url: str) -> bool:
    """For cases where nobody needs to look for Ollama."""
    raise AssertionError("probed")


def test_the_default_is_the_users_own_server_first() -> None:
    """Own server, then the first key in the settings' order, without looking for Ollama."""
    keys = {"XAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"}
    assert default_name(keys=keys, custom_base_url="http://x/v1", answers=refuse_to_probe) == "custom"
    assert default_name(keys=keys, answers=refuse_to_probe) == "anthropic"


def test_without_keys_the_default_is_ollama_if_it_answers() -> None:
    """Somebody at its address: Ollama; nobody, or no address: the rehearsal."""
    assert default_name(keys={}, answers=lambda url: url == OLLAMA) == "ollama"
    assert default_name(keys={}, answers=lambda _: False) == "rehearsal"
    assert default_name(keys={}, ollama_url=None, answers=refuse_to_probe) == "rehearsal"


def test_the_probe(provider: ScriptedUpstream) -> None:
    """It sees a listening port, and a closed one, an odd address or no address are just nobody."""
    assert is_listening(provider.base_url)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert not is_listening(f"http://127.0.0.1:{closed.getsockname()[1]}/v1")
    assert not is_listening("http://[::1")
    assert not is_listening("")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"data": [{"id": "b"}, {"id": "a"}, {"id": "b"}]}', ["a", "b"]),
        (b'{"data": [{"id": "models/gemini-3"}]}', ["gemini-3"]),
        (b'{"data": [{"id": 7}, "x", {}, {"id": "bad\\nname"}, {"id": ""}]}', []),
        (b'{"data": []}', []),
    ],
)
def test_lists_of_models_are_read_leniently(provider: ScriptedUpstream, body: bytes, names: list[str]) -> None:
    """Sorted, once each, Gemini's prefix gone; entries that are no names are left out."""
    provider.offer(http(200, body))
    upstream = OpenAICompatible("custom", provider.base_url)
    assert upstream.list_models() == names
    upstream.close()


@pytest.mark.parametrize(
    ("answer", "says_so"),
    [
        (http(200, b"[]"), "cannot be read"),
        (http(200, b"<html>"), "cannot be read"),
        (http(200, b'{"data": 7}'), "cannot be read"),
        (http(401, b"{}"), "refused the key"),
        (http(404, b"{}"), "404"),
    ],
)
def test_a_list_that_is_none_is_a_failure(provider: ScriptedUpstream, answer: bytes, says_so: str) -> None:
    """A web page or a refusal instead of a list becomes a sentence."""
    provider.offer(answer)
    upstream = OpenAICompatible("custom", provider.base_url)
    with pytest.raises(UpstreamFailed, match=says_so):
        upstream.list_models()
    upstream.close()


def test_a_server_without_any_model_says_so(provider: ScriptedUpstream) -> None:
    """Ollama without a model installed gets a sentence that helps."""
    provider.offer(http(200, b'{"data": []}'))
    upstream = OpenAICompatible("ollama", provider.base_url)
    with pytest.raises(UpstreamFailed, match="no model yet"):
        upstream.complete(ModelRequest("", ({"role": "user", "content": "hi"},), 9))
    upstream.close()
