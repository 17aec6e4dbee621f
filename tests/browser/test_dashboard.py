"""The dashboard in a real browser, on a phone and on a fixture. After each test nothing may have been complained
about: no broken script, no violated policy, no request to anybody else (see ``visit``).
"""

from __future__ import annotations

import json
import threading
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.support.app_fixture import AppFixture, Play, Scene

pytestmark = pytest.mark.browser


def chat(visit: Visit) -> Page:
    """Logged in, and on the page of the first agent."""
    visit.let_in()
    visit.page.goto(f"{visit.install.url}/agents/crab")
    return visit.page


def say(page: Page, text: str) -> None:
    """Write a message and press Enter."""
    page.get_by_role("textbox").fill(text)
    page.keyboard.press("Enter")


def fits(page: Page) -> bool:
    """Nothing makes the page scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def running(command: str) -> Play:
    """A crab that runs one command and tells whether it was run."""
    return lambda scene: scene.say(f"ran: {scene.run(1, command)}")


class Writer:
    """A crab that shows its reply piece by piece, as it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def play(self, scene: Scene) -> None:
        """Half a sentence, then, when it may, the rest."""
        for _ in range(40):  # news that nobody heard yet are lost, as they are hints alone
            scene.stream("The tide **comes**")
            if self.go_on.wait(0.1):
                break
        scene.say("The tide **comes** and goes.")


def test_a_link_leads_in_and_a_button_leads_out(visit: Visit) -> None:
    """Log in by link, see the agents, log out."""
    visit.log_in()
    page = visit.page
    expect(page.get_by_role("main").get_by_role("link", name="crab")).to_be_visible()
    assert fits(page)
    page.get_by_label("Menu").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{visit.install.url}/login")
    expect(page.get_by_text("./hermit login-link")).to_be_visible()


def test_a_reply_is_laid_out_while_it_is_written(visit: Visit) -> None:
    """The first words are there before the last ones are written, without a mark of Markdown."""
    writer = Writer()
    visit.install.plays["tide"] = writer.play
    page = chat(visit)
    say(page, "tide")
    expect(page.locator(".live")).to_have_text("The tide comes")
    expect(page.locator(".working")).to_contain_text("crab is working")
    writer.go_on.set()
    expect(page.locator(".reply strong")).to_have_text("comes")
    expect(page.locator(".working")).to_be_hidden()
    expect(page.get_by_role("textbox")).to_have_value("")
    expect(page.get_by_role("textbox")).to_be_focused()
    assert fits(page)


def test_commands_are_folded_and_open(visit: Visit) -> None:
    """Command, exit code and output, on one line until somebody looks."""

    def work(scene: Scene) -> None:
        scene.run(1, "ls " + "long-name " * 60, thought="I look first.", output="notes.txt\n" + "x" * 500)
        scene.run(2, "false", exit_code=1)
        scene.say("There.")

    visit.install.plays["look"] = work
    page = chat(visit)
    say(page, "look")
    expect(page.get_by_text("There.", exact=True)).to_be_visible()
    expect(page.locator(".step-state")).to_have_text(["exit 0", "exit 1"])
    assert fits(page)
    page.locator(".step summary").first.click()
    expect(page.locator(".output").first).to_contain_text("notes.txt")
    expect(page.get_by_text("I look first.")).to_be_visible()
    assert fits(page)


def test_a_command_is_seen_while_it_runs_and_what_failed_is_tried_again(visit: Visit) -> None:
    """Its output grows in the open and is folded when it ended; a failed turn's button sends the same message."""
    go_on, tries = threading.Event(), []

    def work(scene: Scene) -> None:
        tries.append(scene.turn.id)
        if len(tries) > 1:
            scene.say("Built at last.")
            return
        key, turn, steps = scene.key, scene.turn.id, scene.install.steps
        steps.start_step(key, turn, 1, thought="", command="make all", approval=None)
        for n in range(40):  # as with drafts
            steps.show_output(key, turn, 1, "".join(f"part {line}\n" for line in range(n + 1)))
            if go_on.wait(0.1):
                break
        steps.end_step(key, turn, 1, exit_code=2, output="part 0\nbroken\n", ended="exited")
        scene.fail("The disk is full.")

    visit.install.plays["build"] = work
    page = chat(visit)
    say(page, "build")
    expect(page.locator(".output.now")).to_be_visible()
    expect(page.locator(".output.now")).to_contain_text("part 5")
    assert fits(page)
    go_on.set()
    expect(page.locator(".failure")).to_have_text("The disk is full.")
    expect(page.locator(".step-state")).to_contain_text("exit 2")
    expect(page.locator(".output")).to_be_hidden()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Built at last.")).to_be_visible()
    expect(page.locator(".bubble")).to_have_text(["build"])
    expect(page.get_by_role("group", name="Versions of this message")).to_contain_text("2 of 2")


