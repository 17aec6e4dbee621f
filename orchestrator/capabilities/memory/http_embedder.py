"""Any embedding model that speaks OpenAI's form: ``POST {base}/embeddings``.

A call is sent once, is bounded in size and time, and nothing that the provider wrote gets into an error or a log.
"""

from __future__ import annotations

import math
import ssl
from array import array
from collections.abc import Sequence
from typing import Any

from orchestrator.capabilities.memory.embedder import PROVIDER, Embedded, Vector
from orchestrator.core.errors import ConfigError
from orchestrator.core.models import TokenUse
from orchestrator.llm.upstreams.http import Endpoint, Exchange
from orchestrator.llm.upstreams.http_errors import Provider
from orchestrator.llm.upstreams.lenient_json import get_object, get_token_count, json_object
from orchestrator.llm.upstreams.quirks import encode_json
from orchestrator.llm.upstreams.secret import Secret

KEY_SETTING = "HERMIT_EMBEDDINGS_API_KEY"
MAX_DIMENSIONS = 8_192
_IDLE_S = 20.0
_TOTAL_S = 60.0


class HttpEmbedder:
    """An :class:`orchestrator.capabilities.memory.embedder.Embedder` somewhere else."""

    is_free = False

    def __init__(self, base_url: str, api_key: str, model: str, *, tls: ssl.SSLContext | None = None) -> None:
        """Raises ConfigError for an unusable address or key, or no model."""
        if not model:
            raise ConfigError("HERMIT_EMBEDDINGS_MODEL is not set: name the model of the embeddings server.")
        self.model = model
        self._key = Secret(api_key, setting=KEY_SETTING)
        provider = Provider(PROVIDER, KEY_SETTING)
        self._endpoint = Endpoint(base_url, provider, tls=tls, idle_timeout_s=_IDLE_S, total_timeout_s=_TOTAL_S)

    def __repr__(self) -> str:
        return f"HttpEmbedder({self.model!r} at {self._endpoint.host})"

    def embed_texts(self, texts: Sequence[str]) -> Embedded:
        """See the protocol."""
        exchange = Exchange(self._endpoint)
        body = encode_json({"model": self.model, "input": list(texts), "encoding_format": "float"})
        try:
            status = exchange.send_request("POST", "/embeddings", body, self._headers())
            if status != 200:
                raise exchange.describe_status(status)
            document = json_object(exchange.read_whole())
        finally:
            if not exchange.is_done:
                exchange.close()
        vectors = _vectors(document, len(texts))
        if document is None or vectors is None:
            raise exchange.describe_broken("gave embeddings that cannot be read", may_retry=False)
        return Embedded(
            vectors, TokenUse(prompt=get_token_count(get_object(document, "usage").get("prompt_tokens")), completion=0)
        )

    def close(self) -> None:
        """See the protocol."""
        self._endpoint.close()

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "hermitshell",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        return headers


def _vectors(document: dict[str, Any] | None, count: int) -> tuple[Vector, ...] | None:
    """One for each text, all of one size; None when the answer is anything else."""
    entries = document.get("data") if document is not None else None
    if not isinstance(entries, list) or len(entries) != count:
        return None
    found: dict[int, Vector] = {}
    for place, entry in enumerate(entries):
        index = entry.get("index", place) if isinstance(entry, dict) else None
        vector = unit_vector(entry.get("embedding")) if isinstance(entry, dict) else None
        if vector is None or type(index) is not int or not 0 <= index < count:
            return None
        found[index] = vector
    if len(found) != count or len({len(vector) for vector in found.values()}) != 1:
        return None
    return tuple(found[index] for index in range(count))


def unit_vector(numbers: Any) -> Vector | None:
    """The numbers as a vector of length 1; None when they are none that can be used."""
    if not isinstance(numbers, list) or not 1 <= len(numbers) <= MAX_DIMENSIONS:
        return None
    if not all(type(number) in (int, float) and abs(number) < 1e30 for number in numbers):  # so NaN is out, too
        return None
    length = math.hypot(*numbers) or 1.0
    return array("f", (number / length for number in numbers))
