"""Calls that are made after the nouns which end them, as in the house itself."""

from __future__ import annotations

from typing import Any

from orchestrator.capabilities.calls import Calls


class LaterCalls:
    """Stands for the calls from the beginning; a test sets ``calls`` once they are there."""

    calls: Calls

    def finish(self, waits_for: str, *, ok: bool, text: str, result: dict[str, Any]) -> None:
        """As `Calls.finish`."""
        self.calls.finish(waits_for, ok=ok, text=text, result=result)
