"""Pages that mean harm: the driver says what is the matter within its bounds, and the next page works."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.browser.faults import BrowserRefused, BrowserSlow
from orchestrator.browser.snapshot_text import MAX_SHOWN
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import eventually, settings_of
from tests.support.page_refs import ref_in, title_of

pytestmark = pytest.mark.browser


def test_a_huge_page_is_cut(in_lab: LabRunner) -> None:
    """It is said, and what is shown is a piece of the usual size; what is looked for is found in what was read."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/huge")
        assert "too large to be shown whole" in told.text
        assert len(told.body) <= MAX_SHOWN
        assert told.next_from is not None
        assert "line 54321" in (await lab.session.snapshot(find="line 54321")).body
        assert (await lab.session.open("http://lab.test/second")).title == "Second"

    in_lab(check)


def test_a_deep_page_is_read(in_lab: LabRunner) -> None:
    """No recursion breaks off."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/deep")
        assert "the bottom" in told.body
        assert "after" in told.body

    in_lab(check)


def test_a_page_that_meddles_changes_nothing_of_ours(in_lab: LabRunner) -> None:
    """Its own functions are not those that read it."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/meddling")
        assert "forged" not in told.body
        assert ref_in(told.body, "Real")

    in_lab(check)


def test_alerts_without_end_are_left(in_lab: LabRunner) -> None:
    """Each answer brings the next one, but another address opens, in another tab if it must be."""

    async def check(lab: Lab) -> None:
        page = await lab.session.open("http://lab.test/alerts")
        assert (await lab.session.click(ref_in(page.body, "Start"))).pending_dialogs
        assert (await lab.session.dialog("accept")).accepted is True
        assert (await lab.session.snapshot()).pending_dialogs
        assert (await lab.session.open("http://lab.test/second")).title == "Second"
        assert len(lab.session.supervisor.dialogs.recent) <= 20
        assert [one.url for one in lab.session.tabs()] == ["http://lab.test/second"]

    in_lab(check)


def test_a_noisy_page_leaves_others_their_turn(in_lab: LabRunner) -> None:
    """It talks without end and is read at a pace; meanwhile the event loop does other things, and it can be left."""

    async def check(lab: Lab) -> None:
        await lab.session.open_tab()
        with contextlib.suppress(BrowserSlow):  # on a busy machine it may find no time to answer, which is said
            assert "Still here" in (await lab.session.open("http://lab.test/noisy")).body
        await eventually(lambda: any("not read any more" in line.text for line in lab.session.console()), 30)
        turns, end = 0, time.monotonic() + 2
        while time.monotonic() < end:
            await asyncio.sleep(0.001)
            turns += 1
        assert turns > 20
        assert len(lab.session.console()) <= 50
        await lab.session.close_tab(2)
        assert (await lab.session.open("http://lab.test/second")).title == "Second"

    in_lab(check)


def test_a_page_that_never_rests_is_shown_after_a_while(in_lab: LabRunner) -> None:
    """And can be left."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/restless")
        assert told.title == "Restless"
        assert (await lab.session.open("http://lab.test/second")).title == "Second"

    in_lab(check, lambda browser: replace(settings_of(browser), open_s=3.0))


def test_a_page_that_is_just_going_elsewhere_can_be_left(in_lab: LabRunner) -> None:
    """Whatever it was asked when it went was refused by the browser: that is no answer about what is to be opened."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/second")
        calls, refused = lab.session.navigation._calls, BrowserRefused("Inspected target navigated or closed.")
        usual = calls.call

        async def call(method: str, *given: Any, **more: Any) -> Any:
            if method == "Runtime.evaluate" and given[1] == {"expression": "1"}:
                raise refused
            return await usual(method, *given, **more)

        calls.call = call  # type: ignore[method-assign]  # the moment can't be met otherwise
        assert (await lab.session.open("http://lab.test/")).url == "http://lab.test/"

    in_lab(check)


def test_pop_ups_without_end_end_at_eight(in_lab: LabRunner) -> None:
    """The page that opens them goes on."""

    async def check(lab: Lab) -> None:
        page = await lab.session.open("http://lab.test/popups")
        await lab.session.click(ref_in(page.body, "Open all"))
        await eventually(lambda: len(lab.session.tabs()) == 8)
        told = await lab.session.select_tab(1)
        assert told.title == "Popups"
        assert any("8 pages are open already" in note for note in told.notes) or len(lab.session.tabs()) == 8
        while len(lab.session.tabs()) > 1:
            await lab.session.close_tab(lab.session.tabs()[-1].number)
        assert await title_of(lab.session) == "Popups"

    in_lab(check)


def test_odd_characters_are_written_out(in_lab: LabRunner) -> None:
    """What turns the writing round, what hides, and halves of characters."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/odd")
        assert "a\\u202ebc" in told.body
        assert "\ufffd half" in told.body
        assert told.text.encode()

    in_lab(check)
