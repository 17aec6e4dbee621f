"""Dollars as people read them. Pure."""

from __future__ import annotations

from orchestrator.core.models import MICRO


def format_dollars(micro: int) -> str:
    """``1234567`` as ``$1.2346``: cents for large sums, more digits for small ones."""
    return f"${micro / MICRO:.2f}" if micro >= 10 * MICRO or micro % 10_000 == 0 else f"${micro / MICRO:.4f}"
