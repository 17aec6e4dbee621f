"""Pictures of pages: a screenshot, a PDF, and the list of the images that a page shows. The bytes are the browser's;
they are checked to begin as what they should be, and never decoded here."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.fields import Fields, count_of, objects_of, text_of
from orchestrator.browser.page_calls import PageCalls

MAX_SHOT_BYTES = 2_000_000
MAX_PDF_BYTES = 10_000_000
MAX_IMAGES = 100
_QUALITIES = (60, 35, 15)
_SHOT_S = 20.0
_PDF_S = 30.0
_MAX_HEIGHT = 16_000
"""CSS pixels of a whole page; what is below is cut off."""


@dataclass(frozen=True)
class PageImage:
    """An image on a page."""

    src: str
    alt: str
    width: int
    height: int
    """In pixels of the file."""


class PageCamera:
    """Of the tab in front."""

    def __init__(self, calls: PageCalls) -> None:
        self._calls = calls

    async def screenshot(self, *, whole_page: bool = False) -> bytes:
        """A JPEG of at most 2 MB, of the window or of the whole page.

        Raises:
            BrowserError: it can't be made so small; and as ``PageCalls.call``.
        """
        session = self._calls.tab().session
        params: dict[str, object] = {"format": "jpeg"}
        if whole_page:
            size = await self._calls.call("Page.getLayoutMetrics", session)
            width = max(1, min(count_of(size, "cssContentSize", "width"), 4000))
            height = max(1, min(count_of(size, "cssContentSize", "height"), _MAX_HEIGHT))
            params |= {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
            }
        for quality in _QUALITIES:
            wanted = {**params, "quality": quality}
            answer = await self._calls.call("Page.captureScreenshot", session, wanted, within_s=_SHOT_S)
            picture = _bytes_of(answer, b"\xff\xd8\xff", MAX_SHOT_BYTES)
            if picture is not None:
                return picture
        raise BrowserError("The screenshot is over 2 MB. Take one of the window, not of the whole page.")

    async def pdf(self) -> bytes:
        """The page as it would be printed, at most 10 MB.

        Raises:
            BrowserError: it is larger; and as ``PageCalls.call``.
        """
        params = {"printBackground": True}
        answer = await self._calls.call("Page.printToPDF", self._calls.tab().session, params, within_s=_PDF_S)
        pdf = _bytes_of(answer, b"%PDF-", MAX_PDF_BYTES)
        if pdf is None:
            raise BrowserError("The page makes no PDF of at most 10 MB.")
        return pdf

    async def images(self) -> tuple[PageImage, ...]:
        """The images of the page (not of its frames), at most 100; their addresses may be ``data:`` and are cut.

        Raises:
            As ``PageCalls.call``.
        """
        found = await self._calls.evaluate(self._calls.main_frame(), _IMAGES)
        return tuple(
            PageImage(
                text_of(one, "src", most=500),
                text_of(one, "alt", most=200),
                count_of(one, "width"),
                count_of(one, "height"),
            )
            for one in objects_of({"found": found}, "found", most=MAX_IMAGES)
        )


def _bytes_of(answer: Fields, beginning: bytes, most: int) -> bytes | None:
    text = answer.get("data")
    if not isinstance(text, str) or len(text) > most * 4 // 3 + 4:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if data.startswith(beginning) else None


_IMAGES = (
    "[...document.images].filter((i) => i.naturalWidth > 1).slice(0, 100).map((i) => ({"
    "src: i.currentSrc.slice(0, 500).toWellFormed(), alt: i.alt.slice(0, 200).toWellFormed(),"
    " width: i.naturalWidth, height: i.naturalHeight }))"
)
