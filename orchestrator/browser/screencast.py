"""A live view of the tab in front, and a person's hands on it. Pictures come as fast as they are taken, not faster;
they are checked to be JPEGs of a bounded size and are never decoded here."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import time
from dataclasses import dataclass

from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.fields import Fields, count_of
from orchestrator.browser.keyboard import read_stroke
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import BrowserTab

WIDTH, HEIGHT = 960, 600
MAX_PICTURE_BYTES = 1_000_000
MAX_PASTED = 10_000
"""Characters."""
_LOOK_S = 0.25
_START = {"format": "jpeg", "quality": 50, "maxWidth": WIDTH, "maxHeight": HEIGHT, "everyNthFrame": 2}
_KINDS = {"move": "mouseMoved", "down": "mousePressed", "up": "mouseReleased", "wheel": "mouseWheel"}
_BUTTONS = {"none": 0, "left": 1, "right": 2, "middle": 4}


@dataclass(frozen=True)
class PointerInput:
    """What a person's pointer did on the picture."""

    kind: str
    """``move``, ``down``, ``up`` or ``wheel``."""
    x: float
    y: float
    """From the top left corner, as parts of the width and the height: 0 to 1."""
    button: str = "none"
    clicks: int = 1
    wheel_down: float = 0.0
    """CSS pixels."""


