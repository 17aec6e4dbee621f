"""What agents set in motion, in a real browser: downloads and packages to decide about, questions to answer, notices
with buttons, the calendar, what is remembered, settings and the time zone. Nothing may be complained about in the end.
"""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.approvals.notification_rows import Offer
from orchestrator.capabilities.capability import Caller
from orchestrator.core.models import ApprovalStatus, CubicleKey
from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.browser.test_dashboard import chat, fits
from tests.support.app_fixture import PATIENCE_S, AppFixture

pytestmark = pytest.mark.browser

KEY = CubicleKey("crab", 1)
URL = "https://xn--bcher-kva.example/spring.pdf?ref=crab"
PACKAGES: list[dict[str, Any]] = [
    {"name": "numpy", "version": "2.1.2", "size_bytes": 16_300_000, "sha256": "ab" * 32},
    {"name": "pandas", "version": "2.2.3", "size_bytes": 12_700_000, "sha256": "cd" * 32},
]


def set_in_motion(install: AppFixture, name: str, turn: int | None = None, **fields: Any) -> dict[str, Any]:
    """As the agent does it, by its command or its answer."""
    call = install.app._capabilities.calls.run_command(Caller(KEY, turn), os.urandom(8).hex(), name, fields)
    return dict(call.result)


def ask_about(install: AppFixture, kind: str, text: str, detail: dict[str, Any]) -> str:
    """A question about what the host shall do, which nobody carries out here; its id."""
    approvals = install.services.approvals
    approvals.on_decision(kind, lambda _db, _approval: ())
    with install.app._store.writing() as db:
        asked = approvals.ask_person(db, KEY, None, kind=kind, text=text, reason="", detail=detail, timeout_s=600)
    return asked.id


def status_of(install: AppFixture, approval: str) -> ApprovalStatus:
    """How a question ended; waits a while for that."""
    deadline = time.monotonic() + PATIENCE_S
    while (status := install.services.approvals.get(approval).status) is ApprovalStatus.PENDING:
        assert time.monotonic() < deadline, "nobody decided"
        time.sleep(0.02)
    return status


def test_a_download_is_approved_for_ever(visit: Visit) -> None:
    """The whole address is there as text, with what is odd about it; "always" is remembered."""
    page = chat(visit)
    detail = {
        "host": "xn--bcher-kva.example",
        "host_shown": "bücher.example",
        "url_chars": 20,
        "warnings": ["The host reads bücher.example in other letters."],
        "description": "The catalogue <b>of</b> spring",
        "file_type": "pdf",
    }
    asked = ask_about(visit.install, "asset", URL, detail)
    card = page.locator("[data-approval]")
    expect(card.locator(".exact")).to_have_text(URL)
    assert card.get_by_role("link").count() == 0
    expect(card).to_contain_text("“The catalogue <b>of</b> spring”")
    expect(card.get_by_role("list", name="Warnings")).to_contain_text("in other letters")
    expect(card).to_contain_text("20 characters: /spring.pdf?ref=crab")
    always = card.get_by_role("button", name="Always allow xn--bcher-kva.example for crab")
    expect(always).to_be_disabled()
    assert not page.evaluate("document.activeElement.closest('[data-approval]')")
    expect(always).to_be_enabled()
    assert fits(page)
    always.click()
    expect(card).to_have_count(0)
    assert status_of(visit.install, asked) is ApprovalStatus.APPROVED
    assert visit.install.services.approvals.get(asked).detail["always"] is True


def test_packages_are_read_and_denied_at_home(visit: Visit) -> None:
    """A table of all that would come, what was asked for first; the exact list is a click away."""
    visit.log_in()
    page = visit.page
    text = "pip install\n" + "\n".join(f"{p['name']}=={p['version']}" for p in PACKAGES)
    detail = {"system": "pip", "asked": ["pandas"], "packages": PACKAGES, "total_bytes": 29_000_000}
    asked = ask_about(visit.install, "packages", text, detail)
    card = page.locator("[data-approval]")
    expect(card.locator("tbody th")).to_have_text(["pandas", "numpy dependency"])
    expect(card.locator("tfoot")).to_contain_text("2 packages")
    expect(card.locator("tfoot")).to_contain_text("29 MB")
    card.get_by_text("The exact list with checksums").click()
    expect(card.locator(".exact")).to_contain_text("pandas==2.2.3")
    assert card.get_by_role("button", name="Always").count() == 0
    assert fits(page)
    card.get_by_role("button", name="Deny").click()
    expect(card).to_have_count(0)
    assert status_of(visit.install, asked) is ApprovalStatus.DENIED
    page.goto(f"{visit.install.url}/approvals")
    expect(page.locator(".record-text")).to_have_text(re.compile(r"^\s*pip: pandas 2.2.3, numpy [\d.]+\s*$"))


