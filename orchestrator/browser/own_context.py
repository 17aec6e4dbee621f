"""The browser context that is one cubicle's, in a browser that others use too: cookies and storage of its own, disposed
of at the end. A browser that makes no contexts is one cubicle's as a whole, and emptied before."""

from __future__ import annotations

from orchestrator.browser.faults import BrowserLost, BrowserRefused
from orchestrator.browser.fields import Fields, objects_of, text_of
from orchestrator.browser.policy import RemoteRules
from orchestrator.browser.wire import Wire

_MOST = 200


class OwnContext:
    """Of one browser. One that is ours alone (``rules`` is None) needs none."""

    def __init__(self, wire: Wire, rules: RemoteRules | None) -> None:
        self._wire, self._rules = wire, rules
        self.id = rules.context if rules else ""
        self.why_gone = ""
        """Why this browser is of no use any more."""
        self.is_emptying = False
        """Pages come and go that nobody shall drive."""
        self._is_whole = False

    @property
    def scope(self) -> dict[str, str]:
        """The parameter that makes a command one of this context."""
        return {"browserContextId": self.id} if self.id else {}

    def owns(self, info: Fields) -> bool:
        """A target is ours."""
        if self._rules is None or self._is_whole:
            return True
        return bool(self.id) and text_of(info, "browserContextId", most=_MOST) == self.id

    async def ensure(self) -> None:
        """It is there.

        Raises:
            BrowserLost: it was, and is gone with its pages; or this browser can't be shared and somebody has it.
            BrowserError, BrowserSlow: as ``Wire.call``.
        """
        if self._rules is None or self._is_whole:
            return
        if self.id:
            told = (await self._wire.call("Target.getBrowserContexts")).get("browserContextIds")
            if not isinstance(told, list) or self.id not in told:
                self._give_up("The remote browser was started again.")
            return
        try:
            made = await self._wire.call("Target.createBrowserContext", "", {"disposeOnDetach": False})
        except BrowserRefused:
            await self._take_whole(self._rules)
            return
        self.id = text_of(made, "browserContextId", most=_MOST)
        if not self.id:
            self._give_up("The remote browser made no context of its own.")
        self._rules.note_context(self.id)

    async def dispose(self) -> None:
        """Its pages, cookies and storage are gone.

        Raises:
            BrowserLost, BrowserError, BrowserSlow: as ``Wire.call``.
        """
        if self.id:
            await self._wire.call("Target.disposeBrowserContext", "", {"browserContextId": self.id})
            self.id = ""
        elif self._is_whole:
            await self._empty()

    def _give_up(self, why: str) -> None:
        self.why_gone = why
        self._wire.drop()
        raise BrowserLost(why)

    async def _take_whole(self, rules: RemoteRules) -> None:
        if not rules.take_whole():
            self._give_up("The remote browser keeps agents apart by no contexts, so one may use it at a time.")
        self.is_emptying = True
        try:
            await self._empty()
        finally:
            self.is_emptying = False
        self._is_whole = True

    async def _empty(self) -> None:
        """One empty page is left, and nothing is stored."""
        call = self._wire.call
        there = objects_of(await call("Target.getTargets"), "targetInfos")
        new = text_of(await call("Target.createTarget", "", _BLANK), "targetId", most=100)
        session = text_of(
            await call("Target.attachToTarget", "", {"targetId": new, "flatten": True}), "sessionId", most=100
        )
        await call("Storage.clearDataForOrigin", session, {"origin": "*", "storageTypes": "all"})
        await call("Storage.clearCookies")
        await call("Target.detachFromTarget", "", {"sessionId": session})
        for info in there:
            if text_of(info, "type") == "page":
                await call("Target.closeTarget", "", {"targetId": text_of(info, "targetId", most=100)})


_BLANK = {"url": "about:blank"}
