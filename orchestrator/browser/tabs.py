"""The pages that are open, the sessions through which we speak with them and with the processes of their frames, and
which page is in front."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orchestrator.browser.fields import Fields, child_of, count_of, text_of

MAX_TABS = 8
MAX_SESSIONS = 120
MAX_MISSING = 200
GATE_HEADER = "x-hermit-gate"
_NO_TUNNEL = "net::ERR_TUNNEL_CONNECTION_FAILED"
_MAX_REQUESTS = 500
_LONG_POLL_S = 3.0
_ENDLESS = frozenset({"EventSource", "WebSocket", "Media", "Ping"})


@dataclass(frozen=True)
class _PendingRequest:
    """Something that a page waits for."""

    since: float
    frame: str
    host: str
    is_document: bool


@dataclass
class BrowserTab:
    """One page."""

    target: str
    """Its name in the browser; that of its main frame too."""
    session: str
    number: int
    """For the agent; never used twice."""
    url: str = ""
    title: str = ""
    going: str = ""
    """The host of the page that it is on its way to; empty where it stays."""
    opener: str = ""
    is_crashed: bool = False
    is_loading: bool = False
    document: str = ""
    """Names the document that it shows; another one after each navigation."""
    refused: list[str] = field(default_factory=list)
    """Hosts that it wanted to go to and may not, with the reason; since somebody last asked."""
    wanted: str = ""
    """The address of the last page that it wanted to go to and may not; empty once it went on."""
    chooser: tuple[str, int] | None = None
    """Session and node of the field that asked for files, since somebody last looked."""
    holds_secret: bool = False
    """A secret was typed into the document that it shows."""
    is_touched: bool = False
    """The agent has called methods on the document that it shows, or on one that could reach into it."""
    missing: dict[str, str] = field(default_factory=dict)
    """Hosts that the gate let nothing be loaded from for this document, with its reason where it gave one."""
    gate_reason: str = ""
    """Why the gate refused the document itself."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and made new, with each event of it."""
    is_ready: asyncio.Event = field(default_factory=asyncio.Event)
    """It has answered once. A renderer that is told to navigate before that may crash."""
    _requests: dict[str, _PendingRequest] = field(default_factory=dict)
    """By the browser's name."""
    _failed: dict[str, _PendingRequest] = field(default_factory=dict)
    """Those that the page was given nothing for, for whatever reason."""
    _frames: dict[str, float] = field(default_factory=dict)
    """Frames in processes of their own that load, and since when."""

    def tell(self) -> None:
        """Whoever waits for something of it looks again."""
        self.changed.set()
        self.changed = asyncio.Event()

    def take_request(self, fields: Fields) -> None:
        """It asks for something."""
        name = text_of(fields, "requestId", most=100)
        if name and text_of(fields, "type", most=20) not in _ENDLESS and len(self._requests) < _MAX_REQUESTS:
            url = text_of(fields, "request", "url")
            is_document = text_of(fields, "type", most=20) == "Document"
            frame = text_of(fields, "frameId", most=100)
            self._requests[name] = _PendingRequest(time.monotonic(), frame, host_of(url), is_document)

    def take_request_end(self, fields: Fields) -> None:
        """It has it, or will not get it."""
        one = self._requests.pop(text_of(fields, "requestId", most=100), None)
        if one is None or "errorText" not in fields:
            return
        if text_of(fields, "errorText", most=100) == _NO_TUNNEL:
            self._miss(one, "")
        elif len(self._failed) < _MAX_REQUESTS:
            self._failed[text_of(fields, "requestId", most=100)] = one

    def take_response(self, fields: Fields) -> None:
        """An answer begins; the gate's own says why it refused. Its head may be told of after the end, and twice."""
        name = text_of(fields, "requestId", most=100)
        one = self._requests.get(name) or self._failed.pop(name, None)
        headers = child_of(fields, "headers") or child_of(fields, "response", "headers")
        reasons = [text_of(headers, name, most=100) for name in headers if name.lower() == GATE_HEADER]
        if one is not None and reasons:
            self._miss(one, reasons[0])

    def _miss(self, one: _PendingRequest, reason: str) -> None:
        if one.is_document and one.frame == self.target:
            self.gate_reason = reason or "host-not-approved"
        else:
            self.miss_host(one.host, reason)

    def take_frame_moved(self, frame: str, *, is_followed: bool) -> None:
        """A frame goes on loading in another process, which tells of the end where it is followed there."""
        self._requests = {name: one for name, one in self._requests.items() if one.frame != frame}
        if is_followed and len(self._frames) < _MAX_REQUESTS:
            self._frames[frame] = time.monotonic()

    def take_frame_end(self, frame: str) -> None:
        """It has loaded, or is gone."""
        self._frames.pop(frame, None)

    def take_chooser(self, fields: Fields, session: str) -> None:
        """It wants files."""
        self.chooser = (session, count_of(fields, "backendNodeId"))

    def take_document(self, document: str) -> None:
        """It shows another document now."""
        self.document = document
        self.holds_secret = False
        self.missing = {}
        self._requests.clear()
        self._failed.clear()
        self._frames.clear()

    def begin_again(self, session: str) -> None:
        """It is spoken with in another session, and nothing is known of what it waits for."""
        self.session = session
        self.is_loading, self.going, self.chooser = False, "", None
        self.is_ready = asyncio.Event()
        self._requests.clear()
        self._failed.clear()
        self._frames.clear()
        self.tell()

    def miss_host(self, host: str, reason: str) -> None:
        """Something of this host was kept from it."""
        if host and len(self.missing) < MAX_MISSING:
            self.missing.setdefault(host, reason)

    @property
    def is_busy(self) -> bool:
        """It loads something; what takes long is no loading but a poll."""
        oldest = time.monotonic() - _LONG_POLL_S
        since = [one.since for one in self._requests.values()] + list(self._frames.values())
        return self.is_loading or any(one > oldest for one in since)


