"""Delivered files in the conversation: what is shown of each, as what, and to whom."""

from __future__ import annotations

import re
import struct
import zlib

import pytest

from dashboard.headers import HELD
from dashboard.ranges import MOST_BYTES, ByteRange, parse_range
from dashboard.sights import MOST_CELL_CHARS, MOST_COLUMNS, MOST_ROWS, read_rows
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.support.delivered_files import deliver_files, make_tone
from tests.unit.conftest import Api, Browser

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0) + zlib.compress(b"\0" * 20)
PAGE = b"<!doctype html><script>alert(1)</script>"
FILES = {
    "a.png": PNG,
    "b.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "c.html": PAGE,
    "d.csv": b'name;<b>\n=1+1;"x;\ny"\n',
    "e.wav": make_tone(1),
    "f.pdf": b"%PDF-1.4\n",
    "g.zip": b"PK\x03\x04" + b"\0" * 40,
    "h.png": PAGE,
    "i<b>.txt": b"words\x1b[31m",
}


@pytest.fixture
def made(webapp: AppFixture, operator: Api) -> dict[str, int]:
    """The operator's crab delivered these; their numbers."""
    return deliver_files(webapp, CubicleKey("crab", operator.user.id), FILES)


def test_each_is_shown_as_what_its_bytes_are(browser: Browser, made: dict[str, int]) -> None:
    """A picture, a player, a table, a text, or its name alone; nothing of it is HTML."""
    html = browser.client.get("/agents/crab").get_data(as_text=True)
    by_name = dict(zip(made, (f"/agents/crab/delivered/{number}" for number in made.values()), strict=True))
    assert f'<img src="{by_name["a.png"]}/content" alt="a.png" width="3" height="2"' in html
    assert html.count('<img src="/agents/crab/delivered/') == 1
    assert f'<audio controls preload="metadata" src="{by_name["e.wav"]}/content"' in html
    assert '<th scope="col">&lt;b&gt;</th>' in html
    assert "<td>=1+1</td>" in html
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html
    assert "onload='" not in html
    assert f'href="{by_name["g.zip"]}"' not in html


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "image/png"),
        ("e.wav", "audio/wav"),
        *((name, None) for name in ("b.svg", "c.html", "d.csv", "f.pdf", "g.zip", "h.png")),
    ],
)
def test_only_pictures_and_what_is_played_have_a_content(
    browser: Browser, made: dict[str, int], name: str, kind: str | None
) -> None:
    """Under the type that their bytes tell, in a sandbox; a page that is called a picture has none."""
    answer = browser.client.get(f"/agents/crab/delivered/{made[name]}/content")
    assert answer.status_code == (404 if kind is None else 200)
    if kind is not None:
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Content-Security-Policy"] == HELD
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.data == FILES[name]


def test_what_is_played_comes_in_parts(browser: Browser, made: dict[str, int]) -> None:
    """As a player asks for them."""
    path, whole = f"/agents/crab/delivered/{made['e.wav']}/content", FILES["e.wav"]
    part = browser.client.get(path, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.data) == (206, whole[10:20])
    assert part.headers["Content-Range"] == f"bytes 10-19/{len(whole)}"
    beyond = browser.client.get(path, headers={"Range": f"bytes={len(whole)}-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{len(whole)}")


def test_nobody_sees_what_was_delivered_to_somebody_else(webapp: AppFixture, member: Api, made: dict[str, int]) -> None:
    """Neither its page nor its content, by whatever address; an operator's look names whose it is."""
    for path in ("", "/content", "/page/" + "0" * 64 + "/1"):
        for query, status in (("", 404), ("?user=1", 403)):
            answer = member.client.get(
                f"/agents/crab/delivered/{made['a.png']}{path}{query}",
                headers={"Authorization": f"Bearer {member.token}"},
            )
            assert answer.status_code == status


def test_a_file_has_a_page_of_its_own_and_a_place_beside_the_conversation(
    browser: Browser, made: dict[str, int]
) -> None:
    """With all that is shown of it; what is gone leaves the conversation alone."""
    for name, seen in (
        ("d.csv", "<td>=1+1</td>"),
        ("a.png", "glimpse"),
        ("f.pdf", "/parts/delivered/crab/"),
        ("g.zip", "no preview"),
    ):
        assert seen in browser.client.get(f"/agents/crab/delivered/{made[name]}").get_data(as_text=True)
    beside = browser.client.get(f"/agents/crab?delivered={made['d.csv']}").get_data(as_text=True)
    assert re.search(r'<aside class="beside" aria-label="d.csv".*<td>=1\+1</td>', beside, re.DOTALL)
    gone = browser.client.get("/agents/crab?delivered=999")
    assert gone.status_code == 200
    assert '<aside class="beside"' not in gone.get_data(as_text=True)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("bytes=0-9", ByteRange(0, 10)),
        ("bytes=90-200", ByteRange(90, 10)),
        ("bytes=-5", ByteRange(95, 5)),
        ("bytes=-500", ByteRange(0, 100)),
        ("bytes=7-", ByteRange(7, 93)),
        ("bytes=9-3", None),
        ("bytes=0-1,5-6", None),
        ("bytes=-", None),
        ("items=0-9", None),
        ("", None),
    ],
)
def test_a_range_is_read(header: str, found: ByteRange | None) -> None:
    """One range; everything that is none means all of the file."""
    assert parse_range(header, 100) == found


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_a_range_outside_of_the_file_is_refused(header: str) -> None:
    """There is nothing to send."""
    with pytest.raises(ValueError, match="bytes"):
        parse_range(header, 100)


def test_no_part_is_very_long() -> None:
    """A player that asks for all gets a beginning, and asks on."""
    assert parse_range("bytes=0-", MOST_BYTES * 3) == ByteRange(0, MOST_BYTES)


def test_a_table_is_read_within_bounds() -> None:
    """By its own mark, with rows of one width; too many, too wide and cut ones are cut."""
    assert read_rows("a\tb\n1\n", is_cut=False) == (("a", "b"), ("1", ""))
    assert read_rows("a,b\n1,2\n3", is_cut=True) == (("a", "b"), ("1", "2"))
    big = read_rows(("," * 200 + "x" * 500 + "\n") * 500, is_cut=False)
    assert (len(big), len(big[0])) == (MOST_ROWS + 1, MOST_COLUMNS)
    assert len(read_rows("y" * 1000, is_cut=False)[0][0]) == MOST_CELL_CHARS
    assert read_rows("a\n" + '"' + "x" * 200_000, is_cut=False) == ()
