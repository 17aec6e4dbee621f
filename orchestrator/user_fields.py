"""What is known of a person, and what each field may be. Pure."""

from __future__ import annotations

import zoneinfo
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.nouns import Role

FIELDS = ("name", "role", "telegram_id", "time_zone")


def checked_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as they are kept; raises BadInput that names the one that is wrong."""
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise BadInput(f"{unknown[0]}: a user has no such field; there are {', '.join(FIELDS)}.")
    name, telegram_id = fields.get("name"), fields["telegram_id"]
    if not isinstance(name, str) or not name.strip() or len(name) > 64 or not name.isprintable():
        raise BadInput("name: write a name of 1 to 64 visible characters.")
    if fields["role"] not in list(Role):
        raise BadInput("role: choose operator or member.")
    if telegram_id is not None and (type(telegram_id) is not int or not 0 < telegram_id < 2**52):
        raise BadInput("telegram_id: write the numeric Telegram id, such as 123456789, or null.")
    if not isinstance(fields["time_zone"], str) or fields["time_zone"] not in zoneinfo.available_timezones():
        raise BadInput("time_zone: write an IANA name such as Europe/Vienna.")
    return {**fields, "name": name.strip(), "role": Role(fields["role"])}
