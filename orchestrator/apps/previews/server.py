"""The preview origin's server: one thread, one event loop, a task for each connection. It accepts, bounds and ends
connections; what is answered is ``routes``' business. It has no login and no cookie.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import h11

from orchestrator.apps.previews.connection import PreviewConnection, PreviewRequest
from orchestrator.door.http.connection_limits import choose_to_drop

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 512
SILENT_S = 10.0
"""How long a fresh connection may wait with its first request."""
_CLOSE_S = 5.0
_PLAIN = (("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close"))

Answering = Callable[[PreviewConnection, PreviewRequest], Awaitable[None]]


@dataclass(eq=False, slots=True)
class _Client:
    """A browser's connection, as ``crowd`` looks at it."""

    task: asyncio.Task[None]
    remote_addr: str | None
    is_waiting: bool = True
    has_asked: bool = False
    since: float = field(default_factory=time.monotonic)


class PreviewServer:
    """Serves until it is closed."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._clients: set[_Client] = set()

    def start(self, listening: socket.socket) -> None:
        """Answers at this listening socket when it returns."""
        is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run_loop, args=(listening, is_ready), name="previews", daemon=True)
        self._thread.start()
        is_ready.wait(_CLOSE_S)

    def close(self) -> None:
        """Nothing is answered any more; again, or before the start, is fine."""
        thread, loop, self._thread, self._loop = self._thread, self._loop, None, None
        if thread is not None and loop is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_S * 2)

    def _run_loop(self, listening: socket.socket, is_ready: threading.Event) -> None:
        self._loop = loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self._on_connection, sock=listening))
        is_ready.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            loop.run_until_complete(self._end_loop(loop))
            loop.close()

    async def _end_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        tasks = [client.task for client in self._clients]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
        await loop.shutdown_default_executor()

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not self._has_room():
            writer.close()
            return
        peer = writer.get_extra_info("peername")
        client = _Client(task, str(peer[0]) if peer else None)
        self._clients.add(client)
        # asyncio does so by itself only for sockets that were made with the protocol's number.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await self._serve_client(PreviewConnection(reader, writer), client)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the browser is gone, too slow, or we are closing
        except Exception:  # the top of a task: this connection ends, the others go on
            logger.exception("a preview connection broke")
        finally:
            self._clients.discard(client)
            writer.close()

    def _has_room(self) -> bool:
        """Another connection fits, if need be for one on which nothing is under way."""
        if len(self._clients) < MAX_CONNECTIONS:
            return True
        client = choose_to_drop(self._clients, now=time.monotonic())
        if client is None:
            return False
        self._clients.discard(client)
        client.task.cancel()
        return True

    async def _serve_client(self, wire: PreviewConnection, client: _Client) -> None:
        try:
            async with asyncio.timeout(SILENT_S):
                request = await wire.next_request()
            while request is not None:
                client.is_waiting, client.has_asked = False, True
                await self._answer(wire, request)
                client.is_waiting, client.since = True, time.monotonic()
                request = await wire.next_request()
        except (h11.RemoteProtocolError, ValueError) as error:
            if not wire.has_answered:
                await wire.send_answer(400, _PLAIN, f"This is no request ({type(error).__name__}).\n".encode())
        except h11.LocalProtocolError:
            # An answer that can't be told as HTTP, such as one of an app that is longer than it said: cut.
            logger.info("an app's answer broke off")