def test_a_question_is_answered_by_a_choice(visit: Visit) -> None:
    """A button for each; the answer stands in the conversation afterwards."""
    visit.install.plays["go"] = lambda scene: scene.wait_for_stop()
    page = chat(visit)
    turn = visit.install.services.turns.submit(KEY, "go", source="dashboard").id
    expect(page.locator('.turn[data-status="running"]')).to_have_count(1)
    asked = set_in_motion(visit.install, "ASK", turn, question="Which harbour?", choices=["Vlissingen", "Harlingen"])
    card = page.locator("[data-question]")
    expect(card.get_by_role("button")).to_have_text(["Vlissingen", "Harlingen"])
    expect(page.locator(".working")).to_contain_text("is waiting for your answer")
    expect(page).to_have_title("(1) crab · HermitShell")
    card.get_by_role("button", name="Harlingen").click()
    expect(card).to_have_count(0)
    expect(page.locator(".settled")).to_contain_text("“Harlingen”, answered by ada (dashboard)")
    assert visit.install.services.questions.get_question(asked["question"]).answer == "Harlingen"
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()


def test_a_question_is_answered_in_words_and_by_keyboard(visit: Visit) -> None:
    """What is being written stays when another question comes; Enter sends it."""
    visit.log_in()
    page = visit.page
    first = set_in_motion(visit.install, "ASK", question="What is the boat called?")
    field = page.get_by_label("Your answer")
    field.fill("Nauti")
    expect(page.locator("[data-answer]:enabled")).to_have_count(1)
    with page.expect_response("**/parts/waiting"):
        set_in_motion(visit.install, "ASK", question="And the dog?", choices=["Rex"])
    expect(page.locator("[data-question]")).to_have_count(2)
    expect(field.first).to_have_value("Nauti")
    expect(field.first).to_be_focused()
    expect(page.locator("[data-answer]:enabled")).to_have_count(2)
    page.keyboard.press("End")
    page.keyboard.type("lus")
    page.keyboard.press("Enter")
    expect(page.locator("[data-question]")).to_have_count(1)
    assert visit.install.services.questions.get_question(first["question"]).answer == "Nautilus"


def test_a_question_that_is_answered_elsewhere_goes(visit: Visit) -> None:
    """On every page that shows it."""
    visit.log_in()
    asked = set_in_motion(visit.install, "ASK", question="Tea?", choices=["yes", "no"])
    expect(visit.page.locator("[data-question]")).to_have_count(1)
    install = visit.install.services
    install.questions.answer_question(asked["question"], "yes", by=install.users.get_operator(), surface="telegram")
    expect(visit.page.locator("[data-question]")).to_have_count(0)


def test_a_notice_is_cancelled_once(visit: Visit) -> None:
    """It comes by itself; its button does its deed, and the outcome stays."""
    page = chat(visit)
    visit.install.services.turns.wait_for_end(
        visit.install.services.turns.submit(KEY, "hi", source="api").id, PATIENCE_S
    )
    expect(page.locator(".reply")).to_have_count(1)
    notifications = visit.install.services.notifications
    notifications.on_button("test.cancel", lambda _db, _notice, _by: "It was taken out.")
    text = "crab put “<i>Tea</i>” into the calendar."
    notifications.post(KEY, "calendar", text, offers=[Offer("Cancel it", "test.cancel")])
    notice = page.locator(".notice")
    expect(notice.locator(".notice-text")).to_have_text(text)
    assert fits(page)
    notice.get_by_role("button", name="Cancel it").click()
    expect(notice).to_contain_text("It was taken out.")
    expect(notice.get_by_role("button")).to_have_count(0)
    page.reload()
    expect(page.locator(".notice")).to_contain_text("It was taken out.")


def test_an_entry_of_an_agent_is_told_and_cancelled(visit: Visit) -> None:
    """The real calendar: what an agent plans stands in the conversation with a button."""
    visit.install.plays["plan"] = lambda scene: scene.say(
        str(set_in_motion(visit.install, "CALENDAR_CREATE", scene.turn.id, title="Tea", prompt="Make tea", start=SOON))
    )
    page = chat(visit)
    visit.install.services.turns.submit(KEY, "plan", source="dashboard")
    notice = page.locator(".turn .notice")
    expect(notice).to_contain_text("Tea")
    notice.get_by_role("button").first.click()
    expect(notice.get_by_role("button")).to_have_count(0)
    assert visit.install.services.calendar.list_entries("crab", 1) == []


