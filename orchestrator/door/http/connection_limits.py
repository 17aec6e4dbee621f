"""Which of a crowd of connections goes, so that one more fits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class ConnectionState(Protocol):
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


GRACE_S = 1.0
"""How long a fresh connection is spared."""
C = TypeVar("C", bound=ConnectionState)


def choose_to_drop(clients: Iterable[C], *, now: float) -> C | None:
    """The connection to end; None where each is at work.

    Of the address with the most connections, one that has never asked for anything before one that is kept between two
    requests; of these the one that has waited longest. Whoever was let in just now is spared for a moment, in which an
    honest client speaks: else a crowd that holds all places, whether it has asked for something or not, could take the
    new one's place again before it does.

    Args:
        clients: all connections.
        now: the monotonic time in seconds.
    """
    waiting = [client for client in clients if client.is_waiting]
    per_peer = Counter(client.remote_addr for client in waiting)
    settled = [client for client in waiting if client.has_asked or now - client.since > GRACE_S]
    return min(settled or waiting, key=lambda c: (-per_peer[c.remote_addr], c.has_asked, c.since), default=None)
