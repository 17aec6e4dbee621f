"""Requests on the wire: what is refused before anything looks at it, and how the rest becomes WSGI.

Two parsers that read one request differently are how a second request is smuggled past the first; so whatever is
doubtful in a request's framing ends its connection.
"""

from __future__ import annotations

import errno
import json
import re
import time
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from typing import Any

from cheroot import wsgi
from cheroot.server import HTTPRequest

CONNECTION = "hermit.connection"
"""Where the WSGI environment holds the descriptor of the client's connection, for whoever waits long."""
HAND_OVER = "hermit.hand_over"
"""Where the WSGI environment holds a callable: what is given to it gets the connection's socket once this answer was
sent, and owns it from then on. HTTP is over on it."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-~\x80-\xff]+ HTTP/[0-9]\.[0-9]\r\n")
_PIECE = 1 << 18
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_ERROR_HEADERS = (
    "Content-Type: application/json\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n"
)
_CODES = {"400": "bad_input", "413": "too_large", "500": "internal"}
"""What the application calls the same."""
_SINGLE = frozenset({b"Content-Length", b"Host", b"Transfer-Encoding", b"Content-Type", b"Authorization"})


class Gateway(wsgi.Gateway_10):
    def respond(self) -> None:
        """Run the application and send what it answers. What it opened is closed whatever happens: cheroot's own sends
        the head of an answer without a body first, and never comes to closing when the client has gone by then."""
        answer = self.req.server.wsgi_app(self.env, self.start_response)
        try:
            for chunk in filter(None, answer):
                self.write(chunk)
            self.req.ensure_headers_sent()
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()

    def get_environ(self) -> Any:
        """The request as WSGI. Of the body nothing was read yet: the application first decides by the headers whether
        it takes one."""
        environ = super().get_environ()  # type: ignore[no-untyped-call]  # cheroot: half typed
        environ["wsgi.input"] = BodyStream(self.req)
        self.req.conn.mark_busy()
        environ[CONNECTION] = self.req.conn.socket.fileno()
        environ[HAND_OVER] = self.req.conn.hand_over_to
        environ.update(self.req.server.environ)
        return environ


class BodyStream:
    """A request's body, which arrives when its handler reads it. All of it must come within one time; of an upload,
    which is read piece by piece and is never whole in memory, each piece."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._deadline: float | None = None

    def read(self, size: int = -1) -> bytes:
        """As many bytes, of an upload never more than a piece; none at the end. Raises ConnectionResetError when the
        client has gone before it: nobody may take half a body for a whole one."""
        request, body = self._request, self._request.rfile
        wanted: int = body.remaining if size < 0 else min(size, body.remaining)
        if not wanted:
            return b""
        request.send_continue()
        if request.is_upload:
            wanted = min(wanted, _PIECE)
        if self._deadline is None or request.is_upload:
            self._deadline = time.monotonic() + request.server.read_s
        with request.conn.reading(self._deadline, may_be_dropped=not request.is_upload):
            piece: bytes = body.read(wanted)
        if len(piece) < wanted:
            raise ConnectionResetError(errno.ECONNRESET, "the client went away within its request")
        return piece


