"""A person watches the browser of their cubicle, takes it over and gives it back. While they have it, what the agent
asks of it waits. What they type is passed on and kept nowhere; that they had it is in the audit log.
"""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from orchestrator.browser.dialogs import DialogCloser
from orchestrator.browser.faults import BrowserSlow
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser.accesses import BrowserAccesses
from orchestrator.capabilities.browser.addresses import read_address
from orchestrator.capabilities.browser.kept_logins import KeptLogins
from orchestrator.capabilities.browser.person_holds import PersonHolds
from orchestrator.capabilities.browser.person_input import do_inputs, read_inputs
from orchestrator.capabilities.browser.view_window import ViewWindow
from orchestrator.core.audit import Audit
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey, User
from orchestrator.core.periodic import Periodic, guarded
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.cubicle_browser import AGAIN
from orchestrator.live_browsers.models import BrowserEnded
from orchestrator.web.sites import site_of
from orchestrator.web.url_warnings import list_warnings

Found = TypeVar("Found")

ELSEWHERE: Final = "The browser is shown in another window of yours."
_CLOSED: Final = f"A person closed the browser. {AGAIN}"
_NONE_OPEN: Final = "No browser is open. The agent opens one when it needs a page."
_LOOK_S: Final = 0.5
_TITLES_S: Final = 1.0
_SWEEP_S: Final = 2.0
_UNDISTURBED_S: Final = 10.0
GOES: Final = frozenset({"back", "reload", "dismiss"})


@dataclass(frozen=True, slots=True)
class WantedPage:
    """An address that the page in front wanted to go to and may not, unless the person says so."""

    url: str
    host: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrowserLook:
    """A browser at one moment. Titles, addresses and messages are a stranger's."""

    is_open: bool
    url: str = ""
    title: str = ""
    tabs: tuple[dict[str, Any], ...] = ()
    site: str = ""
    """That of the page in front, where its logins may be kept."""
    sites: tuple[str, ...] = ()
    """Whose pages may be opened now."""
    dialogs: tuple[dict[str, Any], ...] = ()
    wanted: WantedPage | None = None
    is_held: bool = False
    """The person has it."""
    left_s: float | None = field(default=None, compare=False)
    """For so many more seconds, unless they do something."""
    is_touched: bool = False
    """The agent has called methods on the page in front, so something there may listen for it."""


@dataclass(frozen=True, slots=True)
class ViewNews:
    """One thing that a window is told: ``state``, ``frame``, ``still`` or ``over``."""

    kind: str
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveViewParts:
    """What live views stand on."""

    browsers: LiveBrowsers[BrowserSession]
    accesses: BrowserAccesses
    holds: PersonHolds
    audit: Audit
    private_hosts: frozenset[tuple[str, int]]
    changed: Callable[[CubicleKey], None]
    """Somebody who watches should look again."""
    logins: KeptLogins
    """What browsers are logged in to, of the sites that a person chose."""
    resume: Callable[[], None]
    """What waited for browsers that were given back goes on."""
    remote_host: str = ""
    """Where browsers are, when they are not on this machine."""


