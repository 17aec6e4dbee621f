"""A browser on paper: what it brings back from a helper is what a test says."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from orchestrator.core.errors import Unavailable
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from tests.support.fakes import NoHelpers


def png(width: int = 1280, height: int = 800, *, extra: bytes = b"") -> bytes:
    """A picture as far as the host looks."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", extra) + chunk(b"IEND", b"")


class FakeBrowser(NoHelpers):
    """Brings what it is told to."""

    def __init__(self) -> None:
        self.brings: bytes | None = png()
        self.given: list[dict[str, bytes]] = []
        self.cleared = 0
        self.is_broken = False
        self.during: Callable[[HelperSpec], None] = lambda _: None

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """The picture lies there, if there is one."""
        if self.is_broken:
            raise Unavailable("There is no engine.")
        self.given.append({path.name: path.read_bytes() for path in spec.given.iterdir()})
        self.during(spec)
        if self.brings is not None and is_wanted():
            (spec.brought / "shot.png").write_bytes(self.brings)
        return HelperEnd.ENDED

    def clear_helpers(self, kind: HelperKind) -> None:
        """None is under way."""
        self.cleared += 1

    def task(self, which: int = -1) -> dict[str, Any]:
        """What it was asked for."""
        return dict(json.loads(self.given[which]["task.json"]))
