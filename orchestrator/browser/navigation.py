"""Going somewhere: opening an address, back, reloading, tabs, and waiting for what a page shall show."""

from __future__ import annotations

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

from orchestrator.browser.dialogs import DialogCloser
from orchestrator.browser.faults import BrowserError, BrowserRefused, BrowserSlow, DialogWaits
from orchestrator.browser.fields import count_of, objects_of, text_of
from orchestrator.browser.page_calls import PageCalls, as_script
from orchestrator.browser.policy import BrowserPolicy
from orchestrator.browser.supervisor import READY_S, BrowserSupervisor
from orchestrator.browser.tabs import MAX_TABS, BrowserTab, host_of

MAX_URL = 2048
MAX_WAIT_S = 60.0
_DIALOG_S = 5.0
_LOOK_S = 0.2
_GOING_S = 0.5
_ALIVE_S = 3.0


class PageNavigation:
    """Of the tab in front."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls, policy: BrowserPolicy) -> None:
        self._supervisor = supervisor
        self._wire = supervisor.wire
        self._tabs = supervisor.tabs
        self._settings = supervisor.settings
        self._calls = calls
        self._policy = policy

    async def open(self, url: str) -> None:
        """Show an address in the tab in front, in a new one where there is none.

        Raises:
            BrowserError: it is no address, may not be opened or did not load; and as ``PageCalls.call``.
        """
        self._check(url)
        tab = self._tabs.in_front() or await self._new_tab()
        try:
            await self._make_free(tab)
            if not tab.is_crashed:
                with contextlib.suppress(BrowserRefused):  # it is just going elsewhere by itself, so it lives
                    await self._calls.call("Runtime.evaluate", tab.session, {"expression": "1"}, within_s=_ALIVE_S)
        except (DialogWaits, BrowserSlow):  # one dialog after the other without end, or a script that never ends
            tab = await self._instead_of(tab)
        if not await self._go(tab, url) and not await self._go(await self._instead_of(tab), url):
            raise BrowserError(f"{url} gives no page.")

    async def _go(self, tab: BrowserTab, url: str) -> bool:
        """False where nothing came of it: the page that is there went somewhere else meanwhile, or there is no page."""
        known = self._supervisor.downloads.begun
        tab.is_loading, tab.is_crashed, tab.gate_reason = True, False, ""
        refused = len(tab.refused)
        try:
            answer = await self._calls.call(
                "Page.navigate", tab.session, {"url": url}, within_s=self._settings.open_s, may_be_crashed=True
            )
        except BrowserSlow:
            self._wire.tell("Page.stopLoading", tab.session)
            tab.is_loading = False
            raise BrowserSlow(f"{url} did not answer within {self._settings.open_s:g} seconds.") from None
        problem = text_of(answer, "errorText", most=200)
        if problem:
            tab.is_loading = False
            self._explain(tab, url, problem, is_refused=len(tab.refused) > refused)
            await self._calls.settle(tab, _GOING_S)
            return self._supervisor.downloads.begun > known
        if not text_of(answer, "loaderId"):
            tab.is_loading = False  # another place in the same document
        await self._calls.settle(tab, self._settings.open_s)
        if tab.gate_reason:
            raise BrowserError(f"The gate refused {host_of(tab.url) or host_of(url)} ({tab.gate_reason}).")
        return True

    @staticmethod
    def _explain(tab: BrowserTab, url: str, problem: str, *, is_refused: bool) -> None:
        if is_refused:
            raise BrowserError(f"The page may not be opened: {tab.refused.pop()}")
        if tab.gate_reason:
            raise BrowserError(f"The gate refused {host_of(url)} ({tab.gate_reason}).")
        if problem != "net::ERR_ABORTED":
            raise BrowserError(f"{url} did not load: {problem}")

    async def _instead_of(self, tab: BrowserTab) -> BrowserTab:
        """A page that nothing can be done with is closed, and an empty one takes its place."""
        self._wire.tell("Target.closeTarget", "", {"targetId": tab.target})
        deadline = time.monotonic() + _DIALOG_S
        while self._tabs.own(tab.session) is not None:
            if time.monotonic() > deadline:
                raise BrowserSlow("The page does not let itself be closed. Open a new tab.")
            await asyncio.sleep(0.01)
        return await self._new_tab()

    def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError as error:
            raise BrowserError(f"{url[:200]!r} is no address.") from error
        if parts.scheme not in ("http", "https") or not host or len(url) > MAX_URL:
            raise BrowserError("The address must begin with https:// or http:// and a host, within 2,048 characters.")
        if parts.username is not None or parts.password is not None:
            raise BrowserError("The address may not hold a user name or password.")
        refusal = self._policy.may_open(host.lower())
        if refusal is not None:
            raise BrowserError(f"The page may not be opened: {host}: {refusal}")

    async def _make_free(self, tab: BrowserTab) -> None:
        """A page with a dialog open goes nowhere, and one that has not answered yet may crash.

        Raises:
            DialogWaits: whenever one is answered, the next one opens.
        """
        deadline = time.monotonic() + _DIALOG_S
        while open_ones := self._calls.dialogs_of(tab):
            for one in open_ones:
                self._supervisor.dialogs.answer(one, DialogCloser.AGENT, accept=False)
            if time.monotonic() > deadline:
                view = open_ones[0].view
                raise DialogWaits(view.id, view.kind, view.message)
            await asyncio.sleep(0.005)
        if tab.is_crashed:
            return
        try:
            await asyncio.wait_for(tab.is_ready.wait(), READY_S)
        except TimeoutError as error:
            raise BrowserSlow(f"The page gave no sign of life within {READY_S:g} seconds.") from error

    async def back(self) -> None:
        """The page before this one.

        Raises:
            BrowserError: there is none; and as ``PageCalls.call``.
        """
        tab = self._calls.tab()
        history = await self._calls.call("Page.getNavigationHistory", tab.session)
        entries, at = objects_of(history, "entries", most=200), count_of(history, "currentIndex")
        if at < 1 or at > len(entries) or text_of(entries[at - 1], "url") in ("", "about:blank"):
            raise BrowserError("There is no page before this one.")
        before = tab.document
        entry = {"entryId": count_of(entries[at - 1], "id")}
        await self._calls.call("Page.navigateToHistoryEntry", tab.session, entry)
        await self._settle_after_going(tab, before)

    async def reload(self) -> None:
        """The same page again."""
        tab = self._calls.tab()
        before, tab.is_crashed = tab.document, False
        await self._calls.call("Page.reload", tab.session, may_be_crashed=True)
        await self._settle_after_going(tab, before)

    async def _settle_after_going(self, tab: BrowserTab, before: str) -> None:
        """A page that stays within its document tells of no loading, so that its beginning is not waited for long."""
        deadline = time.monotonic() + _GOING_S
        while tab.document == before and not tab.is_loading and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(tab.changed.wait(), left)
        await self._calls.settle(tab, self._settings.open_s)

    async def wait_for(self, text: str, *, gone: bool = False, within_s: float = 10.0) -> None:
        """Wait until the page shows a text, or no longer does.

        Raises:
            BrowserSlow: it does not within ``within_s`` seconds (at most 60); and as ``PageCalls.call``.
        """
        deadline = time.monotonic() + min(max(0.0, within_s), MAX_WAIT_S)
        script = f"!!document.body && document.body.innerText.toLowerCase().includes({as_script(text[:500].lower())})"
        while await self._calls.evaluate(self._calls.main_frame(), script) is gone:
            if time.monotonic() >= deadline:
                state = "still shows" if gone else "does not show"
                raise BrowserSlow(f"After {within_s:g} seconds the page {state} {text[:100]!r}.")
            await asyncio.sleep(_LOOK_S)

    # --- tabs

    async def open_tab(self) -> None:
        """A new, empty tab, in front.

        Raises:
            BrowserError: eight are open; BrowserSlow, BrowserLost.
        """
        await self._new_tab()

    async def _new_tab(self) -> BrowserTab:
        if self._tabs.is_full:
            raise BrowserError(f"{MAX_TABS} tabs are open. Close one first.")
        made = await self._wire.call(
            "Target.createTarget", "", {"url": "about:blank", **self._supervisor.context.scope}
        )
        target, deadline = text_of(made, "targetId", most=100), time.monotonic() + READY_S
        while (tab := self._tabs.with_target(target)) is None:
            if time.monotonic() > deadline:
                raise BrowserSlow("The new tab does not appear.")
            await asyncio.sleep(0.01)
        self._tabs.current = tab.session
        await self._make_free(tab)
        return tab

    async def select_tab(self, number: int) -> None:
        """Bring a tab to the front.

        Raises:
            BrowserError: there is none of this number.
        """
        tab = self._numbered(number)
        self._tabs.current = tab.session
        self._wire.tell("Page.bringToFront", tab.session)

    async def close_tab(self, number: int | None = None) -> None:
        """Close a tab, or that in front; in place of the last one an empty one opens.

        Raises:
            BrowserError: there is none of this number.
        """
        tab = self._numbered(number) if number is not None else self._calls.tab()
        if len(self._tabs.all) == 1:
            await self._new_tab()  # a browser without a page is one without a way on
        await self._wire.call("Target.closeTarget", "", {"targetId": tab.target})
        deadline = time.monotonic() + _DIALOG_S
        while self._tabs.own(tab.session) is not None:
            if time.monotonic() > deadline:
                raise BrowserSlow("The tab does not close.")
            await asyncio.sleep(0.01)

    def _numbered(self, number: int) -> BrowserTab:
        tab = self._tabs.numbered(number)
        if tab is None:
            known = ", ".join(str(one.number) for one in self._tabs.all) or "none"
            raise BrowserError(f"There is no tab {number}. Open: {known}.")
        return tab
