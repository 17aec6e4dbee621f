"""A model provider on loopback that says what the test scripts, in OpenAI's and in Anthropic's dialect.

``with ScriptedUpstream() as provider:`` serves ``/v1/chat/completions``, ``/v1/messages`` and ``/v1/models`` under
``provider.base_url``. Replies are taken in order from ``provider.script(...)``; with none left, ``provider.answer(fn)``
decides, and without that every call is answered with an object that repeats the last user message. Every request is
recorded in ``provider.requests``. It has a small HTTP reader of its own instead of ``http.server``, because benches use
it and it must not be what they measure.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

CUT_WAIT_S = 10.0
"""The longest a handler waits for a test, so that a failing test ends."""
MODELS = ("scripted-large", "scripted-small")

_REASONS = {
    200: "OK",
    302: "Found",
    400: "Bad Request",
    401: "Unauthorized",
    429: "Too Many Requests",
    529: "Overloaded",
}
_REPEAT = "You said: "


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


Piece = bytes | Gate
Reply = Callable[[Request], Iterator[Piece]]
"""Gives the raw bytes of an HTTP answer. One that ends without a whole body closes the connection."""


class ConnectionOver(Exception):  # noqa: N818  # a signal, not an error
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
    return _endless(b"", _data({"choices": [{"index": 0, "delta": {"content": text * 500}}]}))


def drip(text: str, *, size: int = 1) -> Reply:
    """The text's stream in TCP segments of ``size`` bytes."""

    def reply(request: Request) -> Iterator[Piece]:
        whole = b"".join(piece for piece in says(text)(request) if isinstance(piece, bytes))
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    return reply


# --- the dialects ------------------------------------------------------------------------------------------------


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
    yield _data({**base, "choices": [first]})
    for part in parts:
        if isinstance(part, Gate):
            yield part
        else:
            yield _data({**base, "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]})
    yield _data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    if usage is not None:
        yield _data({**base, "choices": [], "usage": usage})
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


def _data(document: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _named(kind: str, **parts: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **parts})


def _words(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]


# --- HTTP ----------------------------------------------------------------------------------------------------------


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


def _whole_stream(events: Iterable[bytes | Gate]) -> bytes:
    payload = b"".join(event for event in events if isinstance(event, bytes))
    return stream_head() + chunk(payload) + b"0\r\n\r\n"


def _endless(head: bytes, piece: bytes) -> Reply:
    def reply(_request: Request) -> Iterator[Piece]:
        yield stream_head() + (chunk(head) if head else b"")
        while True:
            yield chunk(piece)

    return reply


class ScriptedUpstream:
    """The provider. Everything may be called from any thread."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._changed = threading.Condition()  # over all below, between handlers and the test
        self._script: deque[Reply] = deque()
        self._answer: Callable[[Request], Reply | str] | None = None
        self._offered = http(200, json.dumps({"object": "list", "data": [{"id": name} for name in MODELS]}).encode())
        self._open: set[socket.socket] = set()
        self.requests: list[Request] = []
        self.connections = 0
        """How many connections were ever accepted."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        self._server.tls = tls
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="scripted-upstream")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self.hang_up()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What ``HERMIT_LLM_BASE_URL`` would be."""
        return f"{'https' if self._server.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def script(self, *replies: Reply) -> None:
        """These replies come next, in this order, one a call."""
        with self._changed:
            self._script.extend(replies)

    def answer(self, decide: Callable[[Request], Reply | str]) -> None:
        """With no script left, ``decide`` makes the reply (a text is said as it is)."""
        with self._changed:
            self._answer = decide

    def offer(self, models: bytes) -> None:
        """From now on this HTTP answer is the list of models."""
        with self._changed:
            self._offered = models

    @property
    def calls(self) -> list[Request]:
        """The recorded requests that asked for a completion."""
        with self._changed:
            return [request for request in self.requests if request.method == "POST"]

    def wait_for_requests(self, count: int, timeout_s: float = CUT_WAIT_S) -> list[Request]:
        """The requests, once there are as many. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests instead of {count}")
            return list(self.requests)

    def wait_until_left(self, timeout_s: float = CUT_WAIT_S) -> None:
        """Every client has closed its connection. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._open, timeout_s):
                raise TimeoutError("a client still holds its connection")

    def hang_up(self) -> None:
        """Every open connection is shut."""
        with self._changed:
            for sock in self._open:
                _shut(sock)

    def reply_to(self, request: Request) -> Reply:
        """What the script says to this request, which is recorded."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if request.method == "GET":
                return raw_answer(self._offered)
            if self._script:
                return self._script.popleft()
            decide = self._answer
        if decide is None:
            return answers(_REPEAT + request.last_text)
        made = decide(request)
        return says(made) if isinstance(made, str) else made

    def joined(self, sock: socket.socket) -> None:
        """A client connected."""
        with self._changed:
            self.connections += 1
            self._open.add(sock)
            self._changed.notify_all()

    def left(self, sock: socket.socket) -> None:
        """A client is gone."""
        with self._changed:
            self._open.discard(sock)
            self._changed.notify_all()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True
    upstream: ScriptedUpstream
    tls: ssl.SSLContext | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off, in the middle of a TLS handshake say, is nothing to print about."""


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        upstream = self.server.upstream
        upstream.joined(self.connection)
        try:
            while (request := self._read()) is not None:
                self._write(upstream.reply_to(request)(request))
        except (ConnectionOver, OSError):
            return  # the script or the client wants it so
        finally:
            upstream.left(self.connection)

    def _read(self) -> Request | None:
        line = self.rfile.readline(65536).decode("latin-1").split()
        if len(line) != 3:
            return None
        headers: dict[str, str] = {}
        while (text := self.rfile.readline(65536)) not in (b"\r\n", b"\n", b""):
            name, _, value = text.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return Request(line[0], line[1], headers, self.rfile.read(int(headers.get("content-length", "0"))))

    def _write(self, pieces: Iterator[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, bytes):
                self.connection.sendall(piece)
                continue
            piece.reached.set()
            piece.opened.wait(CUT_WAIT_S)


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # gone is gone
