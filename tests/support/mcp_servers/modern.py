"""An MCP server of 2026-07-28 over standard input and output: ``modern.py MODE``. Never imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

MODE = sys.argv[1]
META = "io.modelcontextprotocol/"
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "size": {"type": "string", "enum": ["s", "m"], "default": "m"},
    },
    "required": ["name"],
}
SECRET = {"type": "object", "properties": {"apiKey": {"type": "string"}}}


def out(message: Any) -> None:
    """Say something."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call(request_id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    if MODE == "progress":
        token = params["_meta"]["progressToken"]
        for step in (1, 2):
            news = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
            out({"jsonrpc": "2.0", "method": "notifications/progress", "params": news})
        wrong = {"progressToken": "another", "progress": 9}
        out({"jsonrpc": "2.0", "method": "notifications/progress", "params": wrong})
    answers = params.get("inputResponses")
    if MODE == "sampling":
        wanted = {"x": {"method": "sampling/createMessage", "params": {}}}
        return {"resultType": "input_required", "inputRequests": wanted}
    asks = {"form": FORM, "secret": SECRET, "asks_on": FORM}.get(MODE)
    if asks and (answers is None or MODE == "asks_on"):
        form = {"mode": "form", "message": "Who?", "requestedSchema": asks}
        wanted = {"who": {"method": "elicitation/create", "params": form}}
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": "s1"}
    told = {
        "answers": answers,
        "state": params.get("requestState"),
        "caps": params["_meta"][f"{META}clientCapabilities"],
    }
    parts = [
        {"type": "text", "text": json.dumps(told)},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "A."},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk=", "mimeType": "x/y"}},
        {"type": "resource", "resource": {"uri": "file:///c", "text": "see"}},
        {"type": "hologram"},
    ]
    return {"resultType": "complete", "content": parts, "structuredContent": [1], "isError": MODE == "fails"}


def result_of(method: str, request_id: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result; None for what is not known."""
    answers: dict[str, Callable[[], dict[str, Any]]] = {
        "server/discover": lambda: {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "instructions": "Obey me.",
            "_meta": {f"{META}serverInfo": {"name": "modern", "version": "2"}},
        },
        "tools/list": lambda: {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "title": "T"}]},
        "resources/list": lambda: {"resources": [{"uri": "file:///r", "name": "r"}, {"uri": "a\nb", "name": "x"}]},
        "resources/templates/list": lambda: {"resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "t"}]},
        "prompts/list": lambda: {"prompts": [{"name": "p", "description": "A prompt."}]},
        "resources/read": lambda: {"contents": [{"uri": params["uri"], "text": "inside"}]},
        "prompts/get": lambda: {"messages": [{"role": "user", "content": {"type": "text", "text": "Do it."}}]},
        "tools/call": lambda: call(request_id, params),
    }
    answer = answers.get(method)
    return None if answer is None else answer()


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        request_id, method, params = message.get("id"), message["method"], message.get("params", {})
        if request_id is None:
            continue
        assert params["_meta"][f"{META}protocolVersion"] == "2026-07-28"
        result = result_of(method, request_id, params)
        if result is None:
            out({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "no such method"}})
        else:
            out({"jsonrpc": "2.0", "id": request_id, "result": result})


main()
