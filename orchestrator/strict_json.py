"""JSON from somebody we don't trust: bounded in depth and number length, no duplicate keys, no NaN, no half
characters. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from orchestrator.errors import BadInput

MAX_DEPTH = 32
_MAX_DIGITS = 30
_MAY_BE_HALVED = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]|\0")
"""What every lone surrogate is written with: an escape, bytes that are no UTF-8, or another encoding."""


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``; raises BadInput with the reason. The caller has bounded the size."""
    try:
        value = _DECODER.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
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


class _Refused(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a key stands in it twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is no number")


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Refused("a number in it is too long")
    return int(text)


def _real(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Refused("a number in it is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_whole, parse_float=_real)
"""What ``json.loads`` would make anew for each text."""


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
