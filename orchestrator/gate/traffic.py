"""Counts of what went through one gate: for each host, verdict and reason, in all and since the last row was written.
For the gate's thread alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MOST_REFUSED = 256
"""So many hosts and reasons are told apart among what is refused or cut; the rest is counted under `OTHERS`."""
MOST_HOSTS = 256
"""So many hosts are reached through one gate; whoever asks for more is refused."""
OTHERS = "(others)"


class GateVerdict(StrEnum):
    """What became of a connection."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    CUT = "cut"
    """It was open, and was ended by the gate."""


@dataclass(frozen=True, slots=True)
class HostUsage:
    """What went to and came from one host."""

    host: str
    """Empty where the request could not be read."""
    port: int
    verdict: GateVerdict
    reason: str
    """Why it was refused or cut; empty where it was allowed."""
    connections: int
    up: int
    """Bytes sent to the host."""
    down: int
    """Bytes that it sent."""


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """The same for one minute."""

    at: float
    """When that minute began, in seconds since 1970."""
    usage: HostUsage


_Key = tuple[str, int, GateVerdict, str]


class Traffic:
    """The counts of one gate."""

    def __init__(self) -> None:
        self._connections: Counter[_Key] = Counter()
        self._up: Counter[_Key] = Counter()
        self._down: Counter[_Key] = Counter()
        self._sent: Counter[str] = Counter()
        self._reported: dict[_Key, tuple[int, int, int]] = {}
        self._since = time.time()

    def count_connection(self, host: str, port: int, verdict: GateVerdict, reason: str = "") -> None:
        """One more."""
        self._connections[self._key(host, port, verdict, reason)] += 1
        if verdict is GateVerdict.ALLOWED:
            self._sent[host] += 0

    def count_up(self, host: str, port: int, count: int) -> int:
        """So many more bytes were sent to an allowed host; returns how many in all, at all its ports."""
        self._up[(host, port, GateVerdict.ALLOWED, "")] += count
        self._sent[host] += count
        return self._sent[host]

    def count_down(self, host: str, port: int, count: int) -> None:
        """So many more bytes came."""
        self._down[(host, port, GateVerdict.ALLOWED, "")] += count

    def total_up(self, host: str) -> int:
        """Bytes that were sent to this host, at all its ports."""
        return self._sent[host]

    def has_room(self, host: str) -> bool:
        """It was reached before, or is not one host too many."""
        return host in self._sent or len(self._sent) < MOST_HOSTS

    def usage(self) -> tuple[HostUsage, ...]:
        """All of it since the gate was opened."""
        return tuple(self._usage_of(key, self._numbers(key)) for key in self._connections)

    def take_rows(self) -> tuple[TrafficRow, ...]:
        """What has come since this was asked the last time."""
        rows, since = tuple(self._new_rows()), self._since
        self._since = time.time()
        return tuple(TrafficRow(since, row) for row in rows)

    def _new_rows(self) -> Iterator[HostUsage]:
        for key in self._connections:
            now, before = self._numbers(key), self._reported.get(key, (0, 0, 0))
            if now != before:
                self._reported[key] = now
                connections, up, down = (new - old for new, old in zip(now, before, strict=True))
                yield self._usage_of(key, (connections, up, down))

    def _key(self, host: str, port: int, verdict: GateVerdict, reason: str) -> _Key:
        key = (host, port, verdict, reason)
        others = len(self._connections) - len(self._sent)
        if verdict is GateVerdict.ALLOWED or key in self._connections or others < MOST_REFUSED:
            return key
        return (OTHERS, 0, verdict, "")

    def _numbers(self, key: _Key) -> tuple[int, int, int]:
        return self._connections[key], self._up[key], self._down[key]

    def _usage_of(self, key: _Key, numbers: tuple[int, int, int]) -> HostUsage:
        host, port, verdict, reason = key
        return HostUsage(host, port, verdict, reason, *numbers)
