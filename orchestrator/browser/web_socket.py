"""The DevTools protocol over a WebSocket, to a browser that is somebody else's. What comes is bounded: whole messages
of at most 16 MiB, none compressed, two of them waiting, no redirect followed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from orchestrator.browser.faults import BrowserLost
from orchestrator.browser.wire import MAX_MESSAGE_BYTES, MAX_UNSENT_BYTES

OPEN_S = 10.0
_ALIVE_S = 20.0
_WAITING = 2
"""Messages that were read and not taken yet; more than that stay in the network."""
_SILENT = logging.getLogger("hermitshell.silent")
_SILENT.disabled = True
"""The library would write addresses into its log, and with them keys."""


class _Unled(connect):
    """Goes nowhere but where it was told."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketTransport:
    """See ``BrowserTransport``. Belongs to one event loop."""

    is_relayed = False

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0
        self._is_over = False
        self._sending = asyncio.create_task(self._send_all())
        self._closing: asyncio.Task[None] | None = None

    async def receive(self) -> tuple[bytes, bool]:
        """See ``BrowserTransport``."""
        try:
            return await self._connection.recv(decode=False), True
        except ConnectionClosed as error:
            why = "a message was too large" if error.sent is not None and error.sent.code == 1009 else "it was closed"
            raise BrowserLost(f"The connection to the remote browser was lost: {why}.") from None

    def send(self, message: bytes) -> None:
        """See ``BrowserTransport``."""
        if self._is_over or self._unsent_bytes > MAX_UNSENT_BYTES:
            self.close()
            raise BrowserLost("The remote browser reads nothing any more.")
        self._unsent_bytes += len(message)
        self._unsent.put_nowait(message)

    def close(self) -> None:
        """See ``BrowserTransport``."""
        if not self._is_over:
            self._is_over = True
            self._sending.cancel()
            self._connection.transport.abort()  # no farewell is waited for: a page of theirs may be hostile

    async def _send_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                message = await self._unsent.get()
                await self._connection.send(message, text=True)
                self._unsent_bytes -= len(message)


async def open_web_socket(url: str, host: str, tls: ssl.SSLContext) -> WebSocketTransport:
    """A connection to a browser.

    Args:
        url: ``ws://`` or ``wss://``, with what it needs to let us in.
        host: what may be said of it.
        tls: whose certificates are trusted.

    Raises:
        BrowserLost: it can't be reached, or refuses.
    """
    try:
        connection = await _Unled(
            url,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            max_queue=_WAITING,
            open_timeout=OPEN_S,
            ping_interval=_ALIVE_S,
            ping_timeout=_ALIVE_S,
            close_timeout=1.0,
            proxy=None,
            user_agent_header="HermitShell",
            logger=_SILENT,
            ssl=tls if url.startswith("wss:") else None,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        where = "sends on to another address, which is not followed" if 300 <= status < 400 else "refuses us"
        raise BrowserLost(f"The remote browser at {host} {where} (HTTP {status}).") from None
    except (OSError, TimeoutError, EOFError, ValueError, WebSocketException) as error:
        raise BrowserLost(f"The remote browser at {host} could not be reached ({type(error).__name__}).") from None
    return WebSocketTransport(connection)
