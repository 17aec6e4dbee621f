"""A PDF's page in the dashboard: its pages as pictures by responses of their own, or why there are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from dashboard.headers import HELD
from dashboard.pages import files
from tests.support.app_fixture import AppFixture, run_app
from tests.support.fake_pdf_renderer import PAGE, FakePdfRenderer
from tests.support.workspace_api import prepared
from tests.unit.conftest import Api, Browser, logged_in

PDF = b"%PDF-1.7\n\0%%EOF\n"
PLACE = "out/a%20b.pdf"


@pytest.fixture
def drawing() -> FakePdfRenderer:
    """Who draws."""
    return FakePdfRenderer()


@pytest.fixture
def webapp(tmp_path: Path, drawing: FakePdfRenderer) -> Iterator[AppFixture]:
    """An install in which PDFs are drawn."""
    with run_app(tmp_path, pages=drawing) as install:
        (prepared(install, 1) / "out" / "a b.pdf").write_bytes(PDF)
        yield install
        drawing.may_go.set()


def _html(browser: Browser, path: str, status: int = 200) -> str:
    answer = browser.client.get(path)
    assert answer.status_code == status, path
    return answer.get_data(as_text=True)


def test_its_pages_are_pictures_that_nothing_runs_in(browser: Browser, drawing: FakePdfRenderer) -> None:
    """The file's page asks for them at once; each is served as a picture from elsewhere is."""
    drawing.brings = {"count": b"30", "1.png": PAGE, "2.png": PAGE}
    html = _html(browser, f"/agents/crab/files/{PLACE}")
    assert f'data-part="/parts/pages/crab/{PLACE}"' in html
    assert "/agents/crab/page/" not in html
    assert "<iframe" not in html
    part = _html(browser, f"/parts/pages/crab/{PLACE}")
    assert "first 2 of 30 pages" in part
    sources = re.findall(r'<img src="([^"]+)" width="990" height="1400"', part)
    assert len(sources) == 2
    for source in sources:
        answer = browser.client.get(source, buffered=True)
        assert (answer.status_code, answer.data, answer.headers["Content-Type"]) == (200, PAGE, "image/png")
        assert answer.headers["Content-Security-Policy"] == HELD
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"


def test_what_is_anothers_is_nowhere(webapp: AppFixture, app: Flask, browser: Browser, member: Api) -> None:
    """A page that was drawn for somebody is shown to nobody else who knows its name."""
    (source,) = re.findall(r'<img src="([^"]+)"', _html(browser, f"/parts/pages/crab/{PLACE}"))
    prepared(webapp, member.user.id)
    other = logged_in(webapp, app, member.user)
    assert _html(other, "/agents/crab/files")
    for path in (source, f"/parts/pages/crab/{PLACE}"):
        assert other.client.get(path).status_code == 404, path


@pytest.mark.parametrize("path", ["out/none.pdf", "in/a%20b.pdf", "out/..%2Fout%2Fa%20b.pdf", "out"])
def test_what_is_not_there_is_not_drawn(browser: Browser, drawing: FakePdfRenderer, path: str) -> None:
    """Nor what is no file."""
    assert browser.client.get(f"/parts/pages/crab/{path}").status_code in (400, 404)
    assert drawing.given == []


def test_what_takes_long_is_asked_for_again(
    browser: Browser, drawing: FakePdfRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part says so in words and to the script."""
    monkeypatch.setattr(files, "DRAWING_S", 0.01)
    drawing.may_go.clear()
    part = _html(browser, f"/parts/pages/crab/{PLACE}")
    assert "data-soon" in part
    assert "Rendering pages" in part


def test_what_can_not_be_drawn_says_why(browser: Browser, drawing: FakePdfRenderer) -> None:
    """In a sentence, with the download beside it."""
    drawing.brings = {}
    part = _html(browser, f"/parts/pages/crab/{PLACE}")
    assert "damaged, or locked with a password" in part.replace("&#39;", "'")
    assert "data-soon" not in part


def test_a_large_one_is_for_ones_own_program(webapp: AppFixture, browser: Browser) -> None:
    """Its page does not even ask."""
    with (prepared(webapp, 1) / "out" / "large.pdf").open("wb") as file:
        file.write(PDF)
        file.truncate(webapp.services.pdf_pages.most_bytes + 1)
    html = _html(browser, "/agents/crab/files/out/large.pdf")
    assert "too large" in html
    assert 'data-part="/parts/pages' not in html
