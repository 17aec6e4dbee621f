"""One browser, watched: pages, frames, dialogs, downloads and the console, from the events that come in.

Two rules keep it from hanging: taking an event never waits, and nothing that the browser sends can end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from orchestrator.browser import dialog_bridge
from orchestrator.browser.console import ConsoleLog
from orchestrator.browser.dialog_notes import DialogNotes
from orchestrator.browser.dialogs import Dialogs, OpenDialog
from orchestrator.browser.downloads import PageDownload, PageDownloads
from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.fields import Fields, child_of, objects_of, text_of
from orchestrator.browser.frames import MAX_FRAME_DEPTH, Frames
from orchestrator.browser.noise import NOISY_DOMAINS, NoiseMeter
from orchestrator.browser.own_context import OwnContext
from orchestrator.browser.policy import BrowserPolicy, DriverSettings, RemoteRules
from orchestrator.browser.request_guard import place_of, refusal_of_request
from orchestrator.browser.setup import BrowserSetup
from orchestrator.browser.tabs import MAX_TABS, BrowserTab, BrowserTabs, host_of
from orchestrator.browser.wire import CALL_S, BrowserTransport, Wire

_MAX_REFUSED = 20
_MAX_WANTED = 2048
_MAX_TASKS = 300
_OF_A_PAGE = frozenset({"worker", "worklet"})
"""Their requests are told of in their page's session."""
_WORKERS_OF_ALL = frozenset({"shared_worker", "service_worker"})
"""Of no page alone; in a remote browser there are none."""
READY_S = 20.0
_FRAMES_S = 2.0

logger = logging.getLogger(__name__)

EventTaker = Callable[[Fields, str, BrowserTab | None], None]
"""Parameters, session, and the tab that the session is a part of."""


