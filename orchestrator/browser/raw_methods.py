"""The DevTools methods that an agent may call as they are: looking at and changing a page, its elements and how it is
drawn.

Not among them, and refused: whatever goes somewhere (``Page.navigate``), names files, reaches other pages or the
browser itself (``Target``, ``Browser``, ``Storage``, ``Network``, ``Fetch``, ``IO``, ``SystemInfo``), or would make
this driver deaf (``*.disable``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.browser.faults import BrowserError

_DOMAINS = frozenset({"DOM", "CSS", "Emulation", "Accessibility", "DOMSnapshot", "Performance"})
_METHODS = frozenset(
    {
        "Runtime.evaluate",
        "Runtime.callFunctionOn",
        "Runtime.getProperties",
        "Runtime.releaseObject",
        "Page.printToPDF",
        "Page.getLayoutMetrics",
        "Page.getFrameTree",
        "Page.getNavigationHistory",
        "Page.captureScreenshot",
    }
)
_NEVER = frozenset(
    {
        "DOM.setFileInputFiles",
        "DOM.getFileInfo",
        "DOM.disable",
        "CSS.disable",
        "Emulation.setUserAgentOverride",
        "Emulation.setFocusEmulationEnabled",
        "Emulation.setScriptExecutionDisabled",
        "Emulation.setVirtualTimePolicy",
    }
)
"""Files, who we say we are, and what the driver itself sets."""
_ROOT_ONLY = frozenset({"sessionId", "targetId", "browserContextId"})


def check_raw(method: str, params: Mapping[str, Any]) -> None:
    """An agent may call this.

    Raises:
        BrowserError: it may not, with what it may.
    """
    domain = method.partition(".")[0]
    if method in _NEVER or (method not in _METHODS and domain not in _DOMAINS):
        allowed = ", ".join(sorted(_METHODS) + [f"{one}.*" for one in sorted(_DOMAINS)])
        raise BrowserError(f"{method[:60]!r} is not among the methods that may be called: {allowed}.")
    if named := sorted(_ROOT_ONLY & params.keys()):
        raise BrowserError(f"{named[0]} can't be chosen. Name a frame with --frame instead.")
    if method == "Page.printToPDF" and params.get("transferMode") not in (None, "ReturnAsBase64"):
        raise BrowserError("transferMode must be ReturnAsBase64.")
