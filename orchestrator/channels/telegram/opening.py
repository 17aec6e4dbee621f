"""Opens lines to Telegram. The library for it is loaded with the first of them, as it takes 10 MiB and a fifth of a
second, and many a house has no bot."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from orchestrator.channels.telegram.line_terms import Me, Patience

if TYPE_CHECKING:
    from orchestrator.channels.telegram.line import Line


def line(
    token: str,
    *,
    api_url: str,
    patience: Patience | None = None,
    count: Callable[[str], None] = lambda _outcome: None,
) -> Line:
    """A line as :class:`Line` makes it. Raises BadInput when the token can't be one; nothing is sent yet."""
    made: Line = _lines().Line(token, api_url=api_url, patience=patience, count=count)
    return made


def prove(token: str, api_url: str) -> Me:
    """Who the bot of this token is; raises what ``line.prove`` does."""
    found: Me = _lines().prove(token, api_url)
    return found


def _lines() -> Any:
    return import_module("orchestrator.channels.telegram.line")