class HttpRequest(HTTPRequest):
    is_upload = False
    """Its handler reads the body."""
    _is_waited_for = False
    """The client wants to be told that its body is welcome before it sends it."""

    def header_reader(self, rfile: Any, headers: dict[bytes, bytes]) -> None:
        """What cheroot calls to read the headers; it never learns of ``Expect``, which is answered below."""
        _read_headers(rfile, headers)
        self._is_waited_for = headers.pop(b"Expect", b"").lower() == b"100-continue"

    def read_request_line(self) -> Any:
        """A line with blanks where none belong, or a target that is no URL at all, is a bad request."""
        rfile, self.rfile = self.rfile, _StrictLine(self.rfile)
        try:
            return super().read_request_line()  # type: ignore[no-untyped-call]  # cheroot: half typed
        except ValueError:
            self.simple_response("400 Bad Request", "Malformed Request-Line")
            return False
        finally:
            self.rfile = rfile

    def read_request_headers(self) -> bool:
        """A body over the cap is refused unread; what may come is told so when it is first read from."""
        if not super().read_request_headers():  # type: ignore[no-untyped-call]  # cheroot: half typed
            return False
        self.is_upload = self.method == b"PUT" and self.server.upload_bytes > 0
        most = self.server.upload_bytes if self.is_upload else self.server.body_bytes
        if int(self.inheaders.get(b"Content-Length", 0)) > most:
            self.simple_response("413 Request Entity Too Large", "The body is larger than what is taken here.")
            return False
        return True

    def send_continue(self) -> None:
        """A client that waits for it is told to go on, once."""
        if self._is_waited_for:
            self._is_waited_for = False
            self.conn.wfile.write(_CONTINUE)

    def send_headers(self) -> None:
        """After a body that was not read nothing on its connection can be told apart, but for a short one that has
        arrived already."""
        if 0 < self.rfile.remaining <= self.conn.rfile.waiting:
            self.rfile.read(self.rfile.remaining)
        if self.rfile.remaining:
            self.close_connection = self.conn.is_unheard = True
        self.outheaders.append((b"Date", _http_date(int(time.time()))))
        super().send_headers()

    def simple_response(self, status: Any, msg: str = "") -> None:
        """Errors below the application are told in the same words as those of it, and close the connection: what
        follows on it can't be told apart."""
        self.close_connection = self.conn.is_unheard = True
        number, _, phrase = str(status).partition(" ")
        code = _CODES.get(number) or re.sub(r"\W", "_", phrase.lower())
        error = {"code": code, "message": msg or f"{phrase}."}
        body = json.dumps({"error": error}).encode()
        head = f"HTTP/1.1 {status}\r\n{_ERROR_HEADERS}Content-Length: {len(body)}\r\n\r\n"
        with suppress(OSError):  # the client has gone, as some do that send what is no HTTP
            self.conn.wfile.write(head.encode("latin-1") + body)


@lru_cache(maxsize=2)
def _http_date(second: int) -> bytes:
    """As HTTP writes it; made once a second, not once an answer."""
    return formatdate(second, usegmt=True).encode("ascii")


class _StrictLine:
    """Reads request lines for cheroot, which would strip whatever Python takes for a blank from their ends and leave
    tabs out of the target."""

    def __init__(self, rfile: Any) -> None:
        self._rfile = rfile

    def readline(self) -> bytes:
        """The next line. Raises ValueError for one that two parsers might read differently."""
        line: bytes = self._rfile.readline()
        if line.endswith(b"\r\n") and line != b"\r\n" and not _REQUEST_LINE.fullmatch(line):
            raise ValueError("A request line is METHOD TARGET HTTP/1.1, with one space between them.")
        return line


def _read_headers(rfile: Any, headers: dict[bytes, bytes]) -> None:
    """Reads headers and refuses what two parsers might read differently. Raises ValueError with the reason."""
    while (line := rfile.readline()) != b"\r\n":
        if not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line:
            raise ValueError("Header lines end with CRLF and hold no control characters.")
        name, colon, value = line[:-2].partition(b":")
        if not colon or not _TOKEN.fullmatch(name):
            raise ValueError("A header line is NAME: VALUE; folded lines are not accepted.")
        name = name.title()
        if b"_" in name:  # WSGI tells it from the same name with a hyphen no more
            if name.replace(b"_", b"-") in _SINGLE:
                raise ValueError(f"{name.decode()} is no header; it is written with a hyphen.")
            continue
        if name in headers and name in _SINGLE:
            raise ValueError(f"{name.decode()} was sent twice.")
        value = value.strip(b" \t")
        headers[name] = headers[name] + b", " + value if name in headers else value
    if b"Transfer-Encoding" in headers:
        raise ValueError("Send the body with Content-Length; Transfer-Encoding is not accepted.")
    length = headers.get(b"Content-Length", b"0")
    if not re.fullmatch(rb"\d{1,12}", length):
        raise ValueError("Content-Length must be a plain number.")
