"""What a provider takes and what it does not, learned from its refusals, for each of its models.

Owns the one exception to "a call is sent once": a call that was refused for a *field* goes out again without that
field, and what helped is remembered until the program ends. What did not help is forgotten. Nothing of a refusal's text
is kept, logged or shown; it is only searched for the names of fields.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.core.errors import UpstreamFailed
from orchestrator.llm.upstreams.http import Exchange

logger = logging.getLogger(__name__)

REFUSAL_BYTES = 64 * 1024


class Quirks:
    """Of one provider. Thread-safe."""

    def __init__(
        self,
        provider: str,
        *,
        refuses: frozenset[str] = frozenset(),
        named: Mapping[str, tuple[bytes, ...]],
        unnamed: tuple[str, ...] = (),
    ) -> None:
        """``refuses``: known beforehand. ``named``: fields that a call can do without, with the words by which a
        refusal names them. ``unnamed``: what to leave out, in order, when a refusal names nothing."""
        self._provider = provider
        self._refuses = refuses
        self._named = named
        self._unnamed = unnamed
        self._lock = threading.Lock()  # over _learned, which calls on several threads learn into
        self._learned: dict[str, frozenset[str]] = {}

    def send_call(
        self,
        exchange: Exchange,
        path: str,
        headers: Mapping[str, str],
        *,
        model: str,
        payload: Callable[[frozenset[str]], dict[str, Any]],
    ) -> None:
        """The provider has accepted the call when this returns. ``payload`` makes the request without the fields that
        it is given. Raises UpstreamFailed, Stopped."""
        left_out = self._known(model)
        while True:
            # Each round leaves out one field more, so this ends.
            body = payload(left_out)
            status = exchange.send_request("POST", path, encode_json(body), headers)
            if status == 200:
                self._learn(model, left_out)
                return
            failure = exchange.describe_status(status)
            blamed = self._blamed(exchange, body, left_out) if status in (400, 422) else ""
            exchange.finish_answer()
            if not blamed:
                raise failure
            left_out |= {blamed}
            logger.info("upstream %s: trying %s without %s", self._provider, model, blamed)

    def _known(self, model: str) -> frozenset[str]:
        with self._lock:
            return self._learned.get(model, self._refuses)

    def _learn(self, model: str, left_out: frozenset[str]) -> None:
        if left_out == self._known(model):
            return
        with self._lock:
            self._learned[model] = left_out

    def _blamed(self, exchange: Exchange, body: Mapping[str, Any], left_out: frozenset[str]) -> str:
        """The field to leave out next; empty when there is none left that the call can do without."""
        try:
            refusal = exchange.read_whole(REFUSAL_BYTES).lower()
        except UpstreamFailed:
            return ""
        for name, words in self._named.items():
            if name in body and any(word in refusal for word in words):
                return name if name not in left_out else ""
        return next((name for name in self._unnamed if name in body), "")


def encode_json(document: Mapping[str, Any]) -> bytes:
    """JSON for the wire. A lone surrogate (from a file name, say) has no UTF-8 form and becomes a question mark."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
