"""The dashboard on real cubicles, in a real browser, on a phone and on a fixture: every way a person goes there,
from the first message to the end of an agent. Nothing may be complained about, and nothing asked of anybody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import docker
import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, watched
from tests.integration.conftest import client, image_tag, machine  # noqa: F401 - fixtures, used by their names
from tests.support.real_app import RealApp, Talker, real_install
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

APP = "mkdir -p ../www/clock && echo '<!doctype html><title>Clock</title><p>It ticks.' > ../www/clock/index.html"


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> None:
    """Not asked here: an install that a whole module keeps starts its wakers when they are first needed."""


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,  # noqa: F811 - the fixture above
    image_tag: Callable[[str], str],  # noqa: F811 - the fixture above
) -> Iterator[RealApp]:
    """One install, in which operators have terminals."""
    home = tmp_path_factory.mktemp("home")
    with real_install(home, client, image_tag, environment={"HERMIT_TERMINAL": "1"}) as made:
        yield made


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Browser, install: RealApp) -> Iterator[Page]:
    """A window that is logged in; at the end nothing may have been complained about."""
    context = browser.new_context(viewport=request.param)
    made = context.new_page()
    users, settings = install.app.services.users, install.app.services.settings
    complaints = watched(made, settings.url, also=f"http://localhost:{settings.preview_port}/a/")
    made.goto(f"{install.app.services.settings.url}/login/{users.make_link(users.get_operator().id)}")
    made.get_by_role("button", name="Log in").click()
    made.wait_for_url(lambda url: "/login" not in url)
    yield made
    context.close()
    assert [said for said in complaints if "'webrtc'" not in said] == []  # a word of the policy that is new to some


@pytest.fixture
def agent(install: RealApp) -> Talker:
    """An agent that asks before what is dangerous."""
    return install.agent(approval="dangerous", role="Keeps the light", image="base")


def to(page: Page, install: RealApp, agent: Talker, tab: str = "") -> None:
    """One of the agent's pages."""
    page.goto(f"{install.app.services.settings.url}/agents/{agent.name}{tab}")


def say(page: Page, text: str) -> None:
    """Write it and send it."""
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_a_conversation(page: Page, install: RealApp, agent: Talker) -> None:
    """A reply, a command, one that needs a word, files both ways, an app, a stop, and once more."""
    to(page, install, agent)
    say(page, install.plays.commands("echo from the cubicle", reply="**Done** it."))
    expect(page.locator(".reply").last).to_have_text("Done it.")
    expect(page.locator(".step").last).to_contain_text("exit 0")
    say(page, install.plays.commands("mkdir old && rm -r old", reply="Gone."))
    card = page.locator("[data-approval]")
    expect(card.locator(".exact")).to_have_text("mkdir old && rm -r old")
    card.get_by_role("button", name="Approve").click()
    expect(page.locator(".reply").last).to_have_text("Gone.")
    expect(card).to_have_count(0)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach").click()
    chooser.value.set_files([FilePayload(name="tide.txt", mimeType="text/plain", buffer=b"high at noon")])
    say(page, install.plays.commands("tr a-z A-Z < ../in/tide.txt > t && mv t ../out/TIDE.txt", reply="Here."))
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download TIDE.txt").click()
    assert saved.value.path().read_bytes() == b"HIGH AT NOON"
    say(page, install.plays.commands(APP, reply="Your clock."))
    expect(page.get_by_role("link", name="Open Clock")).to_be_visible()
    say(page, install.plays.add(answers(terminal="echo begun; sleep 300"), answers("Never said.")))
    expect(page.locator(".step.running .output")).to_contain_text("begun")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.").last).to_be_visible()
    expect(page.get_by_role("button", name="Try again").last).to_be_visible()
    page.get_by_role("link", name="Open Clock").click()
    expect(page.frame_locator(".app-frame").get_by_text("It ticks.")).to_be_visible()


def test_what_an_agent_has(page: Page, install: RealApp, agent: Talker) -> None:
    """Its files, log and container; a plan that is run at once; a fact; what was decided."""
    agent.ask(install.plays.commands("echo kept > notes.txt"))
    to(page, install, agent, "/files/work")
    page.get_by_role("link", name="notes.txt").first.click()
    expect(page.locator("pre")).to_have_text(re.compile("kept"))
    to(page, install, agent, "/log")
    expect(page.get_by_text("echo kept").first).to_be_visible()
    to(page, install, agent, "/cubicle")
    expect(page.locator(".figures .state")).to_have_text("running")
    page.get_by_role("button", name="Stop").click()
    page.locator("dialog.ask").get_by_role("button", name="Stop it").click()
    expect(page.locator(".figures .state")).to_have_text("asleep")
    to(page, install, agent, "/memory")
    page.get_by_role("textbox").first.fill("The light is green.")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator(".fact-text")).to_have_text("The light is green.")
    to(page, install, agent, "/calendar")
    page.get_by_text("New entry", exact=True).click()
    page.get_by_label("Title").fill("Trim the wick")
    page.get_by_label(f"Message to {agent.name}").fill(install.plays.commands("echo trimmed", reply="Trimmed."))
    page.get_by_label("When", exact=False).first.fill("2031-05-05T09:00")
    page.get_by_role("button", name="Add entry").click()
    page.locator(".entry").get_by_role("link", name="Trim the wick", exact=True).click()
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".reply").last).to_have_text("Trimmed.")
    page.goto(f"{install.app.services.settings.url}/calendar")
    expect(page.get_by_text("Trim the wick").first).to_be_attached()


def test_a_terminal_and_the_end(page: Page, install: RealApp, agent: Talker) -> None:
    """A shell of one's own in the cubicle; other settings; and the agent is gone once its name is typed."""
    agent.wake()
    to(page, install, agent, "/terminal")
    expect(page.locator(".xterm-rows")).to_contain_text("$")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("echo $((6 * 7)) is the answer\n")
    expect(page.locator(".xterm-rows")).to_contain_text("42 is the answer")
    to(page, install, agent, "/settings")
    page.get_by_label("Role").fill("Keeps the bell")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.").first).to_be_visible()
    assert agent.api.get(f"/agents/{agent.name}")["role"] == "Keeps the bell"
    page.get_by_text("Delete this agent for good").click()
    page.get_by_label(f"Type {agent.name} to confirm").fill(agent.name)
    page.get_by_role("button", name=f"Delete {agent.name} for good").click()
    page.wait_for_url(f"{install.app.services.settings.url}/")
    assert agent.name not in {found["name"] for found in agent.api.get("/agents")["agents"]}
