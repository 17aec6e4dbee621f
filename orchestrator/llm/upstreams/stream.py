"""One answer of a model as it arrives: from pieces of HTTP to text, whatever dialect the provider speaks.

Owns the order of things (send, sniff, read, end) and the rule when an answer is whole. It knows no provider: a
``Dialect`` turns events into text. It never retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Protocol

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import TokenUse
from orchestrator.llm.upstreams import sse
from orchestrator.llm.upstreams.http import Exchange
from orchestrator.llm.upstreams.lenient_json import TextJoiner, json_object

AFTER_END_TIMEOUT_S = 5.0
"""How long the usage may lag behind an answer that we have whole."""

_BLANK = b" \t\r\n\xef\xbb\xbf"


class ProviderError(Exception):
    """The provider reports an error within its answer. ``may_retry`` is the dialect's reading of it."""

    def __init__(self, *, may_retry: bool) -> None:
        super().__init__("the provider reported an error")
        self.may_retry = may_retry


class Dialect(Protocol):
    """How one kind of provider writes an answer; made again for each."""

    use: TokenUse
    finish_reason: str
    is_over: bool
    """Nothing of interest follows."""

    def read_event(self, event: sse.ServerEvent) -> str:
        """The text in one event. Raises ProviderError, and ValueError for an event that is none."""

    def take_whole(self, document: dict[str, Any]) -> str:
        """The text of an answer that came in one piece. Raises as ``read_event`` does."""


class HttpCompletion:
    """A :class:`orchestrator.core.models.Completion` over HTTP."""

    def __init__(self, exchange: Exchange, dialect: Dialect) -> None:
        self.use = TokenUse()
        self.finish_reason = ""
        self._exchange = exchange
        self._dialect = dialect
        self._joiner = TextJoiner()

    def __iter__(self) -> Iterator[str]:
        try:
            for text in self._texts():
                if sound := self._joiner.push_text(text):
                    yield sound
            self._end()
        except sse.TooLongError:
            raise self._exchange.describe_broken("sent a line that does not end", may_retry=True) from None
        except ProviderError as error:
            text = "reported an error in the middle of its answer"
            raise self._exchange.describe_broken(text, may_retry=error.may_retry) from None
        except ValueError:
            raise self._exchange.describe_broken(
                "sent something that is not a model's answer", may_retry=True
            ) from None
        finally:
            # Whole answers have given their connection back; of all others nothing may stay open.
            if not self._exchange.is_done:
                self._exchange.close()

    def close(self) -> None:
        """Abort; see the protocol."""
        self._exchange.close()

    def _texts(self) -> Iterator[str]:
        if self._exchange.get_header("content-encoding").lower() not in ("", "identity"):
            # We did not ask for it, and unpacking is how a small answer becomes a huge one.
            raise self._exchange.describe_broken("sent a compressed answer, which is not accepted", may_retry=False)
        pieces = self._exchange.read_pieces()
        head = b""
        for piece in pieces:
            head += piece
            if head.strip(_BLANK):
                break
        first = head.lstrip(_BLANK)[:1]
        if first == b"{":
            yield self._whole(chain((head,), pieces))
        elif first == b"<":
            text = "answered with a web page instead of a model's answer. Check its address"
            raise self._exchange.describe_broken(text, may_retry=False)
        else:
            yield from self._streamed(chain((head,), pieces))

    def _streamed(self, pieces: Iterator[bytes]) -> Iterator[str]:
        dialect, is_hurried, has_events = self._dialect, False, False
        events = sse.read_events(pieces)
        while not dialect.is_over:
            event = self._next(events)
            if event is None:
                break
            has_events = True
            if text := dialect.read_event(event):
                yield text
            if dialect.finish_reason and not is_hurried:
                self._exchange.set_read_timeout(AFTER_END_TIMEOUT_S)
                is_hurried = True
        if not has_events:
            raise ValueError("no event at all")

    def _next(self, events: Iterator[sse.ServerEvent]) -> sse.ServerEvent | None:
        """The next event, or None at the end. A break behind the answer's end costs us the usage, not the answer."""
        try:
            return next(events, None)
        except UpstreamFailed:
            if not self._dialect.finish_reason:
                raise
            return None

    def _whole(self, pieces: Iterator[bytes]) -> str:
        document = json_object(b"".join(pieces))
        if document is None:
            raise ValueError("no JSON object")
        return self._dialect.take_whole(document)

    def _end(self) -> None:
        self.use = self._dialect.use
        if not self._dialect.finish_reason:
            raise self._exchange.describe_broken("broke off in the middle of its answer", may_retry=True)
        self.finish_reason = self._dialect.finish_reason
        self._exchange.finish_answer()
