"""Connecting to a host that was let through: to the address that was checked, or by this machine's own proxy, which
then looks the name up itself."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.gate.addresses import HostAddresses, in_thread
from orchestrator.gate.heads import ProxyRequest, write_head
from orchestrator.gate.refusals import NotLetThrough, Reason
from orchestrator.gate.upstream_proxy import UpstreamProxies, UpstreamProxy
from orchestrator.web.ip_rules import Address, parse_address
from orchestrator.web.network import Network

logger = logging.getLogger(__name__)

PIECE_BYTES = 1 << 16
_ANSWER_BYTES = 16 * 1024
_TRIED_ADDRESSES = 3


@dataclass(frozen=True, slots=True)
class Outward:
    """A connection outwards."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes
    """What is sent first for a plain request; empty for a tunnel."""


class WayOut:
    """How one gate connects."""

    def __init__(
        self, network: Network, addresses: HostAddresses, proxies: UpstreamProxies, *, timeout_s: float
    ) -> None:
        """Each connection takes at most ``timeout_s``."""
        self._network, self._addresses, self._proxies = network, addresses, proxies
        self._timeout_s = timeout_s

    async def open(self, request: ProxyRequest) -> Outward:
        """Connected. Raises NotLetThrough."""
        proxy = self._proxies.find(request.host, request.port, is_tunnel=request.is_tunnel)
        if proxy is None:
            found = await self._addresses.find(request.host, request.port)
            reader, writer = await self._connect(found, request.port)
            return Outward(reader, writer, b"" if request.is_tunnel else write_head(request))
        if not proxy.is_usable:
            raise NotLetThrough(Reason.UPSTREAM)
        return await self._open_by(proxy, request)

    async def _open_by(self, proxy: UpstreamProxy, request: ProxyRequest) -> Outward:
        try:
            literal = parse_address(proxy.host)
            texts = [] if literal else await self._resolve(proxy.host)
            found = (literal,) if literal else tuple(a for text in texts if (a := parse_address(text)))
            reader, writer = await self._connect(found, proxy.port)
        except (OSError, NotLetThrough) as error:
            raise NotLetThrough(Reason.UPSTREAM) from error
        if not request.is_tunnel:
            return Outward(reader, writer, write_head(request, proxy_authorization=proxy.authorization))
        try:
            await self._ask_for_tunnel(proxy, request, reader, writer)
        except BaseException:
            writer.close()
            raise
        return Outward(reader, writer, b"")

    async def _ask_for_tunnel(
        self,
        proxy: UpstreamProxy,
        request: ProxyRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        host = f"[{request.host}]" if ":" in request.host else request.host
        lines = [f"CONNECT {host}:{request.port} HTTP/1.1", f"Host: {host}:{request.port}"]
        lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
        try:
            async with asyncio.timeout(self._timeout_s):
                writer.write("\r\n".join([*lines, "", ""]).encode("ascii"))
                head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise NotLetThrough(Reason.UPSTREAM) from error
        status = head.split(b" ", 2)[1:2]
        if not head.startswith(b"HTTP/1.") or status != [b"200"]:
            raise NotLetThrough(Reason.UNREACHABLE)

    async def _resolve(self, host: str) -> list[str]:
        return await in_thread(lambda: self._network.resolve(host, self._timeout_s), self._timeout_s)

    async def _connect(
        self, addresses: Sequence[Address], port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for address in addresses[:_TRIED_ADDRESSES]:
            try:
                sock = await self._connect_to(address, port)
            except OSError as error:
                logger.info("gate: %s port %s: %s", address, port, type(error).__name__)
                continue
            sock.setblocking(False)
            return await asyncio.open_connection(sock=sock, limit=PIECE_BYTES)
        raise NotLetThrough(Reason.UNREACHABLE)

    async def _connect_to(self, address: Address, port: int) -> socket.socket:
        return await in_thread(lambda: self._network.connect(address, port, self._timeout_s), self._timeout_s)


def abort_transport(transport: asyncio.WriteTransport) -> None:
    """End a connection at once, whatever it has still to send."""
    with suppress(AttributeError):  # asyncio's own, of one that has ended behind its last byte while it was closing
        transport.abort()
