"""A PDF's page in a real browser: it says that the pages are on their way, and then they are there."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from dashboard.pages import files
from tests.browser.conftest import DESKTOP, PHONE, open_window
from tests.support.app_fixture import run_app
from tests.support.fake_browser import png
from tests.support.fake_pdf_renderer import FakePdfRenderer
from tests.support.workspace_api import prepared

pytestmark = pytest.mark.browser

PAGE = png(990, 1400, extra=zlib.compress((b"\0" + b"\xee" * 3 * 990) * 1400))


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_come_when_they_are_drawn(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: ViewportSize
) -> None:
    """Without anybody reloading; each fits the window, and nothing is complained about."""
    monkeypatch.setattr(files, "DRAWING_S", 0.2)
    drawing = FakePdfRenderer()
    drawing.may_go.clear()
    drawing.brings = {"count": b"7", "1.png": PAGE, "2.png": PAGE}
    with run_app(tmp_path, pages=drawing) as install:
        (prepared(install, 1) / "out" / "report.pdf").write_bytes(b"%PDF-1.7\n%%EOF\n")
        context = browser.new_context(viewport=size)
        visit = open_window(context, install)
        visit.log_in()
        visit.page.goto(f"{install.url}/agents/crab/files/out/report.pdf")
        expect(visit.page.get_by_text("Rendering pages… The first time")).to_be_visible()
        drawing.may_go.set()
        for number in (1, 2):
            shown = visit.page.get_by_role("img", name=f"Page {number} of 7")
            expect(shown).to_be_visible()
            shown.scroll_into_view_if_needed()
            visit.page.wait_for_function("image => image.naturalWidth === 990", arg=shown.element_handle())
            box = shown.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= size["width"]
        expect(visit.page.get_by_text("The first 2 of 7 pages")).to_be_visible()
        context.close()
        assert visit.complaints == []
