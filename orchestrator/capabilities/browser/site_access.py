"""What the browser of one cubicle may reach: the sites that are allowed, those of them whose pages are open, and what
they may load from elsewhere. It answers the gate and the driver from memory.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from orchestrator.browser.downloads import PageDownload
from orchestrator.capabilities.browser.known_hosts import is_measuring, is_static
from orchestrator.capabilities.browser.sent_bytes import SentBytes
from orchestrator.core.errors import NotFound
from orchestrator.core.text import in_quotes
from orchestrator.gate.refusals import Reason, Refusal
from orchestrator.web.sites import find_site

_MEASURING = Refusal("measuring-host")
_NOT_APPROVED = Refusal(Reason.HOST_NOT_APPROVED)


FindSecret = Callable[[str, str], str]


def _no_secret(name: str, origin: str) -> str:
    raise NotFound(f"There is no secret {in_quotes(name, 40)} for {origin}.")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a person allowed in advance, in the conversation of the moment."""

    sites: frozenset[str] = frozenset()
    companions: frozenset[tuple[str, str]] = frozenset()
    """Hosts, each with the site whose pages may load from it."""


class SiteAccess:
    """For one cubicle, for as long as we live. It is a policy for the gate and for the driver; any thread may call."""

    def __init__(
        self,
        *,
        allows_static: bool = True,
        find_secret: FindSecret = _no_secret,
        on_narrowed: Callable[[], None] = lambda: None,
    ) -> None:
        """``allows_static``: pages may load from hosts that serve the same files to everybody. ``find_secret`` has the
        value of a name for an origin, or raises NotFound. ``on_narrowed`` is called at once when less is open than
        before: what is connected already is to be looked at again."""
        self._allows_static, self._find_secret, self._on_narrowed = allows_static, find_secret, on_narrowed
        self.sent = SentBytes()
        self._lock = threading.Lock()  # protects all below
        self._granted = Allowed()
        self._once: frozenset[str] = frozenset()
        """Sites that were allowed until they are left."""
        self._once_companions: frozenset[tuple[str, str]] = frozenset()
        self._open: frozenset[str] = frozenset()
        """Those of which a page is open, or about to be."""
        self._upload: tuple[str, tuple[str, ...]] | None = None
        """What a page may be given, and the origin of that page."""

    # --- what is allowed

    def set_granted(self, granted: Allowed) -> None:
        """This is what was allowed in advance, from now on."""
        with self._lock:
            self._granted = granted

    def allow_once(self, site: str) -> None:
        """A person said yes to this site; that holds until it is left."""
        with self._lock:
            self._once |= {site}
            self._open |= {site}

    def allow_companions(self, site: str, hosts: Iterable[str]) -> None:
        """Pages of this site may load from these hosts, until it is left."""
        with self._lock:
            self._once_companions |= {(host, site) for host in hosts}

    def set_open(self, hosts: Iterable[str]) -> frozenset[str]:
        """The pages that are open are of these hosts: what was allowed until its site is left ends for all others.
        Returns the sites of those pages."""
        with self._lock:
            allowed = self._sites()
            self._open = frozenset(site for host in hosts if (site := find_site(host, allowed)))
            self._once &= self._open
            self._once_companions = frozenset(one for one in self._once_companions if one[1] in self._open)
            return self._open

    def is_allowed(self, host: str) -> bool:
        """Its pages may be opened now."""
        with self._lock:
            return bool(find_site(host, self._sites()))

    def list_sites(self) -> tuple[str, ...]:
        """Those whose pages may be opened now, in the order of their names."""
        with self._lock:
            return tuple(sorted(self._sites()))

    def is_open(self, host: str) -> bool:
        """A page of its site is open, so that the agent goes on where a person let it in."""
        with self._lock:
            return bool(find_site(host, self._open & self._sites()))

    def allow_upload(self, origin: str, paths: Sequence[str], size_bytes: int) -> None:
        """A person agreed that a page of this origin gets these files, once; its host may be sent as much more, with
        what their form adds to it."""
        host = urlsplit(origin).hostname or ""
        with self._lock:
            self._upload = (origin, tuple(paths))
        self.sent.allow_files(host, 2 * size_bytes)

    def end_upload(self) -> None:
        """Nothing may be given any more."""
        with self._lock:
            self._upload = None

    # --- the gate asks

    def judge(self, host: str, _port: int) -> Refusal | None:
        """As `orchestrator.gate.policy.GatePolicy.judge`."""
        if is_measuring(host):
            return _MEASURING
        with self._lock:
            here = self._open & self._sites()
            companions = self._granted.companions | self._once_companions
        if not here:
            return _NOT_APPROVED
        if find_site(host, here) or any((host, site) in companions for site in here):
            return None
        return None if self._allows_static and is_static(host) else _NOT_APPROVED

    def most_up(self, host: str) -> int | None:
        """As `orchestrator.gate.policy.GatePolicy.most_up`."""
        return self.sent.most_up(host)

    # --- the driver asks

    def may_open(self, host: str) -> str | None:
        """As `orchestrator.browser.policy.BrowserPolicy.may_open`."""
        with self._lock:
            site = find_site(host, self._sites())
            if not site:
                return f"{host} is not allowed yet. `hermit browser open` with its address asks the person."
            return None

    def note_pages(self, hosts: Collection[str]) -> None:
        """As `orchestrator.browser.policy.BrowserPolicy.note_pages`. A yes until a site is left outlasts this: a page
        may lead back at once, as logins do."""
        with self._lock:
            before, allowed = self._open, self._sites()
            self._open = frozenset(site for host in hosts if (site := find_site(host, allowed)))
            is_narrower = bool(before - self._open)
        if is_narrower:
            self._on_narrowed()

    def may_download(self, download: PageDownload) -> str | None:
        """As `orchestrator.browser.policy.BrowserPolicy.may_download`: what it may load it may bring into its own
        folder. A person is asked before the agent gets it."""
        host = download.host
        if not host:
            return "it is not certain whose it is"
        return None if self.judge(host, 0) is None else f"{host} is not allowed here"

    async def may_upload(self, origin: str, paths: Sequence[str]) -> str | None:
        """As `orchestrator.browser.policy.BrowserPolicy.may_upload`: what a person agreed to, once."""
        with self._lock:
            agreed, self._upload = self._upload, None
        if agreed is None or agreed[1] != tuple(paths):
            return "a person has not agreed to them"
        if agreed[0] != origin:
            return f"a person agreed to give them to {agreed[0]}, and the page is of {origin} now"
        return None

    async def secret_for(self, name: str, origin: str) -> str:
        """As `orchestrator.browser.policy.BrowserPolicy.secret_for`."""
        return await asyncio.to_thread(self._find_secret, name, origin)

    def _sites(self) -> frozenset[str]:
        return self._granted.sites | self._once
