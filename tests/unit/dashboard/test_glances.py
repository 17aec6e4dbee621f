"""What a conversation shows of delivered files that are drawn or read first: spreadsheets, PDFs and web pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.headers import HELD
from dashboard.pages import delivered
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app
from tests.support.delivered_files import deliver_files
from tests.support.fake_browser import FakeBrowser, png
from tests.support.fake_pdf_renderer import FakePdfRenderer
from tests.support.fake_sheet_reader import FakeSheetReader
from tests.support.real_app import eventually
from tests.support.spreadsheets import TIDES, row, sheet, text, workbook
from tests.support.workspace_api import prepared
from tests.unit.conftest import Api, Browser

COVER = png(495, 700)
HOSTILE = "<script>alert(1)</script>\u202e"
FILES = {
    "tides.xlsx": TIDES,
    "odd.xlsx": workbook({"<b>A": sheet(row(1, text(HOSTILE)), row(2, text("=1+1"))), "": sheet()}),
    "broken.xlsx": b"PK\x03\x04" + b"\0" * 100,
    "report.pdf": b"%PDF-1.7\n%%EOF\n",
    "page.html": b"<!doctype html><script>alert(1)</script>",
    "page.txt.zip": TIDES,
}


class Helpers:
    """Who draws and reads."""

    def __init__(self) -> None:
        self.pages, self.sheets, self.photos = FakePdfRenderer(), FakeSheetReader(), FakeBrowser()
        self.pages.brings = {"count": b"7", "1.png": COVER}


@pytest.fixture
def helpers() -> Helpers:
    """All of them."""
    return Helpers()


@pytest.fixture
def webapp(tmp_path: Path, helpers: Helpers) -> Iterator[AppFixture]:
    """An install that has all of them."""
    with run_app(tmp_path, pages=helpers.pages, sheets=helpers.sheets, photos=helpers.photos) as install:
        yield install
        helpers.pages.may_go.set()


@pytest.fixture
def made(webapp: AppFixture, operator: Api) -> dict[str, int]:
    """The operator's crab delivered these; their numbers."""
    return deliver_files(webapp, CubicleKey("crab", operator.user.id), FILES)


def _ask(browser: Browser, number: int, what: str = "glance") -> str:
    """What a page is given at once, though it may be that it comes soon."""
    answer = browser.client.get(f"/parts/delivered/crab/{number}/{what}")
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def _part(browser: Browser, number: int, what: str = "glance") -> str:
    """What it is given once that is made; pages ask again, too."""
    return eventually(lambda: () if "data-soon" in (html := _ask(browser, number, what)) else (html,))[0]


def test_the_conversation_asks_for_them(browser: Browser, made: dict[str, int]) -> None:
    """Where its page is made nothing is drawn; what is called otherwise is not taken for one of them."""
    html = browser.client.get("/agents/crab").get_data(as_text=True)
    asked = set(re.findall(r'data-glance="/parts/delivered/crab/(\d+)/glance"', html))
    assert asked == {str(number) for name, number in made.items() if name != "page.txt.zip"}
    assert "alert(1)" not in html


def test_a_spreadsheet_is_a_table_with_what_is_left_out(browser: Browser, made: dict[str, int]) -> None:
    """Its first rows in the conversation, all that was read beside it, a sheet under each tab."""
    glance = _part(browser, made["tides.xlsx"])
    assert glance.count("<tr>") == 6
    assert "And 1,398 more rows · 2 sheets: Tides, Harbours" in glance
    assert '<td class="right"><bdi>4.2</bdi></td>' in glance
    whole = _part(browser, made["tides.xlsx"], "sheets")
    assert whole.count("<tr>") == 200 + 2
    assert "and 1,204 more rows. Download the file" in whole
    assert re.findall(r"<label for=[^>]*><bdi>(\w+)</bdi></label>", whole) == ["Tides", "Harbours"]


def test_nothing_in_it_is_more_than_text(browser: Browser, made: dict[str, int]) -> None:
    """Neither in cells nor in names of sheets; what hides is written out."""
    for html in (_part(browser, made["odd.xlsx"]), _part(browser, made["odd.xlsx"], "sheets")):
        assert "<script" not in html
        assert "<b>" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;alert(1)" in html
    assert "This sheet is empty." in _part(browser, made["odd.xlsx"], "sheets")


def test_what_can_not_be_read_leaves_its_name(browser: Browser, made: dict[str, int]) -> None:
    """In the conversation; beside it stands why."""
    glance = _part(browser, made["broken.xlsx"])
    assert "<" not in glance.strip()
    assert "can’t be shown" in _part(browser, made["broken.xlsx"], "sheets").replace("&#39;", "’")


