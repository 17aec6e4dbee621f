"""Fields of what the browser sent. It is an adversary's text: a field that is missing or of another type reads as
empty, and everything has a bound. Nothing here raises. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
"""A JSON object that came from the browser."""
MAX_TEXT = 4096


def child_of(fields: object, *path: str) -> Fields:
    """The object at the end of the path, or an empty one."""
    found = fields
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def text_of(fields: object, *path: str, most: int = MAX_TEXT) -> str:
    """The text at the end of the path, at most ``most`` characters of it, or ``""``."""
    found = child_of(fields, *path[:-1]).get(path[-1])
    return found[:most] if isinstance(found, str) else ""


def number_of(fields: object, *path: str) -> float:
    """The finite number at the end of the path, or 0."""
    found = child_of(fields, *path[:-1]).get(path[-1])
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return 0.0
    return float(found) if abs(found) < 1e15 and math.isfinite(found) else 0.0


def count_of(fields: object, *path: str) -> int:
    """The whole number of at least 0 at the end of the path, or 0."""
    return max(0, int(number_of(fields, *path)))


def is_set(fields: object, *path: str) -> bool:
    """Only ``true`` is."""
    return child_of(fields, *path[:-1]).get(path[-1]) is True


def objects_of(fields: object, *path: str, most: int = 1000) -> list[Fields]:
    """The objects in the list at the end of the path, at most ``most``."""
    found = child_of(fields, *path[:-1]).get(path[-1])
    return [one for one in found[:most] if isinstance(one, Mapping)] if isinstance(found, list) else []


def numbers_of(fields: object, *path: str, most: int = 64) -> list[float]:
    """The list of finite numbers at the end of the path; empty where it holds anything else."""
    found = child_of(fields, *path[:-1]).get(path[-1])
    if not isinstance(found, list) or len(found) > most:
        return []
    numbers = [number_of({"n": one}, "n") for one in found]
    return numbers if all(isinstance(one, (int, float)) for one in found) else []
