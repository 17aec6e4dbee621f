"""Agents as characters, in a real browser on a phone and on a desktop: what they are called, how they look, and the
roles that they begin with."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits
from tests.support.foreign_agents import OPENCLAW, zipped

pytestmark = pytest.mark.browser


def test_an_agent_is_renamed_and_dressed(visit: Visit) -> None:
    """One form; the head says so at once, every other page from then on, and no address changes."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab")
    page.get_by_label("More about crab").click()
    page.get_by_role("link", name="Rename crab").click()
    page.wait_for_url(re.compile(r"/agents/crab/settings#who"))
    who = page.locator("#who")
    who.get_by_label("Display name").fill("Łucja 海")
    who.get_by_label("Owl").check()
    who.get_by_label("Moss").check()
    who.get_by_role("button", name="Save").click()
    expect(who.get_by_role("status")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="Łucja 海")).to_be_visible()
    expect(page.locator(".talk-head .avatar.tone-moss")).to_be_visible()
    assert fits(page)
    page.goto(f"{visit.install.url}/agents/crab")
    expect(page).to_have_title("Łucja 海 · HermitShell")
    expect(page.get_by_placeholder("Message to Łucja 海")).to_be_visible()
    page.goto(visit.install.url)
    card = page.locator(".agent-card")
    expect(card).to_contain_text("Łucja 海")
    expect(card.locator(".avatar.tone-moss")).to_be_visible()


def test_what_is_no_name_is_refused_by_field(visit: Visit) -> None:
    """And the look that was chosen stays chosen."""
    visit.install.services.agents.create({"name": "clerk", "display_name": "Juno"})
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/settings")
    who = page.locator("#who")
    who.get_by_label("Display name").fill("juno")
    who.get_by_label("Or an emoji").fill("🦊")
    expect(who.get_by_label("Your emoji")).to_be_checked()
    who.get_by_role("button", name="Save").click()
    expect(who.get_by_role("alert")).to_contain_text("Display name: the agent clerk is called juno already.")
    expect(who.get_by_label("Your emoji")).to_be_checked()
    visit.complaints.clear()  # the refusal itself
    who.get_by_label("Display name").fill("Fox")
    who.get_by_role("button", name="Save").click()
    expect(who.get_by_role("status")).to_be_visible()
    made = visit.install.services.agents.get("crab")
    assert (made.display_name, made.avatar) == ("Fox", "🦊")


def test_a_role_dresses_a_new_agent(visit: Visit) -> None:
    """Its look is the role's until one is chosen; what it is called suggests its name."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/new")
    page.get_by_label("Tutor").check()
    expect(page.get_by_label("Owl")).to_be_checked()
    expect(page.get_by_label("Plum")).to_be_checked()
    page.get_by_label("What to call it").fill("Professor Ömer")
    expect(page.locator("[name='name']")).to_have_value("professor-omer")
    page.get_by_label("Amber").check()
    page.get_by_label("Coder").check()
    expect(page.get_by_label("Amber")).to_be_checked()
    assert fits(page)
    for _ in range(2):
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Create Professor Ömer").click()
    page.wait_for_url(f"{visit.install.url}/agents/professor-omer")
    made = visit.install.services.agents.get("professor-omer")
    assert (made.display_name, made.avatar, made.color) == ("Professor Ömer", "owl", "amber")
    assert made.limits.memory_mb == 2048
    assert made.role.startswith("Writes, tests and explains programs")


def test_an_agent_moves_in(visit: Visit) -> None:
    """A zip is looked at, one secret is ticked, and the agent is there with its schedules paused."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/new")
    page.get_by_role("link", name="import an agent").click()
    page.get_by_label("Folder as a zip").set_input_files(
        {"name": "openclaw.zip", "mimeType": "application/zip", "buffer": zipped(OPENCLAW)}
    )
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("heading", name="Molty")).to_be_visible()
    page.get_by_text("8 memories").click()
    expect(page.get_by_text("The boat: She is called Nautilus.")).to_be_visible()
    expect(page.get_by_text("every weekday at 07:00 (America/New_York)")).to_be_visible()
    page.get_by_label(".openclaw/workspace/TOOLS.md").check()
    assert fits(page)
    page.get_by_label("What to call it").fill("crab")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the agent crab is called crab already")
    visit.complaints.clear()  # the refusal itself
    expect(page.get_by_label(".openclaw/workspace/TOOLS.md")).to_be_checked()
    page.get_by_label("What to call it").fill("Molty the Second")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Molty the Second")).to_be_visible()
    page.goto(f"{visit.install.url}/agents/molty/calendar")
    expect(page.get_by_text("paused").first).to_be_visible()
    assert visit.install.services.workspaces.read_head(
        CubicleKey("molty", 1), (b"in", b"TOOLS.md"), max_bytes=100
    ).startswith(b"# TOOLS.md")
    assert visit.install.services.turns.list_running() == []
