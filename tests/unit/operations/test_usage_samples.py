"""``orchestrator.operations.usage_samples`` and the page of a cubicle: one look a minute at what runs, a day kept,
curves with gaps.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace

import pytest

from dashboard.pages.curves import draw_curve
from orchestrator.core.models import CubicleKey, Usage
from orchestrator.operations import usage_sample_rows as rows
from orchestrator.operations.usage_sample_rows import Sample
from orchestrator.operations.usage_samples import KEPT_S, PERIOD_S, UsageSamples
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import checked

KEY = CubicleKey("crab", 1)


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def samples(webapp: AppFixture, clock: Clock) -> UsageSamples:
    """Of this install, by a clock of ours."""
    return UsageSamples(webapp.app._store, webapp.services.cubicles, lambda _: 5_000_000, now=clock)


def count(webapp: AppFixture) -> int:
    """All rows."""
    with webapp.app._store.reading() as db:
        return int(db.execute("SELECT COUNT(*) FROM samples").fetchone()[0])


def page(browser: Browser, path: str = "/agents/crab/cubicle") -> str:
    """What is read on the page, and its drawings."""
    html = browser.client.get(path).get_data(as_text=True)
    return " ".join(checked(html).text.split())


def test_what_runs_is_looked_at_once(webapp: AppFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question to the engine for each cubicle that runs, none and no row where nothing does."""
    asked: Counter[str] = Counter()
    stats = webapp.engine.get_usage

    def counted(name: str) -> Usage:
        asked[name] += 1
        return stats(name)

    monkeypatch.setattr(webapp.engine, "get_usage", counted)
    taken = samples(webapp, Clock())
    taken.run_once()
    assert (asked, count(webapp)) == (Counter(), 0)
    webapp.services.agents.create({"name": "other"})
    for key in (KEY, CubicleKey("other", 1)):
        webapp.services.cubicles.start(key)
    taken.run_once()
    assert sorted(asked.values()) == [1, 1]
    assert taken.list_recent(KEY, 60) == [Sample(1_000_000, 1.5, 7_000_000, 3, 5_000_000)]


def test_a_day_is_kept(webapp: AppFixture) -> None:
    """However long it runs, there is no more of it; nobody is given older ones."""
    clock = Clock()
    taken = samples(webapp, clock)
    webapp.services.cubicles.start(KEY)
    with webapp.app._store.writing() as db:
        for n in range(2_000):
            rows.insert_sample(db, KEY, Sample(int(clock.now - n * PERIOD_S), 1.0, 1, 1, None))
    assert len(taken.list_recent(KEY, 10 * KEPT_S)) == KEPT_S / PERIOD_S + 1
    taken.run_once()
    assert count(webapp) == KEPT_S / PERIOD_S + 1
    assert len(taken.list_recent(KEY, 3600)) == 61


def test_they_go_with_the_agent(webapp: AppFixture) -> None:
    """And none comes back for one that is gone."""
    taken = samples(webapp, Clock())
    webapp.services.cubicles.start(KEY)
    taken.run_once()
    webapp.services.remove_agent("crab")
    assert count(webapp) == 0
    with webapp.app._store.writing() as db:
        rows.insert_sample(db, KEY, Sample(1, 1.0, 1, 1, None))
    assert count(webapp) == 0


