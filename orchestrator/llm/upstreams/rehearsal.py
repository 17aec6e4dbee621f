"""The rehearsal: an upstream that needs no key and no network, for people who want to see the machine work first.

Owns how the script's answers are spoken: word by word, slowly when the scene wants it, and abortable at any time like
those of a real provider. What is said is in ``rehearsal_script``. It costs nothing and says that it is a script.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

from orchestrator.core.errors import Stopped
from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.upstreams.lenient_json import text_of
from orchestrator.llm.upstreams.rehearsal_script import reply_to

NAME = "rehearsal"
MODEL = "rehearsal"
SLOW_WORD_S = 0.08
BYTES_PER_TOKEN = 4


class Rehearsal:
    """An :class:`orchestrator.core.models.Upstream`. Thread-safe, since it holds nothing."""

    name = NAME
    default_model = MODEL

    def __init__(self, *, slow_word_s: float = SLOW_WORD_S) -> None:
        self._slow_word_s = slow_word_s

    def complete(self, request: ModelRequest, *, opened: Callable[[Speech], None] | None = None) -> Speech:
        """The script's answer; see the protocol."""
        reply = reply_to(request.messages)
        heard = sum(len(text_of(message.get("content"))) for message in request.messages)
        speech = Speech(reply.as_json(), heard=heard, word_s=self._slow_word_s if reply.is_slow else 0.0)
        if opened is not None:
            opened(speech)
        return speech

    def list_models(self) -> list[str]:
        """The one script."""
        return [MODEL]


class Speech:
    """A :class:`orchestrator.core.models.Completion` that is spoken from a text."""

    def __init__(self, text: str, *, heard: int, word_s: float) -> None:
        self.use = TokenUse()
        self.finish_reason = ""
        self._text = text
        self._heard = heard
        self._word_s = word_s
        self._is_closed = threading.Event()

    def __iter__(self) -> Iterator[str]:
        for word in re.findall(r"\S*\s*", self._text):
            if self._is_closed.wait(self._word_s) if self._word_s else self._is_closed.is_set():
                raise Stopped("The call to the model was stopped.")
            if word:
                yield word
        self.use = TokenUse(
            prompt=self._heard // BYTES_PER_TOKEN, completion=len(self._text) // BYTES_PER_TOKEN, cost_micro=0
        )
        self.finish_reason = "stop"

    def close(self) -> None:
        """Abort; see the protocol."""
        self._is_closed.set()
