"""The replies that a test can script: answers however a provider may write them, and everything that is none.

Each is a function of the request that gives the raw bytes of an HTTP answer; a ``Gate`` among them holds it up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tests.support.scripted_wire import (
    Gate,
    Request,
    answer_object,
    chunk,
    data_event,
    http,
    sse_events,
    stream_head,
    whole_answer,
)

Piece = bytes | Gate
Reply = Callable[[Request], Iterator[Piece]]
"""Gives the raw bytes of an HTTP answer. One that ends without a whole body closes the connection."""


class ConnectionOver(Exception):
    """A reply raises it to have the connection closed behind its last byte."""


# --- replies that are answers ----------------------------------------------------------------------------------


def says(text: str, *, usage: Any = "count", finish_reason: str = "stop") -> Reply:
    """The text as a whole, streamed word by word. ``usage``: ``"count"``, None for none, or any object as it is."""

    def reply(request: Request) -> Iterator[Piece]:
        yield _whole_stream(sse_events(request, _words(text), usage, finish_reason))

    return reply


def answers(message: str = "", *, terminal: str = "", action: str = "", actions: Sequence[Any] = ()) -> Reply:
    """An answer as an agent's model must give it."""
    return says(answer_object(message, terminal=terminal, action=action, actions=actions))


def streams(deltas: Sequence[str | Gate], *, usage: Any = "count", finish_reason: str = "stop") -> Reply:
    """Each delta in a chunk of its own; a gate among them holds the stream up until the test opens it."""

    def reply(request: Request) -> Iterator[Piece]:
        yield stream_head()
        for event in sse_events(request, deltas, usage, finish_reason):
            yield event if isinstance(event, Gate) else chunk(event)
        yield b"0\r\n\r\n"

    return reply


def plain(text: str, *, usage: Any = "count") -> Reply:
    """One JSON document, although a stream was asked for."""
    return lambda request: iter([http(200, json.dumps(whole_answer(request, text, usage)).encode())])


def raw_events(*lines: str, end: str = "\n\n") -> Reply:
    """A stream of exactly these lines, each with ``end`` behind it."""
    return raw_stream(*(f"{line}{end}".encode() for line in lines))


def raw_stream(*pieces: bytes) -> Reply:
    """A whole chunked body of exactly these pieces."""

    def reply(_request: Request) -> Iterator[Piece]:
        yield stream_head() + b"".join(chunk(piece) for piece in pieces if piece) + b"0\r\n\r\n"

    return reply


def raw_answer(answer: bytes) -> Reply:
    """Exactly these bytes for an HTTP answer."""
    return lambda _request: iter([answer])


def split_at(size: int, text: str) -> Reply:
    """The text's event stream in chunks of ``size`` bytes, whatever they cut apart."""

    def reply(request: Request) -> Iterator[Piece]:
        events = b"".join(
            each for each in sse_events(request, _words(text), "count", "stop") if isinstance(each, bytes)
        )
        yield stream_head()
        for start in range(0, len(events), size):
            yield chunk(events[start : start + size])
        yield b"0\r\n\r\n"

    return reply


# --- replies that are none ---------------------------------------------------------------------------------------


def status(code: int, body: bytes = b'{"error":{"message":"scripted"}}', **headers: str) -> Reply:
    """Just a status; header names may have ``_`` for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: iter([http(code, body, named)])


def echoes_key(code: int = 401) -> Reply:
    """A refusal that repeats every header of the request, the key among them, in its body and its headers."""

    def reply(request: Request) -> Iterator[Piece]:
        key = request.headers.get("authorization", "") or request.headers.get("x-api-key", "")
        body = json.dumps({"error": {"message": f"bad key {key}", "headers": dict(request.headers)}}).encode()
        yield http(code, body, {"X-Key": key, "WWW-Authenticate": key})

    return reply


def cut(text: str, *, at: int) -> Reply:
    """The text's stream, with the connection closed behind ``at`` bytes of the body."""

    def reply(request: Request) -> Iterator[Piece]:
        events = (each for each in sse_events(request, _words(text), "count", "stop") if isinstance(each, bytes))
        yield stream_head() + b"".join(chunk(event) for event in events)[:at]
        raise ConnectionOver

    return reply


def garbage(body: bytes = b"\x00\xff\xfe this is not a model \x80" * 20) -> Reply:
    """200 with a body of nonsense."""
    return lambda _request: iter([http(200, body, {"Content-Type": "application/octet-stream"})])


def web_page(code: int = 200) -> Reply:
    """A web page, as a wrong address or a captive portal gives."""
    body = b"<!doctype html><title>Sign in</title>"
    return lambda _request: iter([http(code, body, {"Content-Type": "text/html"})])


def not_http() -> Reply:
    """Bytes that are no HTTP at all."""

    def reply(_request: Request) -> Iterator[Piece]:
        yield b"SSH-2.0-OpenSSH_9.2\r\n"
        raise ConnectionOver

    return reply


def hangs_up() -> Reply:
    """The connection closes without a byte."""

    def reply(_request: Request) -> Iterator[Piece]:
        yield b""
        raise ConnectionOver

    return reply


def hangs(gate: Gate, then: Reply | None = None) -> Reply:
    """Not even a status before the test opens the gate."""

    def reply(request: Request) -> Iterator[Piece]:
        yield gate
        if then is None:
            raise ConnectionOver
        yield from then(request)

    return reply


def endless_line(piece: bytes = b"x" * 65536) -> Reply:
    """A stream of one line that never ends."""
    return _endless(b"data: ", piece)


def endless_stream(text: str = "again and again ") -> Reply:
    """Good chunks without end."""
    return _endless(b"", data_event({"choices": [{"index": 0, "delta": {"content": text * 500}}]}))


def drip(text: str, *, size: int = 1) -> Reply:
    """The text's stream in TCP segments of ``size`` bytes."""

    def reply(request: Request) -> Iterator[Piece]:
        whole = b"".join(piece for piece in says(text)(request) if isinstance(piece, bytes))
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    return reply


def _whole_stream(events: Iterable[bytes | Gate]) -> bytes:
    payload = b"".join(event for event in events if isinstance(event, bytes))
    return stream_head() + chunk(payload) + b"0\r\n\r\n"


def _endless(head: bytes, piece: bytes) -> Reply:
    def reply(_request: Request) -> Iterator[Piece]:
        yield stream_head() + (chunk(head) if head else b"")
        while True:
            yield chunk(piece)

    return reply


def _words(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]
