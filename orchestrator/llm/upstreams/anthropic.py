"""Anthropic's own API: ``POST {base}/v1/messages`` as a stream of events.

Owns the translation of our chat messages into Anthropic's form and back, and the marks that let Anthropic cache what
stays the same from call to call. It sends a call once (but see ``habits``) and reports nothing that the provider wrote.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterable
from typing import Any

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.upstreams.http import IDLE_TIMEOUT_S, Endpoint, Exchange
from orchestrator.llm.upstreams.http_errors import Provider
from orchestrator.llm.upstreams.lenient_json import get_object, get_token_count, json_object, text_of
from orchestrator.llm.upstreams.models import default_model_of, list_models
from orchestrator.llm.upstreams.quirks import Quirks
from orchestrator.llm.upstreams.secret import Secret
from orchestrator.llm.upstreams.sse import ServerEvent
from orchestrator.llm.upstreams.stream import HttpCompletion, ProviderError

BASE_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
TEMPERATURE = "temperature"

_NAMED = {TEMPERATURE: (b"temperature",)}
_FINISH_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_INLINE_IMAGE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)")
_CACHE = {"type": "ephemeral"}


class Anthropic:
    """An :class:`orchestrator.core.models.Upstream`. Thread-safe."""

    def __init__(
        self,
        api_key: str,
        default_model: str,
        *,
        name: str = "anthropic",
        base_url: str = BASE_URL,
        key_setting: str = "ANTHROPIC_API_KEY",
        tls: ssl.SSLContext | None = None,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        self.name = name
        self.default_model = default_model
        self._key = Secret(api_key, setting=key_setting)
        # Taken with or without the /v1 that other providers want.
        base_url = base_url.rstrip("/").removesuffix("/v1")
        self._endpoint = Endpoint(base_url, Provider(name, key_setting), tls=tls, idle_timeout_s=idle_timeout_s)
        self._habits = Quirks(name, named=_NAMED)

    def __repr__(self) -> str:
        return f"Anthropic({self.name!r}, host={self._endpoint.host!r})"

    def complete(
        self, request: ModelRequest, *, opened: Callable[[HttpCompletion], None] | None = None
    ) -> HttpCompletion:
        """See the protocol. ``opened`` gets the answer before anything is sent, so that another thread can close it
        while the provider has not answered yet."""
        exchange = Exchange(self._endpoint)
        answer = HttpCompletion(exchange, _Messages())
        if opened is not None:
            opened(answer)
        model = request.model or default_model_of(self)
        fixed = {"model": model, "max_tokens": request.max_tokens, "stream": True, **self._conversation(request)}
        if request.stop:
            fixed["stop_sequences"] = list(request.stop)

        def payload(left_out: frozenset[str]) -> dict[str, Any]:
            if request.temperature is None or TEMPERATURE in left_out:
                return fixed
            return {**fixed, TEMPERATURE: min(request.temperature, 1.0)}

        self._habits.send_call(exchange, "/v1/messages", self._headers(), model=model, payload=payload)
        return answer

    def list_models(self) -> list[str]:
        """See the protocol."""
        return list_models(Exchange(self._endpoint), "/v1/models?limit=1000", self._headers())

    def close(self) -> None:
        """No kept connection is left."""
        self._endpoint.close()

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "hermitshell",
            "anthropic-version": API_VERSION,
            "x-api-key": self._key.reveal(),
        }

    def _conversation(self, request: ModelRequest) -> dict[str, Any]:
        """``system`` and ``messages``. The system prompt is always marked for the cache; the last message only in a
        talk under way, where the next call repeats it: marking costs a quarter more for what is new."""
        system = [text for each in request.messages if each["role"] == "system" if (text := text_of(each["content"]))]
        messages = _merge_messages(each for each in request.messages if each["role"] != "system")
        if any(each["role"] == "assistant" for each in messages):
            messages[-1]["content"][-1]["cache_control"] = _CACHE
        if not system:
            return {"messages": messages}
        return {
            "system": [{"type": "text", "text": "\n\n".join(system), "cache_control": _CACHE}],
            "messages": messages,
        }


class _Messages:
    """The dialect: ``message_start``, ``content_block_delta``, ``message_delta``, ``message_stop``."""

    def __init__(self) -> None:
        self.use = TokenUse()
        self.finish_reason = ""
        self.is_over = False
        self._counted: dict[str, Any] = {}

    def read_event(self, event: ServerEvent) -> str:
        document = json_object(event.data)
        if document is None:
            raise ValueError("no JSON object")
        kind = document.get("type") or event.name
        if kind == "content_block_delta":
            delta = get_object(document, "delta")
            # The other kinds are thinking and signatures, which are no part of the answer.
            return text_of(delta.get("text")) if delta.get("type") == "text_delta" else ""
        if kind == "message_start":
            self._count(get_object(get_object(document, "message"), "usage"), is_final=False)
        elif kind == "message_delta":
            self._count(get_object(document, "usage"), is_final=True)
            self._stop(get_object(document, "delta").get("stop_reason"))
        elif kind == "message_stop":
            self.is_over = True
        elif kind == "error":
            raise ProviderError(may_retry=get_object(document, "error").get("type") in _PASSING)
        return ""

    def take_whole(self, document: dict[str, Any]) -> str:
        if document.get("type") == "error":
            raise ProviderError(may_retry=get_object(document, "error").get("type") in _PASSING)
        if document.get("type") != "message":
            raise ValueError("no message")
        self._count(get_object(document, "usage"), is_final=True)
        self._stop(document.get("stop_reason"))
        return text_of(document.get("content"))

    def _stop(self, reason: Any) -> None:
        if isinstance(reason, str) and reason:
            self.finish_reason = _FINISH_REASONS.get(reason, reason[:32])

    def _count(self, usage: dict[str, Any], *, is_final: bool) -> None:
        """The start counts the prompt, the end the answer (the start's count of the answer is only its beginning)."""
        self._counted.update({key: value for key, value in usage.items() if value is not None})
        fresh = get_token_count(self._counted.get("input_tokens"))
        cached = get_token_count(self._counted.get("cache_read_input_tokens", 0))
        written = get_token_count(self._counted.get("cache_creation_input_tokens", 0))
        is_counted = fresh is not None and cached is not None and written is not None
        self.use = TokenUse(
            prompt=(fresh or 0) + (cached or 0) + (written or 0) if is_counted else None,
            completion=get_token_count(usage.get("output_tokens")) if is_final else None,
            cached=cached or 0,
            cache_written=written or 0,
        )


def _merge_messages(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as Anthropic wants them: a person's first, then in turns, none of them empty."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        blocks = _make_blocks(message["content"])
        if not blocks:
            continue
        if not merged and message["role"] == "assistant":
            merged.append({"role": "user", "content": [{"type": "text", "text": "(The talk goes on.)"}]})
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"].extend(blocks)
        else:
            merged.append({"role": message["role"], "content": blocks})
    return merged or [{"role": "user", "content": [{"type": "text", "text": "(empty)"}]}]


def _make_blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    if not isinstance(content, list):
        return []
    return [block for part in content if isinstance(part, dict) and (block := _make_block(part))]


def _make_block(part: dict[str, Any]) -> dict[str, Any] | None:
    if part.get("type") == "image_url":
        return _make_image(get_object(part, "image_url").get("url"))
    text = part.get("text")
    return {"type": "text", "text": text} if isinstance(text, str) and text.strip() else None


def _make_image(url: Any) -> dict[str, Any]:
    """An inline picture. One behind a link is refused: the provider would fetch it, and that is a way out."""
    match = _INLINE_IMAGE.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise UpstreamFailed("Only inline PNG, JPEG, GIF and WebP pictures can be sent to a model.", may_retry=False)
    return {"type": "image", "source": {"type": "base64", "media_type": match[1], "data": match[2]}}
