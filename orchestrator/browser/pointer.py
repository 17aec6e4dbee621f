"""The mouse: where an element is on the page, whatever frames it stands in, and moving, pressing and turning the wheel
there."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.fields import child_of, count_of, number_of, numbers_of, text_of
from orchestrator.browser.frames import PageFrame
from orchestrator.browser.page_calls import PageCalls
from orchestrator.browser.snapshots import FoundElement
from orchestrator.browser.supervisor import BrowserSupervisor

_BUTTONS = {"left": 1, "right": 2, "middle": 4}
_MAX_CLICKS = 3
_MAX_NESTING = 10


@dataclass(frozen=True)
class PagePoint:
    """A place in the window, in CSS pixels from its top left corner."""

    x: float
    y: float


class PagePointer:
    """Of the tab in front."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls) -> None:
        self._frames = supervisor.frames
        self._wire = supervisor.wire
        self._settings = supervisor.settings
        self._calls = calls

    async def point_of(self, element: FoundElement, *, may_be_covered: bool = False) -> PagePoint:
        """Where to press an element; it is scrolled into view.

        Raises:
            BrowserError: it has no size, or something lies over it; and as ``PageCalls.call``.
        """
        frame = element.frame
        await self._calls.call("DOM.scrollIntoViewIfNeeded", frame.session, {"objectId": element.handle})
        spot = child_of({"spot": await self._calls.run_on(frame, element.handle, _SPOT)}, "spot")
        if problem := text_of(spot, "problem", most=100):
            raise BrowserError(f"{element.ref}: {problem}.")
        cover = text_of(spot, "cover", most=150)
        if cover and not may_be_covered:
            raise BrowserError(f"{element.ref} is covered by {cover}. Close that first, or click with --force.")
        x, y = number_of(spot, "x"), number_of(spot, "y")
        for _ in range(_MAX_NESTING):
            if frame.id == self._calls.tab().target:
                return PagePoint(x, y)
            frame, left, top = await self._around(frame)
            x, y = x + left, y + top
        raise BrowserError(f"{element.ref} lies too many frames deep.")

    async def _around(self, frame: PageFrame) -> tuple[PageFrame, float, float]:
        """The outermost frame of the process that a frame stands in, and where in that it begins."""
        parent = self._frames.get(frame.parent)
        if parent is None or not parent.session:
            raise BrowserError("The frame is gone. Take a new snapshot.")
        owner = await self._calls.call("DOM.getFrameOwner", parent.session, {"frameId": frame.id})
        node = {"backendNodeId": count_of(owner, "backendNodeId")}
        box = await self._calls.call("DOM.getBoxModel", parent.session, node)
        corners = numbers_of(box, "model", "content")
        if len(corners) != 8:
            raise BrowserError("The frame has no size on the page.")
        outermost = parent
        for _ in range(_MAX_NESTING):
            above = self._frames.get(outermost.parent)
            if above is None or above.session != outermost.session:
                break
            outermost = above
        return outermost, corners[0], corners[1]

    async def move(self, point: PagePoint) -> None:
        """Put it there."""
        await self._event("mouseMoved", point)

    async def click(self, point: PagePoint, *, button: str = "left", count: int = 1) -> None:
        """Press and let go.

        Raises:
            BrowserError: no such button or count; and as ``PageCalls.call``.
        """
        if button not in _BUTTONS:
            raise BrowserError(f"There is no button {button[:20]!r}. Use one of {', '.join(_BUTTONS)}.")
        if not 1 <= count <= _MAX_CLICKS:
            raise BrowserError(f"The count of clicks must be 1 to {_MAX_CLICKS}.")
        session = self._calls.tab().session
        for n in range(1, count + 1):
            pressed = {"x": point.x, "y": point.y, "button": button, "clickCount": n}
            # a dialog may open while the button is down, so that only the last is waited for
            for kind in ("mouseMoved", "mousePressed"):
                held = {"buttons": _BUTTONS[button]} if kind == "mousePressed" else {}
                self._wire.tell("Input.dispatchMouseEvent", session, {"type": kind, **pressed, **held})
            await self._event("mouseReleased", point, button=button, clickCount=n)

    async def wheel(self, *, down: float) -> None:
        """Turn the wheel over the middle of the window, by ``down`` CSS pixels."""
        middle = PagePoint(self._settings.width / 2, self._settings.height / 2)
        await self._event("mouseWheel", middle, deltaX=0, deltaY=down)

    async def _event(self, kind: str, point: PagePoint, **more: object) -> None:
        params = {"type": kind, "x": point.x, "y": point.y, **more}
        session = self._calls.tab().session
        await self._calls.call("Input.dispatchMouseEvent", session, params, within_s=self._settings.deed_s)


_SPOT = "function(){return hermitSpot(this)}"
