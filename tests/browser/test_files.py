"""The workspace in a browser: files that are selected together, names that are given, a text that is changed while the
agent writes, too."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits
from tests.browser.test_history import work_folder

pytestmark = pytest.mark.browser


@pytest.fixture
def work(visit: Visit) -> Path:
    """Five files and a folder; the person is logged in."""
    folder = work_folder(visit)
    (folder / "old").mkdir()
    for name in "abcde":
        (folder / f"{name}.txt").write_text(name)
    visit.log_in()
    return folder


def names(folder: Path) -> list[str]:
    """What lies in it."""
    return sorted(path.name for path in folder.iterdir())


def look(visit: Visit, path: str = "work") -> Page:
    """A folder's page."""
    visit.page.goto(f"{visit.install.url}/agents/crab/files/{path}")
    visit.page.locator("html[data-ready]").wait_for()
    return visit.page


def count(page: Page, text: str) -> None:
    """How many are said to be selected."""
    expect(page.locator("[data-picked-count]")).to_have_text(text)


def test_several_are_selected_moved_and_deleted(visit: Visit, work: Path) -> None:
    """From one to another with Shift; the selection outlives a new rendering; one call for all."""
    page = look(visit)
    page.get_by_label("Select b.txt").check()
    page.get_by_label("Select d.txt").click(modifiers=["Shift"])
    count(page, "3 selected")
    (work / "new.txt").write_text("new")
    page.evaluate("document.dispatchEvent(new CustomEvent('news:files', {detail: {}}))")
    expect(page.get_by_role("link", name="new.txt")).not_to_have_count(0)
    count(page, "3 selected")
    fits(page)
    page.get_by_role("button", name="Move").click()
    page.get_by_role("combobox", name="Move 3 items to the folder").fill("work/none")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("not there")
    page.get_by_role("combobox", name="Move 3 items to the folder").fill("work/old/")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Select c.txt")).to_have_count(0)
    assert names(work / "old") == ["b.txt", "c.txt", "d.txt"]
    page.get_by_label("Select a.txt").check()
    page.get_by_label("Select old").check()
    page.locator("[data-delete-picked]").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_label("Select old")).to_have_count(0)
    assert names(work) == ["e.txt", "new.txt"]
    visit.complaints[:] = [said for said in visit.complaints if "status of 404" not in said]  # the folder of no name


def test_by_keyboard_alone(visit: Visit, work: Path) -> None:
    """Arrows, Shift, all, none, a new name, a new folder."""
    page = look(visit)
    page.get_by_label("Select a.txt").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    count(page, "2 selected")
    page.keyboard.press("Control+a")
    count(page, "6 selected")
    page.keyboard.press("Escape")
    count(page, "")
    page.keyboard.press("F2")
    expect(page.get_by_role("combobox", name="New name for “c.txt”")).to_be_focused()
    page.keyboard.type("z")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Select z.txt")).to_have_count(1)
    page.get_by_role("button", name="New folder").press("Enter")
    page.keyboard.type("notes 1")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Select notes 1")).to_have_count(1)
    assert names(work) == ["a.txt", "b.txt", "d.txt", "e.txt", "notes 1", "old", "z.txt"]


def test_what_is_selected_comes_as_an_archive(visit: Visit, work: Path) -> None:
    """These alone. What is found below is no less."""
    page = look(visit)
    page.get_by_label("Select a.txt").check()
    page.get_by_label("Select old").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    assert download.value.suggested_filename == "work.zip"
    (work / "old" / "tide.txt").write_text("high")
    page.get_by_role("searchbox").fill("TIDE")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="tide.txt in old").click()
    expect(page.get_by_label("File contents")).to_have_text("high")


def test_a_text_is_edited_and_nothing_is_lost(visit: Visit, work: Path) -> None:
    """Ctrl+S; what the agent wrote meanwhile stays until the person says otherwise; leaving asks first."""
    (work / "a.py").write_text("one = 1\n")
    page = look(visit, "work/a.py")
    page.get_by_role("link", name="Edit").click()
    text = page.get_by_role("textbox", name="Text of a.py")
    expect(text).to_be_focused()
    page.keyboard.type("two = 2\n")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-editor-state]")).to_have_text("Saved")
    assert (work / "a.py").read_text() == "two = 2\none = 1\n"
    (work / "a.py").write_text("the agent's\n")
    page.keyboard.type("x")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("The file was changed while you edited it.")).to_be_visible()
    assert (work / "a.py").read_text() == "the agent's\n"
    fits(page)
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.get_by_role("link", name="Close").click()
    assert asked == ["beforeunload"]
    expect(text).to_contain_text("xone = 1")
    page.get_by_role("button", name="Save mine in its place").click()
    expect(page.locator("[data-editor-state]")).to_have_text("Saved")
    assert (work / "a.py").read_text() == "two = 2\nxone = 1\n"
    visit.complaints[:] = [said for said in visit.complaints if "status of 412" not in said]


