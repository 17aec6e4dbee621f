"""An agent's workspace, log, cubicle and settings in a real browser, on a phone and on a fixture. Nothing may be
complained about in the end."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from orchestrator.core.models import ApprovalPolicy, CubicleKey
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_dashboard import fits
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import prepared

pytestmark = [pytest.mark.browser, pytest.mark.both_sizes]

KEY = CubicleKey("crab", 1)


def go(visit: Visit, tab: str) -> Page:
    """Logged in, and to one of the agent's pages by its bar, which shows where it is."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/memory")  # not by the chat, which wakes the cubicle
    bar = page.get_by_role("navigation", name="Pages of crab")
    follow(page, tab)
    here = bar.get_by_role("link", name=tab)
    expect(here).to_have_attribute("aria-current", "page")
    expect(here).to_be_in_viewport(ratio=1)
    if page.viewport_size != DESKTOP:
        expect(bar).to_have_attribute("data-more", "" if tab == "Files" else "start")
    assert fits(page)
    return page


def follow(page: Page, tab: str) -> None:
    """By the bar of an agent's pages, which on a phone has some of them behind "More"."""
    bar = page.get_by_role("navigation", name="Pages of crab")
    if not bar.get_by_role("link", name=tab).is_visible():
        bar.get_by_text("More").click()
    bar.get_by_role("link", name=tab).click()


def drawing(width: int, height: int) -> bytes:
    """A PNG of one colour."""
    rows = b"".join(b"\0" + b"\x20\x80\xc0" * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_files_come_are_looked_at_and_go(visit: Visit, tmp_path: Path) -> None:
    """Chosen or dropped into in/, seen without running, downloaded, deleted after a question."""
    workspace = prepared(visit.install, 1)
    (workspace / "out" / "page.html").write_text("<script>document.title = 'caught'</script>")
    page = go(visit, "Files")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload").click()
    chooser.value.set_files(
        [
            FilePayload(name="map.svg", mimeType="image/svg+xml", buffer=drawing(40, 30)),
            FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"six o'clock\n"),
        ]
    )
    expect(page.get_by_text("now at in/notes.txt")).to_be_visible()
    page.get_by_role("link", name="in Files you gave it").click()
    expect(page.locator(".entry-name")).to_have_text(["map.svg", "notes.txt"])
    page.locator("html[data-ready]").wait_for(state="attached")
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["dropped"], "dropped.txt"));
        const about = {bubbles: true, cancelable: true, dataTransfer: data};
        document.body.dispatchEvent(new DragEvent("drop", about));
    }""")
    expect(page.locator(".entry-name")).to_have_text(["dropped.txt", "map.svg", "notes.txt"])
    page.get_by_role("link", name="map.svg", exact=False).first.click()
    picture = page.get_by_role("img", name="map.svg")
    expect(picture).to_be_visible()
    assert picture.evaluate("(img) => img.decode().then(() => [img.naturalWidth, img.naturalHeight])") == [40, 30]
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    saved.value.save_as(tmp_path / "map")
    assert (tmp_path / "map").read_bytes() == drawing(40, 30)
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog.ask").get_by_role("button", name="Delete").click()
    expect(page.locator(".entry-name")).to_have_text(["dropped.txt", "notes.txt"])
    page.goto(f"{visit.install.url}/agents/crab/files/out/page.html")
    expect(page.locator("pre")).to_have_text("<script>document.title = 'caught'</script>")
    assert "caught" not in page.title()
    assert fits(page)


def note(install: AppFixture, *texts: str) -> None:
    """Lines at the end of the log."""
    with (prepared(install, 1) / "work" / ".hermit.log").open("a", encoding="utf-8") as file:
        for text in texts:
            file.write(f"2026-11-22T07:00:00.000Z 1.1 output {text}\n")


def test_the_log_is_followed_searched_and_read_back(visit: Visit) -> None:
    """New lines come by themselves, earlier ones by a button, and a word hides all others."""
    note(visit.install, *(f"old line {n}" for n in range(250)))
    page = go(visit, "Log")
    lines = page.locator(".log-line")
    expect(lines).to_have_count(200)
    expect(lines.last).to_be_in_viewport()
    note(visit.install, "<b>fresh</b> line")
    visit.install.services.turns.submit(KEY, "hello", source="test")
    expect(lines).to_have_count(201)
    expect(lines.last).to_contain_text("<b>fresh</b> line")
    expect(lines.last).to_be_in_viewport()
    page.get_by_role("button", name="Load earlier").click()
    expect(lines).to_have_count(251)
    expect(page.get_by_role("button", name="Load earlier")).to_be_hidden()
    page.get_by_label("Search the lines shown").fill("LINE 24")
    expect(page.get_by_text("11 of 251 lines")).to_be_visible()
    assert fits(page)


def test_a_cubicle_starts_and_stops_and_an_agent_is_set_up_and_deleted(visit: Visit) -> None:
    """A loss is asked about first; settings are saved section by section; the end wants the name."""
    services = visit.install.services
    page = go(visit, "Cubicle")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".figures .state")).to_have_text("running")
    services.usage_samples.run_once()
    page.get_by_role("link", name="6 hours").click()
    expect(page.get_by_role("img", name="CPU: 1.5 % on average")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.locator("dialog.ask").get_by_role("button", name="Stop it").click()
    expect(page.locator(".figures .state")).to_have_text("asleep")
    assert services.cubicles.list_running() == set()
    follow(page, "Settings")
    care, container = (page.locator("form", has=page.get_by_label(label)) for label in ("Steps per message", "CPUs"))
    care.get_by_label("Before every command").check()
    care.get_by_label("Approvals expire after").select_option("1 day")
    care.get_by_role("button", name="Save").click()
    expect(care.get_by_text("Saved.")).to_be_visible()
    container.get_by_label("CPUs").fill("0.5")
    container.get_by_label("Disk, MB").fill("512")
    container.get_by_role("button", name="Save").click()
    expect(container.get_by_text("The next message gets a new container")).to_be_visible()
    crab = services.agents.get("crab")
    assert (crab.approval, crab.approval_timeout_s) == (ApprovalPolicy.ALL, 86_400)
    assert (crab.limits.cpus, crab.limits.disk_mb, crab.limits.memory_mb) == (0.5, 512, 1024)
    assert fits(page)
    page.get_by_text("Delete this agent for good").click()
    page.get_by_label("Type crab to confirm").fill("crab")
    page.get_by_role("button", name="Delete crab for good").click()
    page.wait_for_url(f"{visit.install.url}/")
    assert services.agents.list_agents() == []
