"""What a browser, each page and each process of a frame are told first. All of it may be told again."""

from __future__ import annotations

import asyncio
from typing import Any

from orchestrator.browser import dialog_bridge
from orchestrator.browser.own_context import OwnContext
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.wire import Wire

_PAGES_ONLY = [{"type": "page"}, {"exclude": True}]
_PAGES_AND_WORKERS = [{"type": "page"}, {"type": "shared_worker"}, {"type": "service_worker"}, {"exclude": True}]
"""Of a remote browser: workers that belong to no page are ended before they begin."""
_EVERYTHING = {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]}
_FRAMES = [{"type": "iframe"}, {"type": "worker"}, {"type": "worklet"}, {"exclude": True}]
"""And workers: Chromium has them wait for whoever watches their page, and excluding them does not let them go on."""


class BrowserSetup:
    """Of one browser."""

    def __init__(self, wire: Wire, settings: DriverSettings, context: OwnContext) -> None:
        self._wire = wire
        self._context = context
        self._settings = settings
        self._user_agent: dict[str, Any] = {}

    async def begin_browser(self, product: str) -> None:
        """``product`` is what it calls itself. From here on it tells of its pages and downloads.

        Raises:
            BrowserError, BrowserSlow, BrowserLost: as ``Wire.call``.
        """
        is_remote = self._settings.remote is not None
        if is_remote:  # what it calls itself is its owner's business, and no file of it can be brought here
            places = {"behavior": "deny", "eventsEnabled": True, **self._context.scope}
        else:
            self._user_agent = _usual_user_agent(product)
            places = {"behavior": "allowAndName", "downloadPath": self._settings.download_dir, "eventsEnabled": True}
        self._wire.tell("Browser.setDownloadBehavior", "", places)
        kinds = _PAGES_AND_WORKERS if is_remote else _PAGES_ONLY
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": kinds}
        discovering = self._wire.call("Target.setDiscoverTargets", "", {"discover": True})
        await asyncio.gather(discovering, self._wire.call("Target.setAutoAttach", "", attach))

    def begin_page(self, session: str) -> None:
        """Before ``begin_process`` of the same session."""
        size = {"width": self._settings.width, "height": self._settings.height, "deviceScaleFactor": 1, "mobile": False}
        self._wire.tell("Emulation.setDeviceMetricsOverride", session, size)
        self._wire.tell("Emulation.setFocusEmulationEnabled", session, {"enabled": True})
        self._wire.tell("Page.setInterceptFileChooserDialog", session, {"enabled": True})

    def begin_process(self, session: str) -> None:
        """It tells of what happens in it, asks before it goes for a document, and goes on."""
        tell = self._wire.tell
        for method in ("Page.enable", "Runtime.enable", "Log.enable"):
            tell(method, session)
        tell("Network.enable", session, {"maxTotalBufferSize": 1 << 20, "maxResourceBufferSize": 1 << 18})
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": _FRAMES}
        tell("Target.setAutoAttach", session, attach)
        if self._user_agent:
            tell("Emulation.setUserAgentOverride", session, self._user_agent)
        patterns = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]
        if self._settings.uses_dialog_bridge:
            patterns.append({"urlPattern": f"{dialog_bridge.ADDRESS}*", "requestStage": "Request"})
            script = {"source": dialog_bridge.SCRIPT, "runImmediately": True}
            tell("Page.addScriptToEvaluateOnNewDocument", session, script)
        if self._settings.remote is None:
            tell("Fetch.enable", session, {"patterns": patterns})
            tell("Runtime.runIfWaitingForDebugger", session)

    async def guard_process(self, session: str) -> None:
        """Of a remote browser, after ``begin_process``: it goes on once each of its requests is stopped and judged.

        Raises:
            BrowserError, BrowserSlow, BrowserLost: as ``Wire.call``; then it does not go on.
        """
        await self._wire.call("Fetch.enable", session, _EVERYTHING)
        self._wire.tell("Network.setBypassServiceWorker", session, {"bypass": True})
        self._wire.tell("Page.setPrerenderingAllowed", session, {"isAllowed": False})
        self._wire.tell("Runtime.runIfWaitingForDebugger", session)

    def shut_process(self, session: str) -> None:
        """It goes on, and every request of it is stopped for ever."""
        self._wire.tell("Fetch.enable", session, _EVERYTHING)
        self._wire.tell("Runtime.runIfWaitingForDebugger", session)


def _usual_user_agent(product: str) -> dict[str, Any]:
    """The shell calls itself HeadlessChrome, which many sites refuse; ``navigator.webdriver`` stays true."""
    number = product.partition("/")[2].partition(".")[0]
    if not number.isdigit():
        return {}
    engine = "AppleWebKit/537.36 (KHTML, like Gecko)"
    metadata = {
        "brands": [{"brand": "Chromium", "version": number}, {"brand": "Not=A?Brand", "version": "24"}],
        "fullVersion": product.partition("/")[2][:30],
        "platform": "Linux",
        "platformVersion": "",
        "architecture": "x86",
        "model": "",
        "mobile": False,
        "bitness": "64",
        "wow64": False,
    }
    return {
        "userAgent": f"Mozilla/5.0 (X11; Linux x86_64) {engine} Chrome/{number}.0.0.0 Safari/537.36",
        "acceptLanguage": "en-US,en",
        "platform": "Linux x86_64",
        "userAgentMetadata": metadata,
    }
