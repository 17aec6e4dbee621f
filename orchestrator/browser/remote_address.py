"""Where a browser of somebody else is reached: the address that the operator set, which may hold a key. Nothing here
shows more of it than its host."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from orchestrator.browser.faults import BrowserLost
from orchestrator.browser.fields import text_of
from orchestrator.core.errors import OrchestratorError
from orchestrator.web.json_client import ask_json
from orchestrator.web.limits import Internet
from orchestrator.web.urls import UrlRules, parse_url

_VERSION = "/json/version"
_PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}
_MOST_PATH = 2000


@dataclass(frozen=True)
class RemoteAddress:
    """One of ``ws://``, ``wss://``, ``http://`` and ``https://``, as ``HERMIT_BROWSER_CDP_URL`` has it."""

    url: str = field(repr=False)

    @property
    def host(self) -> str:
        """What may be shown: the host, and the port where it is not the usual one."""
        parts = urlsplit(self.url)
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        return name if parts.port in (None, _PORTS[parts.scheme]) else f"{name}:{parts.port}"

    @property
    def is_encrypted(self) -> bool:
        """Nobody on the way reads what is shown and typed."""
        return urlsplit(self.url).scheme in ("wss", "https")

    def find_socket(self, internet: Internet) -> str:
        """The address of the browser's WebSocket. It may wait: not for an event loop.

        An address of ``http`` is asked for it, at ``/json/version``. Only the path of the answer counts: whatever host
        it names, the connection goes to the operator's.

        Raises:
            BrowserLost: there is no answer, or none that can be used.
        """
        parts = urlsplit(self.url)
        if parts.scheme in ("ws", "wss"):
            return self.url
        rules = UrlRules.of_own_server(parts.scheme, parts.port or _PORTS[parts.scheme])
        path = parts.path.rstrip("/")
        asked = urlunsplit((parts.scheme, parts.netloc, path if path.endswith(_VERSION) else path + _VERSION, "", ""))
        try:
            query = f"?{parts.query}" if parts.query else ""
            answer = ask_json(parse_url(asked + query, rules), rules=rules, internet=internet)
        except OrchestratorError as error:
            raise BrowserLost(f"The remote browser can't be asked for its address. {error.message}") from None
        if not answer.is_ok:
            raise BrowserLost(f"The remote browser at {self.host} refuses to tell its address (HTTP {answer.status}).")
        told = text_of(answer.body, "webSocketDebuggerUrl", most=_MOST_PATH)
        try:
            found = urlsplit(told)
        except ValueError:
            found = urlsplit("")
        if found.scheme not in ("ws", "wss") or not found.path.startswith("/") or not told.isprintable():
            raise BrowserLost(f"What answers at {self.host} is no browser: it tells no webSocketDebuggerUrl.")
        scheme = "wss" if self.is_encrypted else "ws"
        return urlunsplit((scheme, parts.netloc, found.path, found.query or parts.query, ""))
