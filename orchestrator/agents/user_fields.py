"""What is known of a person, and what each field may be. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.agents.agent_fields import parse_number
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.models import MICRO, Role, User
from orchestrator.core.time_zones import list_time_zones
from orchestrator.languages.table import LANGUAGES, find_language

BUDGETS = ("daily_budget_usd", "monthly_budget_usd")
"""What a person's model calls may cost, over all agents."""
MOST_USD = 1_000_000
CHANNELS = {"telegram": "Telegram"}
"""The chat apps in which people have a number, by name: such a field is called ``telegram_id``."""


def field_of(channel: str) -> str:
    """What the field for somebody's number in this channel is called."""
    return f"{channel}_id"


def fields_of(user: User, channels: Mapping[str, str]) -> dict[str, Any]:
    """A person's fields as they are now."""
    numbers = {field_of(channel): user.id_in(channel) for channel in channels}
    budgets = {
        "daily_budget_usd": _dollars(user.daily_budget_micro),
        "monthly_budget_usd": _dollars(user.monthly_budget_micro),
    }
    return {
        "name": user.name,
        "role": user.role,
        **numbers,
        "time_zone": user.time_zone,
        "language": user.language,
        **budgets,
    }


def checked_fields(fields: dict[str, Any], channels: Mapping[str, str]) -> dict[str, Any]:
    """The fields as they are kept; raises BadInput that names the one that is wrong."""
    known = ("name", "role", *map(field_of, channels), "time_zone", "language", *BUDGETS)
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise BadInput(f"{unknown[0]}: a user has no such field; there are {', '.join(known)}.")
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > 64 or not name.isprintable():
        raise BadInput("name: write a name of 1 to 64 visible characters.")
    if fields["role"] not in list(Role):
        raise BadInput("role: choose operator or member.")
    identities = []
    for channel, label in channels.items():
        number = fields.get(field_of(channel))
        if number is None:
            continue
        if type(number) is not int or not 0 < number < 2**52:
            raise BadInput(f"{field_of(channel)}: write the numeric {label} id, such as 123456789, or null.")
        identities.append((channel, number))
    if not isinstance(fields["time_zone"], str) or fields["time_zone"] not in list_time_zones():
        raise BadInput("time_zone: write an IANA name such as Europe/Vienna.")
    if not isinstance(language := fields.get("language", ""), str) or (language and find_language(language) is None):
        tags = ", ".join(language.tag for language in LANGUAGES)
        raise BadInput(f"language: choose one of {tags}, or an empty text for what the browser asks for.")
    return {
        "name": name.strip(),
        "role": Role(fields["role"]),
        "identities": tuple(identities),
        "time_zone": fields["time_zone"],
        "language": language,
        **{f"{field.removesuffix('_usd')}_micro": _micro(field, fields.get(field)) for field in BUDGETS},
    }


def _dollars(micro: int | None) -> float | None:
    return None if micro is None else micro / MICRO


def _micro(field: str, value: Any) -> int | None:
    return None if value is None else round(parse_number(field, value, 0, MOST_USD) * MICRO)


def find_taken(fields: dict[str, Any]) -> Conflict:
    """Somebody else has one of these."""
    apps = " or ".join(CHANNELS.values())
    return Conflict(f"Another user is already called {fields['name']} or has this {apps} id.")
