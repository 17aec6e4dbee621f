"""Requests on the wire: what is refused before anything looks at it, and how the rest becomes WSGI.

Two parsers that read one request differently are how a second request is smuggled past the first; so whatever is
doubtful in a request's framing ends its connection.
"""

from __future__ import annotations

import io
import re
from typing import Any

from cheroot import wsgi
from cheroot.server import HTTPRequest

CONNECTION = "hermit.connection"
"""Where the WSGI environment holds the descriptor of the client's connection, for whoever waits long."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SINGLE = frozenset({b"Content-Length", b"Host", b"Transfer-Encoding", b"Content-Type", b"Authorization"})


class Gateway(wsgi.Gateway_10):
    def get_environ(self) -> Any:
        """The request as WSGI, the body already read whole, so that no handler waits for a slow client."""
        environ = super().get_environ()  # type: ignore[no-untyped-call]  # cheroot: half typed
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = self.req.rfile.read(length) if length else b""
        if len(body) < length:
            raise OSError("the client went away within its request")
        self.req.conn.deadline = None
        environ["wsgi.input"] = io.BytesIO(body)
        environ[CONNECTION] = self.req.conn.socket.fileno()
        environ.update(self.req.server.environ)
        return environ


class _StrictHeaders:
    """Reads headers and refuses what two parsers might read differently. Raises ValueError with the reason."""

    def __call__(self, rfile: Any, headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
        while (line := rfile.readline()) != b"\r\n":
            if not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line:
                raise ValueError("Header lines end with CRLF and hold no control characters.")
            name, colon, value = line[:-2].partition(b":")
            if not colon or not _TOKEN.fullmatch(name):
                raise ValueError("A header line is NAME: VALUE; folded lines are not accepted.")
            name = name.title()
            if name in headers and name in _SINGLE:
                raise ValueError(f"{name.decode()} was sent twice.")
            value = value.strip(b" \t")
            headers[name] = headers[name] + b", " + value if name in headers else value
        if b"Transfer-Encoding" in headers:
            raise ValueError("Send the body with Content-Length; Transfer-Encoding is not accepted.")
        length = headers.get(b"Content-Length", b"0")
        if not re.fullmatch(rb"\d{1,12}", length):
            raise ValueError("Content-Length must be a plain number.")
        return headers


class Request(HTTPRequest):
    header_reader = _StrictHeaders()

    def read_request_line(self) -> Any:
        """A target that is no URL at all is a bad request, not a broken server."""
        try:
            return super().read_request_line()  # type: ignore[no-untyped-call]  # cheroot: half typed
        except ValueError:
            self.simple_response("400 Bad Request", "Malformed Request-URI")
            return False

    def simple_response(self, status: Any, msg: str = "") -> None:
        """Errors below the application close the connection: what follows on it can't be told apart."""
        self.close_connection = True
        super().simple_response(status, msg)
