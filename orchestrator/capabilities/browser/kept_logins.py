"""Logins that stay: of sites that their person chose, cookies and storage of an agent's browser outlive it. They are
kept by the host and given to the next browser of the same cubicle, once a page of their site may be opened there.

What is kept came from a hostile browser. It is bounded, read strictly, and goes back to its own site alone.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.session import BrowserSession
from orchestrator.browser.storage_state import StorageState, read_state
from orchestrator.capabilities.browser import kept_login_rows as rows
from orchestrator.capabilities.browser.accesses import BrowserAccesses
from orchestrator.capabilities.browser.addresses import host_in
from orchestrator.capabilities.browser.kept_login_rows import KeptLogin
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, TooMany
from orchestrator.core.models import CubicleKey
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.web.sites import is_within, site_of
from orchestrator.web.urls import UrlRules, parse_url

logger = logging.getLogger(__name__)

_CLOSED: Final = "The browser was closed, as one of its logins was forgotten. The next call opens another."
_READS_S: Final = 2.0
"""How long a browser may take to tell its state: a page that hangs keeps nobody waiting."""
MOST: Final = 50
"""Sites of a cubicle."""


@dataclass(frozen=True, slots=True)
class SeenLogins:
    """What a browser has, and the sites of which it was given what was kept: of these its own is newer."""

    state: StorageState
    given: frozenset[str]


class KeptLogins:
    """Of all cubicles. Any thread may call, but for what says that it belongs to the browsers' loop."""

    def __init__(
        self,
        store: Store,
        browsers: LiveBrowsers[BrowserSession],
        accesses: BrowserAccesses,
        *,
        has_private_hosts: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``has_private_hosts``: the operator named hosts of a private network, which may be called anything."""
        self._store, self._browsers, self._accesses = store, browsers, accesses
        self._has_private_hosts, self._now = has_private_hosts, now

    # --- people

    def list_logins(self, key: CubicleKey) -> list[KeptLogin]:
        """The sites that are kept, without what is kept of them."""
        with self._store.reading() as db:
            return rows.list_logins(db, key)

    def list_cookies(self, key: CubicleKey) -> dict[str, list[str]]:
        """The names of the cookies that are kept, by site; never their values."""
        with self._store.reading() as db:
            sites = [one.site for one in rows.list_logins(db, key) if one.cookies]
            found = {site: _read_kept(key, site, rows.read_state_text(db, key, site)) for site in sites}
        return {site: sorted({one.name for one in state.cookies}) for site, state in found.items()}

    def find_site(self, url: str) -> str:
        """The site whose logins may be kept when this page is open; empty for none."""
        try:
            return self._read_site(host_in(url))
        except BadInput:
            return ""

    def keep(self, key: CubicleKey, site: str, *, by: str) -> KeptLogin:
        """Keep a site's logins from now on, also those of a browser that is open; again is fine.

        Raises:
            BadInput: it is no host.
            TooMany: the cubicle has as many as one may.
        """
        site = self._read_site(site)
        with self._store.writing() as db:
            kept = rows.list_logins(db, key)
            if len(kept) >= MOST and all(one.site != site for one in kept):
                raise TooMany(f"{MOST} sites are kept already. Forget one first.")
            if rows.insert_login(db, key, site, by, self._now()):
                self._audit(
                    db, "login.kept", f"Logins of {site} stay in the browser of {key.agent}.", key=key, site=site, by=by
                )
        self.save_open(key)
        return next(one for one in self.list_logins(key) if one.site == site)

    def forget(self, key: CubicleKey, site: str, *, by: str) -> None:
        """Nothing is kept of a site, and a browser that is open has nothing of it any more. Raises NotFound."""
        with self._store.writing() as db:
            if not rows.delete_login(db, key, site):
                raise NotFound("Logins of that site are not kept.")
            self._audit(
                db, "login.forgotten", f"Logins of {site} were forgotten for {key.agent}.", key=key, site=site, by=by
            )

        async def clear(session: BrowserSession) -> None:
            await session.state.clear(site)

        if key in self._browsers.list_alive():
            try:
                self._browsers.call(key, clear, starts=False)
            except OrchestratorError as error:  # then it ends, and its cookies with it
                logger.warning("the open browser of %s is closed to forget %s: %s", key, site, error.message)
                self._browsers.end(key, _CLOSED)

    def save_open(self, key: CubicleKey) -> None:
        """Keep what the cubicle's browser has now, where one is open."""
        if not self.list_logins(key) or key not in self._browsers.list_alive():
            return

        async def read(session: BrowserSession) -> SeenLogins | None:
            return await self.read(key, session)

        try:
            self.save(key, self._browsers.call(key, read, starts=False))
        except OrchestratorError as error:  # what was kept before stays
            logger.info("logins of %s can't be read now: %s", key, error.message)

    # --- in the browsers' loop

    async def restore(self, key: CubicleKey, session: BrowserSession) -> None:
        """Give the browser what is kept of the sites that may be opened now, each once. Raises as a driver does."""
        async with session.state.restoring:
            wanted = frozenset(self._accesses.get_access(key).list_sites()) - session.state.restored
            for state in await asyncio.to_thread(self._load, key, wanted) if wanted else ():
                await session.state.restore(state)
            session.state.restored |= wanted

    async def read(self, key: CubicleKey, session: BrowserSession) -> SeenLogins | None:
        """What the browser has; None where nothing of it is kept, or it can't be read now."""
        if not await asyncio.to_thread(self.list_logins, key):
            return None
        try:
            async with asyncio.timeout(_READS_S):
                return SeenLogins(await session.state.read(), frozenset(session.state.restored))
        except (OrchestratorError, TimeoutError) as error:  # a dialog is open, say, or a page hangs
            logger.debug("the logins of %s were not read: %r", key, error)
            return None

    async def keep_last(self, key: CubicleKey, session: BrowserSession) -> None:
        """Keep what the browser has before it is paused or ends."""
        seen = await self.read(key, session)
        await asyncio.to_thread(self.save, key, seen)

    # --- keeping

    def save(self, key: CubicleKey, seen: SeenLogins | None) -> None:
        """Keep of this what belongs to the sites that are kept. What is empty takes nothing's place, nor does what
        another site's page brought of a site whose kept state the browser was not given."""
        if seen is None:
            return
        for one in self.list_logins(key):
            newer = seen.state.of_host(one.site)
            if not newer.is_empty:
                self._save_site(key, one.site, newer, seen.given)

    def _save_site(self, key: CubicleKey, site: str, newer: StorageState, given: frozenset[str]) -> None:
        with self._store.writing() as db:
            before = rows.read_state_text(db, key, site)
            older = _read_kept(key, site, before)
            if older.is_empty or any(is_within(site, one) for one in given):
                whole = older.with_newer(newer, site)
            else:
                below = sorted(one for one in given if is_within(one, site))
                whole = reduce(lambda state, one: state.with_newer(newer, one), below, older)
            text = _write_bounded(key, site, whole, StorageState(whole.cookies, older.local))
            if text and text != before:
                rows.write_state(db, key, site, text, cookies=len(read_state(text).cookies), now=self._now())

    def _load(self, key: CubicleKey, sites: frozenset[str]) -> list[StorageState]:
        """What is kept for pages of these sites, and is sent to no others."""
        found: list[StorageState] = []
        with self._store.writing() as db:
            for one in rows.list_logins(db, key):
                state = _read_kept(key, one.site, rows.read_state_text(db, key, one.site))
                if not any(is_within(one.site, site) for site in sites):
                    below = [state.of_host(site) for site in sites if is_within(site, one.site)]
                    state = reduce(StorageState.with_more, below, StorageState())
                if not state.is_empty:
                    found.append(state)
                    text = f"Kept logins of {one.site} were given to the browser of {key.agent}."
                    self._audit(db, "login.restored", text, key=key, site=one.site)
        return found

    def _audit(self, db: sqlite3.Connection, kind: str, text: str, *, key: CubicleKey, site: str, by: str = "") -> None:
        detail = {"site": site, **({"by": by} if by else {})}
        audit_rows.insert_record(db, kind, text, now=self._now(), agent=key.agent, user=key.user, detail=detail)

    def _read_site(self, text: str) -> str:
        try:
            link = parse_url(f"https://{text.strip()}/", UrlRules(local_names=self._has_private_hosts))
        except BadInput as error:
            raise BadInput(f"site: write the host alone, such as shop.example. {error.message}") from error
        if link.path != "/" or link.query or any(sign in text for sign in "/#:"):
            raise BadInput("site: write the host alone, such as shop.example.")
        return site_of(link.host)


def _write_bounded(key: CubicleKey, site: str, *states: StorageState) -> str:
    """The first of these that is not too long to be kept; empty where all of them are."""
    for state in states:
        try:
            return state.to_json()
        except BrowserError as error:
            logger.info("%s, %s: %s", key, site, error.message)
    return ""


def _read_kept(key: CubicleKey, site: str, text: str) -> StorageState:
    if not text:
        return StorageState()
    try:
        return read_state(text).of_host(site)
    except BadInput as error:
        logger.warning("the kept logins of %s for %s can't be read: %s", key, site, error.message)
        return StorageState()
