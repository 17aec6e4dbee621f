"""Questions and decisions over the API."""

from __future__ import annotations

import threading
import time

from dashboard.api.approvals import MIN_AGE_S
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser


def asked(webapp: AppFixture, api: Api, command: str = "rm -rf work") -> dict[str, object]:
    """A question that waits, asked in a turn of this person's."""
    webapp.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, command)}")
    turn = api.post("/agents/crab/messages", {"text": "ask"})["turn"]
    while not (found := api.get("/approvals?status=pending")["approvals"]):
        threading.Event().wait(0.02)
    assert found[0]["turn"] == turn
    question: dict[str, object] = found[0]
    return question


def test_a_question_shows_exactly_what_would_run(webapp: AppFixture, operator: Api) -> None:
    """The text as it is, and once more with what can't be seen written out."""
    question = asked(webapp, operator, "rm -rf work \u202e# fdp.exe")
    assert question["text"] == "rm -rf work \u202e# fdp.exe"
    assert question["shown"] == "rm -rf work \\u202e# fdp.exe"
    assert question["reason"]
    assert (question["status"], question["decided_by"], question["agent"]) == ("pending", None, "crab")


def test_a_decision_is_made_once(webapp: AppFixture, operator: Api) -> None:
    """The second one, either way, is 409 and says who was first."""
    question = asked(webapp, operator)
    decided = operator.post(f"/approvals/{question['id']}", {"decision": "deny"})
    assert (decided["status"], decided["decided_by"]) == ("denied", "ada (api)")
    for decision in ("approve", "deny"):
        status, message = operator.refused("POST", f"/approvals/{question['id']}", {"decision": decision})
        assert (status, "ada" in message) == (409, True)
    assert webapp.services.turns.wait_for_end(1, 10).reply == "ran: False"


def test_of_many_decisions_at_once_one_counts(webapp: AppFixture, operator: Api) -> None:
    """Twenty people press, one is first."""
    question = asked(webapp, operator)
    statuses: list[int] = []

    def press(decision: str) -> None:
        answer = operator.client.application.test_client().post(
            f"/api/approvals/{question['id']}",
            json={"decision": decision},
            headers={"Authorization": f"Bearer {operator.token}"},
        )
        statuses.append(answer.status_code)

    pressers = [threading.Thread(target=press, args=(d,)) for d in ("approve", "deny") * 10]
    for presser in pressers:
        presser.start()
    for presser in pressers:
        presser.join(10)
    assert sorted(statuses) == [200] + [409] * 19


def test_a_click_that_came_too_soon_decides_nothing(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """A browser is refused until the question has been there for a moment; then it may decide."""
    question = asked(webapp, operator)
    path = f"/api/approvals/{question['id']}"
    answer = browser.post(path, {"decision": "approve"})
    assert (answer.status_code, "only just now" in answer.get_json()["error"]["message"]) == (409, True)
    approval = webapp.services.approvals.get(str(question["id"]))
    threading.Event().wait(max(0.0, approval.asked_at + MIN_AGE_S - time.time()))
    answer = browser.post(path, {"decision": "approve"})
    assert (answer.status_code, answer.get_json()["decided_by"]) == (200, "ada (dashboard)")


def test_unusable_decisions_are_refused(webapp: AppFixture, operator: Api) -> None:
    """Anything but approve and deny, and ids that nobody knows."""
    question = asked(webapp, operator)
    for body in ({}, {"decision": "yes"}, {"decision": True}, {"decision": "approve", "text": "ls"}):
        assert operator.refused("POST", f"/approvals/{question['id']}", body)[0] == 400
    assert operator.refused("POST", "/approvals/nothing", {"decision": "approve"})[0] == 404
    assert operator.refused("GET", "/approvals?status=open")[0] == 400
    assert operator.get("/approvals?status=pending")["approvals"][0]["status"] == "pending"


def test_people_decide_only_their_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """A member neither sees nor decides another's question; the operator may decide all."""
    question = asked(webapp, operator)
    assert member.get("/approvals")["approvals"] == []
    assert member.refused("POST", f"/approvals/{question['id']}", {"decision": "approve"})[0] == 404
    operator.post(f"/approvals/{question['id']}", {"decision": "deny"})
    theirs = asked(webapp, member)
    assert operator.get("/approvals?status=pending")["approvals"][0]["id"] == theirs["id"]
    assert operator.post(f"/approvals/{theirs['id']}", {"decision": "approve"})["status"] == "approved"


def test_words_decide_nothing(webapp: AppFixture, operator: Api) -> None:
    """Only the endpoint does: a message that says so is a message."""
    question = asked(webapp, operator)
    operator.post("/agents/crab/messages", {"text": f"/approve {question['id']}"})
    assert operator.get("/approvals?status=pending")["approvals"][0]["id"] == question["id"]
