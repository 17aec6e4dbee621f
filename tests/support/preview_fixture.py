"""The preview origin for tests: the real server and routes over a workspace of files, with a tunnel of its own for live
apps."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crab.tunnel import Tunnel
from orchestrator.apps.previews.apps import Apps
from orchestrator.apps.previews.live_proxy import LiveApps
from orchestrator.apps.previews.origins import app_url, is_own_host
from orchestrator.apps.previews.routes import Routes
from orchestrator.apps.previews.server import PreviewServer
from orchestrator.apps.previews.signed_urls import Ticket, Tickets
from orchestrator.apps.previews.static_files import StaticFiles
from orchestrator.apps.previews.storage import AppStorage
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.core.ports import open_listener
from orchestrator.door.api_streams import add_stream_routes
from orchestrator.door.http.server import HttpServer, ServerLimits
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import DoorRoutes
from orchestrator.door.sockets import environ_of
from orchestrator.files.workspace import Workspaces
from tests.support.core_fixture import KEY

DASHBOARD = "http://127.0.0.1:3000"


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def policy(self) -> dict[str, str]:
        """The Content-Security-Policy by directive."""
        parts = (part.partition(" ") for part in self.headers["content-security-policy"].split("; "))
        return {name: value for name, _, value in parts}


@dataclass
class PreviewFixture:
    """A running preview origin."""

    port: int
    www: Path
    reverse_tunnel: ReverseTunnel
    door: str
    storage: AppStorage
    ended: set[str] = field(default_factory=set)
    """Logins that are over."""
    tickets: Tickets = field(default_factory=lambda: Tickets("a key"))

    @property
    def origin(self) -> str:
        """How a browser calls it."""
        return f"http://localhost:{self.port}"

    def ticket(self, app: str, *, key: CubicleKey = KEY, good_for_s: int = 3600, login: str = "") -> str:
        """A ticket for an app."""
        return self.tickets.encode_ticket(Ticket(key, app, DASHBOARD, int(time.time()) + good_for_s, login))

    def base(self, app: str) -> str:
        """Where an app begins."""
        return app_url(self.origin, self.ticket(app))

    def get(self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str) -> Got:
        """One request, its path sent as it is; headers with ``_`` for ``-``."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
        try:
            given = {"Sec-Fetch-Dest": "iframe", **{name.replace("_", "-"): value for name, value in headers.items()}}
            connection.request(method, path, body=body, headers={k: v for k, v in given.items() if v})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Got(answer.status, found, answer.read())
        finally:
            connection.close()

    def app(self, name: str, path: str = "", *, method: str = "GET", body: bytes | None = None, **headers: str) -> Got:
        """One request within an app."""
        return self.get(f"/a/{self.ticket(name)}/{path}", method=method, body=body, **headers)

    def write(self, path: str, text: str | bytes) -> Path:
        """A file in ``www/``."""
        file = self.www / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def sail(self) -> None:
        """The cubicle's tunnel, in a thread here."""
        threading.Thread(target=Tunnel(self.door).run, name="tunnel", daemon=True).start()


@contextmanager
def preview_install(home: Path, store: Store) -> Iterator[PreviewFixture]:
    """A preview origin over ``home`` for the cubicle ``KEY``."""
    workspaces, reverse_tunnel = Workspaces(home), ReverseTunnel()
    mounts = workspaces.prepare_folders(KEY, uid=0, gid=0)
    with _door(home / "preview-door.sock", reverse_tunnel) as door:
        install = PreviewFixture(0, mounts.www, reverse_tunnel, door, AppStorage(store))
        routes = Routes(
            tickets=install.tickets,
            apps=Apps(workspaces),
            files=StaticFiles(
                workspaces, copy_of=lambda key, delivery: home / f"{key.agent}-{key.user}-{delivery}.html"
            ),
            storage=install.storage,
            live=LiveApps(reverse_tunnel),
            is_open=lambda ticket: ticket.login not in install.ended,
            is_own_host=lambda host: is_own_host(host, allowed=frozenset({"localhost", "127.0.0.1"})),
            origin_of=lambda host: f"http://{host}",
        )
        listening = open_listener("127.0.0.1", 0)
        install.port = int(listening.getsockname()[1])
        server = PreviewServer(routes.answer_request)
        server.start(listening)
        try:
            yield install
        finally:
            reverse_tunnel.close()
            server.close()


@contextmanager
def _door(path: Path, reverse_tunnel: ReverseTunnel) -> Iterator[str]:
    app, server = DoorRoutes(lambda _: None), HttpServer()
    add_stream_routes(app, reverse_tunnel)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(64)
    listening.setblocking(False)
    server.add_listener(listening, app, limits=ServerLimits(connections=16), environ=environ_of(KEY))
    try:
        yield str(path)
    finally:
        server.close()
        server.await_quiet()
