"""``orchestrator.apps.pdf_pages``: pages of PDFs, with a draughtsman on paper: what it brings is what a test says."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.notifications import Notifications
from orchestrator.apps.pdf_pages import (
    LONG_SIDE,
    MOST_BYTES,
    MOST_KEPT,
    MOST_PAGE_BYTES,
    MOST_PAGES,
    MOST_WAITING,
    PdfPages,
)
from orchestrator.capabilities.calls import Calls
from orchestrator.core.errors import NotFound, OrchestratorError, TooLarge, TooMany, Unavailable
from orchestrator.engine.helper_folder import Failed
from orchestrator.jobs.pool import Jobs
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fake_browser import png
from tests.support.fake_pdf_renderer import LONG_S, PAGE, FakePdfRenderer

PDF = b"%PDF-1.7\n%%EOF\n"


class Fixture:
    """An install that draws, and a cubicle's ``out``."""

    def __init__(self, install: CoreFixture, **more: float) -> None:
        self.install, self.drawing = install, FakePdfRenderer()
        self.outs: dict[object, Path] = {}
        for key in (KEY, OTHER):
            install.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
            self.outs[key] = install.home / "workspaces" / key.agent / str(key.user) / "out"
        self.folder = install.home / "pages"
        self.jobs = Jobs(
            install.store,
            Notifications(install.store, install.broker),
            finish=Calls(store=install.store, agents=install.agents).finish_calls,
        )
        self.pages = PdfPages(
            self.drawing,
            install.workspaces,
            install.store,
            self.jobs,
            folder=self.folder,
            image=lambda: "browser",
            **more,
        )
        self.pages.start()
        self.jobs.start()

    def write(self, name: str = "a.pdf", content: bytes = PDF) -> str:
        """The agent has made a file."""
        (self.outs[KEY] / name).write_bytes(content)
        return f"out/{name}"

    def fails(self, path: str = "out/a.pdf") -> OrchestratorError:
        """Why it is not drawn."""
        with pytest.raises(OrchestratorError) as failed:
            self.pages.draw_pages(KEY, path, wait_s=LONG_S)
        return failed.value


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """An install in which PDFs are drawn."""
    with core_fixture(tmp_path / "home") as install:
        made = Fixture(install)
        yield made
        made.drawing.may_go.set()
        made.jobs.close()


def test_the_first_pages_are_drawn_once(fixture: Fixture) -> None:
    """They come as they were brought, with the number that the file has; the same file again costs nothing."""
    fixture.drawing.brings = {"count": b"30", "1.png": PAGE, "2.png": png(1400, 700)}
    path = fixture.write()
    drawn = fixture.pages.draw_pages(KEY, path, wait_s=LONG_S)
    assert drawn is not None
    assert (drawn.sizes, drawn.count) == (((990, 1400), (1400, 700)), 30)
    assert fixture.pages.get_page(KEY, drawn.digest, 1) == PAGE
    assert fixture.pages.draw_pages(KEY, path, wait_s=LONG_S) == drawn
    assert len(fixture.drawing.given) == 1
    assert fixture.drawing.given[0]["file.pdf"] == PDF
    assert json.loads(fixture.drawing.given[0]["task.json"]) == {"most": MOST_PAGES, "long_side": LONG_SIDE}
    assert list((fixture.folder / "box").iterdir()) == []
    fixture.write(content=PDF + b"changed")
    assert fixture.pages.draw_pages(KEY, path, wait_s=LONG_S) != drawn
    assert len(fixture.drawing.given) == 2


@pytest.mark.parametrize("number", [0, -1, 2, 10**9])
def test_there_are_no_other_pages(fixture: Fixture, number: int) -> None:
    """Nor anybody else's, nor by what is no digest."""
    drawn = fixture.pages.draw_pages(KEY, fixture.write(), wait_s=LONG_S)
    assert drawn is not None
    for key, digest, page in ((KEY, drawn.digest, number), (OTHER, drawn.digest, 1), (KEY, "../x", 1), (KEY, "", 1)):
        with pytest.raises(NotFound):
            fixture.pages.get_page(key, digest, page)


@pytest.mark.parametrize("content", [b"", b"plain text", png(), b"x" * 2000 + PDF])
def test_what_is_no_pdf_is_not_drawn(fixture: Fixture, content: bytes) -> None:
    """By its first bytes, whatever it is called."""
    assert isinstance(fixture.fails(fixture.write(content=content)), NotFound)
    assert fixture.drawing.given == []


def test_a_large_one_is_not_drawn(fixture: Fixture) -> None:
    """It would be copied and sent in, only to take too long."""
    assert isinstance(fixture.fails(fixture.write(content=PDF.ljust(MOST_BYTES + 1))), TooLarge)


@pytest.mark.parametrize(
    "brings",
    [
        {},
        {"count": b"3"},
        {"1.png": b""},
        {"1.png": PAGE[:-1]},
        {"1.png": b"GIF89a" + PAGE},
        {"1.png": png(LONG_SIDE + 1, 10)},
        {"1.png": png(0, 10)},
        {"1.png": png(10, 10, extra=b"x" * MOST_PAGE_BYTES)},
        {"2.png": PAGE},
    ],
    ids=["nothing", "a count", "empty", "cut", "no png", "too wide", "no width", "too large", "only the second"],
)
def test_what_is_no_page_is_a_pdf_that_can_not_be_drawn(fixture: Fixture, brings: dict[str, bytes]) -> None:
    """The container is a stranger; nothing of what it brought stays."""
    fixture.drawing.brings = brings
    failure = fixture.fails(fixture.write())
    assert isinstance(failure, Failed)
    assert "Download it" in failure.message
    assert list((fixture.folder / "box").iterdir()) == []
    assert not list((fixture.folder / "kept").glob("*-*"))