def test_what_is_new_is_marked_until_it_is_seen(visit: Visit) -> None:
    """A number at home, a line in the conversation; both are gone afterwards."""
    key = CubicleKey("crab", visit.install.services.users.get_operator().id)
    chat(visit)
    visit.page.goto(f"{visit.install.url}/")
    for text in ("one", "two"):
        turn = visit.install.services.turns.submit(key, text, source="api")
        visit.install.services.turns.wait_for_end(turn.id, 10)
    card = visit.page.get_by_role("main").get_by_role("link", name="crab")
    expect(card.locator(".badge")).to_contain_text("2")
    with visit.page.expect_response(lambda answer: answer.url.endswith("/seen")):
        card.click()
    expect(visit.page.get_by_text("New since your last visit")).to_be_visible()
    visit.page.goto(f"{visit.install.url}/")
    expect(card).to_be_visible()
    expect(card.locator(".badge")).to_have_count(0)


def test_a_question_is_approved_in_the_chat(visit: Visit) -> None:
    """The exact text, buttons that come alive after a moment and never have the focus, then the outcome."""
    visit.install.plays["clean"] = running("rm -rf work/\u202ecache")
    page = chat(visit)
    say(page, "clean")
    card = page.locator("[data-approval]")
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_disabled()
    expect(card.locator(".exact")).to_have_text("rm -rf work/\\u202ecache")
    expect(card.locator("mark")).to_have_text("\\u202e")
    expect(page).to_have_title("(1) crab · HermitShell")
    expect(page.locator(".working")).to_contain_text("is waiting for your answer")
    assert not page.evaluate("document.activeElement.closest('[data-approval]')")
    expect(approve).to_be_enabled()
    assert fits(page)
    approve.click()
    expect(page.get_by_text("ran: True")).to_be_visible()
    expect(card).to_have_count(0)
    expect(page).to_have_title("crab · HermitShell")


def test_a_question_appears_at_home_and_is_denied_there(visit: Visit) -> None:
    """Without loading the page again, and it goes when it is decided."""
    visit.install.plays["clean"] = running("rm -rf work")
    visit.log_in()
    page = visit.page
    with page.expect_response("**/parts/agents"):
        turn = submit(visit.install, "clean")
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("[data-approval]")).to_have_count(0)
    assert visit.install.services.turns.wait_for_end(turn, 10).reply == "ran: False"


def test_a_second_click_decides_no_other_question(visit: Visit) -> None:
    """When a card goes, what moves into its place sleeps for a moment."""
    visit.install.plays["clean"] = running("rm -rf work")
    visit.install.services.agents.create({"name": "other"})
    visit.log_in()
    turns = [submit(visit.install, "clean", agent) for agent in ("crab", "other")]
    page = visit.page
    expect(page.locator("[data-decide=approve]:enabled")).to_have_count(2)
    first = page.get_by_role("button", name="Approve").first.bounding_box()
    assert first is not None
    began = time.monotonic()
    while time.monotonic() - began < 0.4:  # less than what moves into the place sleeps, also on a slow machine
        page.mouse.click(first["x"] + 20, first["y"] + 20)
        page.wait_for_timeout(20)
    expect(page.locator("[data-approval]")).to_have_count(1)
    waiting = [visit.install.services.turns.get(turn).status.is_final for turn in turns]
    assert waiting.count(False) == 1


def test_what_was_decided_elsewhere_is_told(visit: Visit) -> None:
    """A decision on another surface clears the card here."""
    visit.install.plays["clean"] = running("rm -rf work")
    page = chat(visit)
    say(page, "clean")
    card = page.locator("[data-approval]")
    expect(card).to_be_visible()
    install = visit.install.services
    install.approvals.decide(
        card.get_attribute("data-approval") or "", approve=True, by=install.users.get_operator(), surface="telegram"
    )
    expect(card).to_have_count(0)
    expect(page.get_by_text("ran: True")).to_be_visible()


