"""One connection of a helper container: its request is read, judged, connected and passed on, within bounds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.gate.addresses import check_name
from orchestrator.gate.client_hello import NotTls, read_server_name
from orchestrator.gate.heads import ProxyRequest, parse_head
from orchestrator.gate.policy import GatePolicy, HostPort
from orchestrator.gate.refusals import NotLetThrough, Reason, Refusal
from orchestrator.gate.traffic import GateVerdict, Traffic
from orchestrator.gate.way_out import PIECE_BYTES, Outward, WayOut, abort_transport
from orchestrator.gate.web_sockets import END, has_switched, may_be_upgrade, rewrite_upgrade
from orchestrator.web.ip_rules import parse_address

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The bounds of one gate."""

    connections: int = 256
    """Open at a time."""
    opening: int = 16
    """Looked up and connected at a time; the others wait."""
    head_bytes: int = 32 * 1024
    head_s: float = 10.0
    """For the whole head of a request."""
    hello_s: float = 10.0
    """For the TLS client's first message."""
    connect_s: float = 10.0
    """Each for a look-up and for an address's answer."""
    idle_s: float = 300.0
    """Without a byte in either direction."""
    half_open_s: float = 30.0
    """The same once the client has said its last."""


@dataclass(frozen=True, slots=True)
class GateParts:
    """What the connections of one gate share."""

    policy: GatePolicy
    named: frozenset[HostPort]
    way_out: WayOut
    traffic: Traffic
    limits: GateLimits
    opening: asyncio.Semaphore


