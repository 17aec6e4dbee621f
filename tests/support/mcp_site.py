"""A web server on loopback whose answers a test scripts, for the MCP client over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class SiteRequest:
    """One request, and how to answer it."""

    handler: BaseHTTPRequestHandler
    body: bytes
    over: threading.Event
    """Set when the test is over: nobody may wait longer."""

    @property
    def method(self) -> str:
        """GET, POST, DELETE."""
        return self.handler.command

    @property
    def path(self) -> str:
        """What was asked for."""
        return self.handler.path

    @property
    def headers(self) -> dict[str, str]:
        """By name in lower case."""
        return {name.lower(): value for name, value in self.handler.headers.items()}

    @property
    def message(self) -> dict[str, Any]:
        """The message in it; empty without one."""
        found = json.loads(self.body or b"{}")
        return found if isinstance(found, dict) else {}

    def begin(self, status: int, content_type: str, **headers: str) -> None:
        """The head of an answer without a length."""
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def write(self, data: bytes) -> bool:
        """A piece of the body. False when the client has gone."""
        try:
            self.handler.wfile.write(data)
            self.handler.wfile.flush()
        except OSError:
            return False
        return True

    def give(self, value: Any, status: int = 200, **headers: str) -> None:
        """A whole answer of JSON."""
        self.begin(status, "application/json", **headers)
        self.write(json.dumps(value).encode())

    def result(self, result: Any, **headers: str) -> None:
        """The answer to the message."""
        self.give({"jsonrpc": "2.0", "id": self.message["id"], "result": result}, 200, **headers)


Answer = Callable[[SiteRequest], None]


@dataclass
class McpSite:
    """The server, and what it was asked."""

    url: str
    asked: list[SiteRequest] = field(default_factory=list)


@contextmanager
def mcp_site(answer: Answer) -> Iterator[McpSite]:
    """It runs."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = SiteRequest(self, body, over)
            site.asked.append(request)
            answer(request)

        do_GET = do_POST = do_DELETE = _take  # noqa: N815 - the names that the library calls it by

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library calls it by
            """Nothing is written of it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site = McpSite(f"http://127.0.0.1:{server.server_port}/mcp")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
