"""``orchestrator.files.agent_log`` and its page: read from the end, further back, and followed, whatever is made
of the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey
from orchestrator.files import agent_log
from orchestrator.files.agent_log import PAGE_LINES, LogPosition
from orchestrator.files.workspace import Workspaces
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import prepared
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import EVIL, checked

KEY = CubicleKey("crab", 1)


@pytest.fixture
def rooms(tmp_path: Path) -> Workspaces:
    """Workspaces, the one of ``KEY`` with its folders."""
    made = Workspaces(tmp_path)
    made.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
    return made


def log(tmp_path: Path) -> Path:
    """The file."""
    return tmp_path / "workspaces" / "crab" / "1" / "work" / ".hermit.log"


def line(n: int, kind: str = "output", text: str = "") -> str:
    """One as the crab writes it."""
    return f"2026-11-22T07:00:00.{n % 1000:03d}Z 7.1 {kind} {text or f'line {n}'}\n"


def texts(page: agent_log.LogPage) -> list[str]:
    """What is read."""
    return [record.text for record in page.records]


def test_there_is_nothing_until_something_is_written(rooms: Workspaces, tmp_path: Path) -> None:
    """Then it is followed from the very beginning."""
    page = agent_log.read_latest(rooms, KEY)
    assert (page.records, page.earlier) == ((), None)
    log(tmp_path).write_text(line(1))
    assert texts(agent_log.read_after(rooms, KEY, page.end)) == ["line 1"]


def test_all_of_it_is_read_backwards_through_both_parts(rooms: Workspaces, tmp_path: Path) -> None:
    """Each line once, in order, the older part before the newer one."""
    log(tmp_path).with_name(".hermit.log.1").write_text("".join(line(n) for n in range(700)))
    log(tmp_path).write_text("".join(line(n) for n in range(700, 1_000)))
    page = agent_log.read_latest(rooms, KEY)
    assert len(page.records) == PAGE_LINES
    found = texts(page)
    while page.earlier is not None:
        page = agent_log.read_before(rooms, KEY, page.earlier)
        found = texts(page) + found
    assert found == [f"line {n}" for n in range(1_000)]


def test_it_is_followed_line_by_line(rooms: Workspaces, tmp_path: Path) -> None:
    """A line that is not finished yet waits; a lot of news comes in several pages."""
    log(tmp_path).write_text(line(1))
    end = agent_log.read_latest(rooms, KEY).end
    with log(tmp_path).open("a") as file:
        file.write(line(2) + "2026-11-22T07:00")
    page = agent_log.read_after(rooms, KEY, end)
    assert (texts(page), page.has_more) == (["line 2"], True)
    assert texts(agent_log.read_after(rooms, KEY, page.end)) == []
    with log(tmp_path).open("a") as file:
        file.write(":00.003Z 7.1 exit 0 exited after 0.1 s\n" + "".join(line(n, text="x" * 4_000) for n in range(100)))
    page = agent_log.read_after(rooms, KEY, page.end)
    assert (page.records[0].kind, page.has_more) == ("exit", True)
    rest = agent_log.read_after(rooms, KEY, page.end)
    assert len(page.records) + len(rest.records) == 101


@pytest.mark.parametrize("then", ["cut", "replaced", "far", "gone"])
def test_another_log_begins_anew(rooms: Workspaces, tmp_path: Path, then: str) -> None:
    """Whoever follows is told so, and given its end."""
    log(tmp_path).write_text("".join(line(n) for n in range(50)))
    end = agent_log.read_latest(rooms, KEY).end
    after = {"cut": line(1), "replaced": line(2), "far": line(3, text="y" * 200) * 20_000, "gone": ""}[then]
    log(tmp_path).unlink()
    if after:
        log(tmp_path).write_text(after)
    page = agent_log.read_after(rooms, KEY, end)
    assert page.is_fresh
    assert len(page.records) == min(PAGE_LINES, after.count("\n"))


JUNK = (b"", b"\n\n\n", b"\0" * 3_000_000, b"x" * 600_000 + b"\n", b"\xff\xfe\r\r\n" * 1_000, b"a\rb\x85c\n", b"no end")


@pytest.mark.parametrize("junk", JUNK)
def test_whatever_lies_there_is_read_to_its_beginning(rooms: Workspaces, tmp_path: Path, junk: bytes) -> None:
    """Bounded pages, forward or backward, and it ends."""
    log(tmp_path).write_bytes(junk)
    page, pages = agent_log.read_latest(rooms, KEY), 1
    while page.earlier is not None:
        assert sum(len(record.text) for record in page.records) < 6_000_000
        page, pages = agent_log.read_before(rooms, KEY, page.earlier), pages + 1
        assert pages < 40
    place, pages = LogPosition(0, 0), 0
    while (page := agent_log.read_after(rooms, KEY, place)).has_more and page.end != place:
        place, pages = page.end, pages + 1
        assert pages < 40


@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
def test_what_nobody_opens_is_empty(rooms: Workspaces, tmp_path: Path, what: str) -> None:
    """Both for a first look and for who follows."""
    path = log(tmp_path)
    if what == "link":
        path.symlink_to("/etc/passwd")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert agent_log.read_latest(rooms, KEY).records == ()
    assert agent_log.read_after(rooms, KEY, LogPosition(0, 9)).records == ()


@pytest.mark.parametrize("text", ["", "2:0", "0:-1", "0:1x", "٠:١", "0:" + "9" * 13])
def test_places_that_make_no_sense(text: str) -> None:
    """They are refused."""
    with pytest.raises(BadInput, match="before, after"):
        agent_log.place_of(text)


def test_the_page_shows_hostile_lines_as_text(browser: Browser, webapp: AppFixture) -> None:
    """And teaches while there is none; the parts are as safe as the page."""
    assert "The log is empty." in browser.client.get("/agents/crab/log").get_data(as_text=True)
    work = prepared(webapp, 1) / "work"
    forged = f"2026-02-31T25:00:00.000Z 1 reply {EVIL}\n\x1b[2J\u202e forged\n"
    work.joinpath(".hermit.log").write_text(line(1, text=EVIL) + line(2, text="a\\n" * 30 + EVIL) + forged)
    parts = ("/parts/log/crab", "/parts/log/crab?after=0:0", "/parts/log/crab?before=0:99999", "/parts/app-log/crab")
    for path in ("/agents/crab/log", *parts):
        answer = browser.client.get(path)
        assert answer.status_code == 200, path
        html = answer.get_data(as_text=True)
        assert "alert(1)" in checked(html).text
        assert "07:00:00" in html, "the viewer's clock"
        assert "\x1b" not in html
        assert "\u202e" not in html
    assert browser.client.get("/parts/log/crab?after=x").status_code == 400


def test_lines_are_told_in_plain_words(browser: Browser, webapp: AppFixture) -> None:
    """How a command ended is a sentence's part, and a panel action is a request with its result."""
    ends = line(1, "exit", "0 exited after 0.1 s") + line(2, "exit", "124 timeout after 60.0 s")
    asks = line(3, "actions", "memory add: I like tea") + line(4, "results", "done: Remembered.")
    prepared(webapp, 1).joinpath("work", ".hermit.log").write_text(ends + asks)
    html = browser.client.get("/agents/crab/log").get_data(as_text=True)
    assert "Exit code 0 after 0.1 s<" in html
    assert "Exit code 124 after 60.0 s, out of time<" in html
    assert [f">{word}</span>" in html for word in ("ended", "request", "result")] == [True] * 3


def test_each_sees_their_own(webapp: AppFixture, browser: Browser, member: Api) -> None:
    """A member's page has nothing of the operator's."""
    prepared(webapp, 1).joinpath("work", ".hermit.log").write_text(line(1, text="secret"))
    them = logged_in(webapp, browser.client.application, member.user)
    assert "secret" in browser.client.get("/agents/crab/log").get_data(as_text=True)
    assert "secret" not in them.client.get("/agents/crab/log").get_data(as_text=True)
