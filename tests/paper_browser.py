"""A browser on paper: what it brings back from an errand is what a test says."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from orchestrator.errors import Unavailable
from orchestrator.packages.errand import Errand


def png(width: int = 1280, height: int = 800, *, extra: bytes = b"") -> bytes:
    """A picture as far as the host looks."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", extra) + chunk(b"IEND", b"")


class PaperBrowser:
    """Brings what it is told to."""

    def __init__(self) -> None:
        self.brings: bytes | None = png()
        self.given: list[dict[str, bytes]] = []
        self.cleared = 0
        self.is_broken = False
        self.during: Callable[[Errand], None] = lambda _: None

    def run(self, errand: Errand, *, is_wanted: Callable[[], bool]) -> None:
        """The picture lies there, if there is one."""
        if self.is_broken:
            raise Unavailable("There is no engine.")
        self.given.append({path.name: path.read_bytes() for path in errand.given.iterdir()})
        self.during(errand)
        if self.brings is not None and is_wanted():
            (errand.brought / "shot.png").write_bytes(self.brings)

    def clear(self) -> None:
        """None is under way."""
        self.cleared += 1

    def task(self, which: int = -1) -> dict[str, Any]:
        """What it was asked for."""
        return dict(json.loads(self.given[which]["task.json"]))
