"""What a conversation has read, on every surface that asks a person: the dashboard, Telegram, the terminal, a
notification, the API."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from orchestrator.__main__ import parser
from orchestrator.approvals import source_rows
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.channels.chat.approval_kinds import list_facts
from orchestrator.channels.chat.system_text import system_note
from orchestrator.channels.push.texts import approval_text, is_whole
from orchestrator.cli.approvals import exact_lines
from orchestrator.cli.context import Context
from orchestrator.core.models import Approval, ApprovalStatus
from tests.support.app_fixture import AppFixture
from tests.support.core_fixture import KEY
from tests.unit.conftest import Api, logged_in
from tests.unit.dashboard.test_agent import page, seen

ROOT = Path(__file__).resolve().parents[3]
SINCE = "It has read evil.example since you allowed this, so you are asked again."
READ = "This conversation has read evil.example and a web search."
DETAIL = {
    "host": "a.example",
    "since_allowed": [{"kind": "web", "subject": "evil.example", "count": 1}],
    "sources": [
        {"kind": "web", "subject": "evil.example", "count": 1},
        {"kind": "search", "subject": "", "count": 1},
    ],
}


def question(kind: str, text: str, detail: dict[str, Any]) -> Approval:
    """A question that waits."""
    status = ApprovalStatus.PENDING
    return Approval("abcd2345", KEY, 7, None, kind, text, "00ff", "", detail, status, 1.0, 61.0, None, None, None)


@pytest.mark.parametrize("kind", ["asset", "packages", "command"])
def test_a_chat_tells_of_it(kind: str) -> None:
    """Names as quotes, which can't be tapped."""
    text = system_note("?", *list_facts(question(kind, "x", DETAIL))).text
    assert "⚠ It has read evil.example since you allowed this, so you are asked again." in text
    assert "This conversation has read evil.example and a web search." in text
    assert "read" not in system_note("?", *list_facts(question(kind, "x", {}))).text.replace("ready", "")


def test_a_terminal_tells_of_it() -> None:
    """Below the exact text."""
    asked = {"kind": "asset", "shown": "https://a.example/x", "text": "https://a.example/x", "detail": DETAIL}
    lines = [line.strip() for line in exact_lines(asked)]
    assert lines[-2:] == [SINCE, READ]


def test_a_notification_tells_of_it_where_it_fits() -> None:
    """Below the exact text, and one that is asked again can't be approved there without a look."""
    short = question("command", "rm -rf build", {"sources": DETAIL["sources"]})
    assert approval_text(short, "crab", shows_text=True, now=1.0).body == f"rm -rf build\n{READ}"
    assert is_whole(short)
    long = question("command", "rm " + "x" * 150, {"sources": DETAIL["sources"]})
    assert READ not in approval_text(long, "crab", shows_text=True, now=1.0).body
    again = question("asset", "https://a.example/x", DETAIL)
    assert not is_whole(again)
    hidden = approval_text(again, "crab", shows_text=False, now=1.0)
    assert "evil" not in hidden.body


@pytest.fixture
def waiting(webapp: AppFixture, operator: Api) -> dict[str, Any]:
    """A question of a turn that has read something; its turn waits for the answer."""

    def reads_and_asks(scene: Any) -> Any:
        with webapp.app._store.writing() as db:
            for new in (NewSource(SourceKind.WEB, "evil.example"), NewSource(SourceKind.SEARCH, "Brave")):
                source_rows.add_source(db, scene.key, scene.turn.id, new, now=1.0)
        return scene.say(f"ran: {scene.run(1, 'rm -rf build')}")

    webapp.plays["ask"] = reads_and_asks
    turn = operator.post("/agents/crab/messages", {"text": "ask"})["turn"]
    until = time.monotonic() + 10
    while not (found := [a for a in operator.get("/approvals?status=pending")["approvals"] if a["turn"] == turn]):
        assert time.monotonic() < until
        threading.Event().wait(0.02)
    return dict(found[0])


def test_the_dashboard_and_the_api_tell_of_it(
    webapp: AppFixture, app: Flask, operator: Api, waiting: dict[str, Any]
) -> None:
    """On the card of the question, under the turn once it has ended, and as lists."""
    browser = logged_in(webapp, app, operator.user)
    assert READ in seen(browser, "/agents/crab")
    assert READ in seen(browser, "/approvals")
    assert waiting["detail"]["sources"] == DETAIL["sources"]
    turn = operator.get(f"/turns/{waiting['turn']}")
    assert [(one["kind"], one["subject"], one["turn"]) for one in turn["sources"]] == [
        ("web", "evil.example", turn["id"]),
        ("search", "Brave", turn["id"]),
    ]
    path = f"/agents/crab/conversations/{turn['conversation']}/sources"
    assert operator.get(path)["sources"] == turn["sources"]
    operator.post(f"/approvals/{waiting['id']}", {"decision": "deny"})
    webapp.services.turns.wait_for_end(turn["id"], 10)
    assert "Read: evil.example and a web search" in seen(browser, "/agents/crab")


def test_the_terminal_lists_it(webapp: AppFixture, waiting: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """``conversations AGENT sources ID``, and of another conversation nothing."""
    context = Context(ROOT, {}, webapp.services.settings)
    place = webapp.services.turns.get(waiting["turn"]).conversation
    other = webapp.services.conversations.create(KEY, "other").id

    def printed(*argv: str) -> str:
        options: Any = parser().parse_args(["conversations", "crab", "sources", *argv])
        assert options.run(context, options) == 0
        return capsys.readouterr().out

    assert re.search(r"web +evil\.example +1 ", printed(str(place)))
    assert '"subject": "Brave"' in printed(str(place), "--json")
    assert "Nothing of strangers." in printed(str(other))


def test_a_program_may_say_whose_words_it_passes_on(webapp: AppFixture, operator: Api) -> None:
    """They count as that person's; too long a name, or no text, is refused by the field's name."""
    webapp.plays["mail"] = lambda scene: scene.say("read")
    sent = operator.post("/agents/crab/messages", {"text": "mail", "forwarded": " Mallory ", "wait": True})
    (source,) = operator.get(f"/turns/{sent['turn']}")["sources"]
    assert (source["kind"], source["subject"]) == ("message", "Mallory")
    for name in ("x" * 201, 7, None):
        status, error = operator.refused("POST", "/agents/crab/messages", {"text": "mail", "forwarded": name})[:2]
        assert status == 400
        assert "forwarded" in str(error)


def test_members_see_no_sources_of_others(webapp: AppFixture, member: Api, waiting: dict[str, Any]) -> None:
    """The list is the conversation's own person's, and the operator's."""
    place = webapp.services.turns.get(waiting["turn"]).conversation
    assert member.refused("GET", f"/agents/crab/conversations/{place}/sources")[0] == 404


def test_the_setting_is_on_the_page_and_in_the_api(webapp: AppFixture, app: Flask, operator: Api) -> None:
    """Strict unless the operator says otherwise; what is no setting is refused with its name."""
    assert operator.get("/agents/crab")["asks_again"] == "strict"
    html = page(logged_in(webapp, app, operator.user), "/agents/crab/settings")
    assert re.search(r'name="asks_again" value="strict" required checked', html)
    changed = operator.call("PATCH", "/agents/crab", {"asks_again": "web"}).json
    assert changed is not None
    assert changed["asks_again"] == "web"
    status, error = operator.refused("PATCH", "/agents/crab", {"asks_again": "never"})[:2]
    assert status == 400
    assert "asks_again" in str(error)