def test_a_curve_has_gaps_and_keeps_its_peaks() -> None:
    """A piece for each time it ran, a dot for a single look, the highest of what falls together."""
    day = [(float(60 * n), 90.0 if n == 700 else 10.0) for n in range(1440) if n < 300 or n == 500 or n >= 600]
    drawn = draw_curve(day, since=0, until=86_400, limit=100)
    assert drawn is not None
    assert drawn.line.count("M") == drawn.area.count("Z") == 3
    assert "h.5" in drawn.line
    assert (drawn.top, drawn.most, drawn.most_at) == (100, 90, 42_000)
    assert min(float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", drawn.line)) == 10.0
    assert len(drawn.line) < 6_000
    assert draw_curve([], since=0, until=1, limit=1) is None
    low = draw_curve([(1.0, 3.0)], since=0, until=2, limit=100)
    assert low is not None
    assert 3.0 <= low.top <= 7.5
    flat = draw_curve([(1.0, 0.0)], since=0, until=2, limit=100)
    assert flat is not None
    assert flat.line.startswith("M300.0 100.0")


def test_a_flat_line_ends() -> None:
    """Nothing at all is no reason to look ever closer."""
    drawn = draw_curve([(float(n), 0.0) for n in range(5)], since=0, until=10, limit=1024)
    assert drawn is not None
    assert drawn.top == 1024 / 64


def test_the_page_says_how_it_stands(webapp: AppFixture, browser: Browser) -> None:
    """Asleep, running, and with an engine that does not answer; every way with what can be done."""
    asleep = page(browser)
    assert "asleep" in asleep
    assert "Nothing was measured in this time." in asleep
    webapp.services.cubicles.start(KEY)
    webapp.services.usage_samples.run_once()
    running = page(browser)
    assert "1.5 % of 1 CPU" in running
    assert "3 of 256" in running
    html = browser.client.get("/parts/cubicle/crab?hours=24").get_data(as_text=True)
    assert html.count('role="img"') == 3
    assert "CPU: 1.5 % on average, at most 1.5 % at" in html
    assert 'aria-current="true">24 hours' in html
    webapp.engine.is_broken = True
    assert "Nobody can tell how it stands. The Docker engine does not answer." in page(browser)


def test_the_page_does_not_wait_for_a_measurement(
    webapp: AppFixture, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows the last sample, or that it is being measured; its part asks the engine, and the browser at once for
    it."""

    def slow(name: str) -> Usage:
        raise AssertionError(f"the page waits for what {name} uses")

    webapp.services.cubicles.start(KEY)
    with monkeypatch.context() as patch:
        patch.setattr(webapp.engine, "get_usage", slow)
        assert page(browser).count("measuring…") == 3
    webapp.services.usage_samples.run_once()
    monkeypatch.setattr(webapp.engine, "get_usage", lambda _: Usage(cpu_percent=25.0, memory_bytes=9 * 1024**2, pids=7))
    known = page(browser)
    assert "1.5 % of 1 CPU" in known
    assert "3 of 256" in known
    assert "data-now" in browser.client.get("/agents/crab/cubicle").get_data(as_text=True)
    now = page(browser, "/parts/cubicle/crab")
    assert "25 % of 1 CPU" in now
    assert "7 of 256" in now


def test_an_old_sample_is_not_shown_as_what_is_used_now(webapp: AppFixture, browser: Browser) -> None:
    """Neither one of minutes ago nor one of the container before."""
    webapp.services.cubicles.start(KEY)
    (container,) = webapp.engine.containers.values()
    for ago_s, began_s in ((200.0, 1000.0), (30.0, 10.0)):
        webapp.engine.containers[container.name] = replace(container, started_at=time.time() - began_s)
        with webapp.app._store.writing() as db:
            rows.insert_sample(db, KEY, Sample(int(time.time() - ago_s), 77.0, 1, 1, None))
        shown = page(browser)
        assert "77 % of" not in shown
        assert "measuring…" in shown


def test_a_chart_says_how_it_is_now_and_its_axis_how_high_it_goes(webapp: AppFixture, browser: Browser) -> None:
    """So that nobody takes the height of the drawing for the value."""
    webapp.services.cubicles.start(KEY)
    webapp.services.usage_samples.run_once()
    html = browser.client.get("/agents/crab/cubicle").get_data(as_text=True)
    first = html.partition("<figure")[2].partition("</figure>")[0]
    assert re.findall(r"<strong>(.*?)</strong><span[^>]*>(.*?)</span>", first) == [("CPU", "1.5 %")]
    assert re.findall(r'class="axis[^>]*><span>(.*?)</span><span>(.*?)</span>', first) == [("3.1 %", "0")]


def test_a_loss_is_asked_about(webapp: AppFixture, browser: Browser) -> None:
    """Stop and reset say what goes and what stays; start goes by itself."""
    webapp.services.cubicles.start(KEY)
    html = browser.client.get("/agents/crab/cubicle").get_data(as_text=True)
    assert "All files stay" in html
    assert "Lost: everything that runs in it" in html
    assert "Kept: all files in work, in, out and www" in html
    assert "/cubicle/start" not in html


def test_everybody_sees_their_own(webapp: AppFixture, browser: Browser, member: Api) -> None:
    """A member's cubicle sleeps while the operator's runs."""
    webapp.services.cubicles.start(KEY)
    webapp.services.usage_samples.run_once()
    them = logged_in(webapp, browser.client.application, member.user)
    assert "asleep" in page(them)
    assert "Nothing was measured" in page(them)
