"""The workspace in the dashboard: folders page by page, hostile names shown and addressed, and previews in which
nothing that an agent made can run."""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dashboard import glimpses
from dashboard.headers import HELD
from dashboard.pages import folder_list, glimpse
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import prepared
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import EVIL, Page

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0) + zlib.compress(b"\0" * 20)
JPEG = b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x02\x00\x03" + b"\0" * 20
GIF = b"GIF89a" + struct.pack("<HH", 3, 2) + b"\0" * 20
WEBP = b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0" + b"\0" * 20
SCRIPT = b"<script>alert(1)</script>"
HOSTILE = (
    b"a\xe2\x80\xaegpj.exe",
    b"two\nlines.txt",
    b"tab\tand\x1b[31m",
    b"\xff\xfe no utf8",
    b"n" * 255,
    b"%41?query#part",
    b"..\\..\\up",
    b"{name}",
    EVIL.replace("/", "|").encode(),
)


@pytest.fixture
def workspace(webapp: AppFixture) -> Path:
    """The operator's workspace with ``crab``, with its folders made."""
    return prepared(webapp, 1)


def page(browser: Browser, path: str, status: int = 200) -> Page:
    """A page, looked through: nothing inline, and nothing fetched but from us."""
    answer = browser.client.get(path)
    assert answer.status_code == status, path
    assert answer.mimetype == "text/html"
    read = Page(answer.get_data(as_text=True))
    assert read.inline == []
    assert [at for at in read.fetched if not at.startswith(("/static/", "/manifest.", "/agents/crab/picture/"))] == []
    return read


def text(browser: Browser, path: str) -> str:
    """What is read on it."""
    return " ".join(page(browser, path).text.split())


def picture(browser: Browser, path: str) -> TestResponse:
    """The answer to a page's picture."""
    return browser.client.get(f"/agents/crab/picture/{path}", buffered=True)


# --- folders ---------------------------------------------------------------------------------------------------


def test_an_empty_workspace_teaches(browser: Browser, webapp: AppFixture) -> None:
    """Before it is made, and folder by folder."""
    assert "No workspace yet." in text(browser, "/agents/crab/files")
    prepared(webapp, 1)
    names = re.findall(r'<bdi class="entry-name">(\w+)</bdi>', _html(browser))
    assert names == ["work", "in", "out", "www", "data"]
    assert "Nothing here yet. Upload files" in text(browser, "/agents/crab/files/in")
    assert "No files for you yet." in text(browser, "/agents/crab/files/out")


def _html(browser: Browser, path: str = "/agents/crab/files") -> str:
    """What is within the frame that all pages have."""
    return browser.client.get(path).get_data(as_text=True).partition("<main")[2]


def touch(folder: Path, names: list[bytes]) -> None:
    """Empty files of these names."""
    for name in names:
        os.close(os.open(os.fsencode(folder) + b"/" + name, os.O_CREAT | os.O_WRONLY))


def more(html: str) -> str:
    """Where the next page is."""
    [found] = re.findall(r'href="([^"]+)">More files', html)
    return unescape(found)


def shown(html: str) -> list[str]:
    """The names of a page, in their order."""
    return [unescape(name) for name in re.findall(r'<bdi class="entry-name">(.*?)</bdi>', html, re.DOTALL)]


@pytest.mark.parametrize("count", [folder_list.PAGE - 1, folder_list.MOST_SORTED])
def test_folders_are_paged(browser: Browser, workspace: Path, count: int) -> None:
    """Each name once, whatever stands at a page's edge; a folder that is too large to be sorted, too."""
    names = [*(b"f%05d" % n for n in range(count)), b"\xff\n%41", *(b"\xff\xff%02d" % n for n in range(30))]
    touch(workspace / "work", names)
    first = _html(browser, "/agents/crab/files/work")
    assert first.count('class="entry-open"') == folder_list.PAGE
    assert ("shown in their order alone" in first) == (len(names) > folder_list.MOST_SORTED)
    second = _html(browser, more(first))
    assert second.count('class="entry-open"') == min(folder_list.PAGE, len(names) - folder_list.PAGE)
    assert not set(shown(first)) & set(shown(second))
    assert "Back to the start" in second
    part = browser.client.get(more(first).replace("/agents/crab/files", "/parts/files/crab")).get_data(as_text=True)
    assert shown(part) == shown(second)


