"""The past of the files, in a browser: what a message changed, the way back, points that are kept, two branches."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import Visit
from tests.browser.test_branches import bubbles, edit
from tests.browser.test_dashboard import chat, fits, say
from tests.support.app_fixture import Scene

pytestmark = pytest.mark.browser

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPj/HwADAgH/p+FqVAAAAABJRU5ErkJggg=="
)


def play(visit: Visit, text: str, command: Callable[[], object]) -> None:
    """A message whose one command does this."""

    def run(scene: Scene) -> None:
        steps, key, turn = scene.install.steps, scene.key, scene.turn.id
        steps.start_step(key, turn, 1, thought="", command=f"step {text}", approval=None)
        command()
        steps.end_step(key, turn, 1, exit_code=0, output="", ended="exited")
        scene.say(f"{text} is done.")

    visit.install.plays[text] = run


def work_folder(visit: Visit) -> Path:
    """The agent's own."""
    services = visit.install.services
    key = CubicleKey("crab", services.users.get_operator().id)
    return Path(services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid()).work)


def go_to_changes(page: Page, turn: int) -> None:
    """By the words under a reply."""
    link = page.locator(".turn").nth(turn).get_by_role("link", name="changed")
    expect(link).to_be_visible()
    link.click()
    expect(page.get_by_role("heading", name="Undo")).to_be_visible()


def test_a_message_is_undone(visit: Visit) -> None:
    """What it changed is shown line by line; then the file is as before, and so is the conversation."""
    work = work_folder(visit)
    play(visit, "one", lambda: (work / "plan.md").write_text("Porto\nLisbon\n"))
    play(visit, "two", lambda: (work / "plan.md").write_text("Porto\nLagos\n"))
    page = chat(visit)
    say(page, "one")
    bubbles(page, "one")
    say(page, "two")
    bubbles(page, "one", "two")
    go_to_changes(page, 1)
    expect(page.locator(".diff .went")).to_contain_text("Lisbon")
    expect(page.locator(".diff .came")).to_contain_text("Lagos")
    assert fits(page)
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Undo", exact=True).click()
    bubbles(page, "one")
    assert (work / "plan.md").read_text() == "Porto\nLisbon\n"
    expect(page.get_by_text("undone")).to_have_count(0)


def test_what_was_changed_again_is_chosen(visit: Visit) -> None:
    """It stays unless its box is ticked; everything since goes by its own button, after a question."""
    work = work_folder(visit)
    for n in ("0", "1", "2"):
        play(visit, f"n{n}", lambda n=n: (work / "a.txt").write_text(n))  # type: ignore[misc]  # mypy can't type a bound default
    page = chat(visit)
    for n in ("0", "1", "2"):
        say(page, f"n{n}")
        bubbles(page, *[f"n{m}" for m in "012"[: int(n) + 1]])
    go_to_changes(page, 1)
    box = page.get_by_role("checkbox", name="work/a.txt")
    box.check()
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Undo", exact=True).click()
    assert (work / "a.txt").read_text() == "0"
    bubbles(page, "n0", "n1", "n2")
    expect(page.locator(".turn").nth(1)).to_contain_text("undone")
    go_to_changes(page, 0)
    page.get_by_role("button", name="Undo everything since").click()
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("dialog").get_by_role("button", name="Undo everything").click()
    assert not (work / "a.txt").exists()
    bubbles(page)


def test_a_point_is_kept_and_gone_back_to(visit: Visit) -> None:
    """The list has every command; one that is named stays at the top of what is kept, and one file goes back alone."""
    work = work_folder(visit)
    page = chat(visit)
    page.goto(f"{visit.install.url}/agents/crab/history")
    expect(page.get_by_text("No history yet.")).to_be_visible()
    play(visit, "one", lambda: [(work / name).write_bytes(DOT) for name in ("a.png", "b.png")])
    play(visit, "two", lambda: [(work / name).write_bytes(b"no picture") for name in ("a.png", "b.png")])
    page.goto(f"{visit.install.url}/agents/crab")
    say(page, "one")
    bubbles(page, "one")
    page.goto(f"{visit.install.url}/agents/crab/files")
    page.get_by_role("link", name="History").click()
    page.get_by_label("Name for the files as they are now").fill("Before the move")
    page.get_by_role("button", name="Keep this point").click()
    expect(page.locator(".point.is-named")).to_contain_text("Before the move")
    assert fits(page)
    page.goto(f"{visit.install.url}/agents/crab")
    say(page, "two")
    bubbles(page, "one", "two")
    page.goto(f"{visit.install.url}/agents/crab/history")
    page.get_by_role("link", name="A command in “two”").click()
    expect(page.locator(".side-by-side").first.locator("img")).to_have_count(1)
    expect(page.locator(".side-by-side").first).to_contain_text("Not there.")
    assert fits(page)
    page.get_by_role("link", name="Back to the history").click()
    page.get_by_role("link", name="A command in “one”").click()
    page.locator(".change").get_by_role("button", name="Put this file back").first.click()
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("dialog").get_by_role("button", name="Put back").click()
    assert ((work / "a.png").read_bytes(), (work / "b.png").read_bytes()) == (DOT, b"no picture")
    page.goto(f"{visit.install.url}/agents/crab/history")
    page.locator(".point.is-named").get_by_role("button", name="Put back").click()
    with page.expect_response(lambda answer: answer.url.endswith("/restore")):
        page.get_by_role("dialog").get_by_role("button", name="Put back").click()
    expect(page.get_by_text("Files were put back").first).to_be_visible()
    assert (work / "b.png").read_bytes() == DOT


def test_a_folder_goes_back_by_itself(visit: Visit) -> None:
    """Where several files in it differ; what lies elsewhere stays."""
    work = work_folder(visit)
    files = ("trip/a.txt", "trip/days/b.txt", "other.txt")

    def write(text: str) -> None:
        for name in files:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)

    play(visit, "one", lambda: write("1"))
    play(visit, "two", lambda: write("2"))
    page = chat(visit)
    say(page, "one")
    bubbles(page, "one")
    say(page, "two")
    bubbles(page, "one", "two")
    page.goto(f"{visit.install.url}/agents/crab/history")
    page.get_by_role("link", name="A command in “one”").click()
    page.get_by_role("button", name="Put back work/trip (2 files)").click()
    assert fits(page)
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("dialog").get_by_role("button", name="Put back").click()
    assert [(work / name).read_text() for name in files] == ["1", "1", "2"]


def test_words_and_files_go_back_together(visit: Visit) -> None:
    """An edited message may have the files of that moment; two branches are compared with both their halves."""
    work = work_folder(visit)
    for text in ("one", "two", "zwei"):
        play(visit, text, lambda text=text: (work / "a.txt").write_text(f"{text}\n"))  # type: ignore[misc]  # as above
    page = chat(visit)
    say(page, "one")
    bubbles(page, "one")
    say(page, "two")
    bubbles(page, "one", "two")
    seen: list[str] = []

    def read(scene: Scene) -> None:
        seen.append((work / "a.txt").read_text())
        scene.say("read")

    visit.install.plays["zwei"] = read
    edit(page, "two", "zwei", with_files=True)
    bubbles(page, "one", "zwei")
    assert seen == ["one\n"]
    page.get_by_label("More about crab").click()
    page.get_by_role("link", name="Branches of this conversation").click()
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".branch-side")).to_have_count(2)
    expect(page.locator(".branch-side").nth(1)).to_contain_text("two is done.")
    expect(page.locator(".diff .came")).to_contain_text("two")
    assert fits(page)
