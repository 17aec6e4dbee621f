"""What an agent does on real pages, and what it is told: forms, keys, lists, uploads, downloads, tabs, pictures."""

from __future__ import annotations

import json
import re

import pytest

from orchestrator.browser.faults import BrowserError, BrowserSlow
from orchestrator.browser.reports import ReportKind
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import eventually
from tests.support.page_refs import ref_in, ref_of, title_of

pytestmark = pytest.mark.browser


def test_a_form_is_filled_and_sent(in_lab: LabRunner) -> None:
    """Text, a list, a box, a date and a file arrive at the site; each deed tells what changed and no more."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        (lab.browser.up / "a.txt").write_text("hello upload")
        told = await lab.session.type(ref_in(page, "Name"), "Käthe")
        assert told.kind is ReportKind.CHANGES
        assert '+ [textbox e3: Name = "Käthe", focused]' in told.body
        assert "Delete" not in told.body
        await lab.session.select(ref_in(page, "Colour"), "green")
        await lab.session.click(ref_in(page, "Agree"))
        await lab.session.type(ref_in(page, "Day"), "2026-01-31")
        await lab.session.upload(ref_in(page, "File"), [str(lab.browser.up / "a.txt")])
        shown = (await lab.session.snapshot()).body
        assert "= green of red | green" in shown
        assert "Agree, checked" in shown
        assert "2026-01-31" in shown
        assert lab.policy.asked[-1].startswith("upload http://lab.test 1")
        sent = (await lab.session.click(ref_in(page, "Send"))).body
        assert all(text in sent for text in ("Käthe", "green", "2026-01-31", "a.txt", "hello upload"))
        assert (await lab.session.back()).title == "Lab"

    in_lab(check)


def test_unusable_deeds_say_why(in_lab: LabRunner) -> None:
    """Each error names what is wrong and what to do."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        name, colour = ref_in(page, "Name"), ref_in(page, "Colour")
        for deed, reason in (
            (lab.session.click("e999"), "e999 is not on the page any more"),
            (lab.session.click("button"), "is no ref"),
            (lab.session.click("f9e1"), "its frame is gone"),
            (lab.session.select(colour, "blue"), r"only red \| green"),
            (lab.session.type(ref_in(page, "Send"), "x"), "no text: click it"),
            (lab.session.press("Hyper+a"), "'Hyper' can't be held"),
            (lab.session.click(name, button="third"), "no button 'third'"),
            (lab.session.upload(ref_in(page, "File"), ["/etc/passwd"]), "not in a folder of uploads"),
            (lab.session.upload(ref_in(page, "File"), [f"{lab.browser.up}/../x"]), "not in a folder of uploads"),
            (lab.session.open("file:///etc/passwd"), "must begin with https"),
            (lab.session.open("http://user:pw@lab.test/"), "user name or password"),
            (lab.session.back(), "no page before"),
            (lab.session.select_tab(7), "no tab 7. Open: 1"),
            (lab.session.scroll("left"), "up or down"),
        ):
            with pytest.raises(BrowserError, match=reason):
                await deed
        lab.policy.upload_refusal = "the person said no"
        (lab.browser.up / "b.txt").write_text("b")
        with pytest.raises(BrowserError, match="the person said no"):
            await lab.session.upload(ref_in(page, "File"), [str(lab.browser.up / "b.txt")])

    in_lab(check)


def test_what_lies_over_is_named(in_lab: LabRunner) -> None:
    """A covered button isn't clicked by mistake, unless that is wanted."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/covered")).body
        with pytest.raises(BrowserError, match="covered by <div id=veil>"):
            await lab.session.click(ref_in(page, "Under"))
        assert await title_of(lab.session) == "Covered"
        await lab.session.click(ref_in(page, "Under"), force=True)
        assert await title_of(lab.session) == "veil"

    in_lab(check)


def test_hovering_scrolling_and_keys(in_lab: LabRunner) -> None:
    """The page sees them as a person's."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        assert "Hovered" in (await lab.session.hover(ref_in(page, "Hover me"))).body
        assert "clicked low" in (await lab.session.click(ref_in(page, "Low button"))).body
        await lab.session.type(ref_in(page, "Name"), "abc")
        await lab.session.press("Control+a")
        await lab.session.press("Delete")
        await lab.session.press("X")
        assert 'Name = "X"' in (await lab.session.snapshot()).body
        await lab.session.type(ref_in(page, "Name"), "yz", append=True)
        assert 'Name = "Xyz"' in (await lab.session.snapshot()).body
        await lab.session.type(ref_in(page, "Name"), "")
        assert "[textbox e3: Name, focused]" in (await lab.session.snapshot()).body
        feed = (await lab.session.open("http://lab.test/feed")).body
        for _ in range(4):
            await lab.session.scroll()
        assert (await lab.session.snapshot()).body.count("### Post") > feed.count("### Post")

    in_lab(check)


