"""A conversation searched, read around a turn, and its summary, as the server makes the pages."""

from __future__ import annotations

from flask import Flask

from orchestrator.core.models import CubicleKey
from orchestrator.turns import summary_rows
from tests.support.app_fixture import PATIENCE_S, AppFixture
from tests.unit.conftest import Browser
from tests.unit.dashboard.test_agent import page, seen
from tests.unit.dashboard.test_pages import EVALUATED, EVIL

KEY = CubicleKey("crab", 1)


def said(webapp: AppFixture, text: str, key: CubicleKey = KEY) -> int:
    """A turn that has ended."""
    turn = webapp.services.turns.submit(key, text, source="dashboard").id
    webapp.services.turns.wait_for_end(turn, PATIENCE_S)
    return turn


def test_what_was_said_is_found_and_leads_to_its_place(webapp: AppFixture, browser: Browser) -> None:
    """The words marked, hostile text as text, the best first and a page at a time."""
    assert "Search everything" in seen(browser, "/agents/crab/search")
    turn = said(webapp, f"{EVIL} the Nautilus \x02\x03")
    html = page(browser, "/agents/crab/search?q=naut")
    assert html.count("<mark>Nautilus</mark>") == 2
    assert f'href="/agents/crab/turns/{turn}#turn-{turn}"' in html
    assert "<script>alert" not in html
    assert EVALUATED not in seen(browser, "/agents/crab/search?q=naut")
    for query in ("%22", "*", "zebra", "%3Cscript%3E", "x" * 10_000):
        assert "No results" in seen(browser, f"/agents/crab/search?q={query}") or query.startswith("%3C")
    for n in range(25):
        said(webapp, f"again Nautilus {n}")
    first = page(browser, "/agents/crab/search?q=nautilus")
    assert (first.count('class="hit"'), "More" in first) == (20, True)
    older = first.partition('href="/agents/crab/search?q=nautilus&amp;before=')[2].partition('"')[0]
    assert page(browser, f"/agents/crab/search?q=nautilus&before={older}").count('class="hit"') == 6


def test_a_moment_stands_in_its_conversation(webapp: AppFixture, browser: Browser, app: Flask) -> None:
    """Some turns before and after it, with the way on to either side; one that was cleared is alone."""
    ids = [said(webapp, f"word-{n}-") for n in range(20)]
    html = page(browser, f"/agents/crab/turns/{ids[10]}")
    assert [n for n in range(20) if f"word-{n}-</div>" in html] == list(range(4, 17))
    assert f'turn here" id="turn-{ids[10]}"' in html
    assert f"turns?conversation=1&amp;before={ids[4]}" in html
    assert f"turns?after={ids[16]}" in html
    later = page(browser, f"/agents/crab/turns?after={ids[16]}")
    assert [n for n in range(20) if f"word-{n}-</div>" in later] == [17, 18, 19]
    assert "data-later" not in later
    webapp.services.turns.clear_history(KEY)
    alone = page(browser, f"/agents/crab/turns/{ids[10]}")
    assert "word-10-" in alone
    assert "word-11-" not in alone
    assert "data-earlier" not in alone


def test_the_summary_is_shown_as_a_models_words(webapp: AppFixture, browser: Browser) -> None:
    """With when it was made and up to where; nothing of it where there is none."""
    turn = said(webapp, "hi")
    assert "Summary of earlier" not in seen(browser, "/agents/crab/memory")
    with webapp.app._store.writing() as db:
        summary_rows.insert_summary(db, KEY, turn, EVIL, 1_700_000_000.0, instead_of=None)
    webapp.services.notifications.post(KEY, "summary", "It has grown long.", subject=str(turn))
    html = page(browser, "/agents/crab/memory")
    assert "A model wrote it" in html
    assert "<script>alert" not in html
    assert f'href="/agents/crab/turns/{turn}"' in html
    assert page(browser, "/agents/crab").count('href="/agents/crab/memory#earlier"') == 2