def test_a_turn_is_stopped(visit: Visit) -> None:
    """The button is there while something runs."""
    visit.install.plays["long"] = lambda scene: scene.wait_for_stop()
    page = chat(visit)
    say(page, "long")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_stopped_answer_keeps_its_words(visit: Visit) -> None:
    """What had been read stays, laid out, above the line that says who stopped it; on reload, too."""

    def work(scene: Scene) -> None:
        for _ in range(40):
            scene.stream("The tide **comes**")
            if scene.is_stopped():
                return
            time.sleep(0.1)

    visit.install.plays["tide"] = work
    page = chat(visit)
    say(page, "tide")
    expect(page.locator(".live")).to_have_text("The tide comes")
    page.get_by_role("button", name="Stop").click()
    for _ in range(2):
        expect(page.locator(".reply")).to_have_text("The tide comes")
        expect(page.locator(".reply + .quiet")).to_have_text("You stopped this answer.")
        page.reload()


def test_a_queued_message_is_withdrawn(visit: Visit) -> None:
    """It leaves the conversation on every page that is open, and its words are there to be changed."""
    visit.install.plays["long"] = lambda scene: scene.wait_for_stop()
    page = chat(visit)
    say(page, "long")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    for text in ("and\nthen", "and last"):
        say(page, text)
        expect(page.get_by_role("textbox")).to_have_value("")
    queued = page.locator('.turn[data-status="queued"]')
    expect(queued.locator(".pulse")).to_contain_text(["Queued", "Queued"])
    other = open_window(page.context, visit.install).page
    other.goto(page.url)
    expect(other.locator(".bubble")).to_have_count(3)
    queued.first.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("textbox")).to_have_value("and\nthen")
    expect(page.locator(".bubble")).to_have_text(["long", "and last"])
    expect(other.locator(".bubble")).to_have_text(["long", "and last"])
    assert fits(page)
    other.close()
    queued.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".bubble")).to_have_text(["long"])
    expect(page.get_by_role("textbox")).to_have_value("and\nthen")
    page.reload()
    expect(page.locator(".bubble")).to_have_text(["long"])
    expect(page.get_by_role("textbox")).to_have_value("and\nthen")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()


def test_a_line_break_is_no_message_and_a_refusal_is_told(visit: Visit) -> None:
    """Shift+Enter makes a line; when the install is away, the words stay in the field and the reason is there."""
    page = chat(visit)
    field = page.get_by_role("textbox")
    field.fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(field).to_have_value("one\ntwo")
    page.route("**/messages", lambda route: route.abort())
    page.wait_for_function("() => fetch('/nowhere/messages').then(() => false, () => true)")  # it is in force now
    page.keyboard.press("Enter")
    expect(page.locator(".dock .trouble")).to_contain_text("doesn't answer")
    expect(field).to_have_value("one\ntwo")
    page.unroute("**/messages")
    page.keyboard.press("Enter")
    expect(page.locator(".reply")).to_contain_text("You said: one")
    visit.complaints = [said for said in visit.complaints if "ERR_FAILED" not in said and "404" not in said]


def test_an_agent_is_made_in_three_steps(visit: Visit) -> None:
    """A role fills what nobody typed; a step that is refused keeps everything; it ends in the chat."""
    visit.log_in()
    page = visit.page
    page.get_by_role("link", name="New agent").click()
    name, go_on = page.locator("[name=name]"), page.get_by_role("button", name="Continue")
    expect(name).to_have_value("helper")
    name.fill("crab")
    page.get_by_text("Planner").click()
    expect(page.locator("[name=role]")).to_have_value("Plans days, keeps deadlines and reminds in time")
    go_on.click()
    expect(page.get_by_role("heading", name="Its model and budget")).to_be_hidden()
    expect(page.locator(".field-trouble")).to_have_text("An agent with this name already exists. Choose another name.")
    expect(page.get_by_text("Step 1 of 3")).to_be_visible()
    name.fill("librarian")
    page.get_by_label("Personality").fill("Dry.")
    go_on.click()
    page.get_by_label("Daily budget in US dollars").fill("2.5")
    page.get_by_text("Before every command").click()
    assert fits(page)
    go_on.click()
    page.get_by_label("Telegram bot").fill("no token")
    page.get_by_role("button", name="Create librarian").click()
    expect(page.locator(".wizard .trouble")).to_contain_text("BotFather")
    page.get_by_label("Telegram bot").fill("")
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_label("Daily budget in US dollars")).to_have_value("2.5")
    go_on.click()
    page.get_by_role("button", name="Create librarian").click()
    page.wait_for_url("**/agents/librarian")
    expect(page.get_by_text("Say hello to librarian.")).to_be_visible()
    made = visit.install.services.agents.get("librarian")
    assert (made.personality, str(made.approval), made.daily_budget_micro) == ("Dry.", "all", 2_500_000)
    assert made.toolsets == ("calendar", "memory", "questions")
    visit.complaints = [said for said in visit.complaints if "400" not in said]