def test_a_hidden_field_for_files_is_reached_by_its_button(in_lab: LabRunner) -> None:
    """As most sites have it."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/chooser")
        (lab.browser.up / "a.txt").write_text("a")
        choose = await ref_of(lab.session, "Choose")
        assert "(The page asks for files. Use upload.)" in (await lab.session.click(choose)).text
        await lab.session.upload(choose, [str(lab.browser.up / "a.txt")])
        assert await title_of(lab.session) == "got a.txt"

    in_lab(check)


def test_downloads_are_kept_under_no_name_of_the_page(in_lab: LabRunner) -> None:
    """The file is in the folder, its wished-for name beside it; one that may not be is cancelled."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        await lab.session.click(ref_in(page, "download"))
        await eventually(lambda: any(one.state == "completed" for one in lab.session.downloads()))
        (file,) = lab.session.downloads()
        assert (file.suggested_name, file.size_bytes) == ("file.bin", 100_000)
        assert [one.name for one in lab.browser.down.iterdir()] == [file.guid]
        lab.policy.closed_files["file.bin"] = "the person said no"
        await lab.session.click(ref_in(page, "download"))
        await eventually(lambda: len(lab.session.downloads()) == 2)
        assert lab.session.downloads()[1].refusal == "the person said no"
        assert lab.session.downloads()[1].state == "canceled"

    in_lab(check)


def test_pop_ups_come_to_the_front_and_give_it_back(in_lab: LabRunner) -> None:
    """Whether a script or a link opened them; the report says which tab it is about."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/popup")).body
        for opener in ("Open", "blank"):
            told = await lab.session.click(ref_in(page, opener))
            await eventually(lambda: len(lab.session.tabs()) == 2)
            told = await lab.session.snapshot()
            assert told.title == "Second"
            assert told.text.startswith("[tab ")
            assert (await lab.session.close_tab()).title == "Popup"

    in_lab(check)


def test_tabs_are_opened_chosen_closed_and_bounded(in_lab: LabRunner) -> None:
    """Eight at most; a page that opens more is told of."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/popup")
        for _ in range(7):
            await lab.session.open_tab()
        assert len(lab.session.tabs()) == 8
        with pytest.raises(BrowserError, match="8 tabs are open"):
            await lab.session.open_tab()
        told = await lab.session.select_tab(1)
        assert told.title == "Popup"
        told = await lab.session.click(ref_in((await lab.session.snapshot()).body, "Open"))
        await eventually(lambda: len(lab.session.tabs()) == 8)
        assert any("8 pages are open already" in note for note in (*told.notes, *(await lab.session.snapshot()).notes))
        assert len((await lab.session.close_tab(8)).text) > 0
        assert len(lab.session.tabs()) == 7
        for _ in range(7):
            await lab.session.close_tab()
        assert [one.url for one in lab.session.tabs()] == ["about:blank"]

    in_lab(check)


