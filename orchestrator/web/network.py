"""The two things that touch the network: looking a name up, and opening a connection to an address.

A seam: tests give their own. Names are looked up by the system, as absolute names, so that no search domain of the
host's network joins in; proxies and settings of the environment play no part.
"""

from __future__ import annotations

import queue
import socket
import threading
from typing import Protocol

from orchestrator.core.errors import Unavailable
from orchestrator.web.ip_rules import Address, parse_address


class Network(Protocol):
    """Where names and connections come from."""

    def resolve(self, host: str, timeout_s: float) -> list[str]:
        """The addresses of ``host``, as the answer spells them. Raises OSError when there is no answer."""

    def connect(self, address: Address, port: int, timeout_s: float) -> socket.socket:
        """A connection to exactly this address. Raises OSError."""


class SystemNetwork:
    """This machine's own resolver and sockets. Thread-safe."""

    def resolve(self, host: str, timeout_s: float) -> list[str]:
        """As `Network.resolve`. The system's look-up can't be interrupted, so it is waited for no longer than that."""
        answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()
        # One word alone is let through only where the operator named it, as this machine knows it.
        absolute = f"{host}." if "." in host else host

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(absolute, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            except OSError as error:
                answers.put(error)
            else:
                answers.put([str(entry[4][0]) for entry in found])

        threading.Thread(target=look_up, name="fetch-look-up", daemon=True).start()
        try:
            answer = answers.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError(f"no answer within {timeout_s:.0f} s") from None
        if isinstance(answer, OSError):
            raise answer
        return answer

    def connect(self, address: Address, port: int, timeout_s: float) -> socket.socket:
        """As `Network.connect`."""
        sock = socket.create_connection((str(address), port), timeout_s)
        sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # else a handshake waits 40 ms for an acknowledgement
        return sock


def addresses_of(host: str, network: Network, timeout_s: float) -> tuple[Address | None, ...]:
    """The host's addresses in the answer's order, None for one that can't be read. Raises Unavailable without any."""
    try:
        answer = network.resolve(host, timeout_s)
    except (OSError, UnicodeError):
        raise Unavailable(f"The name {host} could not be looked up. Check its spelling, or try again later.") from None
    if not answer:
        raise Unavailable(f"The name {host} has no address. Check its spelling.")
    return tuple(dict.fromkeys(parse_address(text) for text in answer))