def test_a_reminder_that_has_run_can_not_be_cancelled(visit: Visit) -> None:
    """Its button goes by itself, on the page and on reload."""
    page = chat(visit)
    visit.install.services.turns.submit(KEY, "hi", source="dashboard")
    soon = f"{datetime.now(UTC) + timedelta(seconds=4):%Y-%m-%dT%H:%M:%SZ}"
    set_in_motion(visit.install, "CALENDAR_CREATE", title="Tea", prompt="hi", start=soon)
    notice = page.locator(".notice")
    expect(notice.get_by_role("button", name="Cancel it")).to_be_visible()
    for _ in range(2):
        expect(notice).to_contain_text("“Tea” already ran.")
        expect(notice.get_by_role("button")).to_have_count(0)
        page.reload()


SOON = "2099-03-01T09:00"


def plan(page: Page, title: str) -> None:
    """Fill in the form for a new entry."""
    page.get_by_text("New entry", exact=True).click()
    page.get_by_label("Title").fill(title)
    page.get_by_label("Message to crab").fill("What is the tide?")
    page.get_by_label("When", exact=False).first.fill(SOON)
    page.get_by_label("Repeat").select_option("Every weekday")
    page.get_by_role("button", name="Add entry").click()


def test_an_entry_is_made_changed_run_and_deleted(visit: Visit) -> None:
    """By forms and buttons alone; the list keeps up."""
    visit.let_in()
    page, calendar = visit.page, visit.install.services.calendar
    page.goto(f"{visit.install.url}/agents/crab/calendar")
    expect(page.get_by_text("Nothing is scheduled.")).to_be_visible()
    plan(page, "Tide <b>table</b>")
    entry = page.locator(".entry")
    expect(entry).to_contain_text("Every weekday at 09:00")
    expect(entry.get_by_role("link").first).to_have_text("Tide <b>table</b>")
    assert fits(page)
    entry.get_by_title("Pause").click()
    expect(entry).to_contain_text("paused")
    entry.get_by_title("Resume").click()
    expect(entry).not_to_contain_text("paused")
    entry.get_by_title("Edit").click()
    page.wait_for_url("**/calendar/*")
    assert fits(page)
    page.get_by_label("Title").fill("Tides")
    page.get_by_label("Repeat").select_option("Custom rule")
    page.get_by_role("textbox", name="Rule").fill("0 7 * * 1")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Tides")).to_be_visible()
    expect(page.get_by_text("Every Monday at 07:00", exact=False)).to_be_visible()
    found = calendar.list_entries("crab", 1)[0]
    assert (found.prompt, found.start) == ("What is the tide?", f"{SOON}:00")
    page.get_by_role("button", name="Run now").click()
    page.wait_for_url("**/agents/crab")
    expect(page.locator(".run-said")).to_contain_text("Tides")
    expect(page.locator(".reply")).to_contain_text("You said: What is the tide?")
    page.goto(f"{visit.install.url}/agents/crab/calendar/{found.id}")
    expect(page.locator(".ran")).to_contain_text("run manually")
    page.get_by_role("link", name="Show").click()
    page.wait_for_url("**/turns/*")
    expect(page.locator(".reply")).to_have_count(1)
    page.goto(f"{visit.install.url}/agents/crab/calendar")
    page.locator(".entry").get_by_title("Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is scheduled.")).to_be_visible()
    assert calendar.list_entries("crab", 1) == []


