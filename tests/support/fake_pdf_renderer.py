"""A draughtsman on paper: draws the pages of PDFs as a test says."""

from __future__ import annotations

import threading
from collections.abc import Callable

from orchestrator.apps.pdf_pages import LONG_SIDE
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from tests.support.fake_browser import png
from tests.support.fakes import NoHelpers

LONG_S = 20.0
PAGE = png(990, LONG_SIDE)


class FakePdfRenderer(NoHelpers):
    """Brings what it is told to, when it may."""

    def __init__(self) -> None:
        self.brings: dict[str, bytes] = {"count": b"1", "1.png": PAGE}
        self.given: list[dict[str, bytes]] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.cleared = 0
        self.wanted: list[bool] = []
        self.breaks: Exception | None = None
        self.during: Callable[[HelperSpec], None] = lambda _: None

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """The pages lie there."""
        self.given.append({path.name: path.read_bytes() for path in spec.given.iterdir()})
        self.may_go.wait(LONG_S)
        self.wanted.append(is_wanted())
        if self.breaks is not None:
            raise self.breaks
        for name, content in self.brings.items():
            (spec.brought / name).write_bytes(content)
        self.during(spec)
        return HelperEnd.ENDED

    def clear_helpers(self, kind: HelperKind) -> None:
        """None is under way."""
        self.cleared += 1
