"""What a browser, each page and each process of a frame are told first. All of it may be told again."""

from __future__ import annotations

from typing import Any

from orchestrator.browser import dialog_bridge
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.wire import Wire

_PAGES_ONLY = [{"type": "page"}, {"exclude": True}]
_FRAMES = [{"type": "iframe"}, {"type": "worker"}, {"type": "worklet"}, {"exclude": True}]
"""And workers: Chromium has them wait for whoever watches their page, and excluding them does not let them go on."""


class BrowserSetup:
    """Of one browser."""

    def __init__(self, wire: Wire, settings: DriverSettings) -> None:
        self._wire = wire
        self._settings = settings
        self._user_agent: dict[str, Any] = {}

    async def begin_browser(self, product: str) -> None:
        """``product`` is what it calls itself. From here on it tells of its pages and downloads.

        Raises:
            BrowserError, BrowserSlow, BrowserLost: as ``Wire.call``.
        """
        self._user_agent = _usual_user_agent(product)
        places = {"behavior": "allowAndName", "downloadPath": self._settings.download_dir, "eventsEnabled": True}
        self._wire.tell("Browser.setDownloadBehavior", "", places)
        await self._wire.call("Target.setDiscoverTargets", "", {"discover": True})
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": _PAGES_ONLY}
        await self._wire.call("Target.setAutoAttach", "", attach)

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
        tell("Fetch.enable", session, {"patterns": patterns})
        tell("Runtime.runIfWaitingForDebugger", session)


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
