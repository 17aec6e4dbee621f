"""The addresses of a host that is let through: every one of them public, or the host one that the operator named. What
was found stays for a minute, so what was checked is what is connected to."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from orchestrator.core.errors import BadInput
from orchestrator.gate.policy import HostPort
from orchestrator.gate.refusals import NotLetThrough, Reason
from orchestrator.web.ip_rules import Address, is_global, parse_address, unmap_address
from orchestrator.web.network import Network
from orchestrator.web.urls import UrlRules, parse_url

PORTS = frozenset({80, 443})
PINNED_S = 60.0
_MOST_PINNED = 256
_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
T = TypeVar("T")


def check_name(host: str, port: int, named: frozenset[HostPort]) -> None:
    """It is a name of the public internet at one of the web's ports, or what the operator ``named``. Raises
    NotLetThrough; nothing is looked up."""
    if (host, port) in named:
        return
    if port not in PORTS:
        raise NotLetThrough(Reason.PORT)
    if ":" in host or _NUMBER.fullmatch(host):
        raise NotLetThrough(Reason.NOT_A_NAME)
    try:
        link = parse_url(f"https://{host}/", UrlRules())
    except BadInput as error:
        raise NotLetThrough(Reason.NOT_A_NAME) from error
    if link.host != host or link.address is not None:
        raise NotLetThrough(Reason.NOT_A_NAME)


class HostAddresses:
    """What the hosts of one gate lead to. For the gate's thread alone."""

    def __init__(self, network: Network, named: frozenset[HostPort], timeout_s: float) -> None:
        """A look-up takes at most ``timeout_s``."""
        self._network, self._named, self._timeout_s = network, named, timeout_s
        self._pinned: dict[str, tuple[float, tuple[Address, ...]]] = {}

    async def find(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses that may be connected to, the preferred one first. Raises NotLetThrough: no answer, or one
        address among them that is not public."""
        if (host, port) in self._named:
            literal = parse_address(host)
            return (literal,) if literal else await self._look_up(host)
        kept = self._pinned.get(host)
        if kept is None or kept[0] <= time.monotonic():
            found = await self._look_up(host)
            if not all(map(is_global, found)):
                # One bad answer spoils all: a name that means both the internet and a private network is an attack.
                raise NotLetThrough(Reason.PRIVATE)
            if len(self._pinned) >= _MOST_PINNED:
                self._pinned.clear()
            kept = self._pinned[host] = (time.monotonic() + PINNED_S, found)
        return kept[1]

    async def _look_up(self, host: str) -> tuple[Address, ...]:
        try:
            answer = await in_thread(lambda: self._network.resolve(host, self._timeout_s), self._timeout_s)
        except (OSError, UnicodeError) as error:
            raise NotLetThrough(Reason.NOT_FOUND) from error
        found = [parse_address(text) for text in dict.fromkeys(answer)]
        if not found:
            raise NotLetThrough(Reason.NOT_FOUND)
        readable = [unmap_address(address) for address in found if address is not None]
        if len(readable) < len(found):
            raise NotLetThrough(Reason.PRIVATE)
        return tuple(readable)


async def in_thread(call: Callable[[], T], timeout_s: float) -> T:
    """What a call that blocks gives, in a thread of its own that nobody waits for at the end. Raises what it raises,
    and TimeoutError."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    done: Future[T] = Future()

    def settle(_: Future[T]) -> None:
        if future.done():
            _close_late(done)
        elif error := done.exception():
            future.set_exception(error)
        else:
            future.set_result(done.result())

    def work() -> None:
        try:
            done.set_result(call())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            done.set_exception(error)
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(settle, done)

    Thread(target=work, name="gate-network", daemon=True).start()
    async with asyncio.timeout(timeout_s + 1.0):
        return await future


def _close_late(done: Future[T]) -> None:
    """A connection that nobody waits for any more is closed."""
    if done.exception() is None and isinstance(found := done.result(), socket.socket):
        found.close()
