"""The audit log's rows about what went through gates: one for each host and minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.gate.traffic import GateVerdict, HostUsage, TrafficRow


@dataclass(frozen=True, slots=True)
class GateUser:
    """For whom a gate is open."""

    kind: str
    """What the helper container does, such as ``packages``."""
    cubicle: CubicleKey | None = None
    turn: int | None = None
    job: int | None = None


class TrafficLog:
    """Writes them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write_rows(self, user: GateUser, rows: Sequence[TrafficRow]) -> None:
        """All of them, in one transaction. Raises Unavailable."""
        key = user.cubicle
        with self._store.writing() as db:
            for row in rows:
                audit_rows.insert_record(
                    db,
                    f"gate.{row.usage.verdict}",
                    _as_text(user, row.usage),
                    now=row.at,
                    agent=key.agent if key else None,
                    user=key.user if key else None,
                    turn=user.turn,
                    detail=_as_detail(user, row.usage),
                )


def _as_text(user: GateUser, usage: HostUsage) -> str:
    """``packages: pypi.org:443, 3 connections, 4,200 bytes sent, 81,000 received.``"""
    place = f"{usage.host}:{usage.port}" if usage.port else usage.host or "an unreadable request"
    count = f"{usage.connections:,} connection{'' if usage.connections == 1 else 's'}"
    if usage.verdict is GateVerdict.ALLOWED:
        return f"{user.kind}: {place}, {count}, {usage.up:,} bytes sent, {usage.down:,} received."
    return f"{user.kind}: {place} was {usage.verdict} ({usage.reason or 'several reasons'}), {count}."


def _as_detail(user: GateUser, usage: HostUsage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "for": user.kind,
        "host": usage.host,
        "port": usage.port,
        "verdict": str(usage.verdict),
        "reason": usage.reason,
        "connections": usage.connections,
        "up_bytes": usage.up,
        "down_bytes": usage.down,
    }
    return found | ({"job": user.job} if user.job is not None else {})
