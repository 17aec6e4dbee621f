"""What a server says, and how that differs from what it said, in words that a person can read: hidden characters are
written out, and a difference of notation alone is called that. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.core.text import escape_invisible
from orchestrator.languages.told import to_say

MAX_PARTS = 60
"""Places of one difference that are listed."""
MAX_SIDE = 2_000
"""Characters of each side that are shown, from the first that differs on."""
_AROUND = 60
"""Characters before the first that differs which are shown too."""
_BLANKS = re.compile(r"[ \t\r\n]+")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class PinDifferencePart:
    """One place where two objects differ."""

    where: str
    """``description``, ``inputSchema.properties.path.type``."""
    before: str | None
    """As it was; None where it was not there."""
    after: str | None
    """As it is; None where it is no longer there."""


@dataclass(frozen=True, slots=True)
class PinDifference:
    """How what a server says now differs from what an operator has seen."""

    parts: tuple[PinDifferencePart, ...]
    more: int
    """Places beyond those listed."""
    is_notation_only: bool
    """It says the same in other notation: blanks, 1.0 for 1, another order of what is required."""


def find_difference(before: str, after: str) -> PinDifference:
    """The difference between two texts of canonical JSON."""
    old, new = json.loads(before), json.loads(after)
    found = list(_walk("", old, new))
    parts = tuple(_word(*place) for place in found[:MAX_PARTS])
    return PinDifference(parts, max(0, len(found) - MAX_PARTS), bool(found) and _plain("", old) == _plain("", new))


def read_claims(wire: str) -> tuple[str, ...]:
    """What a server claims of a tool by its annotations, each in a few words."""
    annotations = _mapping(json.loads(wire)).get("annotations")
    told = _mapping(annotations)
    words = {
        "readOnlyHint": (to_say("only reads"), to_say("changes things")),
        "destructiveHint": (to_say("may destroy something"), to_say("destroys nothing")),
        "idempotentHint": (to_say("may be repeated safely"), ""),
        "openWorldHint": (to_say("reaches other services"), to_say("reaches no other services")),
    }
    claims = (words[hint][0 if told[hint] is True else 1] for hint in words if isinstance(told.get(hint), bool))
    return tuple(claim for claim in claims if claim)


def read_description(wire: str, limit: int = MAX_SIDE) -> str:
    """What a server says of a thing, hidden characters written out; cut at ``limit`` characters, and that is said."""
    value = json.loads(wire)
    text = value if isinstance(value, str) else _mapping(value).get("description", "")
    return _cut(text, 0, limit) if isinstance(text, str) else ""


def list_arguments(wire: str) -> tuple[str, ...]:
    """The arguments that a tool takes, as it says; those that it needs have no question mark."""
    schema = _mapping(_mapping(json.loads(wire)).get("inputSchema"))
    needed = schema.get("required")
    required = set(filter(_is_text, needed)) if isinstance(needed, list) else set()
    names = [
        escape_invisible(str(name)[:80]) + ("" if name in required else "?")
        for name in _mapping(schema.get("properties"))
    ]
    return tuple(names[:50])


def _walk(where: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            inner = f"{where}.{key}" if where else key
            yield from _walk(inner, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _walk(f"{where}[{n}]", one, other)
    elif _text_of(old) != _text_of(new):
        yield where, old, new


def _word(where: str, old: Any, new: Any) -> PinDifferencePart:
    before, after = _text_of(old), _text_of(new)
    start = 0
    if before is not None and after is not None:
        same = next(
            (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
        )
        start = max(0, same - _AROUND)
    sides = (None if side is None else _cut(side, start, MAX_SIDE) for side in (before, after))
    return PinDifferencePart(escape_invisible(where[:300]) or "the text", *sides)


def _cut(text: str, start: int, limit: int) -> str:
    shown = escape_invisible(text[start : start + limit])
    rest = len(text) - start - limit
    return ("…" if start else "") + shown + (f"… [{rest:,} more characters]" if rest > 0 else "")


def _text_of(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _plain(key: str, value: Any) -> Any:
    """The value without what is notation alone."""
    if isinstance(value, dict):
        return {name: _plain(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        items = [_plain("", item) for item in value]
        return sorted(items, key=repr) if key == "required" else items
    if isinstance(value, str):
        return _BLANKS.sub(" ", unicodedata.normalize("NFC", value)).strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str)
