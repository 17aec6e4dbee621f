"""The settings of an agent: what each may be, for every surface. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from orchestrator.agents.looks import parse_avatar, parse_color, parse_display_name
from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.errors import BadInput
from orchestrator.core.models import ApprovalPolicy, CubicleLimits
from orchestrator.languages.told import worded

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
"""An agent's name is part of container and folder names, so nothing in it needs escaping anywhere."""

RESERVED = ("new",)
"""No agent is called so: ``/agents/new`` is the page that makes one."""
TELEGRAM_TOKEN = re.compile(r"\d{5,16}:[A-Za-z0-9_-]{35}")
"""A bot's number and its secret, as BotFather gives them."""
ANY_TELEGRAM_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{3,100}")
"""The same from any Bot API server: one of one's own may give shorter secrets, and knows best whose they are."""
NOT_OF_A_BOT = (
    "telegram_token: this doesn't look like a bot token. BotFather gives one such as 123456789:AAE…: digits, a colon, "
    "then 35 letters, digits, hyphens or underscores."
)


def _text_parser(limit: int) -> Callable[[str, Any], str]:
    def check(field: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > limit or "\0" in value:
            raise BadInput(
                worded("%(field)s: write a text of at most %(limit)s characters.", field=field, limit=f"{limit:,}")
            )
        return value.strip()

    return check


def _choice_parser(*choices: str) -> Callable[[str, Any], str]:
    def check(field: str, value: Any) -> str:
        if value not in choices:
            raise BadInput(worded("%(field)s: choose one of %(names)s.", field=field, names=", ".join(choices)))
        return str(value)

    return check


def _int_parser(low: int, high: int) -> Callable[[str, Any], int]:
    def check(field: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise BadInput(
                worded(
                    "%(field)s: write a whole number from %(low)s to %(high)s.",
                    field=field,
                    low=f"{low:,}",
                    high=f"{high:,}",
                )
            )
        return value

    return check


def _parse_policy(field: str, value: Any) -> ApprovalPolicy:
    return ApprovalPolicy(_choice_parser(*ApprovalPolicy)(field, value))


def _parse_asks_again(field: str, value: Any) -> AsksAgain:
    return AsksAgain(_choice_parser(*AsksAgain)(field, value))


BOUNDS: dict[str, tuple[int, int]] = {
    "approval_timeout_s": (5, 7 * 24 * 3600),
    "step_limit": (1, 500),
    "command_timeout_s": (1, 6 * 3600),
    "daily_budget_tokens": (0, 100_000_000_000),
}
"""The least and the most of each setting that is a whole number."""

CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "display_name": parse_display_name,
    "avatar": parse_avatar,
    "color": parse_color,
    "role": _text_parser(200),
    "personality": _text_parser(4000),
    "provider": _text_parser(64),
    "model": _text_parser(200),
    "fallback_model": _text_parser(200),
    "image": _choice_parser("base", "studio"),
    "approval": _parse_policy,
    "asks_again": _parse_asks_again,
    **{field: _int_parser(low, high) for field, (low, high) in BOUNDS.items()},
}
"""How a setting's value is read, by its name; each raises BadInput."""
FIELDS = (*CHECKS, "toolsets", "daily_budget_usd", "limits", "telegram_token")
"""Every setting of an agent that may be given or changed."""

LIMITS: dict[str, tuple[float, float]] = {
    "cpus": (0.1, 64),
    "memory_mb": (64, 1024 * 1024),
    "pids": (16, 32768),
    "disk_mb": (16, 1024 * 1024),
}
"""The least and the most of each limit."""


def parse_limits(limits: CubicleLimits, value: Any) -> CubicleLimits:
    """The limits with those changed that the value names. Raises BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"limits: write an object with any of {', '.join(LIMITS)}.")
    for name, number in value.items():
        if name not in LIMITS:
            raise BadInput(f"limits.{str(name)[:40]}: there is no such limit; there are {', '.join(LIMITS)}.")
        parse_number(f"limits.{name}", number, *LIMITS[name])
        if name != "cpus" and type(number) is not int:
            raise BadInput(worded("limits.%(name)s: write a whole number.", name=name))
    return replace(limits, **value)


def parse_number(field: str, value: Any, low: float, high: float) -> float:
    """A number within bounds, both included. Raises BadInput."""
    if type(value) not in (int, float) or not low <= value <= high:
        raise BadInput(
            worded("%(field)s: write a number from %(low)s to %(high)s.", field=field, low=f"{low:,}", high=f"{high:,}")
        )
    return float(value)


def check_token(value: Any) -> None:
    """A bot's token, or none. Raises BadInput."""
    if value in (None, ""):
        return
    if not isinstance(value, str) or not ANY_TELEGRAM_TOKEN.fullmatch(value):
        raise BadInput(NOT_OF_A_BOT)
