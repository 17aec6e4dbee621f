"""Any provider that speaks OpenAI's chat completions: ``POST {base}/chat/completions`` as a stream of events.

Owns the request's form, what a provider turned out not to take (learned once for each model), and the reading of the
stream. It sends a call once; only when a provider refuses a *field* is the call sent again without that field. It never
logs or reports what a provider wrote.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.upstreams.http import IDLE_TIMEOUT_S, Endpoint, Exchange
from orchestrator.llm.upstreams.http_errors import Provider
from orchestrator.llm.upstreams.lenient_json import chat_usage, first_child, get_object, json_object, text_of
from orchestrator.llm.upstreams.models import default_model_of, list_models
from orchestrator.llm.upstreams.quirks import Quirks
from orchestrator.llm.upstreams.secret import Secret
from orchestrator.llm.upstreams.sse import ServerEvent
from orchestrator.llm.upstreams.stream import HttpCompletion, ProviderError

JSON_OBJECT = "response_format"
STREAM_OPTIONS = "stream_options"
TEMPERATURE = "temperature"
OLD_LIMIT = "max_tokens"
NEW_LIMIT = "max_completion_tokens"

_NAMED = {
    JSON_OBJECT: (b"response_format", b"json_object", b"json mode", b"json_validate_failed"),
    STREAM_OPTIONS: (b"stream_options", b"include_usage"),
    TEMPERATURE: (b"temperature",),
    NEW_LIMIT: (b"max_completion_tokens",),
    OLD_LIMIT: (b"max_tokens",),
}
"""The words by which a refusal names a field. OpenAI's refusal of the old limit names the new one too, so that comes
first: it counts only when it was sent."""


class OpenAICompatible:
    """An :class:`orchestrator.core.models.Upstream`. Thread-safe."""

    def __init__(
        self,
        name: str,
        base_url: str,
        api_key: str = "",
        default_model: str = "",
        *,
        key_setting: str = "",
        refuses: frozenset[str] = frozenset(),
        extra: Mapping[str, Any] | None = None,
        tls: ssl.SSLContext | None = None,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        """``refuses``: fields that the provider is known not to take; ``extra``: fields of its own for each call."""
        self.name = name
        self.default_model = default_model
        self._key = Secret(api_key, setting=key_setting or f"The key of {name}")
        self._endpoint = Endpoint(base_url, Provider(name, key_setting), tls=tls, idle_timeout_s=idle_timeout_s)
        self._extra = dict(extra or {})
        # Few providers lack these two, but small servers do, and some of them refuse without saying what.
        self._habits = Quirks(name, refuses=refuses, named=_NAMED, unnamed=(JSON_OBJECT, STREAM_OPTIONS))

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r}, host={self._endpoint.host!r})"

    def complete(
        self, request: ModelRequest, *, opened: Callable[[HttpCompletion], None] | None = None
    ) -> HttpCompletion:
        """See the protocol. ``opened`` gets the answer before anything is sent, so that another thread can close it
        while the provider has not answered yet."""
        exchange = Exchange(self._endpoint)
        answer = HttpCompletion(exchange, _Chat())
        if opened is not None:
            opened(answer)
        model = request.model or default_model_of(self)
        self._habits.send_call(
            exchange,
            "/chat/completions",
            self._headers(),
            model=model,
            payload=lambda left_out: self._payload(request, model, left_out),
        )
        return answer

    def list_models(self) -> list[str]:
        """See the protocol."""
        return list_models(Exchange(self._endpoint), "/models", self._headers())

    def close(self) -> None:
        """No kept connection is left."""
        self._endpoint.close()

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "hermitshell",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        return headers

    def _payload(self, request: ModelRequest, model: str, left_out: frozenset[str]) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": model,
            # Only these two keys, whatever else a message may carry: tools and names are a way out of the cubicle.
            "messages": [{"role": each["role"], "content": each["content"]} for each in request.messages],
            "stream": True,
            # One of the two always goes along: a call without a limit has no price.
            NEW_LIMIT if OLD_LIMIT in left_out and NEW_LIMIT not in left_out else OLD_LIMIT: request.max_tokens,
            **self._extra,
        }
        if STREAM_OPTIONS not in left_out:
            payload[STREAM_OPTIONS] = {"include_usage": True}
        if request.temperature is not None and TEMPERATURE not in left_out:
            payload[TEMPERATURE] = request.temperature
        if request.stop:
            payload["stop"] = list(request.stop)
        if request.json_object and JSON_OBJECT not in left_out and _mentions_json(request):
            payload[JSON_OBJECT] = {"type": "json_object"}
        return payload


class _Chat:
    """The dialect: chunks with ``choices[0].delta`` (or a whole completion with ``choices[0].message``)."""

    def __init__(self) -> None:
        self.use = TokenUse()
        self.finish_reason = ""
        self.is_over = False
        self._has_choice = False

    def read_event(self, event: ServerEvent) -> str:
        if event.data.strip() == b"[DONE]":
            self.is_over = True
            # Some servers say [DONE] and never a reason; an answer of which nothing came stays without an end.
            if self._has_choice:
                self.finish_reason = self.finish_reason or "stop"
            return ""
        chunk = json_object(event.data)
        if chunk is None:
            raise ValueError("no JSON object")
        return self._read(chunk, "delta")

    def take_whole(self, document: dict[str, Any]) -> str:
        text = self._read(document, "message")
        if not self._has_choice:
            raise ValueError("no choice")
        self.finish_reason = self.finish_reason or "stop"
        return text

    def _read(self, chunk: dict[str, Any], part: str) -> str:
        _raise_if_error(chunk)
        usage = get_object(chunk, "usage") or get_object(get_object(chunk, "x_groq"), "usage")
        if usage:
            self.use = chat_usage(usage)
        choice = first_child(chunk, "choices")
        if not choice or choice.get("index") not in (0, None):
            return ""
        self._has_choice = True
        _raise_if_error(choice)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason == "error":
                raise ProviderError(may_retry=True)
            self.finish_reason = reason[:32]
        return text_of(get_object(choice, part).get("content"))


def _raise_if_error(chunk: dict[str, Any]) -> None:
    """OpenRouter and others answer 200 and then write the error into the stream."""
    error = chunk.get("error")
    if not error:
        return
    code = error.get("code") if isinstance(error, dict) else None
    # Without a known refusal the provider broke down while it worked, and a second try is worth it.
    raise ProviderError(may_retry=code not in (400, 401, 402, 403, 404, 413, 422))


def _mentions_json(request: ModelRequest) -> bool:
    """OpenAI refuses to be asked for a JSON object by a conversation that does not speak of JSON."""
    return any("json" in text_of(message["content"]).lower() for message in request.messages)
