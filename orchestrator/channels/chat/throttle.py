"""How often a turn's progress may be shown: the clock, the intervals, and what a bot was told to leave alone for now.

Progress and answers share what an app lets a bot send, so progress takes little of it, in groups least: about twenty
messages and edits a minute are taken there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field


class LoopClock:
    """Time as progress is paced by it."""

    def now(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    async def wait(self, bell: asyncio.Event, seconds: float) -> None:
        """Until the bell rings, at most so long; the bell is quiet afterwards."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.0)):  # wait_for may swallow a cancellation before Python 3.12
                await bell.wait()
        bell.clear()


@dataclass(frozen=True, slots=True)
class ProgressPace:
    """The intervals of one kind of chat, in seconds."""

    edit_s: float
    typing_s: float = 4.5
    """Apps show it for five."""
    quiet_s: float = 1.2
    """A turn that is over by then shows nothing but typing."""
    draft_s: float = 0.7
    keep_draft_s: float = 20.0
    """A draft that is not sent again vanishes after thirty."""
    check_s: float = 15.0
    """News may get lost; the row says whether the turn has ended."""


PRIVATE = ProgressPace(edit_s=3.0)
GROUP = ProgressPace(edit_s=10.0)


@dataclass(slots=True)
class ChatThrottle:
    """What the bots were told, by agent. Of one event loop."""

    _held_until: dict[str, float] = field(default_factory=dict)
    _without_drafts: set[str] = field(default_factory=set)

    def hold_agent(self, agent: str, until: float) -> None:
        """This bot shows no progress until then."""
        self._held_until[agent] = max(until, self._held_until.get(agent, until))

    def held_until(self, agent: str) -> float:
        """When this bot may show progress again."""
        return self._held_until.get(agent, float("-inf"))

    def refuse_drafts(self, agent: str) -> None:
        """This bot's server takes no drafts."""
        self._without_drafts.add(agent)

    def takes_drafts(self, agent: str) -> bool:
        """As far as is known."""
        return agent not in self._without_drafts
