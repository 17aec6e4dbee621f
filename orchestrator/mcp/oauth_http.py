"""Single requests of a login, to the MCP server's own host and to authorization servers, and what they answer. The
addresses come from a stranger: each is public and encrypted, but on the server's own host where the operator named one
of a private network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from orchestrator.core.errors import BadInput, Forbidden, TooLarge, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.mcp.faults import McpBroken
from orchestrator.web.body import FetchLimits
from orchestrator.web.exchange import send_request
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, parse_url

_LIMITS = FetchLimits(file_bytes=128 * 1024, total_s=20.0, connect_s=8.0, silence_s=15.0)
_ALL_PORTS = frozenset(range(1, 65_536))
_HEADERS = {"User-Agent": "HermitShell", "Accept": "application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class LoginAnswer:
    """What was answered."""

    status: int
    body: dict[str, Any]
    """Empty where it was no JSON object."""

    @property
    def is_ok(self) -> bool:
        """It gives what was asked for."""
        return 200 <= self.status < 300


class LoginHttp:
    """Requests for the logins of one MCP server."""

    def __init__(self, internet: Internet, server: Link, *, is_private_allowed: bool) -> None:
        self._internet = internet
        self._own_host = server.host if is_private_allowed else ""

    def check(self, url: str) -> Link:
        """The address, where it may be used. Raises McpBroken."""
        try:
            return parse_url(url, self._rules(url))
        except (BadInput, ValueError):
            raise McpBroken("The server's login names an address that can't be used.") from None

    def get(self, url: str) -> LoginAnswer:
        """What is there. Raises McpBroken."""
        return self._send("GET", url, _HEADERS, None)

    def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> LoginAnswer:
        """Post a form. Raises McpBroken."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._send("POST", url, {**_HEADERS, **kind, **headers}, urlencode(form).encode())

    def post_json(self, url: str, value: Mapping[str, Any]) -> LoginAnswer:
        """Post an object. Raises McpBroken."""
        return self._send("POST", url, {**_HEADERS, "Content-Type": "application/json"}, json.dumps(value).encode())

    def _send(self, method: Any, url: str, headers: Mapping[str, str], body: bytes | None) -> LoginAnswer:
        link = self.check(url)
        try:
            answer = send_request(
                method,
                link,
                headers,
                body,
                rules=self._rules(url),
                internet=self._internet,
                limits=_LIMITS,
                reads_body=True,
                reads_failure=True,
            )
        except TooLarge:
            raise McpBroken(f"{link.host} sent more than a login needs.") from None
        except (Unavailable, Forbidden) as error:
            raise McpBroken(error.message) from None
        try:
            return LoginAnswer(answer.status, read_object(answer.body))
        except BadInput:
            return LoginAnswer(answer.status, {})

    def _rules(self, url: str) -> UrlRules:
        if self._own_host and (urlsplit(url).hostname or "").lower() == self._own_host:
            return UrlRules(plain_http=True, ports=_ALL_PORTS, is_allowed=lambda _address: True, local_names=True)
        return UrlRules(ports=_ALL_PORTS)
