"""Messages of the protocol as bytes and back. What comes is bounded before it is read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object
from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.transport import JsonObject

MAX_VALUES = 50_000
"""Values in one message: 4 MiB of empty lists would otherwise take a hundred of memory."""
NOT_OFFERED = -32601
BAD_PARAMETERS = -32602
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def write_message(message: Mapping[str, Any]) -> bytes:
    """The message on one line, without its end."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def read_message(raw: bytes, max_bytes: int) -> JsonObject:
    """The message. Half characters, which servers make when they cut a text, become ``U+FFFD``.

    Raises:
        McpBroken: it is no JSON object, or over a bound.
    """
    if len(raw) > max_bytes:
        raise too_large(max_bytes)
    if b"\\u" in raw:
        raw = _SURROGATES.sub(lambda found: b"\\ufffd" if found[1] else found[0], raw)
    try:
        return read_object(raw, max_items=MAX_VALUES)
    except BadInput as error:
        reason = error.message.partition(": ")[2] or "it is no JSON object."
        raise McpBroken(f"The server sent a message that can't be read: {reason}") from None


def too_large(max_bytes: int) -> McpBroken:
    """The error for a message over the bound."""
    return McpBroken(f"The server sent a message of more than {max_bytes / (1 << 20):,.3g} MiB, so it was ended.")


def is_answer_to(message: JsonObject, request_id: object) -> bool:
    """It answers the request with this id. An error without an id answers whatever was asked."""
    if "method" in message or not ("result" in message or "error" in message):
        return False
    found = message.get("id")
    return (type(found) is type(request_id) and found == request_id) or (found is None and "error" in message)


def error_reply(request_id: object, number: int, text: str) -> JsonObject:
    """An answer that refuses."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": number, "message": text}}


def result_reply(request_id: object, result: Mapping[str, Any]) -> JsonObject:
    """An answer that gives what was asked for."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}
