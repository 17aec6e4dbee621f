"""Reading what a request says: a JSON object with known fields, and numbers in the query. Raises BadInput that
names the field.
"""

from __future__ import annotations

import math
from typing import Any

from flask import request
from werkzeug.exceptions import UnsupportedMediaType

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object

_MAX = 2**53


def json_body(*fields: str) -> dict[str, Any]:
    """The body as one JSON object with no field but ``fields`` (any, when none are named)."""
    _check_json()
    body = read_object(request.get_data())
    unknown = sorted(set(body) - set(fields)) if fields else []
    if unknown:
        raise BadInput(f"{unknown[0][:40]}: there is no such field here; there are {', '.join(fields)}.")
    return body


def large_json_body(*, max_bytes: int, max_items: int) -> dict[str, Any]:
    """The body as one JSON object of any fields, which may be larger than others are."""
    _check_json()
    request.max_content_length = max_bytes
    return read_object(request.get_data(), max_items=max_items)


def _check_json() -> None:
    if request.mimetype != "application/json":
        raise UnsupportedMediaType("Send JSON, with the header 'Content-Type: application/json'.")


def text_field(body: dict[str, Any], field: str) -> str:
    """A text that must be there."""
    value = body.get(field)
    if not isinstance(value, str):
        raise BadInput(f"{field}: send a text.")
    return value


def texts_field(body: dict[str, Any], field: str, *, most: int) -> list[str]:
    """A list of texts; empty when it is missing."""
    value = body.get(field, [])
    if not isinstance(value, list) or len(value) > most or not all(isinstance(item, str) for item in value):
        raise BadInput(f"{field}: send a list of at most {most} texts.")
    return value


def flag_field(body: dict[str, Any], field: str) -> bool:
    """True or false; false when it is missing."""
    value = body.get(field, False)
    if not isinstance(value, bool):
        raise BadInput(f"{field}: send true or false.")
    return value


def seconds_field(body: dict[str, Any], field: str, *, default: float, most: float) -> float:
    """A time from 0 to ``most`` seconds."""
    value = body.get(field, default)
    if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= most:
        raise BadInput(f"{field}: send seconds from 0 to {most:g}.")
    return float(value)


def int_field(body: dict[str, Any], field: str, *, default: int) -> int:
    """A whole number."""
    value = body.get(field, default)
    if type(value) is not int or not 0 <= value < _MAX:
        raise BadInput(f"{field}: send a whole number.")
    return value


def optional_int_field(body: dict[str, Any], field: str) -> int | None:
    """A whole number, or None when it is missing or null."""
    return None if body.get(field) is None else int_field(body, field, default=0)


def whole_arg(name: str) -> int | None:
    """A whole number in the query, or None when it is not given."""
    value = request.args.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdecimal()) or len(value) > 15:
        raise BadInput(f"{name}: send a whole number.")
    return int(value)


def limit_arg(*, default: int, most: int) -> int:
    """How many are wanted: ``?limit=``."""
    wanted = whole_arg("limit")
    if wanted is None:
        return default
    if not 1 <= wanted <= most:
        raise BadInput(f"limit: send a number from 1 to {most}.")
    return wanted
