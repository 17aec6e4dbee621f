"""Web apps in a real browser: a calculator, a to-do list that remembers and a game, each in its frame, on a phone and
on a fixture; the way there from a reply; sharing. Nothing may be complained about in the end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import DESKTOP, PHONE, Visit, open_window, watched
from tests.browser.test_dashboard import fits, say
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.fake_browser import FakeBrowser
from tests.support.free_ports import free_port

pytestmark = pytest.mark.browser

APPS = Path(__file__).parents[1] / "data" / "apps"

SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 100);
})"""
"""How much of the page has moved by itself since it was there."""


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def visit(request: pytest.FixtureRequest, browser: Browser, install: AppFixture) -> Iterator[Visit]:
    """A fresh window that may also look at the previews' own origin."""
    context = browser.new_context(viewport=request.param)
    made = open_window(context, install, also=previews(install))
    yield made
    context.close()
    assert unexpected(made) == []


def unexpected(made: Visit) -> list[str]:
    """The complaints but for one: the policy of apps forbids WebRTC in a word that this browser does not know yet."""
    return [text for text in made.complaints if "directive 'webrtc'" not in text]


def previews(install: AppFixture) -> str:
    """Where apps are shown, seen from a browser that has the dashboard at 127.0.0.1."""
    return f"http://localhost:{install.services.settings.preview_port}/a/"


def is_wide(page: Page) -> bool:
    """The window is a fixture's."""
    size = page.viewport_size
    return size is not None and size["width"] >= 1200


def put_apps(install: AppFixture, *names: str, user: int = 1) -> Path:
    """Apps of ours in a person's ``www/``."""
    mounts = install.services.workspaces.prepare_folders(CubicleKey("crab", user), uid=os.getuid(), gid=os.getgid())
    for name in names:
        (mounts.www / name).mkdir(exist_ok=True)
        (mounts.www / name / "index.html").write_bytes((APPS / f"{name}.html").read_bytes())
    return mounts.www


def open_app(visit: Visit, name: str) -> FrameLocator:
    """Logged in, through the gallery, to one app."""
    put_apps(visit.install, name)
    visit.let_in()
    visit.page.goto(f"{visit.install.url}/agents/crab/apps")
    visit.page.get_by_role("main").locator(".app-card").click()
    visit.page.wait_for_url(f"**/apps/{name}")
    return visit.page.frame_locator(".app-frame")


def test_a_calculator_calculates(visit: Visit) -> None:
    """By its buttons and by keys; the page around it stays as it is."""
    frame = open_app(visit, "calculator")
    for key in "12*3=":
        frame.get_by_role("button", name=key, exact=True).click()
    expect(frame.locator("output")).to_have_text("36")
    visit.page.keyboard.type("+6")
    visit.page.keyboard.press("Enter")
    expect(frame.locator("output")).to_have_text("42")
    expect(visit.page.get_by_role("heading", name="Pocket calculator")).to_be_visible()
    assert fits(visit.page)
    tall = visit.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert tall, "the page itself must not scroll: the app does"
    assert visit.page.evaluate(SHIFTS) == 0


def test_a_list_remembers(visit: Visit) -> None:
    """Over a reload of the app, and of the page, and for whoever opens it next."""
    frame = open_app(visit, "to-do")
    for text in ("milk", "bread"):
        frame.get_by_label("What").fill(text)
        frame.get_by_role("button", name="Add").click()
    expect(frame.get_by_role("listitem")).to_have_text(["milk", "bread"])
    kept(visit.install, "bread")
    visit.page.get_by_role("button", name="Reload").click()
    expect(frame.get_by_role("listitem")).to_have_text(["milk", "bread"])
    visit.page.reload()
    expect(frame.get_by_role("listitem")).to_have_text(["milk", "bread"])


