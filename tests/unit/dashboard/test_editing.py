"""A file's text on a page: what may be edited, and the form that saves it where no script runs."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from orchestrator.files.person_changes import MOST_SAVED_BYTES
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import prepared
from tests.unit.conftest import OWN_ORIGIN, Browser
from tests.unit.dashboard.test_pages import EVIL

EDIT = "/agents/crab/edit"


@pytest.fixture
def work(webapp: AppFixture) -> Path:
    """Where the operator's crab works."""
    return prepared(webapp, 1) / "work"


def opened(browser: Browser, path: str) -> dict[str, str]:
    """What the page's form holds."""
    answer = browser.client.get(f"{EDIT}/{path}")
    assert answer.status_code == 200, path
    return fields(answer)


def fields(answer: TestResponse) -> dict[str, str]:
    """What a form holds."""
    html = answer.get_data(as_text=True)
    found = {name: unescape(value) for name, value in re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', html)}
    [text] = re.findall(r'<textarea name="text"[^>]*>\n(.*?)</textarea>', html, re.DOTALL)
    return {**found, "text": unescape(text)}


def send(browser: Browser, path: str, form: dict[str, str]) -> TestResponse:
    """The form, as a browser without scripts sends it."""
    text = form["text"].replace("\r\n", "\n").replace("\n", "\r\n")
    return browser.client.post(f"{EDIT}/{path}", data={**form, "text": text}, headers={"Origin": OWN_ORIGIN})


@pytest.mark.parametrize(
    "text", ["", "a\n", "\n\n a\tb\n", "a\r\nb\r\n", f"{EVIL}</textarea>\n", "\ufeffü\n", "no end"]
)
def test_a_text_comes_back_as_it_went(browser: Browser, work: Path, text: str) -> None:
    """Byte for byte, also how its lines end; nothing in it is anything but text."""
    (work / "a.txt").write_bytes(text.encode())
    form = opened(browser, "work/a.txt")
    answer = send(browser, "work/a.txt", form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/agents/crab/files/work/a.txt")
    assert (work / "a.txt").read_bytes() == text.encode()
    send(browser, "work/a.txt", {**form, "text": f"{form['text']}\nmore"})
    assert (work / "a.txt").read_bytes().decode().splitlines()[-1] == "more"


def test_what_was_written_meanwhile_is_kept(browser: Browser, work: Path) -> None:
    """It is said, the person's text is still there, and the same button then puts it in its place."""
    (work / "a.txt").write_text("old")
    form = opened(browser, "work/a.txt")
    (work / "a.txt").write_text("the agent's")
    refused = send(browser, "work/a.txt", {**form, "text": "mine"})
    assert "was changed since you opened it" in refused.get_data(as_text=True)
    assert "Save anyway" in refused.get_data(as_text=True)
    assert (work / "a.txt").read_text() == "the agent's"
    again = fields(refused)
    assert again["text"] == "mine"
    assert send(browser, "work/a.txt", again).status_code == 303
    assert (work / "a.txt").read_text() == "mine"


def test_a_new_file_replaces_nothing(browser: Browser, work: Path) -> None:
    """It has the name that was typed; a taken one is said, with the text still there."""
    (work / "taken.txt").write_text("old")
    form = {**opened(browser, "work?new=1"), "text": "hello"}
    refused = send(browser, "work?new=1", {**form, "name": "taken.txt"})
    assert "already" in refused.get_data(as_text=True)
    assert fields(refused)["text"] == "hello"
    assert send(browser, "work?new=1", {**form, "name": "ü 1.txt"}).status_code == 303
    assert ((work / "taken.txt").read_text(), (work / "ü 1.txt").read_text()) == ("old", "hello")
    assert send(browser, "work?new=1", {**form, "name": "../out/x"}).status_code == 400


def test_what_is_not_edited(browser: Browser, work: Path) -> None:
    """No text, too large, a link, the install's own, not there: said in words, and no button leads there."""
    (work / "a.bin").write_bytes(b"a\0b")
    (work / "latin.txt").write_bytes(b"caf\xe9 au lait")
    (work / "large.txt").write_bytes(b"x" * (MOST_SAVED_BYTES + 1))
    (work / "link").symlink_to("/etc/passwd")
    (work.parent / "data" / "x.txt").write_text("x")
    expected = {
        "work/a.bin": 400,
        "work/latin.txt": 400,
        "work/large.txt": 413,
        "work/link": 404,
        "data/x.txt": 400,
        "none": 404,
    }
    for path, status in expected.items():
        assert browser.client.get(f"{EDIT}/{path}").status_code == status, path
        page = browser.client.get(f"/agents/crab/files/{path}").get_data(as_text=True)
        assert f'href="{EDIT}/{path}"' not in page, path
    (work / "a.txt").write_text("x")
    assert f'href="{EDIT}/work/a.txt"' in browser.client.get("/agents/crab/files/work/a.txt").get_data(as_text=True)


def test_a_form_without_its_secret_saves_nothing(browser: Browser, work: Path) -> None:
    """As every change."""
    (work / "a.txt").write_text("old")
    form = {**opened(browser, "work/a.txt"), "text": "mine", "csrf": "x"}
    assert send(browser, "work/a.txt", form).status_code == 403
    assert (work / "a.txt").read_text() == "old"