class Screencast:
    """One live view; who looks asks for the next picture, and thereby tells that the last one has arrived."""

    def __init__(self, supervisor: BrowserSupervisor) -> None:
        self._supervisor = supervisor
        self._wire = supervisor.wire
        self._session = ""
        self._picture: tuple[bytes, int] | None = None
        """The newest, and what it is acknowledged by; 0 for one that needs none."""
        self._arrived = asyncio.Event()
        self._looks = False
        """A picture was asked for by itself, and has not come yet."""
        supervisor.on_screen = self._take

    def start(self) -> None:
        """Pictures come from now on; ``next_picture`` starts it too."""
        self._follow()

    def stop(self) -> None:
        """No more pictures come."""
        if self._session:
            self._wire.tell("Page.stopScreencast", self._session)
        self._session, self._picture = "", None

    def look_again(self) -> None:
        """A picture comes although nothing on the page moves: for somebody who has seen none."""
        self._look_once(self._session)

    async def next_picture(self, within_s: float) -> bytes | None:
        """The newest JPEG, or None where nothing changed within ``within_s`` seconds. It follows the tab in front, and
        a browser that was connected anew."""
        deadline = time.monotonic() + within_s
        while True:
            self._follow()
            taken, self._picture = self._picture, None
            if taken is not None:
                self._acknowledge(self._session, taken[1])
                return taken[0]
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), min(left, _LOOK_S))
            except TimeoutError:
                continue

    def _follow(self) -> None:
        front = self._supervisor.tabs.current
        if front == self._session:
            return
        self.stop()
        if front:
            self._session = front
            self._wire.tell("Page.bringToFront", front)  # what is behind another page is not drawn
            self._wire.tell("Page.startScreencast", front, _START)
            self._look_once(front)

    def _look_once(self, session: str) -> None:
        """A page on which nothing moves sends no picture, and of a single change only every second one."""
        if self._looks or session != self._session:
            return
        size = self._supervisor.settings
        scale = min(WIDTH / size.width, HEIGHT / size.height)
        clip = {"x": 0, "y": 0, "width": size.width, "height": size.height, "scale": scale}
        params = {"format": "jpeg", "quality": _START["quality"], "clip": clip}
        with contextlib.suppress(BrowserLost):
            asked = self._wire.post("Page.captureScreenshot", session, params)
            self._looks = True
            asked.add_done_callback(lambda done: self._take_look(session, done))

    def _take_look(self, session: str, done: asyncio.Future[Fields]) -> None:
        self._looks = False
        if done.cancelled() or done.exception() is not None or session != self._session or self._picture is not None:
            return
        picture = _jpeg_of(done.result())
        if picture is not None:
            self._picture = (picture, 0)
            self._arrived.set()

    def _acknowledge(self, session: str, number: int) -> None:
        if number:
            self._wire.tell("Page.screencastFrameAck", session, {"sessionId": number})

    def _take(self, fields: Fields, session: str, _tab: BrowserTab | None) -> None:
        number = count_of(fields, "sessionId")
        picture = _jpeg_of(fields)
        if session != self._session or picture is None:
            self._acknowledge(session, number)
            return
        if self._picture is not None:
            self._acknowledge(session, self._picture[1])
        self._picture = (picture, number)
        self._arrived.set()

    # --- a person's hands

    def point(self, deed: PointerInput) -> None:
        """Do on the page what a person's pointer did on the picture.

        Raises:
            BrowserError: a value is out of its bounds.
        """
        is_inside = 0 <= deed.x <= 1 and 0 <= deed.y <= 1
        if deed.kind not in _KINDS or deed.button not in _BUTTONS or not is_inside or not 1 <= deed.clicks <= 3:
            raise BrowserError("kind, button, x, y (0 to 1) or clicks (1 to 3) of the pointer can't be used.")
        size = self._supervisor.settings
        params: dict[str, object] = {
            "type": _KINDS[deed.kind],
            "x": deed.x * size.width,
            "y": deed.y * size.height,
            "button": deed.button,
            "buttons": _BUTTONS[deed.button] if deed.kind != "up" else 0,
        }
        if deed.kind in ("down", "up"):
            params["clickCount"] = deed.clicks
        if deed.kind == "wheel":
            params |= {"deltaX": 0, "deltaY": max(-2000.0, min(2000.0, deed.wheel_down))}
        self._tell("Input.dispatchMouseEvent", params, is_seen=deed.kind != "move")

    def press(self, keys: str) -> None:
        """Press a key, as ``keyboard.read_stroke`` names it.

        Raises:
            BrowserError: there is no such key.
        """
        stroke = read_stroke(keys)
        down = stroke.params("keyDown" if stroke.text else "rawKeyDown")
        self._tell("Input.dispatchKeyEvent", down, is_seen=False)
        self._tell("Input.dispatchKeyEvent", stroke.params("keyUp"))

    def paste(self, text: str) -> None:
        """Put a text where the caret is.

        Raises:
            BrowserError: it is too long.
        """
        if len(text) > MAX_PASTED:
            raise BrowserError(f"The text is longer than {MAX_PASTED:,} characters.")
        self._tell("Input.insertText", {"text": text})

    def _tell(self, method: str, params: dict[str, object], *, is_seen: bool = True) -> None:
        front = self._supervisor.tabs.current
        self._wire.tell(method, front, params)
        if is_seen:
            self._look_once(front)


def _jpeg_of(fields: Fields) -> bytes | None:
    """The picture, where it begins and ends as a JPEG and is no larger than asked for."""
    text = fields.get("data")
    if not isinstance(text, str) or len(text) > MAX_PICTURE_BYTES * 4 // 3 + 4:
        return None
    try:
        picture = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return picture if is_small_jpeg(picture) else None


def is_small_jpeg(picture: bytes) -> bool:
    """It begins and ends as a JPEG, and says of itself to be no larger than a live view."""
    if not picture.startswith(b"\xff\xd8\xff") or not picture.endswith(b"\xff\xd9"):
        return False
    at = 2
    while at + 9 <= len(picture) and picture[at] == 0xFF:
        marker, length = picture[at + 1], int.from_bytes(picture[at + 2 : at + 4], "big")
        if marker in (0xC0, 0xC1, 0xC2):
            height, width = (int.from_bytes(picture[at + n : at + n + 2], "big") for n in (5, 7))
            return 0 < width <= WIDTH and 0 < height <= HEIGHT
        if length < 2:
            return False
        at += 2 + length
    return False
