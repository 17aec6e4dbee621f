"""The crab's way out: HTTP/1.1 by hand over one kept unix socket.

Owns the connection and its repair. Every call is idempotent, so a call whose answer did not arrive is made again until
one does (or patience ends, where there is an end to it): the orchestrator may have been restarted in between. Never
interprets an answer beyond the protocol's frame.
"""

from __future__ import annotations

import json
import socket
import time

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
FIRST_DELAY_S, LONGEST_DELAY_S = 0.05, 2.0
TRIES_ON_HOST_ERROR = 6
"""How often a 5xx of the door itself is tried again before it counts as its answer."""
FINAL_CODES = frozenset({"over_budget", "upstream_failed", "bad_input", "stopped"})
"""Error codes that mean what they say, whatever their status: asking again would not help."""


class DoorRefused(Exception):
    """The host heard the call and said no; ``message`` is written for a person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class _Broken(Exception):
    """The connection ended, or what came was not an answer."""


class Door:
    """Calls to the host, one at a time."""

    __slots__ = ("_buffer", "_patience_s", "_socket", "path")

    def __init__(self, path: str, *, patience_s: float = float("inf")) -> None:
        """``patience_s`` is how long a call is made again while nobody answers it."""
        self.path = path
        self._patience_s = patience_s
        self._socket: socket.socket | None = None
        self._buffer = b""

    def __enter__(self) -> Door:  # noqa: PYI034 - a closed class, and typing would cost more than all the rest
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, route: str, *, timeout_s: float = 60) -> dict[str, object] | None:
        """The answer's object, or None for 204. Raises :class:`DoorRefused`."""
        return self._send_until_answered(_frame_request("GET", route, b""), timeout_s)

    def post(self, route: str, body: dict[str, object], *, timeout_s: float = 60) -> dict[str, object]:
        """The answer's object. Raises :class:`DoorRefused`."""
        return self._send_until_answered(_frame_request("POST", route, json.dumps(body).encode()), timeout_s) or {}

    def close(self) -> None:
        """The connection is gone; the next call makes a new one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer = None, b""

    def _send_until_answered(self, request: bytes, timeout_s: float) -> dict[str, object] | None:
        """Repeats ``request`` until it is answered: while nobody does, and a few times on a 5xx."""
        delay_s, host_errors = FIRST_DELAY_S, 0
        give_up = time.monotonic() + self._patience_s
        while True:
            was_kept = self._socket is not None
            try:
                status, body = self._exchange_once(request, timeout_s)
            except (OSError, _Broken):
                self.close()
                if was_kept:  # the host closed an idle connection: a new one may do at once
                    continue
            else:
                refusal = _make_refusal(status, body)
                if refusal is None:
                    return body
                host_errors += 1
                if status < 500 or refusal.code in FINAL_CODES or host_errors >= TRIES_ON_HOST_ERROR:
                    raise refusal
            if time.monotonic() > give_up:
                raise DoorRefused("unreachable", "The host does not answer. Try again later.")
            time.sleep(delay_s)
            delay_s = min(delay_s * 2, LONGEST_DELAY_S)

    def _exchange_once(self, request: bytes, timeout_s: float) -> tuple[int, dict[str, object] | None]:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(timeout_s)
            self._socket.connect(self.path)
        self._socket.settimeout(timeout_s)
        self._socket.sendall(request)
        status, length, is_last = _read_head(self._until_blank_line())
        while len(self._buffer) < length:
            self._receive_answer()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        if is_last:
            self.close()
        return status, _parse_answer(body) if body else None

    def _until_blank_line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise _Broken("endless head")
            self._receive_answer()
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        return head

    def _receive_answer(self) -> None:
        received = self._socket.recv(256 * 1024) if self._socket else b""
        if not received:
            raise _Broken("closed")
        self._buffer += received


def _frame_request(method: str, route: str, body: bytes) -> bytes:
    head = f"{method} /api/internal/{route} HTTP/1.1\r\nHost: door\r\n"
    if method == "POST":
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def _read_head(head: bytes) -> tuple[int, int, bool]:
    """Status, length of the body, and whether the host closes after it."""
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    try:
        status, length = int(first.split(" ")[1]), int(fields.get("content-length", "0"))
    except (IndexError, ValueError):
        raise _Broken("no HTTP answer") from None
    if not 0 <= length <= MAX_BODY or "transfer-encoding" in fields:
        raise _Broken("a body without a usable length")
    return status, length, fields.get("connection", "").lower() == "close"


def _parse_answer(body: bytes) -> dict[str, object]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise _Broken("no JSON") from None
    if not isinstance(parsed, dict):
        raise _Broken("no object")
    return parsed


def _make_refusal(status: int, body: dict[str, object] | None) -> DoorRefused | None:
    if 200 <= status < 300:
        return None
    error = (body or {}).get("error")
    said = error if isinstance(error, dict) else {}
    return DoorRefused(str(said.get("code", status)), str(said.get("message", f"The host answered {status}.")))
