"""Calls to a Bot API server by raw HTTP, without any client library: what the server's own tests speak with."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import urllib3

from tests.support.bot_api import BotApi


def ask(api: BotApi, token: str, method: str, /, **parameters: Any) -> dict[str, Any]:
    """One call with JSON; the whole answer, with the HTTP status put in."""
    status, body = post(api, f"/bot{token}/{method}", json.dumps(parameters).encode(), "application/json")
    answer: dict[str, Any] = json.loads(body)
    return {"status": status, **answer}


def post(api: BotApi, path: str, body: bytes = b"", kind: str = "") -> tuple[int, bytes]:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(api.url).port, timeout=10)
    try:
        connection.request("POST", path, body, {"Content-Type": kind} if kind else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def upload(
    api: BotApi, token: str, method: str, /, files: dict[str, tuple[str, bytes]], **fields: str
) -> dict[str, Any]:
    """One multipart call."""
    parts: dict[str, Any] = {**fields, **files}
    body, kind = urllib3.encode_multipart_formdata(parts)
    status, answer = post(api, f"/bot{token}/{method}", body, kind)
    return {"status": status, **json.loads(answer)}


def send(api: BotApi, token: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    """A message that is accepted."""
    answer = ask(api, token, "sendMessage", chat_id=42, text=text, **more)
    assert answer["ok"], answer
    result: dict[str, Any] = answer["result"]
    return result
