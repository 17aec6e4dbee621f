"""Frames and shadow roots of real pages, in whatever process: read, clicked, typed into, and told of within bounds."""

from __future__ import annotations

import pytest

from orchestrator.browser.faults import BrowserError
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import eventually
from tests.support.page_refs import ref_in, ref_of, title_of

pytestmark = pytest.mark.browser


async def _title_in(lab: Lab, frame_id: str) -> str:
    expression = {"expression": "document.title", "returnByValue": True}
    told = await lab.session.raw("Runtime.evaluate", expression, frame_id=frame_id)
    return str(told["result"]["value"])


def test_frames_of_other_sites_are_part_of_the_page(in_lab: LabRunner) -> None:
    """Two processes deep: their text, clicks, typing, dialogs, and methods by their names."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://frames.test/")).body
        by_url = {one.url: one for one in lab.session.frame_tree().frames}
        inner, deep = by_url["http://embed.test/"], by_url["http://deep.test/"]
        assert (inner.is_oopif, inner.depth, deep.is_oopif, deep.depth) == (True, 1, True, 2)
        assert await _title_in(lab, inner.frame_id) == "INNER"
        await lab.session.click(ref_in(page, "Pay"))
        assert await _title_in(lab, inner.frame_id) == "paid"
        await lab.session.type(ref_in(page, "Card"), "4242")
        assert 'Card = "4242"' in (await lab.session.snapshot()).body
        told = await lab.session.click(ref_in(page, "Inner confirm"))
        assert [one.message for one in told.pending_dialogs] == ["inner confirm?"]
        await lab.session.dialog("accept")
        assert await _title_in(lab, inner.frame_id) == "c true"
        await lab.session.click(ref_in(page, "Deep button"))
        assert await _title_in(lab, deep.frame_id) == "deep hit"
        await lab.session.click(ref_in(page, "Srcdoc button"))
        assert "src hit" in (await lab.session.snapshot()).body

    in_lab(check)


def test_a_frame_that_is_none_is_an_error(in_lab: LabRunner) -> None:
    """So is a frame of another tab."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://frames.test/")
        other = lab.session.frame_tree().frames[1].frame_id
        await lab.session.open_tab("http://lab.test/second")
        for frame in ("nope", other):
            with pytest.raises(BrowserError, match="no such frame"):
                await lab.session.raw("Runtime.evaluate", {"expression": "1"}, frame_id=frame)

    in_lab(check)


def test_many_frames_are_told_of_within_bounds(in_lab: LabRunner) -> None:
    """Thirty are named, the rest counted."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://many.test/")
        await eventually(lambda: lab.session.frame_tree().left_out > 0)
        assert len(lab.session.frame_tree().frames) == 30
        assert "(not shown)" in (await lab.session.snapshot()).body

    in_lab(check)


def test_shadow_roots_are_part_of_the_page(in_lab: LabRunner) -> None:
    """Open ones and closed ones, one within the other."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/shadow")).body
        assert "+" in (await lab.session.click(ref_in(page, "In shadow"))).body
        assert ": hit" in (await lab.session.snapshot()).body
        await lab.session.type(ref_in(page, "Open shadow"), "typed")
        assert '"typed"' in (await lab.session.snapshot()).body
        await lab.session.click(ref_in(page, "In closed shadow"))
        assert await title_of(lab.session) == "closed hit"

    in_lab(check)


def test_refs_are_true_or_nothing(in_lab: LabRunner) -> None:
    """They name the same element for as long as its document lives, and never one of another document."""

    async def check(lab: Lab) -> None:
        first = (await lab.session.open("http://lab.test/")).body
        assert (await lab.session.snapshot()).body == first
        old = ref_in(first, "second")
        second = (await lab.session.open("http://lab.test/popup")).body
        with pytest.raises(BrowserError, match="not on the page any more"):
            await lab.session.click(old)
        assert not {part for part in first.split() if part.startswith("e") and part in second}
        await lab.session.click(await ref_of(lab.session, "Open"))

    in_lab(check)


WORKS = {
    "worker": """const w = new Worker(blob("postMessage('done')")); w.onmessage = (e) => yes(e.data)""",
    "worker in a worker": """const inner = blob("postMessage('done')");
        const w = new Worker(blob(`const k = new Worker('${inner}'); k.onmessage = (e) => postMessage(e.data)`));
        w.onmessage = (e) => yes(e.data)""",
    "shared worker": """const w = new SharedWorker(blob("onconnect = (e) => e.ports[0].postMessage('done')"));
        w.port.onmessage = (e) => yes(e.data)""",
    "sound": "new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule(blob('1')).then(() => yes('done'), yes)",
    "paint": "CSS.paintWorklet.addModule(blob('1')).then(() => yes('done'), yes)",
}


def test_workers_work(in_lab: LabRunner) -> None:
    """Programs beside a page run, though nobody looks into them: many pages show nothing without theirs."""

    async def test(lab: Lab) -> None:
        await lab.session.open(f"http://127.0.0.1:{lab.site.port}/second")  # some are for trusted origins alone
        blob = "const blob = (text) => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));"
        for name, work in WORKS.items():
            script = f"new Promise((yes) => {{ setTimeout(yes, 5000); {blob} {work} }})"
            asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
            answer = await lab.session.raw("Runtime.evaluate", asked)
            assert answer["result"].get("value") == "done", (name, answer)

    in_lab(test)
