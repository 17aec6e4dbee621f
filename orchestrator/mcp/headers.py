"""Headers of the newest protocol over HTTP: what a request is about, and arguments that a tool's schema wants there, so
that proxies can route by them. Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from orchestrator.core.errors import BadInput

MARK = "x-mcp-header"
MAX_HEADERS = 20
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_TYPES = frozenset({"integer", "string", "boolean"})
_NO_SCHEMAS = frozenset({"default", "const", "enum", "examples"})
_PREFIX = "Mcp-Param-"
_MAX_VALUE = 8_000


def write_value(value: str) -> str:
    """The value as a header can hold it: as it is, or in base64 where it is not plain."""
    plain = all(0x20 <= ord(char) < 0x7F or char == "\t" for char in value) and value == value.strip(" \t")
    if plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def read_mirrored(schema: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """The paths of those arguments that the schema wants in headers, and the headers' names. The schema is looked
    through, not evaluated.

    Raises:
        BadInput: a mark stands where none may, or names no usable header; the tool can't be called then.
    """
    found: dict[tuple[str, ...], str] = {}
    # (node, path of the argument or None, whether the path goes through properties alone)
    level: list[tuple[object, tuple[str, ...], bool]] = [(schema, (), True)]
    while level:
        node, path, is_plain = level.pop()
        if isinstance(node, list):
            level += [(inner, path, False) for inner in node]
        if not isinstance(node, dict):
            continue
        if MARK in node:
            _take(found, node, path, is_plain)
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                level += [(inner, (*path, name), is_plain) for name, inner in value.items()]
            elif key not in _NO_SCHEMAS:
                level.append((value, path, False))
    return found


def _take(found: dict[tuple[str, ...], str], node: Mapping[str, Any], path: tuple[str, ...], is_plain: bool) -> None:  # noqa: FBT001 - of one caller
    name = node[MARK]
    names = {taken.lower() for taken in found.values()}
    if not (is_plain and path and isinstance(name, str) and _TOKEN.fullmatch(name) and node.get("type") in _TYPES):
        raise BadInput(f"its inputSchema has an unusable {MARK}.")
    if name.lower() in names or len(found) >= MAX_HEADERS:
        raise BadInput(f"its inputSchema names a header twice in {MARK}, or more than {MAX_HEADERS}.")
    found[path] = name


def write_mirrored(mirrored: Mapping[tuple[str, ...], str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for these arguments. Raises BadInput for a value that is too long for one."""
    headers = {}
    for path, name in mirrored.items():
        value: Any = arguments
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None or isinstance(value, (dict, list)):
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if len(text) > _MAX_VALUE:
            raise BadInput(f"{'.'.join(path)}: it is too long for a header: at most {_MAX_VALUE:,} characters.")
        headers[f"{_PREFIX}{name}"] = write_value(text)
    return headers
