"""Reading what comes through a door: each reader takes one field of a stranger's request, or says what is wrong."""

from __future__ import annotations

import re
from typing import Any

from flask import request

from orchestrator.doors import KEY
from orchestrator.errors import BadInput
from orchestrator.nouns import CubicleKey

MAX_WAIT_S = 30.0


def asking() -> CubicleKey:
    """Whose door the request came through."""
    key = request.environ[KEY]
    assert isinstance(key, CubicleKey)  # noqa: S101 - the server put it there
    return key


def wait_s() -> float:
    """How long the caller would wait, in seconds; raises BadInput."""
    text = request.args.get("wait", "0")
    if not (text.isascii() and text.isdecimal()):
        raise BadInput("wait: send whole seconds.")
    return min(float(text), MAX_WAIT_S)


def unix_time(name: str) -> float:
    """The time in this argument, in Unix seconds, 0 where there is none; raises BadInput."""
    text = request.args.get(name, "0")
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
        raise BadInput(f"{name}: send Unix seconds.")
    return float(text)


def text(body: dict[str, Any], field: str) -> str:
    """The text in this field, empty where there is none; raises BadInput."""
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{field}: send a text.")
    return value


def whole(body: dict[str, Any], field: str) -> int:
    """The whole number in this field; raises BadInput."""
    value = body.get(field)
    if type(value) is not int or abs(value) >= 2**53:
        raise BadInput(f"{field}: send a whole number.")
    return value


def one_of(body: dict[str, Any], field: str, *choices: str) -> str:
    """The one of these that stands in the field; raises BadInput."""
    value = body.get(field)
    if value not in choices:
        raise BadInput(f"{field}: send one of {', '.join(choices)}.")
    return str(value)
