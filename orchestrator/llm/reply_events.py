"""Reply events: show to whoever watches what a turn's model is writing, and keep it.

Events, a few a second and of bounded length; about once a second, and when the answer breaks off, what stands there is
handed on to be stored. The turn's outcome is told apart from them. What is shown belongs to the turn's own cubicle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event
from orchestrator.llm.partial_reply import PartialReply

EVERY_S = 0.1
KEEP_EVERY_S = 1.0
"""So much of an answer may be lost with the orchestrator itself."""
_CHARS_A_SECOND = 200_000
"""Of long replies there are fewer events: as many as make this up."""
_MOST_TURNS = 1_000

Keep = Callable[[int, str], None]
"""Stores what a turn's model has written so far; never raises."""


class ReplyEvents:
    """The replies that are being written, of all turns. May be called from any thread."""

    def __init__(
        self, broker: Broker, *, keep: Keep = lambda _turn, _text: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._broker = broker
        self.keep = keep
        self.clock = clock
        self._due_at: dict[int, float] = {}
        self._lock = threading.Lock()  # protects _due_at

    def begin_reply(self, key: CubicleKey, turn: int | None) -> ReplyWriter:
        """A model begins to answer in this turn; without a turn nobody is shown anything."""
        return ReplyWriter(self, key, turn)

    def is_due(self, turn: int) -> bool:
        """Somebody watches, and has not been shown this turn just now."""
        with self._lock:
            is_due = self.clock() >= self._due_at.get(turn, 0.0)
        return is_due and self._broker.is_wanted("delta")

    def show_reply(self, key: CubicleKey, turn: int, text: str) -> None:
        """The reply stands so now."""
        now = self.clock()
        with self._lock:
            if len(self._due_at) >= _MOST_TURNS:
                self._due_at = {known: at for known, at in self._due_at.items() if at > now}
            self._due_at[turn] = now + EVERY_S + len(text) / _CHARS_A_SECOND
        self._broker.publish(Event("delta", key, {"turn": turn, "text": text}))


class ReplyWriter:
    """One answer that is being written. Of one thread."""

    def __init__(self, drafting: ReplyEvents, key: CubicleKey, turn: int | None) -> None:
        self._drafting = drafting
        self._key = key
        self._turn = turn
        self._draft = PartialReply()
        self._unread: list[str] = []
        self._shown = ""
        self._kept = ""
        self._keep_at = drafting.clock() + KEEP_EVERY_S

    def add_piece(self, piece: str) -> None:
        """The model wrote this."""
        if self._turn is None:
            return
        self._unread.append(piece)
        if self._drafting.is_due(self._turn):
            text = self._read_pieces()
            if text and text != self._shown:
                self._shown = text
                self._drafting.show_reply(self._key, self._turn, text)
        if self._drafting.clock() >= self._keep_at:
            self.keep_reply()

    def keep_reply(self) -> None:
        """What can be read so far is stored now, such as when the answer has broken off."""
        if self._turn is None:
            return
        text = self._read_pieces()
        if text and text != self._kept:
            self._drafting.keep(self._turn, text)
            self._kept = text
        self._keep_at = self._drafting.clock() + KEEP_EVERY_S + len(text) / _CHARS_A_SECOND

    def _read_pieces(self) -> str:
        self._draft.add_piece("".join(self._unread))
        self._unread = []
        return self._draft.text
