"""Speaking with pages: a page with a dialog open, or whose renderer is gone, answers nothing, so every wait looks out
for both. Our scripts run in a world of their own, which no page sees or changes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.browser.dialogs import OpenDialog
from orchestrator.browser.faults import BrowserError, BrowserLost, BrowserRefused, BrowserSlow, DialogWaits
from orchestrator.browser.fields import Fields, child_of, count_of, text_of
from orchestrator.browser.frames import PageFrame
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import BrowserTab

_SCRIPT = (Path(__file__).parent / "snapshot.js").read_text(encoding="utf-8")
_WORLD = "hermit"
_LOOK_S = 0.25
_QUIET_S = 0.1
_TRIES = 8
_AGAIN_S = 0.03
_MAX_REFS = 10_000_000
CALL_S = 15.0


class PageCalls:
    """Commands to the page in front and to its frames."""

    def __init__(self, supervisor: BrowserSupervisor) -> None:
        self._supervisor = supervisor
        self._wire = supervisor.wire
        self._tabs = supervisor.tabs
        self._frames = supervisor.frames
        self._last_refs: dict[str, int] = {}
        """The last number that was given to an element, by tab: numbers of old documents never come again."""

    def tab(self) -> BrowserTab:
        """The one in front.

        Raises:
            BrowserLost: there is no connection.
            BrowserError: no page is open.
        """
        tab = self._tabs.in_front()
        if tab is not None:
            return tab
        if not self._wire.is_up:
            raise BrowserLost("No browser is connected.")
        raise BrowserError("No page is open.")

    def main_frame(self) -> PageFrame:
        """That of the tab in front."""
        tab = self.tab()
        return self._frames.ensure(tab.target, tab.session)

    def held_by(self, tab: BrowserTab) -> OpenDialog | None:
        """The dialog that holds a tab until somebody answers."""
        return next((one for one in self.dialogs_of(tab) if one.answer is None), None)

    def dialogs_of(self, tab: BrowserTab) -> list[OpenDialog]:
        """Those that are open in it."""
        sessions = self._tabs.sessions_of(tab)
        return [one for one in self._supervisor.dialogs.pending if one.session in sessions]

    async def call(
        self,
        method: str,
        session: str,
        params: Mapping[str, Any] | None = None,
        *,
        within_s: float = CALL_S,
        may_be_crashed: bool = False,
    ) -> Fields:
        """What the page answers.

        Raises:
            DialogWaits: a dialog is open, or opens meanwhile.
            BrowserError: the page refused, crashed or was closed.
            BrowserSlow: nothing within ``within_s`` seconds.
            BrowserLost: the connection ended.
        """
        tab = self._tabs.of(session) or self.tab()
        future = self._wire.post(method, session, params)
        deadline = time.monotonic() + within_s
        try:
            while not future.done():
                self._look_out(tab, session, may_be_crashed=may_be_crashed)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise BrowserSlow(f"The page did not answer within {within_s:g} seconds ({method}).")
                await self._wait_for_any(future, tab, min(left, _LOOK_S))
            return future.result()
        finally:
            if not future.done():
                future.cancel()

    async def _wait_for_any(self, future: asyncio.Future[Fields], tab: BrowserTab, within_s: float) -> None:
        news = asyncio.ensure_future(self._supervisor.dialogs.news.wait())
        changed = asyncio.ensure_future(tab.changed.wait())
        awaited: list[asyncio.Future[Any]] = [future, news, changed]
        try:
            await asyncio.wait(awaited, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
            changed.cancel()

    def _look_out(self, tab: BrowserTab, session: str, *, may_be_crashed: bool) -> None:
        if self._tabs.own(tab.session) is None:
            raise BrowserError("The page was closed.")
        if not self._tabs.knows(session):
            raise BrowserError("The frame is gone. Take a new snapshot.")
        if tab.is_crashed and not may_be_crashed:
            raise BrowserError("The page crashed. Open it again.")
        held = self.held_by(tab)
        if held is not None:
            raise DialogWaits(held.view.id, held.view.kind, held.view.message)

    async def evaluate(self, frame: PageFrame, expression: str, *, within_s: float = CALL_S) -> Any:
        """The value of an expression in our world of a frame. What the page wrote may be in it.

        Raises:
            As ``call``.
        """
        return (await self._evaluate(frame, expression, by_value=True, within_s=within_s)).get("value")

    async def object_of(self, frame: PageFrame, expression: str) -> str:
        """The handle of an object in our world of a frame, or ``""`` where it is nothing.

        Raises:
            As ``call``.
        """
        return text_of(await self._evaluate(frame, expression, by_value=False), "objectId", most=200)

    async def run_on(
        self, frame: PageFrame, handle: str, function: str, *arguments: object, within_s: float = CALL_S
    ) -> Any:
        """What a function of ours returns, with ``this`` an object of our world.

        Raises:
            As ``call``.
        """
        params = {
            "objectId": handle,
            "functionDeclaration": function,
            "arguments": [{"value": one} for one in arguments],
            "returnByValue": True,
        }
        answer = await self.call("Runtime.callFunctionOn", frame.session, params, within_s=within_s)
        return _result_of(answer).get("value")

    async def _evaluate(self, frame: PageFrame, expression: str, *, by_value: bool, within_s: float = CALL_S) -> Fields:
        for left in range(_TRIES, 0, -1):
            try:
                world = await self.world_of(frame)
                params = {"expression": expression, "contextId": world, "returnByValue": by_value, "awaitPromise": True}
                answer = await self.call("Runtime.evaluate", frame.session, params, within_s=within_s)
            except BrowserRefused:
                frame.world = 0  # its document went meanwhile; a page may do so again and again
                if left == 1:
                    raise
                await asyncio.sleep(_AGAIN_S)
                continue
            return _result_of(answer)
        raise AssertionError

    async def world_of(self, frame: PageFrame) -> int:
        """Our world of a frame, made where there is none.

        Raises:
            As ``call``.
        """
        if not frame.session:
            raise BrowserError("The frame is loading or gone. Take a new snapshot.")
        if not frame.world:
            made = await self.call(
                "Page.createIsolatedWorld", frame.session, {"frameId": frame.id, "worldName": _WORLD}
            )
            world = count_of(made, "executionContextId")
            start = self._last_refs.get(self.tab().target, 0)
            params = {"expression": f"({_SCRIPT})({start})", "contextId": world, "returnByValue": True}
            _result_of(await self.call("Runtime.evaluate", frame.session, params))
            frame.world = world
        return frame.world

    def remember_refs(self, tab: BrowserTab, last: int) -> None:
        """Numbers up to ``last`` were given to elements of a tab."""
        self._last_refs = {t.target: self._last_refs.get(t.target, 0) for t in self._tabs.all}
        if 0 < last < _MAX_REFS:
            self._last_refs[tab.target] = max(self._last_refs.get(tab.target, 0), last)

    async def settle(self, tab: BrowserTab, most_s: float) -> None:
        """Wait until what a deed set in motion has come to rest, a dialog holds the tab, or ``most_s`` seconds are
        over."""
        end = since = time.monotonic()
        end += most_s
        await asyncio.sleep(0.02)
        while (now := time.monotonic()) < end and self._wire.is_up:
            if self._tabs.own(tab.session) is None or tab.is_crashed or self.held_by(tab):
                return
            if tab.is_busy:
                since = now
            elif now - since >= _QUIET_S:
                return
            try:
                await asyncio.wait_for(tab.changed.wait(), 0.05)
            except TimeoutError:
                continue

    async def title_of(self, tab: BrowserTab) -> str:
        """What the page calls itself; what the browser last told where it does not answer."""
        try:
            title = await self.evaluate(self._frames.ensure(tab.target, tab.session), "document.title", within_s=2.0)
        except BrowserError:
            return tab.title
        return title[:500] if isinstance(title, str) else ""


def as_script(value: object) -> str:
    """A value of ours within a script of ours."""
    return json.dumps(value)


def _result_of(answer: Fields) -> Fields:
    if "exceptionDetails" in answer:
        details = child_of(answer, "exceptionDetails")
        said = text_of(details, "exception", "description", most=500) or text_of(details, "text", most=500)
        raise BrowserError(f"The script failed: {said}")
    return child_of(answer, "result")
