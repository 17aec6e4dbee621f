"""How the test's Bot API server misbehaves on demand: each fault hits the next calls of one method, then is spent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.support.bot_api_rules import Refused

HANG_S = 60.0
"""The longest a silent connection is held, so that a failing test ends."""


@dataclass
class Fault:
    """What goes wrong, and how often it still will.

    Without `status` and `html` the connection is reset, or held silently when `is_silent`. With `is_after` the call
    is carried out and recorded first, and only its answer is lost.
    """

    method: str
    status: int = 0
    retry_after: int = 0
    html: str = ""
    is_silent: bool = False
    is_after: bool = False
    left: int = 1
    hits: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def matches(self, method: str) -> bool:
        """The fault is for this method, and not spent."""
        return self.left > 0 and self.method.lower() in ("*", method.lower())

    def release(self) -> None:
        """Ends the silence: the held connections are closed without a word."""
        self.released.set()

    def refusal(self) -> Refused | None:
        """The error to answer with as JSON, if that is the fault."""
        if not self.status or self.html:
            return None
        if self.retry_after:
            text = f"Too Many Requests: retry after {self.retry_after}"
            return Refused(self.status, text, retry_after=self.retry_after)
        return Refused(self.status, HTTPStatus(self.status).phrase)
