"""What a server answered: parts of a result, of a resource, of a prompt, and who it is. Pure."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.models import McpContent, McpHello, McpPromptMessage, McpResult

MAX_PARTS = 1_000
_WHO_CHARS = 200
_LINE_CHARS = 2_000
_UNKNOWN = "(The server sent a part of a kind that is not known here.)"


def read_hello(version: str, result: Mapping[str, Any], who: object) -> McpHello:
    """Who the server says that it is; ``who`` is its ``serverInfo``."""
    info = who if isinstance(who, dict) else {}
    capabilities = result.get("capabilities")
    return McpHello(
        version,
        _text(info, "name", _WHO_CHARS),
        _text(info, "version", _WHO_CHARS),
        _text(result, "instructions"),
        capabilities if isinstance(capabilities, dict) else {},
    )


def read_tool_result(result: Mapping[str, Any]) -> McpResult:
    """What a tool answered. Raises McpBroken."""
    parts = result.get("content", [])
    return McpResult(
        tuple(_read_part(part) for part in _parts(parts, "content")),
        result.get("structuredContent"),
        result.get("isError") is True,
    )


def read_contents(result: Mapping[str, Any]) -> tuple[McpContent, ...]:
    """What a resource holds. Raises McpBroken."""
    return tuple(_read_resource(part) for part in _parts(result.get("contents"), "contents"))


def read_prompt_messages(result: Mapping[str, Any]) -> tuple[McpPromptMessage, ...]:
    """The messages of a prompt. Raises McpBroken."""
    messages = _parts(result.get("messages"), "messages")
    return tuple(McpPromptMessage(_text(one, "role", 20), _read_part(one.get("content"))) for one in messages)


def _parts(value: object, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise McpBroken(f"The server's answer has no list of objects in {name}.")
    if len(value) > MAX_PARTS:
        raise McpBroken(f"The server's answer has more than {MAX_PARTS:,} parts in {name}.")
    return value


def _read_part(wire: object) -> McpContent:
    if not isinstance(wire, dict):
        raise McpBroken("A part of the server's answer is no object.")
    kind = wire.get("type")
    if kind == "text":
        return McpContent("text", text=_text(wire, "text"))
    if kind == "image":
        return McpContent("image", data=_decode(wire.get("data")), mime_type=_text(wire, "mimeType", _WHO_CHARS))
    if kind == "audio":
        return McpContent("audio", data=_decode(wire.get("data")), mime_type=_text(wire, "mimeType", _WHO_CHARS))
    if kind == "resource_link":
        return McpContent(
            "link",
            text=_text(wire, "description", _LINE_CHARS),
            mime_type=_text(wire, "mimeType", _WHO_CHARS),
            uri=_text(wire, "uri", _LINE_CHARS),
            name=_text(wire, "name", _WHO_CHARS),
        )
    if kind == "resource" and isinstance(inner := wire.get("resource"), dict):
        return _read_resource(inner)
    return McpContent("text", text=_UNKNOWN)


def _read_resource(wire: Mapping[str, Any]) -> McpContent:
    mime_type, uri = _text(wire, "mimeType", _WHO_CHARS), _text(wire, "uri", _LINE_CHARS)
    name = _text(wire, "name", _WHO_CHARS)
    if isinstance(wire.get("blob"), str):
        return McpContent("blob", data=_decode(wire["blob"]), mime_type=mime_type, uri=uri, name=name)
    return McpContent("text", text=_text(wire, "text"), mime_type=mime_type, uri=uri, name=name)


def _decode(value: object) -> bytes:
    try:
        return b64decode(value if isinstance(value, str) else "-", validate=True)
    except (binascii.Error, ValueError):
        raise McpBroken("The server sent data that is no base64.") from None


def _text(wire: Mapping[str, Any], key: str, chars: int | None = None) -> str:
    value = wire.get(key)
    return value[:chars] if isinstance(value, str) else ""