def test_a_folder_is_sorted_as_it_is_asked_for(browser: Browser, workspace: Path) -> None:
    """By names as people order them, sizes and times, from both ends; folders first; each way is a link."""
    (workspace / "work" / "Zoo").mkdir()
    for n, (name, size) in enumerate((("b10.txt", 2), ("B9.txt", 3), ("a.txt", 1))):
        (workspace / "work" / name).write_bytes(b"x" * size)
        os.utime(workspace / "work" / name, (1_700_000_000 - n, 1_700_000_000 - n))
    expected = {
        "": ["a.txt", "B9.txt", "b10.txt"],
        "?sort=-name": ["b10.txt", "B9.txt", "a.txt"],
        "?sort=-size": ["B9.txt", "b10.txt", "a.txt"],
        "?sort=size": ["a.txt", "b10.txt", "B9.txt"],
        "?sort=-when": ["b10.txt", "B9.txt", "a.txt"],
        "?sort=when": ["a.txt", "B9.txt", "b10.txt"],
    }
    for query, names in expected.items():
        assert shown(_html(browser, f"/agents/crab/files/work{query}")) == ["Zoo", *names], query
    links = set(re.findall(r'href="/agents/crab/files/work(\?sort=[^"]+)"', _html(browser, "/agents/crab/files/work")))
    assert links == {"?sort=-name", "?sort=-size", "?sort=-when"}
    assert browser.client.get("/agents/crab/files/work?sort=colour").status_code == 400


def test_names_are_found_below(browser: Browser, workspace: Path) -> None:
    """Each with where it lies and its actions; what is sorted stays found."""
    (workspace / "work" / "sub").mkdir()
    (workspace / "work" / "sub" / "tide table.csv").write_bytes(b"x")
    (workspace / "work" / "moon.txt").write_bytes(b"x")
    html = _html(browser, "/agents/crab/files/work?find=TABLE+tide")
    assert shown(html) == ["tide table.csv"]
    assert "in <bdi>sub</bdi>" in html
    assert 'data-path="/api/agents/crab/files/work/sub/tide%20table.csv"' in html
    assert 'href="/agents/crab/files/work?sort=-size&amp;find=TABLE+tide"' in html
    assert "No name here has all of that" in text(browser, "/agents/crab/files/work?find=none")
    assert shown(_html(browser, "/agents/crab/files?find=moon")) == ["moon.txt"]


def test_hostile_names_are_shown_and_addressed(browser: Browser, workspace: Path) -> None:
    """On one line with nothing hidden, and the link leads to that very file."""
    for n, name in enumerate(sorted(HOSTILE)):
        Path(os.fsdecode(os.fsencode(workspace / "out") + b"/" + name)).write_bytes(b"this is number %d" % n)
    html = _html(browser, "/agents/crab/files/out")
    page(browser, "/agents/crab/files/out")
    names = shown(html)
    paths = re.findall(r'href="(/agents/crab/files/out/[^"]+)"', html)
    deleted = re.findall(r'data-path="(/api/agents/crab/files/out/[^"]+)"', html)
    assert len(names) == len(paths) == len(deleted) == len(HOSTILE)
    seen: set[bytes] = set()
    for called, path, gone in zip(names, paths, deleted, strict=True):
        assert not re.search("[\u202e\n\t\x1b\ufffd]", called)
        assert "{" not in gone
        content = browser.client.get(gone, buffered=True).data
        assert content.decode() in text(browser, path)
        seen.add(content)
    assert seen == {b"this is number %d" % n for n in range(len(HOSTILE))}


def test_what_nobody_opens_is_no_link(browser: Browser, workspace: Path) -> None:
    """Links and pipes are listed, and may be deleted; their pages show nothing of them."""
    (workspace / "out" / "link").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "work" / "pipe")
    for folder, name in (("out", "link"), ("work", "pipe")):
        html = _html(browser, f"/agents/crab/files/{folder}")
        assert f'href="/agents/crab/files/{folder}/{name}"' not in html
        assert f'data-path="/api/agents/crab/files/{folder}/{name}"' in html
        assert "so it isn’t opened" in text(browser, f"/agents/crab/files/{folder}/{name}")
        assert picture(browser, f"{folder}/{name}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["elsewhere", "out/none", "out/../work", "out/link/passwd", "out/%2e%2e/in", "%2e%2e/%2e%2e/db", "out/a%2fb"],
)
def test_there_is_nothing_outside(browser: Browser, workspace: Path, path: str) -> None:
    """A page of ours says so."""
    (workspace / "out" / "link").symlink_to("/etc")
    assert browser.client.get(f"/agents/crab/files/{path}").status_code == 404
    assert picture(browser, path).status_code == 404


def test_what_is_anothers_is_nowhere(webapp: AppFixture, app: Flask, member: Api, workspace: Path) -> None:
    """Each sees their own workspace."""
    (workspace / "out" / "secret.txt").write_text("secret")
    them = logged_in(webapp, app, member.user)
    assert "secret" not in _html(them, "/agents/crab/files/out")
    for look in ("", "?user=1"):
        assert them.client.get(f"/agents/crab/files/out/secret.txt{look}").status_code == 404


def test_what_the_install_keeps_has_no_bin(browser: Browser, workspace: Path) -> None:
    """Neither the five folders nor what is in ``data``."""
    (workspace / "data" / "x.db").write_bytes(b"x")
    assert 'data-call="DELETE"' not in _html(browser)
    assert 'data-call="DELETE"' not in _html(browser, "/agents/crab/files/data")
    assert 'data-call="DELETE"' not in _html(browser, "/agents/crab/files/data/x.db")


# --- previews --------------------------------------------------------------------------------------------------