def kept(install: AppFixture, text: str) -> None:
    """Waits until the host has it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with install.app._store.reading() as db:
            rows = db.execute("SELECT stored FROM app_storage").fetchall()
        if any(text in row["stored"] for row in rows):
            return
        time.sleep(0.05)
    raise AssertionError("it was never kept")


def test_a_game_draws_and_takes_keys(visit: Visit) -> None:
    """What is on the canvas moves with the arrows."""
    frame = open_app(visit, "game")
    canvas = frame.locator("canvas")
    at = "c => [...c.getContext('2d').getImageData(%d, 350, 1, 1).data]"
    expect(canvas).to_be_visible()
    canvas.click()
    assert canvas.evaluate(at % 300)[0] > 200
    for _ in range(5):
        visit.page.keyboard.press("ArrowRight")
    expect(frame.locator("#score")).to_have_text("5")
    canvas.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert canvas.evaluate(at % 300)[3] == 0
    assert canvas.evaluate(at % 400)[0] > 200


def test_opened_alone_an_app_says_where_to_go(visit: Visit) -> None:
    """Its address shows nothing of it at top level."""
    open_app(visit, "calculator")
    url = visit.page.locator(".app-frame").get_attribute("src")
    assert url is not None
    visit.page.goto(url)
    expect(visit.page.get_by_role("heading", name="Open this in the dashboard")).to_be_visible()
    assert visit.page.locator("output").count() == 0
    refusal = unexpected(visit)
    assert len(refusal) == 1
    assert "403" in refusal[0]
    visit.complaints.clear()


def test_widths_and_log(visit: Visit) -> None:
    """As on a phone and a tablet, where there is room for that; what the agent did is a click away."""
    open_app(visit, "calculator")
    page, frame = visit.page, visit.page.locator(".app-frame")
    (put_apps(visit.install).parent / "work" / ".hermit.log").write_text("$ make <b>calculator</b>\nexit 0\n")
    if is_wide(page):
        for name, width in (("Phone", 390), ("Tablet", 820)):
            page.get_by_role("button", name=name).click()
            expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
            box = frame.bounding_box()
            assert box is not None
            assert box["width"] == width
        page.get_by_role("button", name="Full width").press("Enter")
        box = frame.bounding_box()
        assert box is not None
        assert box["width"] > 1000
    else:
        expect(page.get_by_role("button", name="Tablet")).to_be_hidden()
    page.get_by_role("button", name="Log", exact=True).click()
    sheet = page.get_by_role("dialog", name="What crab did")
    expect(sheet).to_contain_text("$ make <b>calculator</b>")
    assert fits(page)
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def making(install: AppFixture, name: str = "calculator") -> None:
    """The agent makes an app when it is asked to."""

    def play(scene: Scene) -> None:
        scene.run(1, f"cat > ../www/{name}/index.html")
        put_apps(install, name)
        scene.say("Here is your calculator.")

    install.plays["Make me a calculator"] = play


def test_a_reply_leads_to_the_app_that_it_made(visit: Visit) -> None:
    """On a fixture it stands beside the conversation, on a phone on its own page; what was being written stays."""
    making(visit.install)
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab")
    say(page, "Make me a calculator")
    button = page.get_by_role("link", name="Open Pocket calculator")
    expect(button).to_be_visible()
    assert fits(page)
    page.get_by_role("textbox").fill("and now")
    button.click()
    page.wait_for_url("**/agents/crab?app=calculator" if is_wide(page) else "**/agents/crab/apps/calculator")
    frame = page.frame_locator(".app-frame")
    frame.get_by_role("button", name="7").click()
    expect(frame.locator("output")).to_have_text("7")
    assert fits(page)
    if not is_wide(page):
        page.goto(f"{visit.install.url}/agents/crab")
    expect(page.get_by_role("textbox")).to_have_value("and now")
    if is_wide(page):
        page.get_by_role("textbox").fill("")
        say(page, "Make me a calculator")
        expect(frame.locator("output")).to_have_text("0")  # made again, shown again
        page.get_by_role("link", name="Close").click()
        page.wait_for_url("**/agents/crab")
        expect(page.locator(".app-frame")).to_have_count(0)


def test_a_reply_shows_what_the_app_looks_like(browser: Browser, tmp_path: Path) -> None:
    """As soon as somebody took its picture, without anything being opened again."""
    with run_app(tmp_path, browser=FakeBrowser()) as install:
        making(install)
        context = browser.new_context(viewport=PHONE)
        visit = open_window(context, install)
        visit.log_in()
        page = visit.page
        page.goto(f"{install.url}/agents/crab")
        say(page, "Make me a calculator")
        shown = page.get_by_role("link", name="Open Pocket calculator").locator("img")
        expect(shown).to_be_visible()
        assert shown.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 1280
        assert fits(page)
        context.close()
        assert visit.complaints == []


def test_the_gallery_fills_by_itself(visit: Visit) -> None:
    """It teaches while it is empty, and shows what comes without a reload."""
    making(visit.install)
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/apps")
    expect(page.get_by_text("Make me a calculator")).to_be_visible()
    visit.install.services.turns.submit(CubicleKey("crab", 1), "Make me a calculator", source="dashboard")
    expect(page.locator(".app-card")).to_contain_text("Pocket calculator")
    (put_apps(visit.install) / "draft").mkdir()
    page.reload()
    expect(page.locator(".app-card.unfinished")).to_contain_text("It has no index.html")
    assert fits(page)


def test_sharing_by_name(visit: Visit, browser: Browser) -> None:
    """The other person opens it from their own first page; a mistyped name is told."""
    install, page = visit.install, visit.page
    ben = install.services.users.add({"name": "ben"})
    open_app(visit, "calculator")
    page.get_by_label("Share", exact=True).click()
    field = page.get_by_role("combobox", name="Person’s name")
    field.fill("bean")
    with page.expect_response("**/share"):
        field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Nobody here is called bean.")
    refusal = unexpected(visit)
    assert len(refusal) == 1
    assert "404" in refusal[0]
    visit.complaints.clear()
    field.fill("ben")
    field.press("Enter")
    expect(page.locator(".guests")).to_contain_text("ben")
    assert fits(page)
    context = browser.new_context(viewport=DESKTOP)
    guest = open_window(context, install, also=previews(install))
    guest.page.goto(f"{install.url}/login/{install.services.users.make_link(ben.id)}")
    guest.page.get_by_role("button", name="Log in").click()
    guest.page.wait_for_url(f"{install.url}/welcome")
    guest.page.goto(install.url)
    guest.page.get_by_role("main").get_by_role("link", name="Pocket calculator").click()
    frame = guest.page.frame_locator(".app-frame")
    frame.get_by_role("button", name="7").click()
    expect(frame.locator("output")).to_have_text("7")
    assert guest.page.get_by_label("Share", exact=True).count() == 0
    context.close()
    assert unexpected(guest) == []
    page.get_by_role("button", name="Stop sharing with ben").click()
    expect(page.get_by_text("Only you can open it.")).to_be_visible()
    assert install.services.previews.shares.shared_with(ben.id) == []


def test_behind_names_of_its_own(browser: Browser, tmp_path: Path) -> None:
    """As a proxy or tunnel shows it: one name for the dashboard, another for apps."""
    port, preview_port = free_port(), free_port()
    names = {
        "HERMIT_PORT": str(port),
        "HERMIT_PREVIEW_PORT": str(preview_port),
        "HERMIT_PUBLIC_URL": f"http://hermit.localhost:{port}",
        "HERMIT_PREVIEW_URL": f"http://apps.localhost:{preview_port}",
    }
    with run_app(tmp_path, environment=names) as install:
        put_apps(install, "to-do")
        context = browser.new_context(viewport=DESKTOP)
        page = context.new_page()
        complaints = watched(page, names["HERMIT_PUBLIC_URL"], also=names["HERMIT_PREVIEW_URL"])
        page.goto(f"{names['HERMIT_PUBLIC_URL']}/login/{install.services.users.make_link(1)}")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{names['HERMIT_PUBLIC_URL']}/")
        page.goto(f"{names['HERMIT_PUBLIC_URL']}/agents/crab/apps/to-do")
        frame = page.frame_locator(".app-frame")
        frame.get_by_label("What").fill("milk")
        frame.get_by_role("button", name="Add").click()
        expect(frame.get_by_role("listitem")).to_have_text(["milk"])
        kept(install, "milk")
        context.close()
    assert [text for text in complaints if "directive 'webrtc'" not in text] == []