class GateConnection:
    """From the first byte of its request to its end. For the gate's thread alone."""

    def __init__(self, parts: GateParts, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._parts, self._reader, self._writer = parts, reader, writer
        self._request: ProxyRequest | None = None
        self._task = asyncio.current_task()
        self._idle: asyncio.Timeout | None = None
        self._idle_s = parts.limits.idle_s
        self._is_answered = False

    async def run(self) -> None:
        """It is over when this returns, and its ends are closed."""
        outward: Outward | None = None
        try:
            self._request = request = await self._read_request()
            self._check_permission(request)
            async with self._parts.opening:
                outward = await self._parts.way_out.open(request)
            self._check_permission(request)  # it may have ended meanwhile
            self._parts.traffic.count_connection(request.host, request.port, GateVerdict.ALLOWED)
            await self._pass_on(request, outward)
        except NotLetThrough as error:
            self._note(error.refusal)
            await self._answer(error.refusal)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            logger.debug("gate: a connection ended: %s", type(error).__name__)
        finally:
            if outward is not None:
                abort_transport(outward.writer.transport)
            await self._close()

    def recheck(self) -> bool:
        """Cut it if its host may no longer be reached; True then."""
        request = self._request
        if request is None or self._parts.policy.judge(request.host, request.port) is None:
            return False
        if self._is_answered:  # else its own second look refuses it
            self._note(Refusal(Reason.PERMISSION_ENDED))
            self.abort()
        return True

    def abort(self) -> None:
        """End it at once."""
        if self._task is not None:
            self._task.cancel()
        abort_transport(self._writer.transport)

    async def _read_request(self) -> ProxyRequest:
        try:
            async with asyncio.timeout(self._parts.limits.head_s):
                return parse_head(await self._reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise NotLetThrough(Reason.HEAD) from None
        except TimeoutError:
            raise NotLetThrough(Reason.HEAD_SLOW) from None

    def _check_permission(self, request: ProxyRequest) -> None:
        """Name, port, policy, room. Nothing is looked up."""
        host, port, parts = request.host, request.port, self._parts
        check_name(host, port, parts.named)
        if refusal := parts.policy.judge(host, port):
            raise NotLetThrough(refusal)
        if not parts.traffic.has_room(host):
            raise NotLetThrough(Reason.HOSTS)
        most = parts.policy.most_up(host)
        if most is not None and parts.traffic.total_up(host) >= most:
            raise NotLetThrough(Reason.SENT_TOO_MUCH)

    async def _pass_on(self, request: ProxyRequest, outward: Outward) -> None:
        first = outward.head
        self._is_answered = True
        if request.is_tunnel:
            self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._writer.drain()
            first = await self._read_hello(request)
        self._count_up(len(first))
        outward.writer.write(first)
        await outward.writer.drain()
        up = self._send_all(outward) if request.is_tunnel else self._send_body(request.body_bytes, outward)
        if request.is_tunnel and may_be_upgrade(first) and not await self._receive_switch(outward):
            up.close()
            up = self._send_body(0, outward)
        await self._join(up, self._receive_all(outward))

    async def _receive_switch(self, outward: Outward) -> bool:
        """The server's answer to a WebSocket's head: whether what follows may be anything."""
        try:
            async with asyncio.timeout(self._parts.limits.hello_s):
                head = await outward.reader.readuntil(END)
        except asyncio.LimitOverrunError:
            raise NotLetThrough(Reason.NO_TLS) from None
        request = self._request
        assert request is not None  # noqa: S101 - it was read before anything was connected
        self._parts.traffic.count_down(request.host, request.port, len(head))
        self._writer.write(head)
        await self._writer.drain()
        return has_switched(head)

    async def _read_hello(self, request: ProxyRequest) -> bytes:
        """The client's greeting, whose server is the host that was asked for. An address has no such name. To a host
        that the operator named it may be a WebSocket's head instead, which is written again."""
        data, wanted = b"", "" if parse_address(request.host) else request.host
        try:
            async with asyncio.timeout(self._parts.limits.hello_s):
                while self._is_head(request, data) or (name := read_server_name(data)) is None:
                    if data.endswith(END):
                        return rewrite_upgrade(data, request)
                    if len(data) > self._parts.limits.head_bytes:
                        raise NotLetThrough(Reason.HEAD)
                    piece = await self._reader.read(PIECE_BYTES)
                    if not piece:
                        raise NotLetThrough(Reason.NO_TLS)
                    data += piece
        except (NotTls, TimeoutError):
            raise NotLetThrough(Reason.NO_TLS) from None
        if name != wanted:
            raise NotLetThrough(Reason.SERVER_NAME)
        return data

    def _is_head(self, request: ProxyRequest, data: bytes) -> bool:
        return bool(data) and (request.host, request.port) in self._parts.named and may_be_upgrade(data)

    async def _join(self, *ways: Coroutine[None, None, None]) -> None:
        """Both directions, until the server has said its last or nothing moves any more."""
        up, down = tasks = [asyncio.ensure_future(way) for way in ways]
        try:
            async with asyncio.timeout(self._idle_s) as self._idle:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if up in done:
                    up.result()
                await down
        finally:
            self._idle = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, outward: Outward) -> None:
        while piece := await self._reader.read(PIECE_BYTES):
            await self._send(piece, outward)
        if outward.writer.can_write_eof():
            outward.writer.write_eof()
        self._wait_less()

    async def _send_body(self, left: int, outward: Outward) -> None:
        """Exactly the body. What follows it would be another request, which nobody has judged: it is not read."""
        while left and (piece := await self._reader.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            await self._send(piece, outward)
        await self._reader.read(1)
        self._wait_less()

    async def _send(self, piece: bytes, outward: Outward) -> None:
        self._count_up(len(piece))
        outward.writer.write(piece)
        await outward.writer.drain()
        self._moved()

    async def _receive_all(self, outward: Outward) -> None:
        request = self._request
        assert request is not None  # noqa: S101 - it was read before anything was connected
        while piece := await outward.reader.read(PIECE_BYTES):
            self._parts.traffic.count_down(request.host, request.port, len(piece))
            self._writer.write(piece)
            await self._writer.drain()
            self._moved()
        with suppress(OSError):
            await self._writer.drain()

    def _count_up(self, count: int) -> None:
        """Raises NotLetThrough when that is more than may be sent to the host."""
        request = self._request
        assert request is not None  # noqa: S101 - as above
        sent = self._parts.traffic.count_up(request.host, request.port, count)
        most = self._parts.policy.most_up(request.host)
        if most is not None and sent > most:
            raise NotLetThrough(Reason.SENT_TOO_MUCH)

    def _moved(self) -> None:
        if self._idle is not None:
            self._idle.reschedule(asyncio.get_running_loop().time() + self._idle_s)

    def _wait_less(self) -> None:
        self._idle_s = min(self._idle_s, self._parts.limits.half_open_s)
        self._moved()

    def _note(self, refusal: Refusal) -> None:
        verdict = GateVerdict.CUT if self._is_answered else GateVerdict.REFUSED
        host, port = (self._request.host, self._request.port) if self._request else ("", 0)
        self._parts.traffic.count_connection(host, port, verdict, refusal.reason)

    async def _answer(self, refusal: Refusal) -> None:
        """The client hears why; within a connection that was let through there is no place for it."""
        if self._is_answered:
            abort_transport(self._writer.transport)
            return
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._parts.limits.head_s):
                self._writer.write(refusal.as_response())
                await self._writer.drain()

    async def _close(self) -> None:
        """The client gets what is left for it, if it takes it soon."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._parts.limits.half_open_s):
                await self._writer.wait_closed()
