"""Files sent from the chat page in a real browser, on a phone and on a fixture, to an agent in a real cubicle: chosen,
dropped, pasted, removed, too large, cut off, by keyboard alone. Nothing may be complained about in the end, except the
refusals that a test asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, Route, ViewportSize, expect

from tests.browser.conftest import watched
from tests.integration.conftest import client, image_tag, machine  # noqa: F401 - fixtures, used by their names
from tests.support.real_app import RealApp, Talker, real_install

pytestmark = [pytest.mark.browser, pytest.mark.docker]

NOTES = FilePayload(name="my notes.txt", mimeType="text/plain", buffer=b"the tide comes at six\n")
DATA = FilePayload(name="data.csv", mimeType="text/csv", buffer=b"1,2\n" * 50_000)


@dataclass
class Talk:
    """A person's window on the conversation with one agent."""

    install: RealApp
    agent: Talker
    page: Page
    complaints: list[str]

    @property
    def chips(self) -> Locator:
        """The files above the text."""
        return self.page.get_by_role("list", name="Files to send").get_by_role("listitem")

    @property
    def tags(self) -> Locator:
        """The files of messages that were sent."""
        return self.page.get_by_role("list", name="Files sent").get_by_role("listitem")

    @property
    def text(self) -> Locator:
        """Where one writes."""
        return self.page.get_by_role("textbox")

    @property
    def inbox(self) -> dict[str, bytes]:
        """What lies in the agent's ``in/``."""
        return {path.name: path.read_bytes() for path in self.agent.work.parent.glob("in/*")}

    def choose(self, *files: FilePayload) -> None:
        """By the button and the system's own window."""
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Attach files").click()
        assert chooser.value.is_multiple()
        chooser.value.set_files(files)

    def arrived(self, count: int) -> None:
        """So many files are uploaded."""
        expect(self.page.locator('.chip[data-state="done"]')).to_have_count(count)

    def fire(self, event: str, kind: str, *, text: bool = False) -> bool:
        """A drag, a drop or a paste of a picture; true when the page took it as its own."""
        script = """([event, kind, text]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array([137, 80, 78, 71])], "shell.png", {type: "image/png"}));
            if (text) { data.setData("text/plain", "x"); data.setData("text/html", "<b>x</b>"); }
            const about = {bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data};
            const target = document.querySelector(kind === "DragEvent" ? ".log" : "textarea");
            return !target.dispatchEvent(new globalThis[kind](event, about));
        }"""
        return bool(self.page.evaluate(script, [event, kind, text]))

    def expect_refusals(self, *statuses: int) -> None:
        """These failures were asked for: the browser notes each in its console."""
        noted = sorted(said for said in self.complaints if "Failed to load resource" in said)
        assert len(noted) == len(statuses), self.complaints
        assert all(any(str(status) in said for said in noted) for status in statuses if status)
        self.complaints[:] = [said for said in self.complaints if said not in noted]


@pytest.fixture(scope="module")
def real(
    tmp_path_factory: pytest.TempPathFactory,
    client: Any,  # noqa: F811 - the fixture
    image_tag: Any,  # noqa: F811 - the fixture
) -> Iterator[RealApp]:
    """One install for all tests; each has an agent of its own."""
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag) as made:
        yield made


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> None:
    """Not asked here: an install that a whole module keeps starts its wakers when they are first needed."""


@pytest.fixture
def talk(window_size: ViewportSize, browser: Browser, real: RealApp) -> Iterator[Talk]:
    """A fresh agent's page."""
    users, url = real.app.services.users, real.api.url
    context = browser.new_context(viewport=window_size)
    page, agent = context.new_page(), real.agent()
    made = Talk(real, agent, page, watched(page, url))
    page.goto(f"{url}/login/{users.make_link(users.get_operator().id)}")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{url}/")
    page.goto(f"{url}/agents/{agent.name}")
    yield made
    context.close()
    assert made.complaints == []


