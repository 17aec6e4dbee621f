"""What passes between a client and the scripted provider: requests, HTTP answers, the events of both dialects.

Pure: no socket is opened here. ``scripted_replies`` builds replies of it, ``scripted_upstream`` serves them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_REASONS = {
    200: "OK",
    302: "Found",
    400: "Bad Request",
    401: "Unauthorized",
    429: "Too Many Requests",
    529: "Overloaded",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def is_anthropic(self) -> bool:
        """It came in Anthropic's dialect."""
        return self.path.startswith("/v1/messages")

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        content = self.json["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part.get("text", "") for part in content)


@dataclass(slots=True)
class Gate:
    """A place where a reply waits: ``reached`` says that it does, ``open`` lets it go on."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        """Let the reply go on."""
        self.opened.set()


# --- the dialects -----------------------------------------------------------------------------------------------


def answer_object(
    message: str = "", *, terminal: str = "", action: str = "", actions: Sequence[Any] = (), user: str = "1"
) -> str:
    """The JSON object that an agent's model answers with."""
    parts = {"userId": user, "message": message, "action": action, "terminal": terminal, "panelActions": list(actions)}
    return json.dumps(parts)


def sse_events(
    request: Request, deltas: Iterable[str | Gate], usage: Any, finish_reason: str
) -> Iterator[bytes | Gate]:
    """The events of one answer in the dialect of the request."""
    parts = list(deltas)
    text = "".join(part for part in parts if isinstance(part, str))
    events = _anthropic_events if request.is_anthropic else _openai_events
    return events(request, parts, _usage(request, text, usage), finish_reason)


def whole_answer(request: Request, text: str, usage: Any) -> dict[str, Any]:
    """One answer as a single document, in the dialect of the request."""
    used = _usage(request, text, usage)
    if request.is_anthropic:
        content = [{"type": "text", "text": text}]
        return {"type": "message", "content": content, "stop_reason": "end_turn", "usage": used or {}}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice], **({} if used is None else {"usage": used})}


def _openai_events(
    _request: Request, parts: list[str | Gate], usage: Any, finish_reason: str
) -> Iterator[bytes | Gate]:
    base = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    first = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    yield data_event({**base, "choices": [first]})
    for part in parts:
        if isinstance(part, Gate):
            yield part
        else:
            yield data_event({**base, "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]})
    yield data_event({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    if usage is not None:
        yield data_event({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _anthropic_events(
    request: Request, parts: list[str | Gate], usage: Any, finish_reason: str
) -> Iterator[bytes | Gate]:
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(finish_reason, finish_reason)
    used = usage if isinstance(usage, dict) else {}
    start_use = {key: value for key, value in used.items() if key != "output_tokens"}
    message = {"id": "msg_scripted", "type": "message", "role": "assistant", "content": [], "usage": start_use}
    yield _named("message_start", message=message)
    yield _named("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _named("ping")
    for part in parts:
        if isinstance(part, Gate):
            yield part
        else:
            yield _named("content_block_delta", index=0, delta={"type": "text_delta", "text": part})
    yield _named("content_block_stop", index=0)
    end_use = {key: value for key, value in used.items() if key == "output_tokens"}
    yield _named("message_delta", delta={"stop_reason": reason}, usage=end_use)
    yield _named("message_stop")


def _usage(request: Request, text: str, usage: Any) -> Any:
    if usage != "count":
        return usage
    prompt, completion = max(1, len(request.body) // 4), max(1, len(text) // 4)
    if request.is_anthropic:
        return {"input_tokens": prompt, "output_tokens": completion}
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def data_event(document: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _named(kind: str, **parts: Any) -> bytes:
    return f"event: {kind}\n".encode() + data_event({"type": kind, **parts})


# --- HTTP -------------------------------------------------------------------------------------------------------


def http(code: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole HTTP answer with its length."""
    fields = {"Content-Type": "application/json", **(headers or {}), "Content-Length": str(len(body))}
    lines = [f"HTTP/1.1 {code} {_REASONS.get(code, 'Scripted')}", *(f"{name}: {text}" for name, text in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def stream_head() -> bytes:
    """The head of an event stream in chunks."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(payload: bytes) -> bytes:
    """One chunk."""
    return f"{len(payload):x}\r\n".encode() + payload + b"\r\n"