TEXTS = {
    "page.html": b"<!doctype html><html>" + SCRIPT,
    "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + SCRIPT + b"</svg>",
    "notes.md": b"# High\n" + SCRIPT,
    "named.png": SCRIPT,
    "script.js": b"alert(1)</script><script>alert(2)",
    "bom.txt": b"\xef\xbb\xbf" + SCRIPT,
}


def test_text_is_text(browser: Browser, workspace: Path) -> None:
    """Whatever it is called: shown whole, escaped, and never given out as a picture."""
    for name, content in TEXTS.items():
        (workspace / "out" / name).write_bytes(content)
        path = f"/agents/crab/files/out/{name}"
        assert "alert(1)" in page(browser, path).text, name
        assert "<script>alert" not in _html(browser, path), name
        assert "<img" not in _html(browser, path), name
        assert picture(browser, f"out/{name}").status_code == 404, name


def test_what_hides_in_a_text_is_written_out(browser: Browser, workspace: Path) -> None:
    """Nothing reorders what is read."""
    (workspace / "out" / "a.txt").write_text("access\u202etxt\x1b[31m")
    assert "access\\u202etxt\\x1b[31m" in text(browser, "/agents/crab/files/out/a.txt")


def test_a_long_text_is_cut_between_characters(browser: Browser, workspace: Path) -> None:
    """Its beginning is shown, and that it is no more than that."""
    (workspace / "work" / "long.txt").write_text("x" + "ä" * glimpse.TEXT_BYTES)
    said = text(browser, "/agents/crab/files/work/long.txt")
    assert "Only the beginning is shown" in said
    assert said.count("ä") == (glimpse.TEXT_BYTES - 1) // 2


PICTURES = (
    (PNG, "image/png"),
    (JPEG, "image/jpeg"),
    (GIF, "image/gif"),
    (WEBP, "image/webp"),
    (GIF + SCRIPT, "image/gif"),
)


@pytest.mark.parametrize("name", ["a.png", "a.html", "a.svg", "a"])
def test_pictures_come_as_what_their_bytes_say(browser: Browser, workspace: Path, name: str) -> None:
    """Under any name: no script, no source, no sniffing, nobody's frame."""
    for content, kind in PICTURES:
        (workspace / "out" / name).write_bytes(content)
        assert f'<img src="/agents/crab/picture/out/{name}"' in _html(browser, f"/agents/crab/files/out/{name}")
        answer = picture(browser, f"out/{name}")
        assert (answer.status_code, answer.data, answer.headers["Content-Type"]) == (200, content, kind)
        assert answer.headers["Content-Security-Policy"] == HELD
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"


def huge(width: int, height: int) -> bytes:
    """A PNG that says so."""
    return PNG[:16] + struct.pack(">II", width, height) + PNG[24:]


NO_PICTURES: dict[str, bytes] = {
    "bomb.png": huge(60_000, 60_000),
    "flat.png": huge(0, 7),
    "headless.png": PNG[:12],
    "heavy.gif": GIF + b"\0" * glimpses.PICTURE_BYTES,
    "a.avif": b"\0\0\0\x20ftypavif" + b"\0" * 40,
    "a.pdf": b"%PDF-1.7\n\0",
    "a.zip": b"PK\x03\x04" + b"\0" * 40,
    "a.bin": b"\0\1\2",
    "latin.txt": b"caf\xe9",
    "empty.png": b"",
}


def test_everything_else_is_for_ones_own_programs(browser: Browser, workspace: Path) -> None:
    """A sentence and the download; no picture, no frame, no embedded viewer."""
    for name, content in NO_PICTURES.items():
        (workspace / "out" / name).write_bytes(content)
        html = _html(browser, f"/agents/crab/files/out/{name}")
        assert not re.search("<(img|iframe|embed|object|video|audio)", html), name
        assert f'href="/api/agents/crab/files/out/{name}" download' in html, name
        assert picture(browser, f"out/{name}").status_code in (404, 413), name


def answers(app: Flask, browser: Browser, path: str) -> Iterator[TestResponse]:
    """Every way in which the dashboard can be asked for a file."""
    for rule in app.url_map.iter_rules():
        if "any_path:path" in rule.rule and "GET" in (rule.methods or ()):
            url = re.sub(r"<any_path:\w+>", path, rule.rule).replace("<name>", "crab")
            for query in ("", "?inline=1", "?zip=1", "?download=0"):
                yield browser.client.get(url + query, buffered=True)


def test_no_route_gives_active_content_out(app: Flask, browser: Browser, workspace: Path) -> None:
    """Whatever is asked how: a page of ours with its own policy, or bytes that nothing runs."""
    seen = 0
    for name, content in {**TEXTS, "gif.html": GIF + SCRIPT}.items():
        (workspace / "out" / name).write_bytes(content)
        for answer in answers(app, browser, f"out/{quote(name)}"):
            if answer.status_code >= 400:
                continue
            seen += 1
            if answer.headers["Content-Security-Policy"] == HELD:
                assert answer.mimetype in ("application/octet-stream", "text/plain", "image/png", "image/gif"), name
            else:
                assert SCRIPT not in answer.data, name
                assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert seen > 40
