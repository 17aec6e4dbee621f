"""Live apps: a browser's request goes over a stream that the cubicle opened to a server inside it, and the answer comes
back as it is written. WebSockets pass as bytes once both sides have agreed.

All that comes from inside is a stranger's: heads are bounded and parsed strictly, headers pass by name, times end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress

import h11

from orchestrator.apps.previews.apps import WebApp
from orchestrator.apps.previews.connection import PreviewConnection, PreviewRequest
from orchestrator.apps.previews.csp import for_kind
from orchestrator.apps.previews.proxy_headers import Jars, switch_headers, to_the_app, to_the_browser, with_prefix
from orchestrator.apps.previews.shim_loader import with_shim
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.door.reverse_tunnel import ReverseTunnel

HEAD_S = 60.0
"""How long a server may take to begin its answer."""
SILENCE_S = 900.0
"""Between two pieces of an answer, or of a WebSocket's bytes."""
LOOK_S = 5.0
"""How soon it is seen that a browser has left while nothing comes."""
MAX_PAGE_BYTES = 8 * 1024 * 1024
_PIECE = 64 * 1024
_BODILESS = frozenset({204, 304})


class LiveApps:
    """Requests to servers inside cubicles."""

    def __init__(self, reverse_tunnel: ReverseTunnel) -> None:
        self._reverse_tunnel = reverse_tunnel
        self._jars = Jars()

    async def answer_request(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        app: WebApp,
        path: bytes,
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """The server's answer, or Unavailable when it gives none."""
        if app.port is None:
            raise NotFound("This app has no server.")
        query = request.query
        target = b"/" + path + (b"?" + query if query else b"")
        headers = to_the_app(request, port=app.port, base=base, cookies=self._jars.cookie_header(base))
        async with self._open_stream(app.cubicle, app.port) as inside:
            try:
                await inside.send_request(wire, h11.Request(method=request.method, target=target, headers=headers))
                head = await inside.read_head(wire)
            except (h11.RemoteProtocolError, h11.LocalProtocolError, OSError, TimeoutError) as error:
                raise Unavailable(f"The server of {app.title} gave no answer that could be read. Try again.") from error
            self._jars.store_cookies(base, head.headers)
            if isinstance(head, h11.InformationalResponse):
                await _join_streams(wire, inside, head)
            else:
                await _pass_on(wire, request, inside, head, base=base, policy=policy)

    @asynccontextmanager
    async def _open_stream(self, key: CubicleKey, port: int) -> AsyncIterator[_Inside]:
        stream = await self._reverse_tunnel.open_stream(key, port)
        try:
            reader, writer = await asyncio.open_connection(sock=stream)
            try:
                yield _Inside(reader, writer)
            finally:
                writer.close()
                with suppress(OSError):  # it broke off: that was heard where it mattered
                    await writer.wait_closed()
        finally:
            self._reverse_tunnel.end_stream(key, stream)


class _Inside:
    """The app's end of an exchange."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=32 * 1024)

    async def send_request(self, wire: PreviewConnection, request: h11.Request) -> None:
        """Send the request, its body as it comes from the browser."""
        await self._send_event(request)
        async for piece in wire.read_body():
            await self._send_event(h11.Data(data=piece))
        await self._send_event(h11.EndOfMessage())

    async def read_head(self, wire: PreviewConnection) -> h11.Response | h11.InformationalResponse:
        """How the answer begins: a response, or the agreement to another protocol."""
        async with asyncio.timeout(HEAD_S):
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await _read_with_timeout(wire, self.reader.read(_PIECE)))
                    continue
                if isinstance(event, h11.Response):
                    return event
                if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                    return event
                if not isinstance(event, h11.InformationalResponse):
                    raise h11.RemoteProtocolError("the server hung up")

    async def read_body(self, wire: PreviewConnection) -> AsyncIterator[bytes]:
        """The answer's body as it comes. Raises h11.RemoteProtocolError when it breaks off, TimeoutError after a long
        silence, ConnectionResetError when the browser has left."""
        while True:
            piece = bytearray()
            while isinstance(event := self._http.next_event(), h11.Data):
                piece += event.data  # what came at once goes on at once, however small the server cut it
            if piece:
                yield bytes(piece)
            if event is h11.NEED_DATA:
                self._http.receive_data(await _read_with_timeout(wire, self.reader.read(_PIECE)))
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise h11.RemoteProtocolError("the answer broke off")

    @property
    def left_over(self) -> bytes:
        """What came behind the agreement to another protocol."""
        return self._http.trailing_data[0]

    async def _send_event(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self.writer.write(data)
            async with asyncio.timeout(HEAD_S):  # a server that reads nothing of it
                await self.writer.drain()


async def _pass_on(
    wire: PreviewConnection,
    request: PreviewRequest,
    inside: _Inside,
    head: h11.Response,
    *,
    base: str,
    policy: Mapping[str, str],
) -> None:
    told = to_the_browser(head.headers, base=base)
    policy = for_kind(policy, dict(told).get("content-type", ""))
    has_body = request.method != "HEAD" and head.status_code not in _BODILESS
    if has_body and _is_page(told):
        page = await _read_whole(wire, inside)
        told = [(name, value) for name, value in told if name not in ("content-length", "etag", "accept-ranges")]
        await wire.send_answer(head.status_code, [*told, *policy.items()], with_shim(with_prefix(page, base), base))
        return
    await wire.begin_answer(head.status_code, [*told, *policy.items()])
    if has_body:
        async for piece in inside.read_body(wire):
            await wire.send_piece(piece)
    await wire.end_answer()


async def _read_whole(wire: PreviewConnection, inside: _Inside) -> bytes:
    page = bytearray()
    async for piece in inside.read_body(wire):
        page += piece
        if len(page) > MAX_PAGE_BYTES:
            raise Unavailable("This page of the app is too large to be shown.")
    return bytes(page)


def _is_page(told: list[tuple[str, str]]) -> bool:
    found = dict(told)
    return found.get("content-type", "").startswith("text/html") and "content-encoding" not in found


async def _join_streams(wire: PreviewConnection, inside: _Inside, head: h11.InformationalResponse) -> None:
    """Both sides have agreed to a WebSocket: its bytes pass until one of them ends it."""
    from_browser = await wire.switch_protocol(switch_headers(head.headers))
    inside.writer.write(from_browser)
    wire.writer.write(inside.left_over)
    ways = (
        asyncio.create_task(_copy_stream(wire.reader, inside.writer)),
        asyncio.create_task(_copy_stream(inside.reader, wire.writer)),
    )
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        wire.writer.close()


async def _copy_stream(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while True:
        async with asyncio.timeout(SILENCE_S):
            piece = await source.read(_PIECE)
        if not piece:
            return
        target.write(piece)
        async with asyncio.timeout(SILENCE_S):
            await target.drain()


async def _read_with_timeout(wire: PreviewConnection, coming: Coroutine[None, None, bytes]) -> bytes:
    """What comes, as long as the browser is there and it is not silent for too long."""
    task = asyncio.create_task(coming)
    try:
        for _ in range(int(SILENCE_S / LOOK_S)):
            done, _ = await asyncio.wait((task,), timeout=LOOK_S)
            if done:
                return task.result()
            if wire.reader.at_eof():
                raise ConnectionResetError("the browser has left")
        raise TimeoutError
    finally:
        task.cancel()
