"""Calls that are made after the nouns which end them, as in the house itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.capabilities.calls import Calls


class LaterCalls:
    """Stands for the calls from the beginning; a test sets ``calls`` once they are there."""

    calls: Calls

    def finish(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None:
        """As `Calls.finish`."""
        self.calls.finish(waits_for, ok=ok, text=text, result=result)

    def stir(self) -> None:
        """As `Calls.stir`."""
        self.calls.stir()
