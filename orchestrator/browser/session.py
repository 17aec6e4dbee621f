"""One browser as the rest of the product uses it: what an agent can do with it, each with what it is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from orchestrator.browser.console import ConsoleLine
from orchestrator.browser.dialogs import DialogCloser, DialogView
from orchestrator.browser.downloads import PageDownload
from orchestrator.browser.faults import BrowserError, BrowserSlow, DialogWaits
from orchestrator.browser.fields import Fields, child_of, objects_of
from orchestrator.browser.frames import FrameTree
from orchestrator.browser.keyboard import PageKeyboard
from orchestrator.browser.navigation import PageNavigation
from orchestrator.browser.page_calls import PageCalls
from orchestrator.browser.pictures import PageCamera, PageImage
from orchestrator.browser.pointer import PagePointer
from orchestrator.browser.policy import BrowserPolicy, DriverSettings
from orchestrator.browser.raw_methods import check_raw
from orchestrator.browser.reports import BrowserReport
from orchestrator.browser.screencast import Screencast
from orchestrator.browser.snapshots import Snapshots
from orchestrator.browser.storage_state import StateKeeper
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import BrowserTab, host_of
from orchestrator.browser.telling import PageTeller
from orchestrator.browser.uploads import PageHandover
from orchestrator.browser.wire import BrowserTransport, PipeTransport

_DIALOG_S = 2.0
_MOST_HTML_CHARS = 3_000_000
_SCROLLED_S = 0.1


@dataclass(frozen=True)
class TabView:
    """A tab as the agent is told of it."""

    number: int
    url: str
    title: str
    is_in_front: bool


class BrowserSession:
    """A browser, over as many connections as it takes.

    Each method that does something to a page returns what the agent is told of it: the page where it is a new one, else
    what changed. All of them raise ``BrowserError`` where the page or the caller's policy refuses (the message says
    what to do), ``BrowserSlow`` where an answer does not come in time, and ``BrowserLost`` where there is no
    connection. A dialog that opens meanwhile is no error but in the report.

    Belongs to one event loop. Deeds of several callers follow one another; looking and answering dialogs need not wait.
    """

    def __init__(self, policy: BrowserPolicy, settings: DriverSettings | None = None) -> None:
        self.supervisor = BrowserSupervisor(policy, settings or DriverSettings())
        calls = self._calls = PageCalls(self.supervisor)
        self._snapshots = Snapshots(self.supervisor, calls)
        self._pointer = PagePointer(self.supervisor, calls)
        self._keyboard = PageKeyboard(self.supervisor, calls)
        self.navigation = PageNavigation(self.supervisor, calls, policy)
        """Going somewhere without the agent being told of it."""
        self._camera = PageCamera(calls)
        self._handover = PageHandover(self.supervisor, calls, self._pointer, policy)
        self.state = StateKeeper(self.supervisor, calls)
        """Logins that stay."""
        self.screencast = Screencast(self.supervisor)
        """A person's view and hands."""
        self._teller = PageTeller(self.supervisor, calls)
        self._deeds = asyncio.Lock()

    # --- the connection

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak with the browser over this connection until it ends; call it for every connection that its relay makes.
        What is open, dialogs too, stays usable over the next one."""
        await self.attend_over(PipeTransport(reader, writer))

    async def attend_over(self, transport: BrowserTransport) -> None:
        """The same, over another transport."""
        await self.supervisor.attend(transport)

    async def wait_ready(self, within_s: float) -> None:
        """Until the browser is connected and what it has open is known.

        Raises:
            BrowserSlow: not within ``within_s`` seconds.
        """
        try:
            await asyncio.wait_for(self.supervisor.is_ready.wait(), within_s)
        except TimeoutError as error:
            raise BrowserSlow(f"The browser did not connect within {within_s:g} seconds.") from error

    async def close(self) -> None:
        """Let go of it. The browser itself is the caller's to end."""
        await self.supervisor.close()

    # --- looking

    async def snapshot(self, *, full: bool = True, from_: int = 0, find: str = "", urls: bool = False) -> BrowserReport:
        """The page as text with refs: 20,000 characters of it from character ``from_`` on, or with ``full=False`` only
        what changed since the agent last saw it, or with ``find`` the lines that hold these words. ``urls`` adds where
        links lead."""
        tab = self._calls.tab()
        if self._calls.held_by(tab):
            return self._teller.tell_dialogs(tab)
        try:
            page = await self._snapshots.take(shows_urls=urls)
        except DialogWaits:
            return self._teller.tell_dialogs(tab)
        if find:
            return self._teller.tell_found(tab, page, find)
        if full or urls:
            return self._teller.tell_page(tab, page, start=from_, is_usual=not urls)
        return self._teller.tell_changes(tab, page)

    async def html(self) -> str:
        """The HTML of the page in front as it is now, its first 3 million characters; none of one that a secret was
        typed into, which may have it anywhere and in any spelling."""
        if self._calls.tab().holds_secret:
            raise BrowserError("A secret was typed into this page, so its HTML can't be read until it is left.")
        script = f"(document.documentElement?.outerHTML ?? '').slice(0, {_MOST_HTML_CHARS})"
        found = await self._calls.evaluate(self._calls.main_frame(), script)
        return self._teller.hide(found) if isinstance(found, str) else ""

    async def images(self) -> tuple[PageImage, ...]:
        """The images of the page in front."""
        found = await self._camera.images()
        return tuple(replace(one, src=self._teller.hide(one.src), alt=self._teller.hide(one.alt)) for one in found)

    async def screenshot(self, *, whole_page: bool = False) -> bytes:
        """A JPEG of at most 2 MB; none of a page that shows a secret."""
        await self._check_unexposed()
        return await self._camera.screenshot(whole_page=whole_page)

    async def pdf(self) -> bytes:
        """The page as it would be printed; none of one that shows a secret."""
        await self._check_unexposed()
        return await self._camera.pdf()

    def console(self) -> tuple[ConsoleLine, ...]:
        """The last 50 lines that pages and the browser wrote, the oldest first."""
        lines = self.supervisor.console.lines
        return tuple(replace(line, text=self._teller.hide(line.text)) for line in lines)

    def frame_tree(self) -> FrameTree:
        """The frames of the page in front, at most 30, two processes deep."""
        tab, tabs = self._calls.tab(), self.supervisor.tabs
        tree, hide = self.supervisor.frames.tree(lambda session: tabs.of(session) is tab), self._teller.hide
        return replace(tree, frames=tuple(replace(one, url=hide(one.url), name=hide(one.name)) for one in tree.frames))

    def downloads(self) -> tuple[PageDownload, ...]:
        """The last 50 files that pages gave, the oldest first; in the folder of downloads under their GUIDs."""
        return tuple(
            replace(one, suggested_name=self._teller.hide(one.suggested_name), url=self._teller.hide(one.url))
            for one in self.supervisor.downloads.files
        )

    def take_download(self, guid: str) -> None:
        """The file of this name is not in the folder of downloads any more."""
        self.supervisor.downloads.take_away(guid)

    def missing_hosts(self) -> tuple[str, ...]:
        """The hosts that the gate let nothing be loaded from, for the page in front; at most 200."""
        return tuple(self._calls.tab().missing)

    def tabs(self) -> tuple[TabView, ...]:
        """Those that are open, the oldest first."""
        tabs, hide = self.supervisor.tabs, self._teller.hide
        return tuple(
            TabView(one.number, hide(one.url), hide(one.title), one.session == tabs.current) for one in tabs.all
        )

    def shown_url(self, tab: BrowserTab) -> str:
        """The address of the document that a tab shows, which may be on its way to another."""
        frame = self.supervisor.frames.get(tab.target)
        return tab.url if frame is None else frame.url

    async def refresh_titles(self) -> None:
        """Ask for the tabs' titles and addresses: the browser does not tell of each new title."""
        answer = await self.supervisor.wire.call("Target.getTargets")
        for info in objects_of(answer, "targetInfos"):
            self.supervisor.tabs.take_info({"targetInfo": info})  # those that are no tabs of ours change nothing

    def open_hosts(self) -> list[str]:
        """Of all pages that are shown, and of those that tabs are on their way to."""
        tabs = self.supervisor.tabs.all
        shown = [host_of(tab.url) for tab in tabs if tab.url.startswith(("http://", "https://"))]
        return list(dict.fromkeys([*shown, *(tab.going for tab in tabs if tab.going)]))

    # --- deeds

    async def open(self, url: str) -> BrowserReport:
        """Show an address."""
        return await self._deed(partial(self.navigation.open, url), settles=False)

    async def back(self) -> BrowserReport:
        """The page before this one."""
        return await self._deed(self.navigation.back, settles=False)

    async def reload(self) -> BrowserReport:
        """The same page again."""
        return await self._deed(self.navigation.reload, settles=False)

    async def click(self, ref: str, *, button: str = "left", count: int = 1, force: bool = False) -> BrowserReport:
        """Click an element; ``force`` clicks what lies over it."""

        async def deed() -> None:
            point = await self._pointer.point_of(await self._snapshots.find(ref), may_be_covered=force)
            await self._pointer.click(point, button=button, count=count)

        return await self._deed(deed)

    async def hover(self, ref: str) -> BrowserReport:
        """Put the pointer over an element."""

        async def deed() -> None:
            element = await self._snapshots.find(ref)
            await self._pointer.move(await self._pointer.point_of(element, may_be_covered=True))

        return await self._deed(deed)

    async def type(self, ref: str, text: str, *, submit: bool = False, append: bool = False) -> BrowserReport:
        """Put a text into a field, or choose what is called so in a list; then press Enter with ``submit``."""

        async def deed() -> None:
            await self._keyboard.type(await self._snapshots.find(ref), text, appends=append)
            if submit:
                await self._keyboard.press("Enter")

        return await self._deed(deed)

    async def select(self, ref: str, option: str, *, append: bool = False) -> BrowserReport:
        """Choose an option of a list by its text or value; ``append`` keeps what is chosen in one that allows
        several."""
        return await self.type(ref, option, append=append)

    async def fill_secret(self, ref: str, name: str) -> BrowserReport:
        """Put a stored secret into a field. It is hidden from here on in every text that the agent is told."""

        if any(one.is_touched for one in self.supervisor.tabs.all):  # what was called may wait for the secret
            raise BrowserError(
                "Methods were called on a page that is open. Close all tabs but this one, and reload it."
            )

        async def deed() -> None:
            secret = await self._handover.fill_secret(await self._snapshots.find(ref), name)
            self._teller.add_secret(secret)

        return await self._deed(deed)

    async def press(self, keys: str) -> BrowserReport:
        """Press a key: ``Enter``, ``a``, ``Control+a``."""
        return await self._deed(partial(self._keyboard.press, keys))

    async def scroll(self, direction: str = "down", *, windows: float = 0.9) -> BrowserReport:
        """Turn the wheel ``up`` or ``down`` by a part of the window's height (at most 20 windows)."""
        if direction not in ("up", "down") or not 0 < windows <= 20:
            raise BrowserError("The direction must be up or down, by more than 0 and at most 20 windows.")
        distance = self.supervisor.settings.height * windows

        async def deed() -> None:
            await self._pointer.wheel(down=distance if direction == "down" else -distance)
            await asyncio.sleep(_SCROLLED_S)  # pages add to themselves a moment after

        return await self._deed(deed)

    async def wait(self, text: str, *, gone: bool = False, within_s: float = 10.0) -> BrowserReport:
        """Wait until the page shows a text, or no longer does."""
        return await self._deed(partial(self.navigation.wait_for, text, gone=gone, within_s=within_s))

    async def upload(self, ref: str, paths: Sequence[str]) -> BrowserReport:
        """Give files of the container to a field for files, or to what opens a choice of files."""

        async def deed() -> None:
            await self._handover.upload(await self._snapshots.find(ref), paths)

        return await self._deed(deed)

    async def origin_of(self, ref: str) -> str:
        """``https://shop.test``: whose page, or frame of a page, an element is on.

        Raises:
            BrowserError: there is no such element, or it is not certain whose page it is.
        """
        async with self._deeds:
            return await self._handover.origin_of((await self._snapshots.find(ref)).frame)

    async def open_tab(self, url: str = "") -> BrowserReport:
        """A new tab, in front, with an address."""

        async def deed() -> None:
            await self.navigation.open_tab()
            if url:
                await self.navigation.open(url)

        return await self._deed(deed, settles=False)

    async def select_tab(self, number: int) -> BrowserReport:
        """Bring a tab to the front."""
        return await self._deed(partial(self.navigation.select_tab, number))

    async def close_tab(self, number: int | None = None) -> BrowserReport:
        """Close a tab, or that in front."""
        return await self._deed(partial(self.navigation.close_tab, number))

    async def dialog(
        self, action: str, *, text: str = "", dialog_id: str = "", by: DialogCloser = DialogCloser.AGENT
    ) -> DialogView:
        """``accept`` or ``dismiss`` a dialog, the oldest where none is named, with a text for a prompt.

        Raises:
            BrowserError: no such dialog is open.
        """
        if action not in ("accept", "dismiss"):
            raise BrowserError("A dialog can be accepted or dismissed.")
        dialogs = self.supervisor.dialogs
        found = next((one for one in dialogs.pending if dialog_id in ("", one.view.id)), None)
        if found is None:
            raise BrowserError(f"No dialog{f' {dialog_id[:20]}' if dialog_id else ''} is open.")
        tab = self.supervisor.tabs.of(found.session)
        dialogs.answer(found, by, accept=action == "accept", text=text)
        for _ in range(int(_DIALOG_S / 0.01)):
            if found not in dialogs.pending:
                break
            await asyncio.sleep(0.01)
        if tab is not None:
            await self._calls.settle(tab, self.supervisor.settings.settle_s)
        return self._teller.hide_in_dialog(dialogs.view_of(found.view.id) or found.view)

    async def wait_undisturbed(self, within_s: float) -> None:
        """Until no deed is under way.

        Raises:
            BrowserSlow: one is, after ``within_s`` seconds.
        """
        try:
            await asyncio.wait_for(self._deeds.acquire(), within_s)
        except TimeoutError as error:
            raise BrowserSlow("The agent's last step still runs.") from error
        self._deeds.release()

    async def raw(self, method: str, params: Mapping[str, Any], *, frame_id: str = "") -> Fields:
        """The answer to a DevTools method of the list in ``raw_methods``, of the page or one of its frames.

        Raises:
            BrowserError: it is not in the list, there is no such frame, or the page holds a secret.
        """
        check_raw(method, params)
        tab = self._calls.tab()
        if tab.holds_secret:
            raise BrowserError("A secret was typed into this page, so methods can't be called until it is left.")
        session = tab.session
        if frame_id:
            mine = self.supervisor.frames.of_sessions(lambda one: self.supervisor.tabs.of(one) is tab)
            frame = next((one for one in mine if one.id == frame_id), None)
            if frame is None:
                raise BrowserError("There is no such frame. The frame tree names those that there are.")
            session = frame.session
        self.supervisor.tabs.touch_all()
        return child_of({"told": self._teller.hide_in(await self._calls.call(method, session, params))}, "told")

    # --- what is told

    async def _deed(self, deed: Callable[[], Awaitable[None]], *, settles: bool = True) -> BrowserReport:
        async with self._deeds:
            with contextlib.suppress(DialogWaits):
                await deed()
                if settles and (front := self.supervisor.tabs.in_front()):
                    await self._calls.settle(front, self.supervisor.settings.settle_s)
            tab = self._calls.tab()
            if not self._calls.held_by(tab):
                with contextlib.suppress(DialogWaits):
                    return self._teller.tell_changes(tab, await self._snapshots.take())
            return self._teller.tell_dialogs(tab)

    async def _check_unexposed(self) -> None:
        if not self._calls.tab().holds_secret and not self._teller.knows_secrets:
            return
        page = await self._snapshots.take()
        if page.is_exposed or self._teller.hide(page.text) != page.text:
            raise BrowserError("The page shows a secret that was typed into it, so no picture of it is taken.")
