"""Retry: whether a call that failed is sent once more, and when. Pure but for its jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass

from orchestrator.core.errors import UpstreamFailed

TRIES = 4
_PATIENCE_S = 60.0
"""The longest that a provider's Retry-After is heeded; beyond it the call fails now and says so."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, unless the provider says when."""

    backoff_s: float = 0.5
    """The wait before the second try, doubled for each later one."""

    def choose_wait_s(self, error: UpstreamFailed, attempt: int) -> float | None:
        """Seconds until the next try after ``attempt``, which is 1 for the first; None when there is none."""
        wait_s = error.retry_after_s
        if wait_s is None:
            wait_s = self.backoff_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        if not error.may_retry or attempt >= TRIES or wait_s > _PATIENCE_S:
            return None
        return wait_s


USUAL_RETRY = RetryPolicy()
