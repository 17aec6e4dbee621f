"""Logins that stay: cookies, and localStorage of the pages that were visited, as JSON that the host keeps. Everything
in it came from a hostile browser once, so it is bounded and read strictly each time.

Whoever keeps it decides when. A browser that has just begun, or a page that was logged out by mistake, has an empty
state: keep the former one unless ``StorageState.is_empty`` is False.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orchestrator.browser.dialog_notes import ASKED, TOLD
from orchestrator.browser.faults import BrowserError, BrowserLost, BrowserRefused
from orchestrator.browser.fields import Fields, child_of, is_set, number_of, objects_of, text_of
from orchestrator.browser.page_calls import PageCalls, as_script
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import BrowserTab
from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object

MAX_STATE_BYTES = 1_000_000
_MAX_COOKIES = 1000
_MAX_ORIGINS = 100
_MAX_VISITED = 2000
_MAX_ITEMS = 500
_MAX_ITEM = 100_000
_WORLD = "hermit-state"


@dataclass(frozen=True)
class StoredCookie:
    """One cookie."""

    name: str
    value: str
    domain: str
    path: str
    expires: float
    """Seconds since 1970; -1 for one that ends with the browser."""
    is_secure: bool
    is_http_only: bool
    same_site: str

    def is_of(self, host: str) -> bool:
        """It is sent to this host or to one below it."""
        domain = self.domain.lstrip(".").lower()
        return domain == host or domain.endswith(f".{host}")


@dataclass(frozen=True)
class StorageState:
    """What makes a browser known to sites."""

    cookies: tuple[StoredCookie, ...] = ()
    local: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """localStorage, by origin (``https://shop.test``)."""

    @property
    def is_empty(self) -> bool:
        """Nobody is logged in anywhere by this."""
        return not self.cookies and not any(self.local.values())

    def of_host(self, host: str) -> StorageState:
        """What belongs to a host and to those below it."""
        local = {origin: items for origin, items in self.local.items() if _is_below(origin, host)}
        return StorageState(tuple(one for one in self.cookies if one.is_of(host)), local)

    def with_newer(self, newer: StorageState, host: str) -> StorageState:
        """This, with what is newer of a host and of those below it instead. What is empty takes nothing's place: not
        their cookies, nor the localStorage of any origin."""
        fresh = newer.of_host(host)
        others = tuple(one for one in self.cookies if not one.is_of(host))
        local = {origin: items for origin, items in fresh.local.items() if items}
        return StorageState((*others, *fresh.cookies) if fresh.cookies else self.cookies, {**self.local, **local})

    def with_more(self, other: StorageState) -> StorageState:
        """This and the other, which have nothing in common."""
        return StorageState((*self.cookies, *other.cookies), {**self.local, **other.local})

    def to_json(self) -> str:
        """To be kept.

        Raises:
            BrowserError: it is over 1 MB.
        """
        text = json.dumps({"cookies": [vars(one) for one in self.cookies], "local": self.local})
        if len(text) > MAX_STATE_BYTES:
            raise BrowserError("The browser's logins are over 1 MB, so they were not kept.")
        return text


def read_state(text: str) -> StorageState:
    """What was kept.

    Raises:
        BadInput: it can't be read.
    """
    if len(text) > MAX_STATE_BYTES:
        raise BadInput("The kept logins of a browser are over 1 MB.")
    fields = read_object(text.encode())
    cookies = (_kept_cookie(one) for one in objects_of(fields, "cookies", most=_MAX_COOKIES))
    local = child_of(fields, "local")
    return StorageState(
        tuple(one for one in cookies if one.name or one.value),
        {origin: _items_of(local.get(origin)) for origin in list(local)[:_MAX_ORIGINS] if _is_origin(origin)},
    )


class StateKeeper:
    """Reads the state of a browser, and gives one back to it."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls) -> None:
        self._supervisor = supervisor
        self._wire = supervisor.wire
        self._calls = calls
        self._owed: dict[str, str] = {}
        """The script for each origin that has not been visited since."""
        self.restored: set[str] = set()
        """The sites whose state this browser was given, by whoever keeps it."""
        self.restoring = asyncio.Lock()  # theirs as well: one after the other
        self._visited: dict[str, None] = {}
        """The origins of pages that were open, the newest last: each may have stored something."""
        self._given: dict[tuple[str, str], str] = {}
        """What the browser calls the script, by session and origin; empty until it has said."""
        supervisor.on_tab = self._owe_to
        supervisor.on_document = self._forget_visited

    async def read(self) -> StorageState:
        """All cookies, and localStorage of the page in front.

        Raises:
            As ``PageCalls.call``.
        """
        answer = await self._wire.call("Storage.getCookies", "", self._supervisor.context.scope)
        found = (_browser_cookie(one) for one in objects_of(answer, "cookies", most=_MAX_COOKIES))
        cookies = tuple(one for one in found if not one.name.startswith((ASKED, TOLD)))  # of dialogs
        frame = self._calls.main_frame()
        origin = _origin_of(frame.url)
        if not origin:
            return StorageState(cookies)
        stored = await self._calls.evaluate(frame, _READ)
        return StorageState(cookies, {origin: _items_of(stored)} if isinstance(stored, Mapping) else {})

    async def restore(self, state: StorageState) -> None:
        """Set its cookies now, and its localStorage when each origin is next visited, where that is empty then. A
        cookie that the browser refuses is left out.

        Raises:
            BrowserSlow: no answer in time; BrowserLost.
        """
        try:
            await self._set_cookies([_to_browser(one) for one in state.cookies])
        except BrowserRefused:  # one of them spoils them all
            for one in state.cookies:
                with contextlib.suppress(BrowserRefused):
                    await self._set_cookies([_to_browser(one)])
        for origin, items in state.local.items():
            if items and len(self._owed) < _MAX_ORIGINS:
                self._owed[origin] = f"({_WRITE})({as_script(origin)},{as_script(dict(items))})"
        for tab in self._supervisor.tabs.all:
            self._owe_to(tab)

    async def clear(self, host: str) -> None:
        """Nothing of a host and of those below it is left in the browser: cookies, and what pages stored.

        Raises:
            BrowserError: the browser refused; BrowserLost, BrowserSlow.
        """
        answer = await self._wire.call("Storage.getCookies", "", self._supervisor.context.scope)
        cookies = [_browser_cookie(one) for one in objects_of(answer, "cookies", most=_MAX_COOKIES)]
        ended = [{**_to_browser(one), "expires": 1} for one in cookies if one.is_of(host)]
        await self._set_cookies(ended)
        for origin in [origin for origin in self._owed if _is_below(origin, host)]:
            del self._owed[origin]
            self._take_back(origin)
        tabs = self._supervisor.tabs.all
        stored = {*self._visited, *(_origin_of(tab.url) for tab in tabs)}
        for origin in sorted(one for one in stored if one and _is_below(one, host)):
            if not tabs:
                raise BrowserError("No page is open by which the browser could be told to forget.")
            wanted = {"origin": origin, "storageTypes": "cookies,local_storage,indexeddb,cache_storage"}
            await self._wire.call("Storage.clearDataForOrigin", tabs[0].session, wanted)

    async def _set_cookies(self, cookies: list[dict[str, object]]) -> None:
        if cookies:
            await self._wire.call("Storage.setCookies", "", {"cookies": cookies, **self._supervisor.context.scope})

    def _owe_to(self, tab: BrowserTab) -> None:
        for origin, source in self._owed.items():
            if (tab.session, origin) not in self._given:
                self._give(tab.session, origin, source)

    def _give(self, session: str, origin: str, source: str) -> None:
        self._given[session, origin] = ""
        try:
            script = {"source": source, "worldName": _WORLD}
            added = self._wire.post("Page.addScriptToEvaluateOnNewDocument", session, script)
        except BrowserLost:
            del self._given[session, origin]  # the next connection tells of the tab again
            return
        added.add_done_callback(lambda done: self._remember(session, origin, done))

    def _remember(self, session: str, origin: str, done: asyncio.Future[Fields]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._given.pop((session, origin), None)
            return
        self._given[session, origin] = text_of(done.result(), "identifier", most=100)
        if origin not in self._owed:
            self._take_back(origin)

    def _forget_visited(self, _tab: BrowserTab, url: str) -> None:
        """What was given once is not given again: who logs out stays so."""
        origin = _origin_of(url)
        if not origin:
            return
        self._visited.pop(origin, None)
        self._visited[origin] = None
        if len(self._visited) > _MAX_VISITED:
            del self._visited[next(iter(self._visited))]
        if self._owed.pop(origin, None) is not None:
            self._take_back(origin)

    def _take_back(self, origin: str) -> None:
        for (session, of), name in list(self._given.items()):
            if of == origin and name:
                del self._given[session, of]
                self._wire.tell("Page.removeScriptToEvaluateOnNewDocument", session, {"identifier": name})


def _kept_cookie(fields: Fields) -> StoredCookie:
    return StoredCookie(
        name=text_of(fields, "name"),
        value=text_of(fields, "value"),
        domain=text_of(fields, "domain", most=255),
        path=text_of(fields, "path", most=1024),
        expires=number_of(fields, "expires"),
        is_secure=is_set(fields, "is_secure"),
        is_http_only=is_set(fields, "is_http_only"),
        same_site=text_of(fields, "same_site", most=10),
    )


def _browser_cookie(fields: Fields) -> StoredCookie:
    return _kept_cookie(
        {
            **fields,
            "is_secure": fields.get("secure"),
            "is_http_only": fields.get("httpOnly"),
            "same_site": fields.get("sameSite"),
        }
    )


def _to_browser(cookie: StoredCookie) -> dict[str, object]:
    told: dict[str, object] = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain,
        "path": cookie.path or "/",
        "secure": cookie.is_secure,
        "httpOnly": cookie.is_http_only,
    }
    if cookie.expires > 0:
        told["expires"] = cookie.expires
    if cookie.same_site in ("Strict", "Lax", "None"):
        told["sameSite"] = cookie.same_site
    return told


def _items_of(found: object) -> dict[str, str]:
    if not isinstance(found, Mapping):
        return {}
    items = ((key, value) for key, value in list(found.items())[:_MAX_ITEMS] if isinstance(value, str))
    return {key: value for key, value in items if len(key) <= 1000 and len(value) <= _MAX_ITEM}


def _origin_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_site = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.lower()}" if is_site else ""


def _is_origin(text: str) -> bool:
    return bool(text) and _origin_of(text) == text


def _is_below(origin: str, host: str) -> bool:
    name = (urlsplit(origin).hostname or "").lower()
    return name == host or name.endswith(f".{host}")


_READ = """(() => {
  const items = {}; let size = 0;
  try {
    for (let n = 0; n < Math.min(localStorage.length, 500); n++) {
      const key = localStorage.key(n), value = localStorage.getItem(key);
      size += key.length + value.length;
      if (size > 800000) break;
      if (key.isWellFormed() && value.isWellFormed()) items[key] = value;
    }
  } catch { return null; }
  return items;
})()"""
_WRITE = """(origin, items) => {
  if (location.origin !== origin) return;
  try {
    if (localStorage.length) return;
    for (const key of Object.keys(items)) localStorage.setItem(key, items[key]);
  } catch {}
}"""
