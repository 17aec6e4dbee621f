"""Diagrams in replies: drawn in a frame that can do nothing to the page, nor tell anybody anything."""

from __future__ import annotations

import socket

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.browser.test_dashboard import chat, fits, say
from tests.support.app_fixture import AppFixture

pytestmark = pytest.mark.browser

DIAGRAM = "```mermaid\ngraph TD\n  A[Low tide] --> B{Rises?}\n  B -->|yes| C[High tide]\n```\n"
HOSTILE = """```mermaid
%%{{init: {{"securityLevel": "loose", "htmlLabels": true, "flowchart": {{"htmlLabels": true}}}}}}%%
graph TD
  A["<img src={0}/x onerror=fetch('{0}')>"] --> B
  click B "{0}"
```"""
BROKEN = "```mermaid\nnothing of this kind\n```"
REACH = """async () => {
  const tries = {
    parent: () => top.document.title,
    cookies: () => document.cookie,
    storage: () => localStorage.length,
    fetch: () => fetch(location.href),
    picture: () => new Promise((done, fail) => Object.assign(new Image(), { onload: done, onerror: fail, src: '/x' })),
  };
  const reached = [];
  for (const [name, work] of Object.entries(tries)) try { await work(); reached.push(name); } catch { continue; }
  return reached;
}"""


def test_a_diagram_is_drawn_and_its_source_is_there(visit: Visit) -> None:
    """What can't be drawn stays code."""
    visit.install.plays["draw"] = lambda scene: scene.say(f"Look:\n\n{DIAGRAM}\n{BROKEN}\n")
    page = chat(visit)
    say(page, "draw")
    frame = page.frame_locator("iframe.diagram").first
    expect(frame.locator("svg")).to_contain_text("High tide")
    expect(page.locator(".code[data-drawn]")).to_have_count(1)
    block = page.locator(".code").first
    expect(block.locator("pre")).to_be_hidden()
    block.get_by_role("button", name="Source").click()
    expect(block.locator("pre")).to_contain_text("graph TD")
    expect(page.locator(".code").last.locator("pre")).to_be_visible()
    expect(page.locator("iframe.diagram")).to_have_count(1)
    assert fits(page)


def test_a_hostile_diagram_reaches_nothing(browser: Browser, install: AppFixture) -> None:
    """No page of ours, no cookie, no storage, no network. What the browser says when it refuses is not looked at."""
    visit = open_window(browser.new_context(viewport=DESKTOP), install)
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        address = f"http://127.0.0.1:{theirs.getsockname()[1]}"
        install.plays["draw"] = lambda scene: scene.say(HOSTILE.format(address))
        page = chat(visit)
        say(page, "draw")
        expect(page.locator(".code[data-drawn]")).to_have_count(1)
        inside = page.locator("iframe.diagram").element_handle().content_frame()
        assert inside is not None
        assert inside.evaluate(REACH) == []
        assert inside.evaluate("() => origin") == "null"
        inside.evaluate("url => void (location = url)", address)
        page.get_by_role("button", name="Source").click()
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.accept()
    visit.page.context.close()