def test_a_pdf_shows_its_first_page(browser: Browser, helpers: Helpers, made: dict[str, int]) -> None:
    """As a small picture, with the number of its pages; drawn once, and not all of them."""
    number = made["report.pdf"]
    assert browser.client.get(f"/agents/crab/delivered/{number}/glance").status_code == 404, "not drawn yet"
    glance = _part(browser, number)
    assert "7 pages" in glance
    assert f'<img src="/agents/crab/delivered/{number}/glance" width="495" height="700"' in glance
    picture = browser.client.get(f"/agents/crab/delivered/{number}/glance")
    assert (picture.data, picture.headers["Content-Type"]) == (COVER, "image/png")
    assert picture.headers["Content-Security-Policy"] == HELD
    _part(browser, number)
    assert [json.loads(task["task.json"])["most"] for task in helpers.pages.given] == [1]


def test_a_web_page_shows_a_picture_and_opens_in_a_frame(
    browser: Browser, webapp: AppFixture, helpers: Helpers, made: dict[str, int]
) -> None:
    """The picture is taken behind the walls of an app; the frame is of the preview origin, and the page that holds it
    may hold that one address."""
    number = made["page.html"]
    assert f'<img src="/agents/crab/delivered/{number}/glance" width="1280" height="800"' in _part(browser, number)
    picture = browser.client.get(f"/agents/crab/delivered/{number}/glance")
    assert (picture.data, picture.headers["Content-Security-Policy"]) == (png(), HELD)
    served = helpers.photos.task()["files"]
    assert served[""]["headers"]["Content-Type"].startswith("text/html")
    assert "sandbox" in served[""]["headers"]["Content-Security-Policy"]
    for path in (f"/agents/crab/delivered/{number}", f"/agents/crab?delivered={number}"):
        answer = browser.client.get(path)
        (url,) = re.findall(r'<iframe class="file-frame" src="([^"]+)"', answer.get_data(as_text=True))
        assert f":{webapp.services.settings.preview_port}/a/" in url
        assert url in answer.headers["Content-Security-Policy"]
        assert 'sandbox="allow-scripts allow-forms allow-pointer-lock"' in answer.get_data(as_text=True)
        assert "<script>alert" not in answer.get_data(as_text=True)


def test_what_takes_long_is_asked_for_again(
    browser: Browser, helpers: Helpers, made: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's connection is held up meanwhile; an engine that is away is asked again too."""
    monkeypatch.setattr(delivered, "GLANCE_S", 0.05)
    helpers.pages.may_go.clear()
    assert "data-soon" in _ask(browser, made["report.pdf"])
    helpers.pages.may_go.set()
    monkeypatch.setattr(delivered, "GLANCE_S", 20.0)
    assert "7 pages" in _part(browser, made["report.pdf"])
    helpers.sheets.breaks = Unavailable("There is no engine.")
    assert "data-soon" in _ask(browser, made["tides.xlsx"])


def test_nobody_sees_anybody_elses(member: Api, browser: Browser, made: dict[str, int]) -> None:
    """Also what was drawn already."""
    for name in ("tides.xlsx", "report.pdf", "page.html"):
        _part(browser, made[name])
        for path in (
            f"/parts/delivered/crab/{made[name]}/glance",
            f"/parts/delivered/crab/{made[name]}/sheets",
            f"/agents/crab/delivered/{made[name]}/glance",
        ):
            for query, status in (("", 404), ("?user=1", 403)):
                answer = member.client.get(f"{path}{query}", headers={"Authorization": f"Bearer {member.token}"})
                assert answer.status_code == status, path


def test_a_spreadsheet_in_the_files_is_a_table(webapp: AppFixture, browser: Browser) -> None:
    """By the same words; nothing of another folder or name."""
    (prepared(webapp, 1) / "work" / "a b.xlsx").write_bytes(TIDES)
    assert 'data-part="/parts/sheets/crab/work/a%20b.xlsx"' in browser.client.get(
        "/agents/crab/files/work/a%20b.xlsx"
    ).get_data(as_text=True)
    part = browser.client.get("/parts/sheets/crab/work/a%20b.xlsx").get_data(as_text=True)
    assert "and 1,204 more rows" in part
    for path in ("work/none.xlsx", "work/..%2Fwork%2Fa%20b.xlsx", "work"):
        assert browser.client.get(f"/parts/sheets/crab/{path}").status_code in (400, 404)