def test_a_new_file(visit: Visit, work: Path) -> None:
    """Under the name that was typed; then it is one like any other."""
    page = look(visit)
    page.get_by_role("link", name="New file").click()
    page.get_by_label("Name", exact=True).fill("list.md")
    page.get_by_role("textbox", name="Text of the new file").click()
    page.keyboard.type("# List")
    page.keyboard.press("Control+s")
    page.wait_for_url("**/edit/work/list.md")
    assert (work / "list.md").read_text() == "# List"
    expect(page.get_by_role("textbox", name="Text of list.md")).to_contain_text("# List")


def test_sound_plays_and_is_dragged_out(visit: Visit, work: Path) -> None:
    """The browser reads it under our policy; what is dragged to the desktop is fetched there under its own name."""
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"\0\0" * 8000)
    (work / "a b.wav").write_bytes(sound.getvalue())
    page = look(visit, "work/a%20b.wav")
    page.wait_for_function("document.querySelector('audio').duration === 1")
    page = look(visit)
    dragged = page.get_by_role("link", name="a b.wav 16 kB").evaluate(
        """(link) => {
            const dataTransfer = new DataTransfer();
            link.dispatchEvent(new DragEvent("dragstart", { bubbles: true, dataTransfer }));
            return dataTransfer.getData("DownloadURL");
        }"""
    )
    assert dragged == f"application/octet-stream:a b.wav:{visit.install.url}/api/agents/crab/files/work/a%20b.wav"


def test_a_page_is_shown_in_a_sandbox(visit: Visit, work: Path) -> None:
    """As text at first; as a page its script runs in the frame, and knows neither this dashboard nor its files."""
    (work / "page.html").write_text(
        "<!doctype html><h1>Hello</h1><script>"
        "document.querySelector('h1').textContent = `Hello from ${origin}`;"
        "try { parent.document.title = 'x'; } catch { document.body.append('shut'); }</script>"
    )
    page = look(visit, "work/page.html")
    expect(page.get_by_label("File contents")).to_contain_text("<h1>Hello</h1>")
    page.get_by_role("link", name="Page, in a sandbox").click()
    frame = page.frame_locator("iframe.file-frame")
    expect(frame.get_by_role("heading")).to_have_text("Hello from null")
    expect(frame.get_by_text("shut")).to_be_visible()
    fits(page)
    # it comes from the origin of apps, whose policy has a word that this browser does not know yet
    apart = ("request to http://localhost:", "error: Unrecognized Content-Security-Policy directive 'webrtc'")
    visit.complaints[:] = [said for said in visit.complaints if not said.startswith(apart)]


def test_a_folder_is_dropped(visit: Visit, work: Path) -> None:
    """Its files lie side by side in in/, each under a name that says where it was; hidden ones stay."""
    page = look(visit, "in")
    page.evaluate(
        """() => {
            const file = (name) => ({ isFile: true, name, file: (take) => take(new File([name], name)) });
            const folder = (name, ...all) => ({ isDirectory: true, name, createReader: () => {
                const pages = [all, []];
                return { readEntries: (take) => take(pages.shift()) };
            } });
            const trip = folder("trip", file("a.txt"), file(".hidden"), folder("days", file("b.txt")));
            const items = [trip, file("c.txt")].map((entry) => ({ kind: "file", webkitGetAsEntry: () => entry }));
            const drop = new Event("drop", { bubbles: true, cancelable: true });
            drop.dataTransfer = { types: ["Files"], items, files: [] };
            document.dispatchEvent(drop);
        }"""
    )
    expect(page.locator("[data-entry]")).to_have_count(3)
    assert names(work.parent / "in") == ["c.txt", "trip-a.txt", "trip-days-b.txt"]
