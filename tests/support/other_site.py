"""Pages of a test's own at ``127.0.0.1``, which for a browser is another site than an origin at ``localhost``."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class OtherSite:
    """A small server."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, str]] = {}
        """What is at a path: the page, and its Content-Security-Policy."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="stage")
        self.port = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        pages = self.pages

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

            def do_GET(self) -> None:
                page, policy = pages.get(self.path.partition("?")[0], ("", ""))
                body = page.encode()
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                if policy:
                    self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                self.wfile.write(body)

        return Handler
