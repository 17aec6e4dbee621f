"""What the first bytes of a PNG say of its size. Nothing is decoded."""

from __future__ import annotations

_BEGINNING = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"


def size_of(content: bytes) -> tuple[int, int] | None:
    """Width and height as its header has them; None for what is no whole PNG."""
    at = len(_BEGINNING)
    if not content.startswith(_BEGINNING) or not content.endswith(_END) or len(content) < at + 8:
        return None
    return int.from_bytes(content[at : at + 4]), int.from_bytes(content[at + 4 : at + 8])
