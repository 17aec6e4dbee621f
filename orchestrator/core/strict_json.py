"""JSON from somebody we don't trust: bounded in depth, in the number of its values and in their length, no duplicate
keys, no NaN, no half characters. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from orchestrator.core.errors import BadInput

MAX_DEPTH = 32
MAX_ITEMS = 20_000
"""Values in one object, however they are nested. An empty list costs two bytes to send and some sixty to hold, so the
bound is checked on the bytes, before any of them is made."""
_MAX_DIGITS = 30
_MAY_BE_HALVED = re.compile(rb"\\u[dD][89a-fA-F]")
"""What a lone surrogate is written with."""


def read_object(body: bytes, *, max_items: int = MAX_ITEMS) -> dict[str, Any]:
    """The JSON object in ``body``.

    Args:
        body: UTF-8. The caller has bounded its size.
        max_items: how many values it may hold, in all its lists and objects together.

    Raises:
        BadInput: with the reason.
    """
    if _item_count(body, max_items) > max_items:
        raise BadInput(f"The body must be one JSON object: it holds more than {max_items:,} values.")
    try:
        value = _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _Refused) else "it can't be read as JSON"
        raise BadInput(f"The body must be one JSON object: {reason}.") from error
    if not isinstance(value, dict):
        raise BadInput("The body must be one JSON object, such as {}.")
    if _is_deep(value):
        raise BadInput(f"The body must be one JSON object: it is nested deeper than {MAX_DEPTH} levels.")
    if _MAY_BE_HALVED.search(body) and not _is_unicode(value):
        raise BadInput("The body must be one JSON object: a text in it holds half a character (a lone surrogate).")
    return value


def _item_count(body: bytes, enough: int) -> int:
    """How many values the body holds, or more than that where even so it is not over ``enough``: each but the first of
    a list or an object stands behind a comma, each list and object behind its bracket."""
    most = _count_marks(body)
    if most <= enough:
        return most
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # each quotation mark that is left begins or ends a text
    texts = bare.count(b'"') // 2
    if texts > 2 * enough:  # a key and its value are two; more texts than that must be more values
        return texts
    return _count_marks(b"".join(bare.split(b'"')[::2]))


def _count_marks(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


class _Refused(ValueError):
    pass


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a key stands in it twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is no number")


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Refused("a number in it is too long")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Refused("a number in it is too large")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_object, parse_constant=_no_constant, parse_int=_parse_int, parse_float=_parse_float
)
"""What ``json.loads`` would make again for each text."""


def _is_unicode(value: object) -> bool:
    """No text in the value holds a lone surrogate, which neither UTF-8 nor the database can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)  # type: ignore[attr-defined]
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True
