"""Who may be reached. The gate asks before any name is looked up, and again for open connections when a permission may
have ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator.gate.refusals import Reason, Refusal

HostPort = tuple[str, int]
"""A host, in ASCII and lower case, and a port."""


class GatePolicy(Protocol):
    """What somebody agreed to for one helper container. It is called in the gate's thread, for all containers one after
    the other: it answers at once, from memory."""

    def judge(self, host: str, port: int) -> Refusal | None:
        """None when this host may be reached at this port, else why not."""

    def most_up(self, host: str) -> int | None:
        """How many bytes may be sent to this host in all, None for any number."""


@dataclass(frozen=True, slots=True)
class ExactHosts:
    """These hosts at these ports, and no others; nothing below or above a name."""

    hosts: frozenset[HostPort]
    most_up_bytes: int | None = None
    """To each host, in all."""

    def judge(self, host: str, port: int) -> Refusal | None:
        """As `GatePolicy.judge`."""
        return None if (host, port) in self.hosts else Refusal(Reason.HOST_NOT_APPROVED)

    def most_up(self, _host: str) -> int | None:
        """As `GatePolicy.most_up`."""
        return self.most_up_bytes
