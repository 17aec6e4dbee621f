"""Times at the edge: inside they are Unix seconds, outside ISO 8601 in UTC. Pure, and the only place that converts
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def iso_time(seconds: float | None) -> str | None:
    """``2026-02-28T09:00:00.000Z``, or None for None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def with_iso_times(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same object with every ``at`` and ``…_at`` in ISO 8601."""
    return {name: iso_time(value) if name == "at" or name.endswith("_at") else value for name, value in body.items()}