def test_a_link_is_no_page(fixture: Fixture, tmp_path: Path) -> None:
    """What it brings is opened as plain files alone."""
    (tmp_path / "secret.png").write_bytes(PAGE)
    fixture.drawing.brings = {}
    fixture.drawing.during = lambda spec: (spec.brought / "1.png").symlink_to(tmp_path / "secret.png")
    assert isinstance(fixture.fails(fixture.write()), Failed)
    fixture.drawing.during = lambda spec: os.mkfifo(spec.brought / "1.png")
    assert isinstance(fixture.fails(), Failed)


@pytest.mark.parametrize("count", [b"", b"x", b"-4", b"99999999", b"1\n2"])
def test_a_count_that_is_none_counts_what_is_there(fixture: Fixture, count: bytes) -> None:
    """The pages show all the same."""
    fixture.drawing.brings["count"] = count
    drawn = fixture.pages.draw_pages(KEY, fixture.write(), wait_s=LONG_S)
    assert drawn is not None
    assert drawn.count == 1


def test_no_more_pages_than_are_looked_at(fixture: Fixture) -> None:
    """Whatever else it brings."""
    fixture.drawing.brings = {"count": b"900"} | {f"{n}.png": PAGE for n in range(1, MOST_PAGES + 5)}
    drawn = fixture.pages.draw_pages(KEY, fixture.write(), wait_s=LONG_S)
    assert drawn is not None
    assert (len(drawn.sizes), drawn.count) == (MOST_PAGES, 900)


def test_nobody_waits_for_long(fixture: Fixture) -> None:
    """Who asked is told that it is not ready, may ask again for the same, and has it at last; one is drawn at a time,
    and only so many wait."""
    fixture.drawing.may_go.clear()
    paths = [fixture.write(f"{n}.pdf", PDF + b"%d" % n) for n in range(MOST_WAITING + 1)]
    for path in paths[:MOST_WAITING]:
        assert fixture.pages.draw_pages(KEY, path, wait_s=0.01) is None
    assert fixture.pages.draw_pages(KEY, paths[0], wait_s=0.01) is None
    assert isinstance(fixture.fails(paths[-1]), TooMany)
    assert len(fixture.drawing.given) <= 1
    fixture.drawing.may_go.set()
    for path in paths:
        assert fixture.pages.draw_pages(KEY, path, wait_s=LONG_S) is not None
    assert len(fixture.drawing.given) == len(paths)


def test_an_engine_that_is_away_is_told_and_asked_again(fixture: Fixture) -> None:
    """Nothing of the failure is kept; a mistake of ours is told without its trace."""
    for breaks, words in ((Unavailable("There is no engine."), "no engine"), (KeyError("x"), "log says why")):
        fixture.drawing.breaks = breaks
        assert words in fixture.fails(fixture.write()).message
    fixture.drawing.breaks = None
    assert fixture.pages.draw_pages(KEY, "out/a.pdf", wait_s=LONG_S) is not None


def test_pages_are_kept_for_a_while_and_not_too_many(tmp_path: Path) -> None:
    """Old ones go by themselves, the oldest also when there are many, and all with the next start."""
    with core_fixture(tmp_path / "home") as install:
        fixture = Fixture(install)
        kept = fixture.folder / "kept"
        for n in range(MOST_KEPT + 3):
            assert fixture.pages.draw_pages(KEY, fixture.write(content=PDF + b"%d" % n), wait_s=LONG_S) is not None
        assert MOST_KEPT <= len(list(kept.glob("*-*"))) <= MOST_KEPT + 1
        fixture.pages.start()
        assert list(kept.iterdir()) == []
        assert fixture.drawing.cleared == 4, "pages and covers, twice"
        fixture.jobs.close()
        brief = Fixture(install, kept_s=0.2)
        drawn = brief.pages.draw_pages(KEY, brief.write(), wait_s=LONG_S)
        assert drawn is not None
        gone = threading.Event()
        for _ in range(200):
            if not list(kept.glob("*-*")):
                break
            gone.wait(0.05)
        with pytest.raises(NotFound, match="Open the file again"):
            brief.pages.get_page(KEY, drawn.digest, 1)
        brief.jobs.close()


def test_an_install_that_closes_breaks_off(fixture: Fixture) -> None:
    """What is under way is no longer wanted, and nothing new begins."""
    fixture.drawing.may_go.clear()
    assert fixture.pages.draw_pages(KEY, fixture.write(), wait_s=0.01) is None
    while not fixture.drawing.given:  # a job that has not begun does not begin any more
        time.sleep(0.01)
    closing = threading.Thread(target=fixture.jobs.close)
    closing.start()
    while not fixture.jobs.is_closing:
        closing.join(0.01)
    fixture.drawing.may_go.set()
    closing.join(LONG_S)
    assert fixture.drawing.wanted == [False]
    assert isinstance(fixture.fails(fixture.write("b.pdf", PDF + b"b")), TooMany)


def test_an_install_without_an_engine_draws_nothing(tmp_path: Path) -> None:
    """And says so before anybody asks."""
    with core_fixture(tmp_path / "home") as install:
        fixture = Fixture(install)
        pages = PdfPages(
            None, install.workspaces, install.store, fixture.jobs, folder=tmp_path / "none", image=lambda: ""
        )
        pages.start()
        assert (pages.is_there, fixture.pages.is_there) == (False, True)
        with pytest.raises(NotFound):
            pages.draw_pages(KEY, fixture.write(), wait_s=LONG_S)
        assert not (tmp_path / "none").exists()
        fixture.jobs.close()
