"""News for a page that shows replies while they are written: each ``delta`` becomes the HTML of what has changed in it.

Rendering takes no more than a part of the processor's time, whatever is written: after one there is a rest, and what
came meanwhile is told at its end, by its newest state. Of one stream, and one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from dashboard.growing import GrowingMarkdown
from dashboard.markdown import CODE_BUTTONS, code_buttons
from orchestrator.core.events import LIVE
from orchestrator.core.models import Event
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage

REST = 3.0
"""A rest is so many times as long as the rendering before it: at most a quarter of one core for a page that watches."""
CHARS_A_SECOND = 200_000
"""Nor is a page told more than that, when a long block grows."""
_MOST = 50
"""Replies that are known at once; a person has far fewer turns under way."""


@dataclass(slots=True)
class _Reply:
    """One that grows."""

    markdown: GrowingMarkdown = field(default_factory=GrowingMarkdown)
    waiting: Event | None = None
    """The newest state, which has not been told."""


class GrowingReplies:
    """Those that one page is told of."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
        *,
        spoken: SpokenLanguage = IN_ENGLISH,
    ) -> None:
        """Args:
        clock: the time, in seconds.
        spent: the processor's time that this thread has used, in seconds.
        spoken: the language of the page.
        """
        self._clock = clock
        self._spent = spent
        self._buttons = code_buttons(spoken)
        self._due_at = 0.0
        self._replies: dict[int, _Reply] = {}

    def wait_s(self, most: float) -> float:
        """How long news may be waited for, in seconds, at most ``most``."""
        if not any(reply.waiting for reply in self._replies.values()):
            return most
        return min(most, max(0.0, self._due_at - self._clock()))

    def render(self, heard: Iterable[Event]) -> Iterator[Event]:
        """What a page is to be told now that it heard this: other news as it is, a reply as what has changed in it
        (``from``, ``blocks``: each is one element, and those from that number on are replaced)."""
        for event in heard:
            turn = event.body.get("turn")
            if event.kind == "delta" and isinstance(turn, int):
                if turn not in self._replies and len(self._replies) >= _MOST:
                    self._replies.pop(next(iter(self._replies)))
                self._replies.setdefault(turn, _Reply()).waiting = event
            else:
                if event.kind not in LIVE and turn in self._replies:
                    del self._replies[turn]  # a reply after this is another one, and told from its beginning
                yield event
        for reply in list(self._replies.values()):
            if reply.waiting is not None and self._clock() >= self._due_at:
                told, reply.waiting = self._grow(reply.markdown, reply.waiting), None
                if told is not None:
                    yield told

    def _grow(self, markdown: GrowingMarkdown, event: Event) -> Event | None:
        began = self._spent()
        grown = markdown.grow(str(event.body.get("text", "")))
        self._due_at = self._clock() + REST * (self._spent() - began)
        if grown is None:
            return None
        self._due_at += sum(map(len, grown.blocks)) / CHARS_A_SECOND
        body = {key: value for key, value in event.body.items() if key != "text"}
        blocks = [block.replace(CODE_BUTTONS, self._buttons) for block in grown.blocks]
        return replace(event, body={**body, "from": grown.start, "blocks": blocks})
