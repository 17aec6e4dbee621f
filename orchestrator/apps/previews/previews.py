"""The preview origin as the rest of the install knows it: which apps there are, where a browser finds one, and
whether it answers at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.agents.access import Access
from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.apps.previews.apps import Apps, WebApp
from orchestrator.apps.previews.live_proxy import LiveApps
from orchestrator.apps.previews.origins import app_url, is_own_host, preview_url
from orchestrator.apps.previews.routes import Routes
from orchestrator.apps.previews.server import PreviewServer
from orchestrator.apps.previews.shares import AppShares
from orchestrator.apps.previews.signed_urls import GOOD_FOR_S, MAX_CHARS, Ticket, Tickets
from orchestrator.apps.previews.static_files import StaticFiles
from orchestrator.apps.previews.storage import AppStorage
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.models import CubicleKey, Role
from orchestrator.core.ports import open_listener
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)


class Previews:
    """Apps of every cubicle, shown on an origin of their own."""

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        reverse_tunnel: ReverseTunnel,
        *,
        users: Users,
        agents: Agents,
        access: Access,
        key: str,
        address: tuple[str, int],
        configured: str,
        allowed_hosts: frozenset[str],
        copy_of: Callable[[CubicleKey, int], Path],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``address`` is where it listens, ``configured`` the origin that browsers see when the operator named one;
        ``copy_of`` finds what was delivered to a cubicle's person, and raises NotFound."""
        self.apps = Apps(workspaces)
        self.shares = AppShares(store)
        self._users, self._agents, self._access = users, agents, access
        self._tickets = Tickets(key)
        self._address, self._configured, self._now = address, configured, now
        self._why_not = "The preview origin is not started yet."
        routes = Routes(
            tickets=self._tickets,
            apps=self.apps,
            files=StaticFiles(workspaces, copy_of=copy_of),
            storage=AppStorage(store),
            live=LiveApps(reverse_tunnel),
            is_open=self._is_open,
            is_own_host=lambda host: is_own_host(host, allowed=allowed_hosts, configured=configured),
            origin_of=self._origin_of,
            now=now,
        )
        self._server = PreviewServer(routes.answer_request)

    def start(self) -> None:
        """It answers; where its port is taken the rest of the install goes on without it, and says so."""
        host, port = self._address
        try:
            listening = open_listener(host, port, setting="HERMIT_PREVIEW_PORT")
        except Unavailable as error:
            self._why_not = f"Apps can't be shown: {error.message}"
            logger.warning("%s", self._why_not)
            return
        self._server.start(listening)
        self._why_not = ""

    def close(self) -> None:
        """It answers no more."""
        self._server.close()

    @property
    def trouble(self) -> str:
        """Why it doesn't answer, as a sentence; empty when it does."""
        return self._why_not

    def frame_url(self, app: WebApp, *, dashboard: str, login: str) -> str:
        """Where the dashboard of this origin (``http://127.0.0.1:3000``) finds the app for its frame, for some hours,
        as long as this ``login`` lasts and its person may see the app. Raises Unavailable while nothing is shown,
        NotFound when the agent is gone."""
        return self._write_url(app.cubicle, dashboard, login, app=app.name)

    def page_url(self, key: CubicleKey, page: str, *, dashboard: str, login: str) -> str:
        """The same for one file of a workspace as a page by itself, by its path, percent-encoded."""
        return self._write_url(key, dashboard, login, page=page)

    def delivered_url(self, key: CubicleKey, delivery: int, *, dashboard: str, login: str) -> str:
        """The same for a file that was delivered, as it was then."""
        return self._write_url(key, dashboard, login, delivery=delivery)

    def _write_url(
        self, key: CubicleKey, dashboard: str, login: str, *, app: str = "", page: str = "", delivery: int = 0
    ) -> str:
        if self._why_not:
            raise Unavailable(self._why_not)
        since = self._agents.get(key.agent).created_at
        ticket = Ticket(key, app, dashboard, int(self._now()) + GOOD_FOR_S, login, since, page, delivery)
        text = self._tickets.encode_ticket(ticket)
        if len(text) > MAX_CHARS:
            raise Unavailable("It lies too deep, or its name is too long, to be shown in a frame. Download it.")
        return app_url(preview_url(dashboard, port=self._address[1], configured=self._configured), text)

    def get_app(self, key: CubicleKey, name: str) -> WebApp:
        """One app; raises NotFound."""
        return self.apps.get_app(key, name)

    def _is_open(self, ticket: Ticket) -> bool:
        """The ticket's login lasts, its agent is the one that it was made for, and the person may see the app now."""
        viewer = self._users.holder_of(ticket.login)
        if viewer is None or not self._is_same_agent(ticket):
            return False
        if not self._access.is_open(CubicleKey(ticket.cubicle.agent, viewer.id)):
            return False
        if viewer.id == ticket.cubicle.user or viewer.role is Role.OPERATOR:
            return True
        return self._access.is_open(ticket.cubicle) and self.shares.has_guest(ticket.cubicle, ticket.app, viewer.id)

    def _is_same_agent(self, ticket: Ticket) -> bool:
        try:
            return self._agents.get(ticket.cubicle.agent).created_at == ticket.agent_since
        except NotFound:
            return False

    def _origin_of(self, host: str) -> str:
        """How a browser calls us that sent this Host header."""
        if self._configured and host.rsplit(":", 1)[0].lower() == urlsplit(self._configured).hostname:
            return self._configured
        return f"http://{host}"
