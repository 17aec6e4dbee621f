"""Which pictures a browser is shown, and what is a text: by bytes, never by a name. Pure."""

from __future__ import annotations

import codecs

from orchestrator.capabilities.delivery.media_types import size_of_image
from orchestrator.languages.told import to_say, worded

PICTURE_BYTES = 20 * 1024**2
MOST_PIXELS = 50_000_000
"""What a browser unpacks without trouble, however small the file is."""
HEAD_BYTES = 256 * 1024
"""How far into a picture its size is looked for."""
PICTURES = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""What is shown as a picture, by what its bytes say; an SVG is a program and never among them."""


def refuse_picture(content: str, head: bytes, size_bytes: int) -> str:
    """Why a picture is not shown; empty when it is."""
    if size_bytes > PICTURE_BYTES:
        return to_say("This picture is too large to preview. Download it.")
    size = size_of_image(content, head)
    if size is None or 0 in size:
        return to_say("This picture doesn't say how large it is, so it isn't shown. Download it.")
    if size[0] * size[1] > MOST_PIXELS:
        return worded(
            "This picture is %(width)s × %(height)s pixels, too large to preview. Download it.",
            width=f"{size[0]:,}",
            height=f"{size[1]:,}",
        )
    return ""


def read_text(head: bytes) -> str | None:
    """The bytes as text; a character that is cut at the end is left out. None when they are no text."""
    if b"\0" in head:
        return None
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return None