def test_earlier_messages_come_when_asked_for_and_all_can_be_cleared(visit: Visit) -> None:
    """Twenty at a time, without a jump; clearing asks first."""
    for n in range(25):
        visit.install.services.turns.wait_for_end(submit(visit.install, f"message {n}"), 10)
    page = chat(visit)
    expect(page.locator(".turn")).to_have_count(20)
    # Not by the mouse: as soon as the button is in view, they come by themselves.
    page.get_by_role("button", name="Earlier messages").dispatch_event("click")
    expect(page.locator(".turn")).to_have_count(25)
    expect(page.locator(".bubble").first).to_have_text("message 0")
    page.get_by_label("More about crab").click()
    page.get_by_role("button", name="Clear the conversation").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Say hello to crab.")).to_be_visible()


def test_hostile_text_stays_text(visit: Visit) -> None:
    """Nothing runs, nothing is fetched, a link says where it leads."""
    evil = (
        "<img src=https://evil.example/x onerror=alert(1)> ![p](https://evil.example/p) [bank](https://evil.example/)"
    )

    def play(scene: Scene) -> None:
        scene.stream(evil)
        scene.run(1, f"echo '{evil}'", thought=evil, output=evil)
        scene.say(evil)

    visit.install.plays[evil] = play
    page = chat(visit)
    say(page, evil)
    links = page.locator(".reply a")
    expect(links).to_have_text(["https://evil.example/x", "bank"])
    for link in links.all():
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(page.locator(".reply .host")).to_have_text("evil.example")
    assert page.locator("img[src*=evil]").count() == 0


def test_everything_can_be_reached_by_keyboard(visit: Visit) -> None:
    """Tab goes through all that can be used, visibly."""
    visit.log_in()
    page = visit.page
    names = []
    for _ in range(24):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText.trim().split('\\n')[0]"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    assert names[0] == "Skip to content"
    assert {"HermitShell", "crab", "New agent"} <= set(names)


def test_a_page_opened_from_elsewhere_needs_no_second_login(browser: Browser, install: AppFixture) -> None:
    """A link in another site's page leads straight in, although the cookie stays at home at first."""
    context = browser.new_context(viewport=DESKTOP)
    visit = open_window(context, install)
    visit.log_in()
    page = visit.page
    page.route(
        "https://mail.example/",
        lambda route: route.fulfill(content_type="text/html", body=f'<a href="{install.url}/agents/crab">open</a>'),
    )
    page.goto("https://mail.example/")
    page.get_by_text("open").click()
    expect(page.get_by_role("heading", name="crab")).to_be_visible()
    context.close()


def test_another_sites_page_can_do_nothing(browser: Browser, install: AppFixture) -> None:
    """Neither by script nor by form nor in a frame, while the operator is logged in."""
    context = browser.new_context(viewport=DESKTOP)
    visit = open_window(context, install)
    visit.log_in()
    page = visit.page
    attack = f"""
        <form method="post" action="{install.url}/api/agents/crab/messages" enctype="text/plain">
        <input name='{{"text": "x' value='"}}'></form><iframe src="{install.url}/"></iframe>
    """
    page.route("https://evil.example/", lambda route: route.fulfill(content_type="text/html", body=attack))
    page.goto("https://evil.example/")
    api = f"{install.url}/api/agents"
    read = page.evaluate(f"fetch('{api}', {{credentials: 'include'}}).catch(() => 'refused')")
    assert read == "refused"
    options = "{method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'}"
    page.evaluate(f"fetch('{install.url}/api/agents/crab/messages', {options}).catch(() => 0)")
    frame = page.frames[1]
    assert "crab" not in frame.content()
    page.evaluate("document.forms[0].submit()")
    page.wait_for_url("**/messages")
    assert json.loads(page.locator("body").inner_text())["error"]["code"] in ("forbidden", "unauthorized")
    assert install.services.audit.search_records(kind="turn.asked") == []
    context.close()


def test_after_a_gap_the_page_catches_up(visit: Visit) -> None:
    """What happened while nobody listened is there when the stream is back."""
    page = chat(visit)
    page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    turn = submit(visit.install, "unheard")
    visit.install.services.turns.wait_for_end(turn, 10)
    page.evaluate("window.dispatchEvent(new Event('pageshow'))")
    expect(page.locator(".reply")).to_have_text("You said: unheard")


def submit(install: AppFixture, text: str, agent: str = "crab") -> int:
    """A message of the operator's from another surface."""
    return install.services.turns.submit(CubicleKey(agent, 1), text, source="api").id
