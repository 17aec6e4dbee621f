"""Pages of others as sites: what lies in a package of npm, each under a name of its own, and the small API that one of
them is a surface for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.foreign_packages import npm_folder

_PETS = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets": {
            "get": {"summary": "All of them", "responses": {"200": {"description": "they"}}},
            "post": {
                "summary": "A new one",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"name": {"type": "string"}}},
                            "example": {"name": "Rex"},
                        }
                    }
                },
                "responses": {"201": {"description": "made"}},
            },
        }
    },
}
_SWAGGER = """<!doctype html><title>Pets</title><link rel=stylesheet href=swagger-ui.css><div id=ui></div>
<script src=swagger-ui-bundle.js></script><script>SwaggerUIBundle({url: '/openapi.json', dom_id: '#ui'})</script>"""
_ADMIN = """<!doctype html><html lang=en><head><title>Desk</title>
<link rel=stylesheet href=/dist/css/adminlte.min.css></head>
<body class="layout-fixed sidebar-expand-lg"><div class=app-wrapper>
<nav class="app-header navbar"><a data-lte-toggle=sidebar href="#" role=button>Toggle navigation</a></nav>
<aside class=app-sidebar><div class=sidebar-wrapper><nav><ul class="nav sidebar-menu flex-column"
  data-lte-toggle=treeview role=navigation aria-label="Main navigation" data-accordion=false id=navigation>
<li class=nav-item><a href="#" class=nav-link><p>Orders <i class=nav-arrow></i></p></a>
  <ul class="nav nav-treeview"><li class=nav-item><a href=/open class=nav-link><p>Open orders</p></a></li>
  <li class=nav-item><a href=/paid class=nav-link><p>Paid orders</p></a></li></ul></li>
</ul></nav></div></aside>
<main class=app-main><div class="card"><div class=card-header><h3 class=card-title>TITLE</h3><div class=card-tools>
<button type=button class="btn btn-tool" data-lte-toggle=card-collapse title=Collapse><i data-lte-icon=minus>-</i>
</button>
</div></div><div class=card-body>There are 7 orders.</div></div></main>
</div><script src=/dist/js/adminlte.min.js></script></body></html>"""


@dataclass
class PageSites:
    """The server of all of them."""

    modules: Path
    port: int = 0
    pets: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "Old Tom"}])

    def page(self, host: str, path: str) -> bytes | None:
        """What is written here; None where the package has it."""
        if host == "desk.test" and not path.startswith("/dist/"):
            title = {"/open": "Open orders", "/paid": "Paid orders"}.get(path, "Overview")
            return _ADMIN.replace("TITLE", title).encode()
        if host == "pets.test":
            given = {"/": _SWAGGER, "/openapi.json": json.dumps(_PETS), "/pets": json.dumps(self.pets)}.get(path)
            return None if given is None else given.encode()
        return None

    def folder(self, host: str) -> Path:
        """Where a host's files are."""
        folders = {"desk.test": "admin-lte", "pets.test": "swagger-ui-dist"}
        return self.modules / folders.get(host, "todomvc/examples/vanillajs")


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, sites: PageSites, *given: Any) -> None:
        self.sites = sites
        super().__init__(*given, directory=str(sites.modules))

    def do_GET(self) -> None:
        host, path = self.headers["Host"].partition(":")[0], self.path.partition("?")[0]
        page = self.sites.page(host, path)
        if page is None:
            self.directory = str(self.sites.folder(host))
            super().do_GET()
        else:
            self._answer(200, page, "text/html" if page.startswith(b"<") else "application/json")

    def do_POST(self) -> None:
        made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.sites.pets.append(made)
        self._answer(201, json.dumps({"made": made["name"]}).encode(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_given: Any) -> None:
        """Nobody reads it."""


@contextmanager
def page_sites() -> Iterator[PageSites]:
    """They answer at a port of loopback."""
    sites = PageSites(npm_folder("pages") / "node_modules")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, sites))
    sites.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, name="site", daemon=True)
    thread.start()
    try:
        yield sites
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
