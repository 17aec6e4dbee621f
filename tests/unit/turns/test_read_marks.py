"""``orchestrator.turns.read_marks``: what is new to a person since they looked at a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import NotFound
from orchestrator.core.models import CALENDAR, Conversation, CubicleKey, TurnStatus
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.read_marks import ReadMarks
from tests.support.app_fixture import AppFixture, Scene
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture, watching
from tests.unit.conftest import Api, Browser


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def ended(
    install: CoreFixture,
    key: CubicleKey = KEY,
    *,
    source: str = "dashboard",
    status: TurnStatus = TurnStatus.DONE,
    prompt: str = "go",
    reply: str = "done",
) -> int:
    """A turn that has its outcome."""
    turn = install.turns.submit(key, prompt, source=source)
    install.turns.end_turn(key, turn.id, status, reply=reply)
    return turn.id


def first_of(install: CoreFixture) -> Conversation:
    """The conversation that everything here is said in."""
    return Conversations(install.store, install.broker).get(KEY)


def test_what_ended_is_new_until_its_person_looks(install: CoreFixture) -> None:
    """Each person has marks of their own, and an older mark takes nothing back."""
    seen = ReadMarks(install.store, install.broker)
    first, second = ended(install), ended(install)
    ended(install, OTHER)
    assert seen.count_unread(KEY.user) == {"crab": 2}
    assert seen.first_unread(first_of(install)) == first
    with watching(install.broker) as news:
        seen.mark_read(KEY, second)
        event = news.get(1)
    assert event is not None
    assert (event.kind, event.cubicle, event.body) == ("seen", KEY, {"turn": second})
    seen.mark_read(KEY, first)
    assert (seen.count_unread(KEY.user), seen.first_unread(first_of(install))) == ({}, None)
    assert seen.count_unread(OTHER.user) == {"crab": 1}


def test_an_older_turn_that_ends_later_is_new(install: CoreFixture) -> None:
    """One that waited behind what was seen already counts when it ends."""
    seen = ReadMarks(install.store, install.broker)
    older = install.turns.submit(KEY, "later", source="dashboard")
    seen.mark_read(KEY, ended(install))
    assert seen.count_unread(KEY.user) == {}
    install.turns.end_turn(KEY, older.id, TurnStatus.FAILED, error="no")
    assert seen.first_unread(first_of(install)) == older.id


@pytest.mark.parametrize(
    ("turn", "is_new"),
    [
        ({}, True),
        ({"source": "api"}, True),
        ({"status": TurnStatus.STOPPED}, True),
        ({"source": "telegram"}, False),
        ({"source": "terminal"}, False),
        ({"source": CALENDAR}, True),
        ({"source": CALENDAR, "reply": " \n"}, False),
        ({"source": CALENDAR, "reply": "", "status": TurnStatus.FAILED}, True),
        ({"source": CALENDAR, "prompt": "\n internal: tidy up"}, False),
    ],
)
def test_only_what_is_told_here_is_new(install: CoreFixture, turn: dict[str, object], is_new: bool) -> None:  # noqa: FBT001
    """Answers on other surfaces were told there, silent runs of the calendar to nobody."""
    ended(install, **turn)  # type: ignore[arg-type]  # drawn from the table above
    assert ReadMarks(install.store, install.broker).count_unread(KEY.user) == ({"crab": 1} if is_new else {})


def test_nobody_marks_what_is_not_theirs(install: CoreFixture) -> None:
    """A turn that isn't there, or another person's, marks nothing."""
    seen, theirs = ReadMarks(install.store, install.broker), ended(install, OTHER)
    for turn in (theirs, 999):
        with pytest.raises(NotFound):
            seen.mark_read(KEY, turn)
    assert seen.count_unread(OTHER.user) == {"crab": 1}


def test_the_pages_show_it_and_the_api_marks_it(
    webapp: AppFixture, operator: Api, member: Api, browser: Browser
) -> None:
    """A number on the card and in the list, a line in the conversation, gone once it was seen."""
    turn = operator.post("/agents/crab/messages", {"text": "hi", "wait": True})["turn"]
    for page in ("/", "/parts/agents", "/parts/side"):
        assert "New since your last visit" in browser.client.get(page).text
    assert 'id="since"' in browser.client.get("/agents/crab").text
    assert member.refused("PUT", "/agents/crab/seen", {"turn": turn})[0] == 404
    assert operator.refused("PUT", "/agents/nobody/seen", {"turn": turn})[0] == 404
    assert operator.refused("PUT", "/agents/crab/seen", {"turn": "x"})[0] == 400
    assert operator.call("PUT", "/agents/crab/seen", {"turn": turn}).status_code == 204
    assert webapp.services.read_marks.count_unread(operator.user.id) == {}
    for page in ("/", "/parts/side", "/agents/crab"):
        assert "New since your last visit" not in browser.client.get(page).text


def test_the_card_says_what_an_agent_does(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """The command that runs, that it writes, that it waits, and what its calendar has next."""
    said: list[str] = []

    def card() -> None:
        said.append(browser.client.get("/parts/agents").text)

    def work(scene: Scene) -> None:
        card()
        key, turn, steps = scene.key, scene.turn.id, webapp.steps
        steps.start_step(key, turn, 1, thought="", command="make 'a<b'", approval=None)
        steps.show_output(key, turn, 1, "so far <b>")
        card()
        said.append(browser.client.get("/agents/crab").text)
        steps.end_step(key, turn, 1, exit_code=0, output="", ended="exited")
        steps.start_step(key, turn, 2, thought="", command="rm -rf /app/workspace/work/x", approval=None)
        steps.ask_person(key, turn, 2)
        card()

    webapp.plays["work"] = work
    entry = {"title": "Water the plants", "prompt": "now", "start": "2099-01-01T09:00:00Z"}
    operator.post("/agents/crab/calendar", entry)
    operator.post("/agents/crab/messages", {"text": "work", "wait": True})
    writing, running, chat, waiting = said
    assert "Writing" in writing
    assert "Water the plants" in writing
    assert "a&lt;b" in running
    assert "so far &lt;b&gt;" in chat
    assert "Waiting for your approval" in waiting


def test_what_came_to_nothing_can_be_tried_again(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """A turn that failed or was stopped has a button for it, one that is done has none."""
    webapp.plays["fail"] = lambda scene: scene.fail("no luck")
    for text, is_there in (("fine", False), ("fail", True)):
        turn = operator.post("/agents/crab/messages", {"text": text, "wait": True})["turn"]
        assert ('class="repeat' in browser.client.get(f"/parts/turns/{turn}").text) is is_there
