"""A part of JSON Schema that a stranger may hand in: values are held against it, and nothing in it is fetched, expanded
or run. No references, no patterns, no combinations: whoever writes those is told so when the schema is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.capabilities.actions.field_types import Unfit

MAX_CHARS = 4_000
MAX_ITEMS = 100
MAX_DEPTH = 6
MAX_PROPERTIES = 50
MAX_CHOICES = 200
MAX_NUMBER = 2**53 - 1
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_BOUNDS = frozenset({"minimum", "maximum"})
_SAID = frozenset({"$schema", "title", "description", "default", "examples", "format", "deprecated"})
"""Words for people and other programs; they decide nothing here."""
_KNOWN = frozenset({"type", "properties", "required", "enum", "items", "additionalProperties"})


def check_schema(schema: object, depth: int = 0) -> None:
    """Raises ValueError for a schema that is none, or that uses more than this part of the language."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        raise ValueError(f"a schema must be an object, at most {MAX_DEPTH} deep")
    unknown = sorted(str(word) for word in schema if word not in _KNOWN | _COUNTS | _BOUNDS | _SAID)
    if unknown:
        raise ValueError(f"schemas can't use {unknown[0][:40]!r} here")
    if not isinstance(schema.get("type"), str) or schema["type"] not in _TYPES:
        raise ValueError(f"a schema needs a type: one of {', '.join(sorted(_TYPES))}")
    for word in _COUNTS & schema.keys():
        if type(schema[word]) is not int or schema[word] < 0:
            raise ValueError(f"{word} must be a whole number")
    for word in _BOUNDS & schema.keys():
        if not _is_number(schema[word]):
            raise ValueError(f"{word} must be a number")
    choices = schema.get("enum", [None])
    if not isinstance(choices, list) or not 1 <= len(choices) <= MAX_CHOICES:
        raise ValueError(f"enum must be a list of 1 to {MAX_CHOICES} values")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or len(properties) > MAX_PROPERTIES:
        raise ValueError(f"properties must be an object of at most {MAX_PROPERTIES}")
    if not isinstance(required, list) or any(name not in properties for name in map(str, required)):
        raise ValueError("required must be a list of properties")
    for part in (*properties.values(), *([schema["items"]] if "items" in schema else [])):
        check_schema(part, depth + 1)


def read_json(schema: Mapping[str, Any], value: object) -> object:
    """The value, where it is what the schema says; of a text that stands for a number, a list and so on, what it
    stands for. The schema was checked before. Raises Unfit."""
    if isinstance(value, str) and schema["type"] != "string":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Unfit(f"must be {_NAMES[schema['type']]}") from None
    _check(schema, value, "")
    return value


_NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def _check(schema: Mapping[str, Any], value: object, where: str) -> None:
    kind = schema["type"]
    if not _is_of(kind, value):
        raise Unfit(f"{where}must be {_NAMES[kind]}")
    if "enum" in schema and not any(type(choice) is type(value) and choice == value for choice in schema["enum"]):
        shown = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"][:20])
        raise Unfit(f"{where}must be one of {shown}"[:1_000])
    if isinstance(value, str):
        _check_range(len(value), schema.get("minLength", 0), schema.get("maxLength", MAX_CHARS), where, " characters")
        if any("\ud800" <= char <= "\udfff" or (char < " " and char not in "\n\t") for char in value):
            raise Unfit(f"{where}holds a character that no text can have")
    elif isinstance(value, list):
        _check_range(len(value), schema.get("minItems", 0), schema.get("maxItems", MAX_ITEMS), where, " entries")
        for at, item in enumerate(value, 1):
            _check(schema.get("items", {"type": "string"}), item, f"{where}entry {at} ")
    elif isinstance(value, dict):
        _check_object(schema, value, where)
    elif _is_number(value):
        _check_range(value, schema.get("minimum", -MAX_NUMBER), schema.get("maximum", MAX_NUMBER), where, "")


def _check_object(schema: Mapping[str, Any], value: Mapping[str, object], where: str) -> None:
    properties = schema.get("properties", {})
    for name in value:
        if name not in properties:
            raise Unfit(f"{where}has no {name[:40]!r}")
    for name in schema.get("required", ()):
        if name not in value:
            raise Unfit(f"{where}needs {name[:40]}")
    for name, part in value.items():
        _check(properties[name], part, f"{where}{name[:40]} ")


def _check_range(size: Any, low: Any, high: Any, where: str, unit: str) -> None:
    if not low <= size <= high:
        raise Unfit(f"{where}must be {low:,} to {high:,}{unit}")


def _is_of(kind: str, value: object) -> bool:
    if kind in ("integer", "number"):
        return _is_number(value) and (kind == "number" or isinstance(value, int))
    return isinstance(value, {"string": str, "boolean": bool, "array": list, "object": dict}[kind])


def _is_number(value: object) -> bool:
    """A finite one: a comparison holds for NaN, infinity and integers that no float can hold."""
    return type(value) in (int, float) and -float(2**63) <= value <= float(2**63)  # type: ignore[operator]
