"""What a file's first bytes say it is. The one table of such beginnings; what is made of them is decided elsewhere.

Pure, and it never decodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_PAGE = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|svg|script|\?xml)", re.IGNORECASE)


def content_of(head: bytes) -> str:
    """What the bytes say they are; empty when they say nothing that we know."""
    for name, is_it in _MAGIC:
        if is_it(head):
            return name
    return ""


_MAGIC: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("png", lambda h: h.startswith(b"\x89PNG\r\n\x1a\n")),
    ("jpeg", lambda h: h.startswith(b"\xff\xd8\xff")),
    ("gif", lambda h: h[:6] in (b"GIF87a", b"GIF89a")),
    ("webp", lambda h: h[:4] == b"RIFF" and h[8:12] == b"WEBP"),
    ("wav", lambda h: h[:4] == b"RIFF" and h[8:12] == b"WAVE"),
    ("m4a", lambda h: h[4:11] in (b"ftypM4A", b"ftypM4B")),
    ("mp4", lambda h: h[4:8] == b"ftyp" and h[8:12] not in (b"qt  ", b"avif", b"avis", b"heic", b"heix", b"mif1")),
    ("webm", lambda h: h.startswith(b"\x1aE\xdf\xa3")),
    ("opus", lambda h: h.startswith(b"OggS") and b"OpusHead" in h[:128]),
    ("ogg", lambda h: h.startswith(b"OggS")),
    ("flac", lambda h: h.startswith(b"fLaC")),
    ("mp3", lambda h: h.startswith(b"ID3") or (len(h) > 1 and h[0] == 0xFF and h[1] & 0xE6 == 0xE2)),
    ("pdf", lambda h: b"%PDF-" in h[:1024]),
    ("zip", lambda h: h[:4] in (b"PK\x03\x04", b"PK\x05\x06")),
    ("gzip", lambda h: h.startswith(b"\x1f\x8b")),
    ("program", lambda h: h[:4] == b"\x7fELF" or (h[:2] == b"MZ" and len(h) > 64) or h[:4] == b"\xcf\xfa\xed\xfe"),
    ("page", lambda h: _PAGE.match(h[:1024]) is not None),
)