class LiveViews:
    """All of an install. Any thread may call; each is for the cubicle's own person."""

    def __init__(self, parts: LiveViewParts) -> None:
        self._parts = parts
        self._browsers, self._holds = parts.browsers, parts.holds
        self._windows: dict[CubicleKey, ViewWindow] = {}
        """The newest of each; one that was there before ends."""
        self._alive: frozenset[CubicleKey] = frozenset()
        self._sweeper = Periodic("browser holds", self._sweep, every_s=lambda: _SWEEP_S)

    @property
    def remote_host(self) -> str:
        """Where browsers are, when they are not on this machine; else empty."""
        return self._parts.remote_host

    def start(self) -> None:
        """Holds end in time."""
        self._sweeper.start()

    def close(self) -> None:
        """Nobody watches any more."""
        self._sweeper.close()
        for window in list(self._windows.values()):
            window.end("HermitShell is stopping.")

    # --- looking

    def look(self, key: CubicleKey) -> BrowserLook:
        """The browser as it is; it is not woken."""
        try:
            found = self._browsers.look(key, lambda session: self._read_look(key, session))
        except Unavailable:  # we are stopping
            found = None
        return found or BrowserLook(is_open=False)

    def open_window(self, key: CubicleKey) -> ViewWindow:
        """A window that ``watch`` shows the browser in; the one before it ends. Raises NotFound where no browser is
        open."""
        self._require_open(key)
        window = ViewWindow()
        before, self._windows[key] = self._windows.get(key), window
        if before is not None:
            before.end(ELSEWHERE)
        return window

    def confirm(self, key: CubicleKey, window: str, number: int) -> None:
        """A window has shown all pictures up to this one. Raises NotFound for one that is over."""
        found = self._windows.get(key)
        if found is None or found.id != window:
            raise NotFound("This view is over. Open another.")
        found.confirm(number)

    def watch(self, key: CubicleKey, window: ViewWindow) -> Iterator[ViewNews]:
        """What the window is told, until it or the browser ends; the browser is awake meanwhile."""
        yield ViewNews("begin", {"window": window.id})
        try:
            with self._browsers.awake(key):
                yield from self._show(key, window)
        except OrchestratorError as error:
            window.end(error.message)
        finally:
            window.end("")
            if self._windows.get(key) is window:
                del self._windows[key]
                guarded("a live view's end", lambda: self._browsers.look(key, lambda one: one.screencast.stop()))
        yield ViewNews("over", {"why": window.why_over, "elsewhere": window.why_over == ELSEWHERE})

    def _show(self, key: CubicleKey, window: ViewWindow) -> Iterator[ViewNews]:
        known: BrowserLook | None = None
        titles_at = 0.0

        async def take(session: BrowserSession) -> bytes | None:
            if not window.has_sent:
                session.screencast.look_again()
            return await session.screencast.next_picture(_LOOK_S)

        while not window.why_over:
            picture = self._call(key, take) if window.wait_room(_LOOK_S) else None
            if time.monotonic() - titles_at > _TITLES_S:
                self._call(key, lambda session: session.refresh_titles())
                titles_at = time.monotonic()
            now = self.look(key)
            if not now.is_open:
                self._require_open(key)
            if now != known:
                known = now
                yield ViewNews("state", look_json(now))
            if picture is None:
                yield ViewNews("still")
            elif not window.why_over:
                number = window.count_picture()
                yield ViewNews("frame", {"number": number, "jpeg": base64.b64encode(picture).decode()})

    # --- a person's hands

    def take_over(self, key: CubicleKey, by: User) -> None:
        """The person has the browser, once the agent's step has ended. Raises NotFound where none is open, and
        Unavailable where it can't be written down."""
        self._require_open(key)
        if self._holds.left_s(key) is not None:
            self._holds.renew(key)
            return
        self._parts.audit.record_event("browser.taken", f"{by.name} took over the browser of {key.agent}.", key)
        self._holds.take(key)
        with contextlib.suppress(BrowserSlow):  # what comes of that step is not told to the agent
            self._call(key, lambda session: session.wait_undisturbed(_UNDISTURBED_S))
        self._parts.changed(key)

    def give_back(self, key: CubicleKey) -> None:
        """The agent has it again; again is fine."""
        if self._holds.give_back(key) is None:
            return
        self._browsers.look(key, lambda session: self._settle(key, session))
        self._parts.logins.save_open(key)
        self._parts.accesses.recheck(key)
        self._parts.audit.record_event("browser.given_back", f"The browser of {key.agent} was given back to it.", key)
        self._parts.resume()
        self._parts.changed(key)

    def put_in(self, key: CubicleKey, deeds: object) -> None:
        """What a person's pointer and keys did. Raises BadInput, Conflict where they do not have it, NotFound."""
        inputs = read_inputs(deeds)
        self._holds.renew(key)

        async def work(session: BrowserSession) -> None:
            do_inputs(session, inputs)

        self._call(key, work)

    def open_address(self, key: CubicleKey, url: str) -> None:
        """The page in front goes to an address; the person's own hand allows its site until it is left. Raises
        BadInput, Conflict, NotFound."""
        whole = url if "://" in url else f"https://{url}"
        link, (_, sharp, place) = read_address(whole, self._parts.private_hosts), whole.partition("#")
        self._holds.renew(key)
        self._parts.accesses.get_access(key).allow_once(site_of(link.host))

        async def work(session: BrowserSession) -> None:
            await self._parts.logins.restore(key, session)
            await session.navigation.open(f"{link.url}{sharp}{place}")

        self._act(key, work)

    def go(self, key: CubicleKey, where: str) -> None:
        """``back``, ``reload``, or ``dismiss`` what the page wanted to go to. Raises as ``open_address``."""
        if where not in GOES:
            raise BadInput(f"go: send one of {', '.join(sorted(GOES))}.")
        self._holds.renew(key)

        async def work(session: BrowserSession) -> None:
            if where == "back":
                await session.navigation.back()
            elif where == "reload":
                await session.navigation.reload()
            for tab in session.supervisor.tabs.all:
                tab.wanted = ""

        self._act(key, work)

    def use_tab(self, key: CubicleKey, number: int, *, closes: bool) -> None:
        """A tab comes to the front, or is closed. Raises as ``open_address``."""
        self._holds.renew(key)

        async def work(session: BrowserSession) -> None:
            await (session.navigation.close_tab(number) if closes else session.navigation.select_tab(number))

        self._act(key, work)

    def answer_dialog(self, key: CubicleKey, dialog: str, *, accepts: bool, text: str) -> None:
        """A dialog of a page is answered. Raises as ``open_address``."""
        self._holds.renew(key)
        action = "accept" if accepts else "dismiss"

        async def work(session: BrowserSession) -> None:
            await session.dialog(action, text=text, dialog_id=dialog, by=DialogCloser.PERSON)

        self._act(key, work)

    def close_browser(self, key: CubicleKey, by: User) -> None:
        """Its pages are gone. Raises NotFound where none is open."""
        self._require_open(key)
        self._parts.audit.record_event("browser.closed", f"{by.name} closed the browser of {key.agent}.", key)
        self._browsers.end(key, _CLOSED)
        self.give_back(key)
        self._parts.changed(key)

    # --- below

    def _call(self, key: CubicleKey, work: Callable[[BrowserSession], Awaitable[Found]]) -> Found:
        return self._browsers.call(key, work, starts=False)

    def _act(self, key: CubicleKey, work: Callable[[BrowserSession], Awaitable[None]]) -> None:
        async def act(session: BrowserSession) -> None:
            try:
                await work(session)
            finally:
                with contextlib.suppress(OrchestratorError):  # what became of the deed matters more
                    await session.refresh_titles()

        self._call(key, act)

    def _require_open(self, key: CubicleKey) -> None:
        try:
            is_open = self._browsers.look(key, lambda _: True)
        except BrowserEnded:
            is_open = None
        if not is_open:
            raise NotFound(_NONE_OPEN)

    def _settle(self, key: CubicleKey, session: BrowserSession) -> None:
        """What the person allowed by hand ends with its site, as what the agent was allowed does."""
        self._parts.accesses.get_access(key).set_open(session.open_hosts())
        for tab in session.supervisor.tabs.all:
            tab.wanted = ""

    def _read_look(self, key: CubicleKey, session: BrowserSession) -> BrowserLook:
        front, left_s = session.supervisor.tabs.in_front(), self._holds.left_s(key)
        tabs = tuple(
            {"number": one.number, "url": one.url, "title": one.title, "is_in_front": one.is_in_front}
            for one in session.tabs()
        )
        dialogs = tuple(
            {"id": one.view.id, "kind": one.view.kind, "message": one.view.message, "default": one.view.default}
            for one in session.supervisor.dialogs.pending
        )
        url = "" if front is None else session.shown_url(front)
        return BrowserLook(
            is_open=True,
            url=url,
            title="" if front is None else front.title,
            tabs=tabs,
            site=self._parts.logins.find_site(url),
            sites=self._parts.accesses.get_access(key).list_sites(),
            dialogs=dialogs,
            wanted=None if front is None else self._read_wanted(front.wanted),
            is_held=left_s is not None,
            left_s=left_s,
            is_touched=front is not None and front.is_touched,
        )

    def _read_wanted(self, url: str) -> WantedPage | None:
        if not url:
            return None
        try:
            link = read_address(url, self._parts.private_hosts)
        except BadInput:  # it can't be opened by anybody
            return None
        return WantedPage(url, link.host, tuple(hint.text for hint in list_warnings(link)))

    def _sweep(self) -> None:
        alive = frozenset(self._browsers.list_alive())
        for key in self._holds.list_holds():
            if self._holds.left_s(key) is None or key not in alive:
                guarded(f"giving back the browser of {key}", lambda key=key: self.give_back(key))  # type: ignore[misc]
        self._parts.resume()  # what began to wait while a hold ended
        for key in list(self._windows):  # these are not paused, so nothing else keeps what happens in them
            guarded(f"keeping the logins of {key}", lambda key=key: self._parts.logins.save_open(key))  # type: ignore[misc]
        for key in alive ^ self._alive:
            self._parts.changed(key)
        self._alive = alive


def look_json(look: BrowserLook) -> dict[str, Any]:
    """As programs and pages are told of it."""
    wanted = look.wanted
    return {
        "open": look.is_open,
        "url": look.url,
        "title": look.title,
        "tabs": list(look.tabs),
        "site": look.site,
        "sites": list(look.sites),
        "dialogs": list(look.dialogs),
        "wanted": None
        if wanted is None
        else {"url": wanted.url, "host": wanted.host, "warnings": list(wanted.warnings)},
        "held": look.is_held,
        "left_s": None if look.left_s is None else max(0, round(look.left_s)),
        "scripted": look.is_touched,
    }
