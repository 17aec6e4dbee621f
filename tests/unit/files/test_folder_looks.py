"""``orchestrator.files.folder_looks``: since when something is new, over visits, reloads and changes of one's own; and
the marks on a folder's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.files.folder_looks import MOST_FOLDERS, VISIT_S, FolderLooks
from tests.support.app_fixture import AppFixture
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.workspace_api import FILES, prepared
from tests.unit.conftest import Api, Browser

OUT = (b"out",)
START = 1_700_000_000.0


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def test_a_visit_ends_when_nobody_comes_back(install: CoreFixture) -> None:
    """Nothing is new the first time; then what changed since the end of the visit before, until this one ends too."""
    now = START
    looks = FolderLooks(install.store, now=lambda: now)
    assert looks.look_into(KEY, OUT) is None
    now += 600
    assert looks.look_into(KEY, OUT) is None
    ended = now
    now += VISIT_S + 1
    assert looks.get_since(KEY, OUT) is None
    assert looks.look_into(KEY, OUT) == ended
    now += 600
    assert looks.look_into(KEY, OUT) == looks.get_since(KEY, OUT) == ended
    assert looks.look_into(OTHER, OUT) is None
    assert looks.look_into(KEY, (b"out", b"sub")) is None


def test_what_one_did_is_not_new(install: CoreFixture) -> None:
    """Nor what was there then; a folder that was never looked into stays so."""
    now = START
    looks = FolderLooks(install.store, now=lambda: now)
    looks.look_into(KEY, OUT)
    now += VISIT_S + 1
    looks.mark_seen(KEY, OUT, (b"work",))
    assert looks.look_into(KEY, OUT) == now
    assert looks.look_into(KEY, (b"work",)) is None


def test_a_clock_that_was_set_back_begins_again(install: CoreFixture) -> None:
    """Nothing is new for ever because of it."""
    now = START
    looks = FolderLooks(install.store, now=lambda: now)
    looks.look_into(KEY, OUT)
    now -= 10_000
    looks.look_into(KEY, OUT)
    now += VISIT_S + 1
    assert looks.look_into(KEY, OUT) == START - 10_000


def test_looks_are_bounded(install: CoreFixture) -> None:
    """The oldest are forgotten, and those of others are not."""
    now = START
    looks = FolderLooks(install.store, now=lambda: now)
    looks.look_into(OTHER, OUT)
    for n in range(MOST_FOLDERS + 3):
        now += 1
        looks.look_into(KEY, (b"work", b"%d" % n))
    with install.store.reading() as db:
        counts = dict(db.execute("SELECT user, COUNT(*) FROM folder_looks GROUP BY user").fetchall())
    assert counts == {KEY.user: MOST_FOLDERS, OTHER.user: 1}


def marked(browser: Browser) -> list[str]:
    """What is said to be new in ``out``."""
    html = browser.client.get("/agents/crab/files/out").get_data(as_text=True)
    return re.findall(r'<bdi class="entry-name">([^<]*)</bdi><span class="new-mark">', html)


def test_what_came_since_is_marked(browser: Browser, operator: Api, webapp: AppFixture) -> None:
    """By when the kernel says that it changed; not what the person renamed. A part of the page says the same."""
    out = prepared(webapp, 1) / "out"
    (out / "old.txt").write_text("x")
    assert marked(browser) == []
    FolderLooks(webapp.app._store, now=lambda: START).mark_seen(KEY, OUT)  # that was long ago
    assert marked(browser) == ["old.txt"]
    part = browser.client.get("/parts/files/crab/out").get_data(as_text=True)
    assert "new-mark" in part
    operator.call("PATCH", f"{FILES}/out/old.txt", {"to": "out/mine.txt"})
    assert marked(browser) == []
