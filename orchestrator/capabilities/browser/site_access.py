"""What the browser of one cubicle may reach: the sites that are allowed, those of them whose pages are open, and what
they may load from elsewhere. It answers the gate and the driver from memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from orchestrator.browser.downloads import PageDownload
from orchestrator.capabilities.browser.known_hosts import is_measuring, is_static
from orchestrator.capabilities.browser.sent_bytes import SentBytes
from orchestrator.core.errors import NotFound
from orchestrator.gate.refusals import Reason, Refusal
from orchestrator.web.sites import find_site

_MEASURING = Refusal("measuring-host")
_NOT_APPROVED = Refusal(Reason.HOST_NOT_APPROVED)
_NO_FILES = "Files of pages are not taken. `hermit fetch URL` asks for one."


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a person allowed in advance, in the conversation of the moment."""

    sites: frozenset[str] = frozenset()
    companions: frozenset[tuple[str, str]] = frozenset()
    """Hosts, each with the site whose pages may load from it."""


class SiteAccess:
    """For one cubicle, for as long as we live. It is a policy for the gate and for the driver; any thread may call."""

    def __init__(self, *, allows_static: bool = True, on_narrowed: Callable[[], None] = lambda: None) -> None:
        """``allows_static``: pages may load from hosts that serve the same files to everybody. ``on_narrowed`` is
        called at once when less is open than before: what is connected already is to be looked at again."""
        self._allows_static, self._on_narrowed = allows_static, on_narrowed
        self.sent = SentBytes()
        self._lock = threading.Lock()  # protects all below
        self._granted = Allowed()
        self._once: frozenset[str] = frozenset()
        """Sites that were allowed until they are left."""
        self._once_companions: frozenset[tuple[str, str]] = frozenset()
        self._open: frozenset[str] = frozenset()
        """Those of which a page is open, or about to be."""

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

    def is_open(self, host: str) -> bool:
        """A page of its site is open, so that the agent goes on where a person let it in."""
        with self._lock:
            return bool(find_site(host, self._open & self._sites()))

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

    def may_download(self, _download: PageDownload) -> str | None:
        """None is taken."""
        return _NO_FILES

    async def may_upload(self, _origin: str, _paths: Sequence[str]) -> str | None:
        """None is given."""
        return "Files can't be given to pages."

    async def secret_for(self, name: str, origin: str) -> str:
        """There are none."""
        raise NotFound(f"No secret {name!r} is stored for {origin}.")

    def _sites(self) -> frozenset[str]:
        return self._granted.sites | self._once
