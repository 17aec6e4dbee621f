"""What the preview origin answers: an app's pages and files to whoever holds its ticket, within a frame; a page that
says how to open it to everybody else.
"""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import unquote_to_bytes

from orchestrator.apps.previews import shim_loader as shim
from orchestrator.apps.previews.apps import INDEX, AppKind, Apps, WebApp
from orchestrator.apps.previews.connection import PreviewConnection, PreviewRequest
from orchestrator.apps.previews.csp import held_policy, policy_headers, security_policy
from orchestrator.apps.previews.live_proxy import LiveApps
from orchestrator.apps.previews.signed_urls import Ticket, Tickets
from orchestrator.apps.previews.static_files import StaticFiles, parts_below
from orchestrator.apps.previews.storage import AppStorage
from orchestrator.core.errors import NotFound, OrchestratorError, TooLarge
from orchestrator.core.http_statuses import status_of

LOOK_S = 2.0
"""How soon a stream that is under way ends with its ticket."""
_OUTSIDE = frozenset({"document", "embed", "object"})
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>:root{{color-scheme:light dark}}
body{{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}}</style>
<h1>{title}</h1><p>{text}</p></html>
"""


class Routes:
    """Everything on this origin."""

    def __init__(
        self,
        *,
        tickets: Tickets,
        apps: Apps,
        files: StaticFiles,
        storage: AppStorage,
        live: LiveApps,
        is_open: Callable[[Ticket], bool],
        is_own_host: Callable[[str], bool],
        origin_of: Callable[[str], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``is_open`` says whether a ticket's holder may still see its app, ``is_own_host`` whether we answer
        to a Host header, ``origin_of`` how a browser calls us then."""
        self._tickets = tickets
        self._apps = apps
        self._files = files
        self._storage = storage
        self._live = live
        self._is_open = is_open
        self._is_own_host = is_own_host
        self._origin_of = origin_of
        self._now = now

    async def answer_request(self, wire: PreviewConnection, request: PreviewRequest) -> None:
        """One request."""
        try:
            await self._answer_route(wire, request)
        except OrchestratorError as error:
            status = status_of(error)
            await _send_page(wire, request, status, "Not here" if status == 404 else "Not now", error.message)

    async def _answer_route(self, wire: PreviewConnection, request: PreviewRequest) -> None:
        host = request.header("host")
        if not self._is_own_host(host):
            await _send_page(wire, request, 421, "Wrong address", "This install does not answer to that host name.")
            return
        if not request.path.startswith(b"/a/"):
            await _send_page(wire, request, 404, "Apps of your agents", "Open them from the dashboard, under Apps.")
            return
        text, slash, path = request.path[3:].partition(b"/")
        ticket = self._tickets.decode_ticket(text.decode("latin-1"), now=self._now())
        if not await asyncio.to_thread(self._is_open, ticket):
            raise NotFound("This link has expired. Open the app from the dashboard.")
        base = f"{self._origin_of(host)}/a/{text.decode('ascii')}/"
        if request.header("sec-fetch-dest") in _OUTSIDE:
            what = f"{ticket.app} is an app" if ticket.app else "This is a page"
            told = f"{what} of {ticket.cubicle.agent}. It runs inside the dashboard: open it there."
            await _send_page(wire, request, 403, "Open this in the dashboard", told)
            return
        if request.header("service-worker"):  # one would outlive the page, and the app
            await _send_page(wire, request, 403, "Not possible", "Apps run without service workers.")
            return
        if not slash:
            await wire.send_answer(308, [("Location", base), *policy_headers(held_policy()).items()])
            return
        await self._serve_app(wire, request, ticket, path, base)

    async def _serve_app(
        self, wire: PreviewConnection, request: PreviewRequest, ticket: Ticket, path: bytes, base: str
    ) -> None:
        policy = policy_headers(security_policy(base, ticket.dashboard), reach=base)
        if ticket.page or ticket.delivery:
            await self._serve_page(wire, request, ticket, path, base=base, policy=policy)
            return
        place, _, rest = path.partition(b"/")
        if place == shim.PLACE:
            await self._serve_own(wire, request, ticket, rest, base=base, policy=policy)
            return
        app = await self._find_app(ticket)
        if app.kind is AppKind.LIVE:
            policy = policy_headers(security_policy(base, ticket.dashboard, has_server=True), reach=base)
            async with self._until_shut(ticket):
                await self._live.answer_request(wire, request, app, path, base=base, policy=policy)
        elif request.method == "OPTIONS":
            await wire.send_answer(204, _preflight_headers(policy))
        elif request.method not in ("GET", "HEAD"):
            await _send_page(wire, request, 405, "Not possible", "This app is made of files: they can only be read.")
        elif app.kind is AppKind.INCOMPLETE:
            await _send_page(wire, request, 404, "Not finished", app.missing)
        else:
            await self._serve_file(wire, request, ticket, path, base=base, policy=policy)

    async def _serve_page(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        ticket: Ticket,
        path: bytes,
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """One page, of the workspace or as it was delivered, and the install's own script. It has no other files, and
        it remembers nothing."""
        if request.method not in ("GET", "HEAD"):
            raise NotFound("A page by itself can only be read.")
        if path == b"/".join((shim.PLACE, shim.SCRIPT)):
            found = {**policy, "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store"}
            await wire.send_answer(200, found.items(), shim.shim_script(base, {}), is_head=request.method == "HEAD")
        elif path:
            raise NotFound("A page by itself has no other files.")
        elif ticket.delivery:
            await self._files.answer_delivered(wire, request, ticket.cubicle, ticket.delivery, base=base, policy=policy)
        else:
            parts = tuple(unquote_to_bytes(part) for part in ticket.page.split("/"))
            await self._files.answer_page(wire, request, ticket.cubicle, parts, base=base, policy=policy)

    @asynccontextmanager
    async def _until_shut(self, ticket: Ticket) -> AsyncIterator[None]:
        """An answer that goes on for long ends when its ticket does: this task is cancelled, which cuts the
        connection."""
        answering = asyncio.current_task()

        async def watch() -> None:
            is_open = True
            while is_open:
                await asyncio.sleep(LOOK_S)
                is_open = await asyncio.to_thread(self._is_open, ticket)
            if answering is not None:
                answering.cancel()

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _find_app(self, ticket: Ticket) -> WebApp:
        app = self._apps.recent_app(ticket.cubicle, ticket.app)
        if app is None:
            app = await asyncio.to_thread(self._apps.get_app, ticket.cubicle, ticket.app)
            self._apps.cache_app(app)
        return app

    async def _serve_file(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        ticket: Ticket,
        path: bytes,
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        parts = (ticket.app.encode(), *parts_below(path))
        if not path or path.endswith(b"/"):
            parts = (*parts, INDEX)
        try:
            await self._files.answer_request(wire, request, ticket.cubicle, parts, base=base, policy=policy)
        except NotFound:
            if parts[-1] == INDEX or not await asyncio.to_thread(self._apps.has_front, ticket.cubicle, parts):
                raise
            await wire.send_answer(308, [("Location", f"{base}{path.decode('latin-1')}/"), *policy.items()])

    async def _serve_own(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        ticket: Ticket,
        name: bytes,
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """What the install itself has within an app: its script, and what the app remembers."""
        key, app = ticket.cubicle, ticket.app
        if name == shim.SCRIPT and request.method in ("GET", "HEAD"):
            body = shim.shim_script(base, await asyncio.to_thread(self._storage.get_values, key, app))
            found = {**policy, "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store"}
            await wire.send_answer(200, found.items(), body, is_head=request.method == "HEAD")
        elif name == shim.STORAGE and request.method == "OPTIONS":
            await wire.send_answer(204, _preflight_headers(policy))
        elif name == shim.STORAGE and request.method == "PUT":
            body = await _read_body(wire, shim.MAX_STORED_BYTES * 2)
            await asyncio.to_thread(self._storage.put_values, key, app, body)
            await wire.send_answer(204, policy.items())
        else:
            raise NotFound("There is no such file in this app.")


async def _read_body(wire: PreviewConnection, most: int) -> bytes:
    """The request's body; raises TooLarge."""
    body = b""
    async for piece in wire.read_body():
        body += piece
        if len(body) > most:
            raise TooLarge("This is more than an app can store.")
    return body


def _preflight_headers(policy: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        *policy.items(),
        ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"),
        ("Access-Control-Allow-Headers", "*"),
        ("Access-Control-Max-Age", "600"),
    ]


async def _send_page(wire: PreviewConnection, request: PreviewRequest, status: int, title: str, text: str) -> None:
    page = _PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
    found = {
        **policy_headers(held_policy("*")),
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
    }
    await wire.send_answer(status, found.items(), page, is_head=request.method == "HEAD")
