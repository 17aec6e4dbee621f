"""What people have seen of their conversations, and so what is new to them.

For the dashboard alone: a reply that went to a chat app or a terminal was told there. Nothing is decided by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.events import Broker
from orchestrator.core.models import Conversation, CubicleKey, Event
from orchestrator.turns import read_mark_rows as rows


class ReadMarks:
    """A mark for each conversation: seen up to this turn."""

    def __init__(self, store: Store, broker: Broker, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._broker = broker
        self._now = now

    def mark_read(self, key: CubicleKey, turn: int) -> None:
        """The person looks at this turn; an older one takes nothing back. Raises NotFound."""
        with self._store.writing() as db:
            is_theirs = rows.mark_read(db, key, turn, self._now())
        if not is_theirs:
            raise NotFound(f"There is no turn {turn} here.")
        self._broker.publish(Event("seen", key, {"turn": turn}))

    def count_unread(self, user: int) -> dict[str, int]:
        """How many turns ended since this person looked, by agent; agents without news are not in it."""
        with self._store.reading() as db:
            return rows.count_unread(db, user)

    def count_by_conversation(self, key: CubicleKey) -> dict[int, int]:
        """The same for the conversations of one cubicle, by their ids."""
        with self._store.reading() as db:
            return rows.count_by_conversation(db, key)

    def first_unread(self, conversation: Conversation) -> int | None:
        """The oldest turn of a conversation that ended since its person looked."""
        with self._store.reading() as db:
            return rows.get_first_unread(db, conversation.cubicle.user, conversation.id)