def test_two_files_are_uploaded_sent_and_read(talk: Talk) -> None:
    """Chips while they wait, gone when sent; the agent reads one; the message shows their names, not the block."""
    talk.choose(NOTES, DATA)
    talk.arrived(2)
    expect(talk.chips.first).to_contain_text("my notes.txt22 bytes")
    expect(talk.page.locator("[data-file-news]")).to_contain_text("was uploaded.")
    assert talk.inbox == {"my notes.txt": NOTES["buffer"], "data.csv": DATA["buffer"]}
    talk.text.fill(talk.install.plays.commands("cat '../in/my notes.txt'"))
    talk.page.keyboard.press("Enter")
    expect(talk.page.locator(".output")).to_contain_text("the tide comes at six")
    expect(talk.tags).to_have_text(["my notes.txt 22 bytes", "data.csv 200 kB"])
    expect(talk.page.locator(".bubble")).not_to_contain_text("Files that came")
    expect(talk.chips).to_have_count(0)
    expect(talk.text).to_be_focused()
    talk.page.reload()
    expect(talk.tags).to_have_count(2)
    assert talk.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_files_may_go_without_a_word(talk: Talk) -> None:
    """An empty one too, and of two of one name both."""
    empty = FilePayload(name="same.txt", mimeType="text/plain", buffer=b"")
    full = FilePayload(name="same.txt", mimeType="text/html", buffer=b"x")
    talk.choose(empty)
    talk.arrived(1)
    talk.choose(full)
    talk.page.get_by_role("button", name="Send").click()
    expect(talk.tags).to_have_text(["same.txt 0 bytes", "same-2.txt 1 byte"])
    expect(talk.page.locator(".bubble")).to_have_count(0)


def test_sending_waits_for_what_is_on_its_way(talk: Talk) -> None:
    """Enter at once: the message goes when the files have arrived."""
    held: list[Route] = []
    talk.page.route("**/files/in/**", lambda route: held.append(route))  # noqa: PLW0108 - it can't mark a built-in
    talk.choose(NOTES)
    talk.text.fill("Here you are.")
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("button", name="Send")).to_be_disabled()
    expect(talk.page.get_by_role("progressbar", name="Uploading my notes.txt")).to_be_visible()
    assert talk.page.locator(".turn").count() == 0
    while not held:
        talk.page.wait_for_timeout(20)
    held[0].continue_()
    expect(talk.tags).to_have_text(["my notes.txt 22 bytes"])
    expect(talk.page.locator(".bubble")).to_have_text("Here you are.")


def test_what_is_removed_is_not_sent(talk: Talk) -> None:
    """It is taken back from the workspace too, and the focus stays near."""
    talk.choose(NOTES, DATA)
    talk.arrived(2)
    talk.page.get_by_role("button", name="Remove my notes.txt").press("Enter")
    expect(talk.page.get_by_role("button", name="Remove data.csv")).to_be_focused()
    with talk.page.expect_response(lambda answer: answer.request.method == "DELETE"):
        talk.page.get_by_role("button", name="Remove data.csv").press("Enter")
    expect(talk.text).to_be_focused()
    expect(talk.page.get_by_role("button", name="Send")).to_be_disabled()
    talk.page.wait_for_function("!document.querySelector('.chip')")
    assert talk.inbox == {}


def test_a_file_that_is_too_large_says_so(talk: Talk, tmp_path: Path) -> None:
    """In one sentence at the chip; nothing is sent until it is removed, or tried again with success."""
    talk.agent.change(limits={"disk_mb": 64})
    large = tmp_path / "film.mp4"
    with large.open("wb") as file:
        file.truncate(80 << 20)
    talk.page.locator("[data-files]").set_input_files(large)
    chip = talk.chips.first
    expect(chip).to_have_attribute("data-state", "failed")
    expect(chip.locator(".chip-state")).to_contain_text("so this one was not taken")
    expect(talk.page.locator("[data-file-news]")).to_contain_text("film.mp4 was not uploaded")
    talk.text.fill("Look.")
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("alert").filter(has_text="Not sent, because film.mp4")).to_be_visible()
    expect(talk.text).to_have_value("Look.")
    assert talk.inbox == {}
    talk.agent.change(limits={"disk_mb": 512})
    talk.page.get_by_role("button", name="Try again: film.mp4").click()
    talk.arrived(1)
    talk.expect_refusals(413)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (429, "8 files are on their way for you already. Wait until one has arrived."),
        (503, "The disk is full."),
        (0, "The connection was lost. Try again."),
    ],
)
def test_what_fails_can_be_tried_again(talk: Talk, status: int, sentence: str) -> None:
    """Too many at once, a full disk, a lost connection: said at the chip, and then it works."""

    def refuse(route: Route) -> None:
        if status:
            route.fulfill(status=status, json={"error": {"code": "x", "message": sentence}})
        else:
            route.abort()

    talk.page.route("**/files/in/**", refuse, times=1)
    talk.choose(NOTES)
    expect(talk.chips.locator(".chip-state")).to_have_text(sentence)
    talk.page.get_by_role("button", name="Try again: my notes.txt").press("Enter")
    talk.arrived(1)
    expect(talk.page.get_by_role("button", name="Remove my notes.txt")).to_be_focused()
    talk.expect_refusals(status)