def host_of(url: str) -> str:
    """The host of an address, in lower case, or ``""``."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


@dataclass(frozen=True)
class _Attachment:
    """A session."""

    tab: str
    """The session of the page that it belongs to."""
    depth: int


class BrowserTabs:
    """All of them, by session."""

    def __init__(self) -> None:
        self._tabs: dict[str, BrowserTab] = {}
        self._attached: dict[str, _Attachment] = {}
        self._last_number = 0
        self.current = ""
        """The session of the one in front."""

    @property
    def all(self) -> list[BrowserTab]:
        """The oldest first."""
        return list(self._tabs.values())

    @property
    def is_full(self) -> bool:
        """No more are opened."""
        return len(self._tabs) >= MAX_TABS

    def hosts(self) -> set[str]:
        """Of the pages that are shown; of a tab that is on its way, the one that it goes to."""
        return {host for tab in self._tabs.values() if (host := tab.going or host_of(tab.url))}

    def in_front(self) -> BrowserTab | None:
        """The current one."""
        return self._tabs.get(self.current)

    def of(self, session: str) -> BrowserTab | None:
        """The tab that a session is a part of."""
        attached = self._attached.get(session)
        return self._tabs.get(attached.tab) if attached else None

    def own(self, session: str) -> BrowserTab | None:
        """The tab whose own session it is."""
        return self._tabs.get(session)

    def knows(self, session: str) -> bool:
        """We asked for this session, or took it over."""
        return session in self._attached

    def depth_of(self, session: str) -> int:
        """0 for a page, more for the processes of its frames."""
        attached = self._attached.get(session)
        return attached.depth if attached else 0

    def sessions_of(self, tab: BrowserTab) -> set[str]:
        """Its own and those of its frames."""
        return {session for session, attached in self._attached.items() if attached.tab == tab.session}

    def with_target(self, target: str) -> BrowserTab | None:
        """By its name in the browser."""
        return next((tab for tab in self._tabs.values() if tab.target == target), None)

    def numbered(self, number: int) -> BrowserTab | None:
        """By the agent's number."""
        return next((tab for tab in self._tabs.values() if tab.number == number), None)

    def add(self, info: Fields, session: str, *, comes_to_front: bool) -> BrowserTab:
        """A page was attached to. One that a page opened gives the front back to it when it is closed."""
        self._last_number += 1
        front = self.in_front()
        tab = BrowserTab(
            text_of(info, "targetId", most=100),
            session,
            self._last_number,
            text_of(info, "url"),
            text_of(info, "title", most=500),
            text_of(info, "openerId", most=100) or (front.target if front else ""),
        )
        tab.is_touched = any(one.is_touched for one in self._tabs.values())
        self._tabs[session] = tab
        self._attached[session] = _Attachment(session, 0)
        if comes_to_front or self.current not in self._tabs:
            self.current = session
        return tab

    def add_frame(self, session: str, parent: str) -> bool:
        """A process of a frame was attached to; False where there is no room for more."""
        above = self._attached.get(parent)
        if above is None or len(self._attached) >= MAX_SESSIONS:
            return False
        self._attached[session] = _Attachment(above.tab, above.depth + 1)
        return True

    def move(self, tab: BrowserTab, session: str) -> None:
        """The same page is spoken with in another session: the connection was lost, and its frames are told of
        again."""
        old = tab.session
        self._tabs = {session if key == old else key: one for key, one in self._tabs.items()}
        self._attached = {key: one for key, one in self._attached.items() if one.tab != old}
        self._attached[session] = _Attachment(session, 0)
        if self.current == old:
            self.current = session
        tab.begin_again(session)

    def touch_all(self) -> None:
        """Methods are called on a page: what they leave there may reach into every other one."""
        for tab in self._tabs.values():
            tab.is_touched = True

    def take_document(self, tab: BrowserTab, document: str) -> None:
        """A tab shows another document, which is untouched only where no other tab could reach into it."""
        tab.take_document(document)
        tab.is_touched = any(one.is_touched for one in self._tabs.values() if one is not tab)

    def take_info(self, fields: Fields) -> None:
        """The browser tells the address and title of a page."""
        tab = self.with_target(text_of(fields, "targetInfo", "targetId", most=100))
        if tab is not None:
            tab.url, tab.title = text_of(fields, "targetInfo", "url"), text_of(fields, "targetInfo", "title", most=500)

    def take_crash(self, tab: BrowserTab | None) -> None:
        """Its renderer is gone."""
        if tab is not None:
            tab.is_crashed = True
            tab.tell()

    def remove(self, session: str) -> BrowserTab | None:
        """A session has ended; the tab, where it was a tab's own. Its opener comes to the front, or the newest."""
        gone = self._tabs.pop(session, None)
        self._attached.pop(session, None)
        if gone is None:
            return None
        self._attached = {key: one for key, one in self._attached.items() if one.tab != session}
        gone.tell()
        if self.current == session:
            opener = self.with_target(gone.opener) if gone.opener else None
            self.current = opener.session if opener else next(reversed(self._tabs), "")
        return gone
