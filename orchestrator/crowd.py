"""Which of a crowd of connections goes, so that one more fits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Client(Protocol):
    """What counts of a connection."""

    @property
    def remote_addr(self) -> str | None:
        """Where it comes from."""

    @property
    def is_waiting(self) -> bool:
        """Nothing is under way: its client has not sent its next request, or not all of it."""

    @property
    def has_asked(self) -> bool:
        """A whole request came through it."""

    @property
    def since(self) -> float:
        """Monotonic time since when it waits."""


C = TypeVar("C", bound=Client)


def droppable(clients: Iterable[C]) -> C | None:
    """The connection to end; None where each is at work.

    Of the address with the most connections, one that has never asked for anything before one that is kept between two
    requests; of these the one that has waited longest. Not the newest: an honest client speaks within moments of being
    let in, and whoever holds places must not be able to take its place again before it does.
    """
    waiting = [client for client in clients if client.is_waiting]
    per_peer = Counter(client.remote_addr for client in waiting)
    return min(waiting, key=lambda c: (-per_peer[c.remote_addr], c.has_asked, c.since), default=None)
