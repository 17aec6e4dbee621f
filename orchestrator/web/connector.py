"""Connecting to a host whose every address was checked: looked up once, and connected to what was checked then, with
its certificate asked for. For whatever goes out to an address that somebody gave.
"""

from __future__ import annotations

import logging
import socket
import ssl

from orchestrator.core.errors import Forbidden, Unavailable
from orchestrator.web.body import FetchDeadline, FetchLimits
from orchestrator.web.ip_rules import Address, unmap_address
from orchestrator.web.network import Network, addresses_of
from orchestrator.web.urls import Link, UrlRules

logger = logging.getLogger(__name__)

_TRIED_ADDRESSES = 4


class CheckedConnector:
    """The connections of one request: a host stays at the addresses that were checked when it was first asked for."""

    def __init__(
        self, network: Network, rules: UrlRules, limits: FetchLimits, tls: ssl.SSLContext, clock: FetchDeadline
    ) -> None:
        self._network, self._rules, self._limits, self._tls, self._clock = network, rules, limits, tls, clock
        self._checked: dict[str, tuple[Address, ...]] = {}

    def connect(self, link: Link) -> tuple[socket.socket, Address]:
        """A connection to the link's host, encrypted for https, and the address that it leads to. Raises Forbidden for
        an address that the rules don't allow, and Unavailable."""
        return self._open(link, self._addresses(link))

    def _addresses(self, link: Link) -> tuple[Address, ...]:
        """The addresses of the host, each of them allowed."""
        if link.host not in self._checked:
            timeout_s = min(self._limits.connect_s, self._clock.seconds_left())
            found = (link.address,) if link.address else addresses_of(link.host, self._network, timeout_s)
            allowed = tuple(unmap_address(address) for address in found if address and self._rules.is_allowed(address))
            if len(allowed) < len(found):
                # One bad answer spoils all: a name that means both the internet and a private network is an attack.
                raise Forbidden(
                    f"{link.host} leads to an address inside a private network, so it was not fetched. "
                    "Only the internet is fetched from."
                )
            self._checked[link.host] = allowed
        return self._checked[link.host]

    def _open(self, link: Link, addresses: tuple[Address, ...]) -> tuple[socket.socket, Address]:
        for address in addresses[:_TRIED_ADDRESSES]:
            timeout_s = min(self._limits.connect_s, self._clock.seconds_left())
            try:
                sock = self._network.connect(address, link.port, timeout_s)
            except OSError as error:
                logger.info("fetch: %s at %s: %s", link.host, address, type(error).__name__)
                continue
            return (self._encrypted(sock, link) if link.scheme == "https" else sock), address
        raise Unavailable(f"{link.host} could not be reached. Try again later.")

    def _encrypted(self, sock: socket.socket, link: Link) -> ssl.SSLSocket:
        """The connection with the host's certificate checked. A cut without a farewell is an error, not an end."""
        try:
            sock.settimeout(min(self._limits.connect_s, self._clock.seconds_left()))
            return self._tls.wrap_socket(sock, server_hostname=link.host, suppress_ragged_eofs=False)
        except ssl.SSLCertVerificationError:
            sock.close()
            raise Unavailable(f"{link.host} does not show a valid certificate, so it was not trusted.") from None
        except OSError as error:
            sock.close()
            logger.info("fetch: handshake with %s: %s", link.host, type(error).__name__)
            raise Unavailable(f"{link.host} does not answer over an encrypted connection. Try again later.") from None
        except BaseException:
            sock.close()
            raise