def test_an_impossible_rule_is_told_beside_the_button(visit: Visit) -> None:
    """What was written stays."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/calendar")
    page.get_by_text("New entry", exact=True).click()
    page.get_by_label("Title").fill("Never")
    page.get_by_label("Message to crab").fill("x")
    page.get_by_label("When", exact=False).first.fill(SOON)
    page.get_by_label("Repeat").select_option("Custom rule")
    page.get_by_role("textbox", name="Rule").fill("* * * * *")
    page.get_by_role("button", name="Add entry").click()
    expect(page.get_by_role("alert").filter(has_text="repeat")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Never")
    visit.complaints = [said for said in visit.complaints if "400" not in said]


def test_silent_runs_are_folded(visit: Visit) -> None:
    """What the calendar did without a word is one muted line that opens."""
    turns = visit.install.services.turns
    visit.install.plays["look"] = lambda scene: scene.say("")
    turns.wait_for_end(turns.submit(KEY, "look", source="calendar").id, PATIENCE_S)
    page = chat(visit)
    line = page.locator(".silent summary").first
    expect(line).to_contain_text("nothing to report")
    expect(page.locator(".run-said")).to_be_hidden()
    line.click()
    expect(page.locator(".run-said")).to_be_visible()
    assert fits(page)


def test_memories_are_added_found_and_forgotten(visit: Visit) -> None:
    """With where each comes from."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/memory")
    expect(page.get_by_text("No memories yet.")).to_be_visible()
    for fact in ("The boat is called <i>Nautilus</i>.", "Tea without milk."):
        page.get_by_label("Something to remember").fill(fact)
        page.get_by_role("button", name="Remember").click()
        expect(page.locator(".fact-text").first).to_have_text(fact)
        expect(page.get_by_label("Something to remember")).to_have_value("")
    expect(page.locator(".facts-list li").first).to_contain_text("added by ada")
    assert fits(page)
    page.get_by_label("Search the memories").fill("boat")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory?q=boat")
    expect(page.locator(".fact-text")).to_have_text(["The boat is called <i>Nautilus</i>."])
    page.get_by_title("Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.get_by_text("No results for “boat”.")).to_be_visible()
    assert [fact.text for fact in visit.install.services.memories.list_facts(KEY)] == ["Tea without milk."]


def test_settings_are_saved(visit: Visit) -> None:
    """What it may set in motion, and its budget."""
    visit.let_in()
    page, agents = visit.page, visit.install.services.agents
    page.goto(f"{visit.install.url}/agents/crab/settings")
    packages = page.get_by_role("checkbox", name="Packages")
    tools, budget = (page.locator("form", has=field) for field in (packages, page.get_by_label("US dollars per day")))
    packages.uncheck()
    tools.get_by_role("button", name="Save").click()
    expect(tools.get_by_text("Saved. It applies from the next message.")).to_be_visible()
    assert "packages" not in agents.get("crab").toolsets
    budget.get_by_label("US dollars per day").fill("2.5")
    budget.get_by_role("button", name="Save").click()
    expect(page.locator(".day")).to_contain_text("$2.50")
    assert agents.get("crab").daily_budget_micro == 2_500_000
    assert fits(page)


def test_the_browsers_zone_is_told_once(browser: Browser, install: AppFixture) -> None:
    """Where none was ever said; later browsers change nothing, the person's own page does."""
    users = install.services.users
    for zone in ("Europe/Vienna", "Asia/Tokyo"):
        context = browser.new_context(viewport=DESKTOP, timezone_id=zone)
        visit = open_window(context, install)
        if zone == "Europe/Vienna":
            with visit.page.expect_response("**/api/me"):
                visit.log_in()
        else:
            visit.log_in()
        assert users.get_operator().time_zone == "Europe/Vienna"
        visit.page.goto(f"{install.url}/you")
        if zone == "Asia/Tokyo":
            visit.page.get_by_role("button", name="Use it here").click()
            visit.page.locator("#zone").get_by_role("button", name="Save").click()
            expect(visit.page.get_by_text("Saved.")).to_be_visible()
            assert users.get_operator().time_zone == "Asia/Tokyo"
        assert visit.complaints == []
        context.close()


NAMELESS = """() => [...document.querySelectorAll('a[href], button, input, textarea, select, summary')]
    .filter((field) => field.checkVisibility({visibilityProperty: true}))
    .filter((field) => {
        const label = field.labels?.[0]?.textContent ?? '';
        const name = field.getAttribute('aria-label') || field.textContent + label;
        const places = [field, ...(field.labels ?? [])].map((place) => place.getBoundingClientRect());
        const isInText = field.matches('a') && getComputedStyle(field).display === 'inline';
        return !name.trim() || (!isInText && places.every(({width, height}) => Math.min(width, height) < 24));
    })
    .map((field) => field.outerHTML)"""
"""What can be used but has no name, or is too small to be hit (WCAG 2.2: 24 pixels, but for links in a text)."""


def test_everything_has_a_name_and_can_be_hit(visit: Visit) -> None:
    """On every page of an agent, with something on each."""
    install = visit.install.services
    entry = install.calendar.create_entry(
        KEY, {"title": "Tea", "prompt": "x", "start": SOON, "repeat": "FREQ=DAILY"}, by=None
    )
    install.memories.add_fact(KEY, "Tea without milk.", by="ada")
    install.notifications.post(KEY, "calendar", "crab planned tea.", offers=[Offer("Cancel it", "test.cancel")])
    set_in_motion(visit.install, "ASK", question="Tea?", choices=["yes", "no"], free_text=True)
    ask_about(visit.install, "asset", URL, {"host": "xn--bcher-kva.example", "warnings": [], "url_chars": 9})
    visit.log_in()
    page = visit.page
    for path in (
        "",
        *(f"agents/crab{p}" for p in ("", "/calendar", f"/calendar/{entry.id}", "/memory", "/settings")),
        "you",
    ):
        page.goto(f"{visit.install.url}/{path}")
        assert page.evaluate(NAMELESS) == [], path
        assert fits(page), path
