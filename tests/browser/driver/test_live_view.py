"""A person's view of a real page and their hands on it, and logins that are kept from one browser to the next."""

from __future__ import annotations

import asyncio
import time

import pytest

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.screencast import PointerInput, is_small_jpeg
from orchestrator.browser.storage_state import StorageState, read_state
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import eventually
from tests.support.page_refs import ref_in, ref_of

pytestmark = pytest.mark.browser


def test_pictures_come_as_fast_as_they_are_taken(in_lab: LabRunner) -> None:
    """JPEGs of the page in front, of another after it changed; none when nobody looks."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/moving")
        cast = lab.session.screencast
        cast.start()
        pictures = [await cast.next_picture(10.0) for _ in range(5)]
        assert all(one is not None and is_small_jpeg(one) for one in pictures)
        assert len(set(pictures)) == 5
        await lab.session.open_tab("http://lab.test/second")
        assert await cast.next_picture(10.0) is not None
        cast.stop()
        messages = 0

        def count(*_: object) -> None:
            nonlocal messages
            messages += 1

        lab.session.supervisor.on_screen = count
        await asyncio.sleep(0.5)
        assert messages < 3

    in_lab(check)


def test_a_person_points_presses_and_pastes(in_lab: LabRunner) -> None:
    """The page sees it; what is out of bounds is refused."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/moving")
        cast = lab.session.screencast
        cast.point(PointerInput("down", 900 / 1280 + 0.03, 0.6, "left"))
        cast.point(PointerInput("up", 900 / 1280 + 0.03, 0.6, "left"))
        await lab.session.click(await _field(lab))
        cast.press("h")
        cast.paste("ello")

        async def is_typed() -> bool:
            return '= "hello"' in (await lab.session.snapshot()).body

        await eventually(is_typed)
        for wrong in (PointerInput("jump", 0, 0), PointerInput("move", 2, 0), PointerInput("down", 0, 0, "left", 9)):
            with pytest.raises(BrowserError):
                cast.point(wrong)
        with pytest.raises(BrowserError):
            cast.paste("x" * 10_001)

    in_lab(check)


async def _field(lab: Lab) -> str:
    body = (await lab.session.snapshot()).body
    return body.split("[textbox ")[1].split("]")[0].split(",")[0].split(":")[0].split(" ")[0]


def test_logins_are_kept_from_browser_to_browser(in_lab: LabRunner) -> None:
    """Cookies and localStorage of the visited page, over JSON; who logs out afterwards stays so."""
    kept = ""

    async def log_in(lab: Lab) -> None:
        nonlocal kept
        assert (await lab.session.state.read()).is_empty
        await lab.session.open("http://lab.test/cookie")
        await lab.session.open("http://lab.test/store")
        state = await lab.session.state.read()
        assert not state.is_empty
        assert [one.name for one in state.cookies] == ["login"]
        kept = state.to_json()

    async def come_back(lab: Lab) -> None:
        state = read_state(kept)
        assert state.of_host("other.test").is_empty
        assert state.of_host("lab.test") == state
        await lab.session.state.restore(state)
        assert "login=yes" in (await lab.session.open("http://lab.test/cookie")).body
        page = await lab.session.open("http://lab.test/store")
        assert "visits 1" in page.body
        await lab.session.click(ref_in(page.body, "Clear"))
        assert "visits 0" in (await lab.session.reload()).body

    in_lab(log_in)
    in_lab.browser.restart()
    in_lab(come_back)
    assert StorageState().is_empty


def test_a_restored_state_waits_for_its_own_origin(in_lab: LabRunner) -> None:
    """Other sites see nothing of it."""

    async def check(lab: Lab) -> None:
        await lab.session.state.restore(StorageState(local={"http://lab.test": {"n": "7"}}))
        expression = {"expression": "JSON.stringify(localStorage)", "returnByValue": True}
        await lab.session.open("http://frames.test/")
        assert (await lab.session.raw("Runtime.evaluate", expression))["result"]["value"] == "{}"
        assert "visits 7" in (await lab.session.open("http://lab.test/store")).body

    in_lab(check)


def test_a_key_is_on_the_next_picture(in_lab: LabRunner) -> None:
    """Looking and typing go together."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Name"))
        cast = lab.session.screencast
        while await cast.next_picture(0.6) is not None:
            pass
        begun = time.monotonic()
        cast.press("k")
        assert await cast.next_picture(10.0) is not None
        assert time.monotonic() - begun < 10

    in_lab(check)
