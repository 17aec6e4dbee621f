"""A remote browser that is none, or one that stands before a real one: what it says is a test's to choose."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

_SILENT = logging.getLogger("tests.cdp_endpoint")
_SILENT.disabled = True
Talk = Callable[[ServerConnection], Awaitable[None]]
Greet = Callable[[ServerConnection, Request], Response | None]


def let_in(_connection: ServerConnection, _request: Request) -> Response | None:
    """Whoever comes."""
    return None


def redirect_to(url: str) -> Greet:
    """Nobody is let in, but sent elsewhere."""

    def greet(_connection: ServerConnection, _request: Request) -> Response:
        return Response(HTTPStatus.FOUND, "Found", Headers({"Location": url, "Content-Length": "0"}))

    return greet


@contextmanager
def cdp_endpoint(talk: Talk, greet: Greet = let_in) -> Iterator[int]:
    """The port of one, in a thread of its own."""
    ready: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_ready = threading.Event()

    async def hold() -> None:
        over = asyncio.Event()
        how: dict[str, Any] = {"process_request": greet, "max_size": None, "close_timeout": 0.1, "logger": _SILENT}
        async with serve(talk, "127.0.0.1", 0, **how) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            ready.append((port, asyncio.get_running_loop(), over))
            is_ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(hold()), daemon=True)
    thread.start()
    assert is_ready.wait(10.0)
    port, loop, over = ready[0]
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10.0)


def refusing(port: int, path: str, *methods: str) -> Talk:
    """The real browser at this port, but for some methods, which it does not know."""

    async def talk(near: ServerConnection) -> None:
        async with connect(f"ws://127.0.0.1:{port}{path}", compression=None, max_size=None) as far:

            async def back() -> None:
                with suppress(ConnectionClosed):
                    async for message in far:
                        await near.send(message)

            returning = asyncio.create_task(back())
            with suppress(ConnectionClosed):
                async for message in near:
                    asked = json.loads(message)
                    if asked["method"] in methods:
                        error = {"code": -32601, "message": f"'{asked['method']}' wasn't found"}
                        await near.send(json.dumps({"id": asked["id"], "error": error}))
                    else:
                        await far.send(message if isinstance(message, str) else message.decode())
            returning.cancel()

    return talk