def test_files_are_dropped_and_pasted(talk: Talk) -> None:
    """A drag is shown; what office programs copy beside their text stays text."""
    assert talk.fire("dragover", "DragEvent")
    expect(talk.page.get_by_text("Drop files to attach them")).to_be_visible()
    assert talk.fire("drop", "DragEvent")
    expect(talk.page.get_by_text("Drop files to attach them")).to_be_hidden()
    talk.arrived(1)
    assert talk.fire("paste", "ClipboardEvent")
    talk.arrived(2)
    assert not talk.fire("paste", "ClipboardEvent", text=True)
    expect(talk.chips).to_have_count(2)
    assert set(talk.inbox) == {"shell.png", "shell-2.png"}


def test_all_goes_by_keyboard(talk: Talk) -> None:
    """From the text back to the button, the system's window, Enter."""
    talk.text.focus()
    talk.page.keyboard.press("Shift+Tab")
    button = talk.page.get_by_role("button", name="Attach files")
    expect(button).to_be_focused()
    box = button.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44
    # The window itself is the system's, and a headless browser may have none: what counts is that it is asked for.
    field = talk.page.locator("[data-files]")
    field.evaluate("field => field.addEventListener('click', event => { field.id = 'asked'; event.preventDefault(); })")
    talk.page.keyboard.press("Enter")
    expect(talk.page.locator("#asked")).to_be_attached()
    field.set_input_files([NOTES, DATA])
    talk.arrived(2)
    talk.text.focus()
    talk.page.keyboard.press("Shift+Tab")
    talk.page.keyboard.press("Shift+Tab")
    expect(talk.page.get_by_role("button", name="Remove data.csv")).to_be_focused()
    talk.page.keyboard.press("Space")
    expect(talk.page.get_by_role("button", name="Remove my notes.txt")).to_be_focused()
    talk.page.keyboard.press("Tab")
    talk.page.keyboard.press("Tab")
    talk.page.keyboard.type("By hand.")
    talk.page.keyboard.press("Enter")
    expect(talk.tags).to_have_text(["my notes.txt 22 bytes"])


def test_more_than_twenty_files_are_not_taken(talk: Talk) -> None:
    """The first twenty are, and it is said."""
    talk.choose(*(FilePayload(name=f"{n}.txt", mimeType="text/plain", buffer=b"x") for n in range(22)))
    talk.arrived(20)
    expect(talk.page.get_by_role("alert").filter(has_text="at most 20 files")).to_be_visible()
    assert talk.page.evaluate("document.querySelector('.composer').getBoundingClientRect().bottom <= innerHeight")


def test_a_typed_block_looks_the_same_and_opens_nothing(talk: Talk) -> None:
    """It is text: hostile names in it stay text."""
    name = "<img src=x onerror=alert(1)>"
    talk.text.fill(f'Hi\n\n[Files that came with this message: 1]\n- "/app/workspace/in/{name}" (5 bytes, text/plain)')
    talk.page.keyboard.press("Enter")
    expect(talk.tags).to_have_text([f"{name} 5 bytes"])
    expect(talk.page.locator(".bubble")).to_have_text("Hi")
    assert talk.page.locator(".said img, .said a").count() == 0
