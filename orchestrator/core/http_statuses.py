"""The HTTP status of each error: one table for the door, the dashboard and the previews.

The crab makes a call again a few times when the status is 500 or above, so only what may be better a moment later has
such a one.
"""

from __future__ import annotations

from orchestrator.core.errors import (
    BadInput,
    Conflict,
    Forbidden,
    NotFound,
    OrchestratorError,
    Outdated,
    OverBudget,
    Stopped,
    TooLarge,
    TooMany,
    Unauthorized,
    Unavailable,
    UnsafePath,
)

STATUS: tuple[tuple[type[OrchestratorError], int], ...] = (
    (BadInput, 400),
    (Unauthorized, 401),
    (OverBudget, 402),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Stopped, 409),
    (UnsafePath, 409),
    (Outdated, 412),
    (TooLarge, 413),
    (TooMany, 429),
    (Unavailable, 503),
)


def status_of(error: OrchestratorError) -> int:
    """Its status, or that of the error which it is a kind of; 500 for one that no request should meet."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)
