"""From the words of a command to the arguments of a tool. Of the server's schema the names of types are looked at, to
tell a number from a text; it is not evaluated. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import in_quotes

_FORM = 'write key=value, or --json \'{"key": "value"}\''


def read_arguments(pairs: Sequence[str], whole: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments. Raises BadInput that names what can't be read.

    Args:
        pairs: such as ``owner=me``; they come over those of ``whole``.
        whole: a JSON object, or nothing.
        schema: what the tool says that it takes.
    """
    found: dict[str, Any] = {}
    if whole:
        try:
            found = dict(read_object(whole.encode()))
        except BadInput as error:
            raise BadInput(f"json: this is no JSON object ({error.message}); {_FORM}.") from None
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"arguments: {in_quotes(pair, 80)} is none; {_FORM}.")
        found[name] = _read_value(name, value, _types_of(known.get(name)))
    required = schema.get("required")
    if isinstance(required, list):
        missing = [name for name in required if isinstance(name, str) and name not in found]
        if missing:
            raise BadInput(f"arguments: {in_quotes(missing[0], 80)} is missing. 'hermit mcp SERVER TOOL --help' tells.")
    return found


def write_arguments(arguments: Mapping[str, Any]) -> str:
    """The exact text that a person agrees to: the same for the same arguments."""
    return json.dumps(arguments, ensure_ascii=True, sort_keys=True, indent=1)


def _types_of(schema: object) -> frozenset[str]:
    """The types that a schema names, also among its alternatives one level down."""
    if not isinstance(schema, dict):
        return frozenset()
    named = schema.get("type")
    found = {named} if isinstance(named, str) else _texts_of(named)
    for way in ("anyOf", "oneOf"):
        options = schema.get(way)
        for option in options if isinstance(options, list) else ():
            inner = option.get("type") if isinstance(option, dict) else None
            found |= {inner} if isinstance(inner, str) else set()
    return frozenset(found)


def _texts_of(value: object) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()


def _read_value(name: str, value: str, types: frozenset[str]) -> Any:
    if not types or "string" in types:
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        if types == {"array"}:
            return [value]
        raise BadInput(f"arguments: {in_quotes(name, 80)} must be of type {', '.join(sorted(types))}.") from None
    return read