def test_waiting_for_a_text(in_lab: LabRunner) -> None:
    """It comes; or it does not, and that is said."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/later")
        assert "It came" in (await lab.session.wait("it CAME")).text + (await lab.session.snapshot()).text
        with pytest.raises(BrowserSlow, match="does not show 'never'"):
            await lab.session.wait("never", within_s=0.3)
        with pytest.raises(BrowserSlow, match="still shows"):
            await lab.session.wait("It came", gone=True, within_s=0.3)

    in_lab(check)


def test_pictures(in_lab: LabRunner) -> None:
    """A JPEG of the window and of the page, a PDF, and the images that are on it."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        window, whole = await lab.session.screenshot(), await lab.session.screenshot(whole_page=True)
        assert window.startswith(b"\xff\xd8\xff")
        assert 1000 < len(window) < 2_000_000
        assert whole.startswith(b"\xff\xd8\xff")
        assert len(whole) > len(window)
        assert (await lab.session.pdf()).startswith(b"%PDF-")
        await lab.session.open("http://lab.test/images")
        (image,) = await lab.session.images()
        assert (image.alt, image.width, image.height) == ("A dot", 2, 2)

    in_lab(check)


def test_the_console_has_errors_and_exceptions(in_lab: LabRunner) -> None:
    """What a page complains of is there to be read."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        await lab.session.click(ref_in(page, "Err"))
        await lab.session.click(ref_in(page, "Throw"))
        await eventually(lambda: {"error", "exception"} <= {line.level for line in lab.session.console()})
        assert any("boom from button" in line.text for line in lab.session.console())

    in_lab(check)


def test_a_page_that_hangs_ends_its_own_deed_only(in_lab: LabRunner) -> None:
    """The click says that the page does not answer; another tab, and another address, work."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/endless")).body
        lab.session.supervisor.settings.__dict__["deed_s"] = 1.0
        with pytest.raises(BrowserSlow, match="did not answer within 1 seconds"):
            await lab.session.click(ref_in(page, "Loop"))
        assert (await lab.session.open_tab("http://lab.test/second")).title == "Second"
        lab.session.supervisor.tabs.current = lab.session.supervisor.tabs.all[0].session
        assert (await lab.session.open("http://lab.test/popup")).title == "Popup"
        assert len(lab.session.tabs()) == 2

    in_lab(check)


def test_a_crash_is_seen_and_outlived(in_lab: LabRunner) -> None:
    """It is said, and the next address works."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        supervisor = lab.session.supervisor
        supervisor.wire.tell("Page.crash", supervisor.tabs.current)
        await eventually(lambda: bool((tab := supervisor.tabs.in_front()) and tab.is_crashed))
        with pytest.raises(BrowserError, match=r"crashed\. Open it again"):
            await lab.session.snapshot()
        assert (await lab.session.open("http://lab.test/second")).title == "Second"

    in_lab(check)


def test_the_site_sees_an_ordinary_browser(in_lab: LabRunner) -> None:
    """Not a headless one; that it is automated is not hidden."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/second")
        expression = {"expression": "navigator.userAgent+navigator.webdriver", "returnByValue": True}
        told = await lab.session.raw("Runtime.evaluate", expression)
        assert "Headless" not in told["result"]["value"]
        assert told["result"]["value"].endswith("true")

    in_lab(check)


NAMED = (
    "<title>Named</title><label>Fruit <select><option>apple<option>pear</select></label>"
    "<div tabindex=0><button>Only</button></div><div tabindex=0><button>One</button><button>Two</button></div>"
    "<div role=dialog><h2>Rename it</h2><button aria-label=Cancel>x</button></div><dialog open><p>No name</p></dialog>"
    "<input type=file multiple aria-label=Papers>"
)


def test_what_things_are_called(in_lab: LabRunner) -> None:
    """A list without its options, a dialog by its heading and by no button, a box with one part as that part, a field
    with the files that it holds."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/second")
        page = json.dumps(NAMED)
        await lab.session.raw("Runtime.evaluate", {"expression": f"document.documentElement.innerHTML = {page}"})
        shown = (await lab.session.snapshot()).body
        assert re.search(r"\[select e\d+: Fruit = apple of apple \| pear\]", shown), shown
        assert "--- dialog: Rename it ---" in shown
        assert "--- dialog ---" in shown
        assert len(re.findall(r"^\(e\d+\)", shown, re.MULTILINE)) == 1, shown
        for name in ("a.txt", "b.txt"):
            (lab.browser.up / name).write_text(name)
        files = [str(lab.browser.up / name) for name in ("a.txt", "b.txt")]
        assert 'Papers = "a.txt, b.txt"' in (await lab.session.upload(ref_in(shown, "Papers"), files)).body

    in_lab(check)
