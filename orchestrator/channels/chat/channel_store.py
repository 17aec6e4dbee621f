"""The database as one channel sees it: every row of the chat core carries the name of its channel."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orchestrator.channels.chat.adapter import ChannelTraits
from orchestrator.channels.chat.agent_text import safe_name
from orchestrator.core.db.database import Store


@dataclass(frozen=True, slots=True)
class ChannelDb:
    """A connection, and for which channel it is used."""

    sql: sqlite3.Connection
    channel: str


class ChannelStore:
    """The same transactions as the store's: within one of those, these join it."""

    def __init__(self, store: Store, traits: ChannelTraits, called: Callable[[str], str] = str) -> None:
        """``called`` knows what people call an agent."""
        self._store, self._called = store, called
        self.traits = traits

    def called(self, agent: str) -> str:
        """What people call the agent of this name, fit for a line of the install's own."""
        return safe_name(self._called(agent))

    @property
    def channel(self) -> str:
        """The channel's name."""
        return self.traits.name

    @contextmanager
    def reading(self) -> Iterator[ChannelDb]:
        """See :meth:`Store.reading`."""
        with self._store.reading() as db:
            yield ChannelDb(db, self.traits.name)

    @contextmanager
    def writing(self) -> Iterator[ChannelDb]:
        """See :meth:`Store.writing`."""
        with self._store.writing() as db:
            yield ChannelDb(db, self.traits.name)
