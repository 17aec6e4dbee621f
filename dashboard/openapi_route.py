"""One row of the API's description: a method of a path, what it takes and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.openapi_schemas import INTEGER, LIMIT, Schema


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One method of one path."""

    method: str
    path: str
    summary: str
    answer: str = ""
    """The schema of the answer, or empty for an answer without body (or in another format)."""
    body: str = ""
    status: int = 200
    query: dict[str, Schema] = field(default_factory=dict)
    other: tuple[int, ...] = ()
    """Further statuses with the same answer."""
    fails: tuple[int, ...] = ()
    """Error statuses of its own."""
    is_public: bool = False
    sends_file: bool = False
    """The answer may also be bytes."""
    takes_file: bool = False
    """The body is bytes."""


AGENT = "/api/agents/{name}"
USER: dict[str, Schema] = {"user": {**INTEGER, "description": "for the operator: another person's"}}
PAGE: dict[str, Schema] = {"before": {**INTEGER, "description": "`next` of the page before"}, "limit": LIMIT}