class BrowserSupervisor:
    """What is known of a browser, kept true."""

    def __init__(self, policy: BrowserPolicy, settings: DriverSettings) -> None:
        self.settings = settings
        self.wire = Wire(self._take)
        self.context = OwnContext(self.wire, settings.remote)
        self.tabs = BrowserTabs()
        self.frames = Frames(self.tabs.depth_of)
        self.console = ConsoleLog()
        self.dialogs = Dialogs(self._send_answer, policy=settings.dialog_policy, answer_s=settings.dialog_answer_s)
        self.downloads = PageDownloads(self._judge_download, self._cancel_download, self._page_of)
        self.is_ready = asyncio.Event()
        """The browser is connected and what it has open is known."""
        self.connections = 0
        self.on_screen: EventTaker = lambda _fields, _session, _tab: None
        """Told of each picture of a screencast."""
        self.on_tab: Callable[[BrowserTab], None] = lambda _tab: None
        """Told of each page that is attached to, before it goes on."""
        self.on_document: Callable[[BrowserTab, str], None] = lambda _tab, _url: None
        """Told of each new document of a page, and its address."""
        self._policy = policy
        self._noise = NoiseMeter()
        self._setup = BrowserSetup(self.wire, settings, self.context)
        self._notes = DialogNotes(self.wire, self.context, self.dialogs, self.tabs)
        self._stale: set[str] = set()
        """Sessions of a connection that was lost, of pages that were not found again yet."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._takers = self._table()

    async def attend(self, transport: BrowserTransport) -> None:
        """Speak with the browser over this connection until it ends. What is open stays known for the next one."""
        reading = asyncio.create_task(self.wire.attend(transport))
        if not transport.is_relayed:
            await asyncio.sleep(0)
            self._let_sessions_go()
            self._begin({}, "", None)
        try:
            await reading
        finally:
            reading.cancel()
            if not self.wire.is_up:
                self.is_ready.clear()

    async def close(self) -> None:
        """Nothing of it runs any more. The browser itself is the caller's to end."""
        self.wire.drop()
        self.dialogs.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- events. Nothing in here waits, and nothing raises.

    def _table(self) -> dict[str, EventTaker]:
        tabs, frames, dialogs, console = self.tabs, self.frames, self.dialogs, self.console
        return {
            "Relay.ready": self._begin,
            "Target.attachedToTarget": self._attached,
            "Target.detachedFromTarget": self._detached,
            "Target.targetInfoChanged": lambda p, _s, _t: tabs.take_info(p),
            "Target.targetCrashed": lambda p, _s, _t: tabs.take_crash(tabs.with_target(text_of(p, "targetId"))),
            "Inspector.targetCrashed": lambda _p, session, _t: tabs.take_crash(tabs.own(session)),
            "Page.frameAttached": lambda p, session, _t: frames.take(
                {"id": p.get("frameId"), "url": ""}, session, text_of(p, "parentFrameId", most=100)
            ),
            "Page.frameNavigated": self._navigated,
            "Page.navigatedWithinDocument": lambda p, _s, _t: frames.take_url(p),
            "Page.frameDetached": self._frame_detached,
            "Page.frameStartedLoading": lambda p, _s, tab: self._loading(p, tab, is_loading=True),
            "Page.frameStoppedLoading": lambda p, _s, tab: self._loading(p, tab, is_loading=False),
            "Page.javascriptDialogOpening": lambda p, session, _t: dialogs.take_opening(p, session),
            "Page.javascriptDialogClosed": lambda p, session, _t: dialogs.take_closed(p, session),
            "Page.fileChooserOpened": lambda p, session, tab: tab.take_chooser(p, session) if tab else None,
            "Page.screencastFrame": self._on_screen,
            "Runtime.executionContextsCleared": lambda _p, session, _t: frames.forget_worlds(session),
            "Runtime.executionContextDestroyed": lambda p, session, _t: frames.take_world_end(p, session),
            "Runtime.consoleAPICalled": lambda p, _s, tab: console.take_call(
                p, is_in_front=tab is not None and tab.session == tabs.current
            ),
            "Runtime.exceptionThrown": lambda p, _s, _t: console.take_exception(p),
            "Log.entryAdded": lambda p, _s, _t: console.take_entry(p),
            "Network.requestWillBeSent": lambda p, _s, tab: tab.take_request(p) if tab else None,
            "Network.responseReceivedExtraInfo": lambda p, _s, tab: tab.take_response(p) if tab else None,
            "Network.responseReceived": lambda p, _s, tab: tab.take_response(p) if tab else None,
            "Network.loadingFinished": lambda p, _s, tab: tab.take_request_end(p) if tab else None,
            "Network.loadingFailed": lambda p, _s, tab: tab.take_request_end(p) if tab else None,
            "Fetch.requestPaused": self._paused,
            "Browser.downloadWillBegin": lambda p, _s, _t: self.downloads.take_begin(p),
            "Browser.downloadProgress": lambda p, _s, _t: self.downloads.take_progress(p),
        }

    def _take(self, method: str, fields: Fields, session: str) -> None:
        taker = self._takers.get(method)
        if session and not self.tabs.knows(session):
            if method == "Fetch.requestPaused" and self.settings.remote is not None:
                refused = {"requestId": text_of(fields, "requestId", most=200), "errorReason": "BlockedByClient"}
                self.wire.tell("Fetch.failRequest", session, refused)
            elif method != "Target.attachedToTarget" and self.settings.remote is None:
                self.wire.tell("Target.detachFromTarget", "", {"sessionId": session})
            return
        tab = self.tabs.of(session)
        if session and self._noise.is_too_much(session, method):
            self.console.add_note(
                "The page writes and asks so much that its console and requests are not read any more."
            )
            for domain in NOISY_DOMAINS:
                self.wire.tell(f"{domain}.disable", session)
        if taker is not None and not self._noise.is_ignored(session, method):
            try:
                taker(fields, session, tab)
            except Exception:  # a message that we read wrongly must not end the reading of all others
                logger.exception("the event %s of a browser could not be taken", method)
        if tab is not None:
            tab.tell()

    def _attached(self, fields: Fields, parent: str, tab: BrowserTab | None) -> None:
        info, session = child_of(fields, "targetInfo"), text_of(fields, "sessionId", most=100)
        kind, target = text_of(info, "type", most=20), text_of(info, "targetId", most=100)
        if not session or not target or self.context.is_emptying:
            return
        if not parent and not self.context.owns(info):  # somebody else's page in the same browser
            self._let_go(session, parent)
            return
        if self.tabs.knows(session):  # a relay tells again what it knows
            self._spawn(partial(self._read_frames, session))
            return
        if kind == "page" and not parent:
            former = self.tabs.with_target(target)
            if former is not None:
                self._find_again(former, session)
                return
            if self.tabs.is_full:
                self._note(self.tabs.in_front(), f"a new page: {MAX_TABS} pages are open already")
                self._turn_away(target, session)
                return
            self._set_up(self.tabs.add(info, session, comes_to_front=self.is_ready.is_set()))
        elif (
            kind == "iframe"
            and tab is not None
            and self.tabs.depth_of(parent) < MAX_FRAME_DEPTH
            and self.tabs.add_frame(session, parent)
        ):
            tab.take_frame_moved(target, is_followed=True)
            self.frames.take_process(target, text_of(info, "parentFrameId", most=100), text_of(info, "url"), session)
            self._set_up_process(session)
        elif self.settings.remote is not None and kind not in _OF_A_PAGE:
            self._setup.shut_process(session)
            if kind in _WORKERS_OF_ALL:
                self.wire.tell("Target.closeTarget", "", {"targetId": target})
        else:
            self._let_go(session, parent)

    def _let_go(self, session: str, parent: str) -> None:
        self.wire.tell("Runtime.runIfWaitingForDebugger", session)
        self.wire.tell("Target.detachFromTarget", parent, {"sessionId": session})

    def _let_sessions_go(self) -> None:
        """With a connection that is not relayed its sessions end, and each page is attached to once more."""
        self._stale = {tab.session for tab in self.tabs.all}
        for tab in self.tabs.all:
            for session in self.tabs.sessions_of(tab):
                self._noise.let_speak(session)
                self.frames.leave_session(session)

    def _find_again(self, tab: BrowserTab, session: str) -> None:
        """A page of before, in a session of the new connection."""
        if tab.session not in self._stale:
            self._let_go(session, "")
            return
        self._stale.discard(tab.session)
        for one in self.tabs.sessions_of(tab):
            self.dialogs.move_session(one, session)
        self.tabs.move(tab, session)
        self._set_up(tab)

    def _turn_away(self, target: str, session: str) -> None:
        """Close a page that has just begun. Its opener waits until it goes on, but it may ask for nothing."""
        self.wire.tell("Fetch.enable", session, {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})
        self.wire.tell("Runtime.runIfWaitingForDebugger", session)
        self.wire.tell("Target.closeTarget", "", {"targetId": target})

    def _detached(self, fields: Fields, _session: str, _tab: BrowserTab | None) -> None:
        self._forget(text_of(fields, "sessionId", most=100))

    def _forget(self, session: str) -> None:
        self._noise.let_speak(session)
        self.frames.leave_session(session)
        tab = self.tabs.own(session)
        inner = self.tabs.sessions_of(tab) if tab else {session}
        for one in inner:
            self.dialogs.forget_session(one)
            self.frames.leave_session(one)
        if self.tabs.remove(session) is not None:
            self.frames.forget_homeless()

    def _navigated(self, fields: Fields, session: str, tab: BrowserTab | None) -> None:
        frame = child_of(fields, "frame")
        self.frames.take(frame, session)
        if self._noise.let_speak(session):
            self._setup.begin_process(session)
        if tab is None or session != tab.session or text_of(frame, "parentId"):
            return
        self.tabs.take_document(tab, text_of(frame, "loaderId", most=100))
        url = text_of(frame, "url")
        self.on_document(tab, url)
        if url.startswith(("http://", "https://")) and self._refusal_of(url, tab) is not None:
            # it came without a request that could be stopped: from a cache, or while nobody was connected
            self.wire.tell("Page.navigate", session, {"url": "about:blank"})

    def _loading(self, fields: Fields, tab: BrowserTab | None, *, is_loading: bool) -> None:
        frame = text_of(fields, "frameId", most=100)
        if tab is not None and frame == tab.target:
            tab.is_loading = is_loading
            if not is_loading:
                tab.going = ""
        elif tab is not None and not is_loading:
            tab.take_frame_end(frame)

    def _frame_detached(self, fields: Fields, session: str, tab: BrowserTab | None) -> None:
        frame = text_of(fields, "frameId", most=100)
        if tab is not None and text_of(fields, "reason") == "swap":
            tab.take_frame_moved(frame, is_followed=False)
        elif tab is not None:
            tab.take_frame_end(frame)
        self.frames.take_detached(fields, session)

    def _paused(self, fields: Fields, session: str, tab: BrowserTab | None) -> None:
        """A document is about to be asked for, or a page's stand-in for a dialog asks."""
        url, request = text_of(fields, "request", "url", most=16_000), text_of(fields, "requestId", most=200)
        if dialog_bridge.is_of_bridge(url):
            dialog_bridge.take_request(self.dialogs, fields, session)
            return
        refusal, guard = None, self.settings.remote
        if tab is not None and text_of(fields, "frameId", most=100) == tab.target:
            refusal = self._refusal_of(url, tab)
            tab.wanted = url if refusal is not None and len(url) <= _MAX_WANTED else ""
        elif guard is not None:
            host, refusal = _judged_request(guard, url)
            if refusal is not None and tab is not None:
                tab.miss_host(host, refusal)
        if refusal is None:
            self.wire.tell("Fetch.continueRequest", session, {"requestId": request})
        else:
            self.wire.tell("Fetch.failRequest", session, {"requestId": request, "errorReason": "BlockedByClient"})

    def _refusal_of(self, url: str, tab: BrowserTab) -> str | None:
        host = host_of(url)
        refusal = _judged(self._policy.may_open, host) if host else "it has no host"
        if refusal is None and (remote := self.settings.remote) is not None:
            place = place_of(url)
            refusal = remote.may_reach(*place) if place else "it is no address of the web"
        if refusal is None:
            tab.going = host
            self._policy.note_pages(self.tabs.hosts())
        else:
            self._note(tab, f"{host or url[:100]}: {refusal}")
        return refusal

    @staticmethod
    def _note(tab: BrowserTab | None, refused: str) -> None:
        if tab is not None and len(tab.refused) < _MAX_REFUSED:
            tab.refused.append(refused)

    def _on_screen(self, fields: Fields, session: str, tab: BrowserTab | None) -> None:
        self.on_screen(fields, session, tab)

    # --- what is set up

    def _begin(self, _fields: Fields, _session: str, _tab: BrowserTab | None) -> None:
        """At each connection, after a relay has told what is attached and which dialogs are open."""
        self.connections += 1
        self.is_ready.clear()
        self._spawn(self._greet)

    async def _greet(self) -> None:
        call = self.wire.call
        version = await call("Browser.getVersion")
        await self.context.ensure()
        await self._setup.begin_browser(text_of(version, "product", most=100))
        there = objects_of(await call("Target.getTargets"), "targetInfos")
        names = {text_of(info, "targetId", most=100) for info in there}
        for tab in self.tabs.all:
            if tab.target not in names:
                self._forget(tab.session)  # it went while nobody was connected
            elif tab.session not in self._stale:
                sessions = self.tabs.sessions_of(tab)
                self.dialogs.may_be_asked_again(sessions)
                for session in sessions:  # a request that was paused while nobody was connected waits for ever
                    self.wire.tell("Fetch.disable", session)
                    self._set_up_process(session)
                self._set_up(tab)
        for info in there:
            target = text_of(info, "targetId", most=100)
            known = self.tabs.with_target(target)
            is_new = known is None or known.session in self._stale
            if text_of(info, "type") == "page" and is_new and self.context.owns(info):
                await call("Target.attachToTarget", "", {"targetId": target, "flatten": True})
        self._stale.clear()
        if self.settings.remote is not None and self.settings.uses_dialog_bridge:
            await self._notes.collect()
        await self._wait_for_frames()
        self.is_ready.set()

    async def _wait_for_frames(self) -> None:
        """Of pages that were found again: what they consist of is known, unless a dialog holds them."""
        asked = {one.session for one in self.dialogs.pending}
        for tab in self.tabs.all:
            if self.settings.remote is not None and tab.session not in asked:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(tab.is_ready.wait(), _FRAMES_S)

    def _set_up(self, tab: BrowserTab) -> None:
        self._setup.begin_page(tab.session)
        self.on_tab(tab)
        self._set_up_process(tab.session)

    def _set_up_process(self, session: str) -> None:
        self._setup.begin_process(session)
        if self.settings.remote is None:
            self._spawn(partial(self._read_frames, session))
        else:
            self._spawn(partial(self._guard, session))

    async def _guard(self, session: str) -> None:
        """A page that can't be guarded is not used."""
        try:
            await self._setup.guard_process(session)
        except (BrowserError, BrowserLost):
            tab = self.tabs.of(session)
            if tab is not None:
                self._note(tab, "a page whose requests can't be seen: this remote browser does not tell of them")
                self.wire.tell("Target.closeTarget", "", {"targetId": tab.target})
            raise
        await self._read_frames(session)

    async def _read_frames(self, session: str) -> None:
        within_s = CALL_S if self.settings.remote is None else self.settings.dialog_answer_s + CALL_S
        tree = await self.wire.call("Page.getFrameTree", session, within_s=within_s)  # it may hang in a dialog
        self.frames.take_tree(tree, session)
        tab = self.tabs.own(session)
        if tab is not None:
            tab.is_ready.set()

    def _send_answer(self, dialog: OpenDialog, text: str, *, accept: bool) -> None:
        if dialog.note:
            self._notes.send_answer(dialog, text, accept=accept)
        elif dialog.bridge_request:
            dialog_bridge.send_answer(self.wire, dialog, text, accept=accept)
        else:
            answer = {"accept": accept, "promptText": text}
            self.wire.tell("Page.handleJavaScriptDialog", dialog.session, answer)

    def _judge_download(self, one: PageDownload) -> str | None:
        if self.settings.remote is not None:
            return "a remote browser's files can't be brought here"
        return _judged(self._policy.may_download, one)

    def _cancel_download(self, guid: str) -> None:
        self.wire.tell("Browser.cancelDownload", "", {"guid": guid, **self.context.scope})

    def _page_of(self, frame_id: str) -> str:
        """What the tab of a frame shows."""
        frame = self.frames.get(frame_id)
        tab = None if frame is None else self.tabs.of(frame.session)
        return "" if tab is None else tab.url

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if len(self._tasks) >= _MAX_TASKS:
            return

        async def quiet() -> None:
            with contextlib.suppress(BrowserError, BrowserLost):  # the page or the connection went meanwhile
                await work()

        task = asyncio.get_running_loop().create_task(quiet())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _judged_request(rules: RemoteRules, url: str) -> tuple[str, str | None]:
    try:
        return refusal_of_request(rules, url)
    except Exception:  # rules that fail let nothing through
        logger.exception("the rules of a remote browser failed")
        return "", "it could not be judged"


def _judged(ask: Callable[[Any], str | None], about: object) -> str | None:
    """What the caller's rules say; where they fail, no."""
    try:
        return ask(about)
    except Exception:  # rules that fail let nothing through
        logger.exception("the rules of a browser failed")
        return "it could not be judged"
