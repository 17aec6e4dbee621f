"""A part of JSON Schema that a stranger may hand in: values are held against it, and nothing in it is fetched, expanded
or run. No references, no patterns, no combinations: whoever writes those is told so when the schema is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.capabilities.actions.field_types import Unfit

MAX_CHARS, MAX_ITEMS = 4_000, 100
"""Where a schema sets no limit."""
MAX_NUMBER = 2**53 - 1
_MAX_DEPTH, _MAX_PROPERTIES, _MAX_CHOICES = 6, 50, 200
_NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_BOUNDS = frozenset({"minimum", "maximum"})
_SAID = frozenset({"$schema", "title", "description", "default", "examples", "format", "deprecated"})
"""Words for people and other programs; they decide nothing here."""
_KNOWN = _COUNTS | _BOUNDS | _SAID | {"type", "properties", "required", "enum", "items", "additionalProperties"}


def check_schema(schema: object, depth: int = 0) -> None:
    """Raises ValueError for a schema that is none, or that uses more than this part of the language."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        raise ValueError(f"a schema must be an object, at most {_MAX_DEPTH} deep")
    if unknown := sorted(str(word) for word in schema if word not in _KNOWN):
        raise ValueError(f"schemas can't use {unknown[0][:40]!r} here")
    properties, required, choices = schema.get("properties", {}), schema.get("required", []), schema.get("enum", [None])
    is_fit = {
        "type": isinstance(schema.get("type"), str) and schema["type"] in _TYPES,
        "enum": isinstance(choices, list) and 1 <= len(choices) <= _MAX_CHOICES,
        "properties": isinstance(properties, Mapping) and len(properties) <= _MAX_PROPERTIES,
        "required": isinstance(required, list) and all(isinstance(n, str) and n in properties for n in required),
        **{word: type(schema[word]) is int and schema[word] >= 0 for word in _COUNTS & schema.keys()},
        **{word: _is_of("number", schema[word]) for word in _BOUNDS & schema.keys()},
    }
    if wrong := [word for word, fits in is_fit.items() if not fits]:
        raise ValueError(f"{wrong[0]} is missing from a schema, or is not what it may be")
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


def _check(schema: Mapping[str, Any], value: object, where: str) -> None:
    if not _is_of(schema["type"], value):
        raise Unfit(f"{where}must be {_NAMES[schema['type']]}")
    if "enum" in schema and not any(type(choice) is type(value) and choice == value for choice in schema["enum"]):
        shown = ", ".join(json.dumps(choice) for choice in schema["enum"][:20])
        raise Unfit(f"{where}must be one of {shown[:1_000]}")
    if isinstance(value, str):
        _check_range(len(value), schema.get("minLength", 0), schema.get("maxLength", MAX_CHARS), where, " characters")
        if any("\ud800" <= char <= "\udfff" or (char < " " and char not in "\n\t") for char in value):
            raise Unfit(f"{where}holds a character that no text can have; leave it out")
    elif isinstance(value, list):
        _check_range(len(value), schema.get("minItems", 0), schema.get("maxItems", MAX_ITEMS), where, " entries")
        for at, item in enumerate(value, 1):
            _check(schema.get("items", {"type": "string"}), item, f"{where}entry {at} ")
    elif isinstance(value, dict):
        properties = schema.get("properties", {})
        if odd := [name for name in value if name not in properties]:
            raise Unfit(f"{where}has no {odd[0][:40]!a}")
        if missing := [name for name in schema.get("required", ()) if name not in value]:
            raise Unfit(f"{where}needs {missing[0][:40]!a}")
        for name, part in value.items():
            _check(properties[name], part, f"{where}{name[:40]!a} ")
    elif not isinstance(value, bool):
        _check_range(value, schema.get("minimum", -MAX_NUMBER), schema.get("maximum", MAX_NUMBER), where, "")


def _check_range(size: Any, low: Any, high: Any, where: str, unit: str) -> None:
    if not low <= size <= high:  # a comparison holds for NaN, infinity and integers that no float can hold
        raise Unfit(f"{where}must be {low:,} to {high:,}{unit}")


def _is_of(kind: str, value: object) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
