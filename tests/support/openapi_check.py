"""Holds answers of the API against its own description: the route and status must be in it, and the body have its
shape.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from dashboard.api.openapi import build_document

_DOCUMENT = build_document()
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def check(method: str, path: str, status: int, body: Any) -> None:
    """Fails when the description knows no such answer."""
    operation = _operation(method.lower(), path)
    said = operation["responses"].get(str(status))
    assert said is not None, f"{method} {path} answered {status}, which is not described"
    content = said.get("content")
    if content is None or (body is None and "*/*" in content):
        return
    problems = list(problems_of(body, content["application/json"]["schema"], "body"))
    assert not problems, f"{method} {path}: {problems}"


def problems_of(value: Any, schema: dict[str, Any], where: str) -> list[str]:
    """Where a value differs from its schema."""
    if "$ref" in schema:
        schema = _DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fitting = any(isinstance(value, _KINDS[kind]) and (kind == "boolean" or value is not True) for kind in kinds)
    if not fitting or (isinstance(value, bool) and "boolean" not in kinds):
        return [f"{where} is {value!r}, not {kinds}"]
    if isinstance(value, dict):
        return _problems_of_object(value, schema, where)
    if isinstance(value, list):
        return [p for n, item in enumerate(value) for p in problems_of(item, schema["items"], f"{where}[{n}]")]
    if "enum" in schema and value is not None and value not in schema["enum"]:
        return [f"{where} is {value!r}, not one of {schema['enum']}"]
    if schema.get("format") == "date-time" and value is not None:
        assert value.endswith("Z"), where
        datetime.fromisoformat(value)
    return []


def _problems_of_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> list[str]:
    properties = schema.get("properties", {})
    problems = [f"{where}.{name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        if name in properties:
            problems += problems_of(item, properties[name], f"{where}.{name}")
        elif schema.get("additionalProperties") is False:
            problems.append(f"{where}.{name} is not described")
    return problems


def _operation(method: str, path: str) -> dict[str, Any]:
    bare = path.partition("?")[0]
    literal_first = sorted(_DOCUMENT["paths"], key=lambda described: described.count("{"))
    for described in literal_first:
        with_slashes = re.sub(r"\\{(path|model)\\}", ".+", re.escape(described))
        pattern = re.sub(r"\\{[a-z]+\\}", "[^/]+", with_slashes)
        if re.fullmatch(pattern, bare) and method in _DOCUMENT["paths"][described]:
            found: dict[str, Any] = _DOCUMENT["paths"][described][method]
            return found
    raise AssertionError(f"{method} {path} is not described")
