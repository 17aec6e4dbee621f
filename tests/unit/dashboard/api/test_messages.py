"""Messages, turns and the history over the API."""

from __future__ import annotations

import threading

import pytest
from flask import Flask

from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.turns import summary_rows
from tests.support.app_fixture import AppFixture, Scene
from tests.unit.conftest import Api


def test_a_message_with_wait_gets_its_reply(operator: Api) -> None:
    """200 and the outcome when the turn has ended."""
    answer = operator.call("POST", "/agents/crab/messages", {"text": "hello", "wait": True})
    assert answer.status_code == 200
    assert answer.get_json() == {"turn": 1, "status": "done", "reply": "You said: hello", "error": None}


def test_a_message_without_wait_is_accepted_at_once(operator: Api) -> None:
    """202, and the turn can be looked at."""
    answer = operator.call("POST", "/agents/crab/messages", {"text": "hello"})
    assert answer.status_code == 202
    assert answer.get_json()["status"] == "running"
    assert operator.get("/turns/1")["prompt"] == "hello"


def test_a_failure_has_its_reason(webapp: AppFixture, operator: Api) -> None:
    """The outcome says failed, and why."""
    webapp.plays["fail"] = lambda scene: scene.fail("The model did not answer.")
    answer = operator.post("/agents/crab/messages", {"text": "fail", "wait": True})
    assert (answer["status"], answer["reply"], answer["error"]) == ("failed", None, "The model did not answer.")


def test_waiting_ends_when_the_time_is_up(webapp: AppFixture, operator: Api) -> None:
    """The turn goes on, and says that it runs or waits for a person."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    webapp.plays["ask"] = lambda scene: scene.say(str(scene.run(1, "rm -rf work")))
    answer = operator.post("/agents/crab/messages", {"text": "long", "wait": True, "timeout": 0.2})
    assert answer == {"turn": 1, "status": "running", "reply": None, "error": None}
    queued = operator.post("/agents/crab/messages", {"text": "ask", "wait": True, "timeout": 0})
    assert queued["status"] == "running"
    assert operator.post("/turns/1/stop")["id"] == 1
    until_asked(operator)
    assert operator.get("/turns/2")["status"] == "waiting_approval"


def test_waiting_goes_on_over_an_approval(webapp: AppFixture, operator: Api, app: Flask) -> None:
    """Whoever waits gets the reply that came after the approval, not the news that one is needed."""
    webapp.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -rf work', output='gone')}")
    other = Api(app.test_client(), operator.user, operator.token)
    approver = threading.Thread(target=lambda: approve(other))
    approver.start()
    answer = operator.post("/agents/crab/messages", {"text": "ask", "wait": True, "timeout": 20})
    approver.join(10)
    assert (answer["status"], answer["reply"]) == ("done", "ran: True")
    step = operator.get("/turns/1")["steps"][0]
    assert (step["verdict"], step["status"], step["exit_code"], step["output"]) == ("ask", "done", 0, "gone")
    assert operator.get("/approvals")["approvals"][0]["id"] == step["approval"]


def test_a_turn_is_stopped(webapp: AppFixture, operator: Api) -> None:
    """While it runs, and again without harm."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    turn = operator.post("/agents/crab/messages", {"text": "long", "wait": True, "timeout": 0.2})["turn"]
    operator.post(f"/turns/{turn}/stop")
    assert webapp.services.turns.wait_for_end(turn, 10).status is TurnStatus.STOPPED
    assert operator.post(f"/turns/{turn}/stop")["status"] == "stopped"


def test_a_queued_message_is_withdrawn(webapp: AppFixture, operator: Api, member: Api) -> None:
    """By whoever sent it, as long as it waits; the page then has nothing in its place."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    running = operator.post("/agents/crab/messages", {"text": "long"})["turn"]
    queued = operator.post("/agents/crab/messages", {"text": "and this"})["turn"]
    assert member.refused("POST", f"/turns/{queued}/withdraw")[0] == 404
    assert operator.post(f"/turns/{queued}/withdraw")["prompt"] == "and this"
    assert operator.refused("POST", f"/turns/{queued}/withdraw")[0] == 409
    assert [turn["turn"] for turn in operator.get("/agents/crab/history")["turns"]] == [running]
    operator.post(f"/turns/{running}/stop")


def test_a_message_is_deleted(webapp: AppFixture, operator: Api, member: Api) -> None:
    """By whose it is, once it has ended: the API has nothing of it any more, and the rest follows what was before."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    first, second, third = [
        operator.post("/agents/crab/messages", {"text": text, "wait": True})["turn"] for text in ("a", "b", "c")
    ]
    assert member.refused("DELETE", f"/turns/{second}")[0] == 404
    assert operator.call("DELETE", f"/turns/{second}").status_code == 204
    shown = operator.get("/agents/crab/history")["turns"]
    assert [(turn["turn"], turn["parent"]) for turn in shown] == [(first, None), (third, first)]
    for method, path in (("DELETE", f"/turns/{second}"), ("GET", f"/turns/{second}"), ("GET", "/turns/999")):
        assert operator.refused(method, path)[0] == 404
    running = operator.post("/agents/crab/messages", {"text": "long"})["turn"]
    status, why = operator.refused("DELETE", f"/turns/{running}")
    assert (status, "Stop it first" in why) == (409, True)
    operator.post(f"/turns/{running}/stop")
    webapp.services.turns.wait_for_end(running, 10)
    assert operator.call("DELETE", f"/turns/{running}").status_code == 204


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "text"),
        ({"text": ""}, "empty"),
        ({"text": " \n"}, "empty"),
        ({"text": 1}, "text"),
        ({"text": None}, "text"),
        ({"text": "\ud800"}, "surrogate"),
        ({"text": "x", "wait": 1}, "wait"),
        ({"text": "x", "timeout": -1}, "timeout"),
        ({"text": "x", "timeout": 601}, "timeout"),
        ({"text": "x", "timeout": True}, "timeout"),
        ({"text": "x", "timeout": "5"}, "timeout"),
        ({"text": "x", "txet": "y"}, "txet"),
        ([], "JSON object"),
        ("x", "JSON object"),
    ],
)
def test_an_unusable_message_is_refused(refused_one: Api, body: object, word: str) -> None:
    """400, and the sentence names the field."""
    status, message = refused_one.refused("POST", "/agents/crab/messages", body)
    assert (status, word in message) == (400, True), message


def test_odd_bodies_are_refused(operator: Api) -> None:
    """No JSON, twice the same key, too deep, NaN: 400; no content type: 415; too large: 413. All as JSON."""
    token = {"Authorization": f"Bearer {operator.token}"}
    for body, kind, status in (
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b'{"text": "a", "text": "b"}', "application/json", 400),
        (b'{"text": NaN}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"text": "a"}', "text/plain", 415),
        (b"text=a", "application/x-www-form-urlencoded", 415),
        (b'{"text": "' + b"a" * 10_000_000 + b'"}', "application/json", 413),
        (b'{"text": "' + b"a" * 300_000 + b'"}', "application/json", 413),
    ):
        answer = operator.client.post("/api/agents/crab/messages", data=body, content_type=kind, headers=token)
        assert answer.status_code == status, body[:40]
        assert answer.get_json()["error"]["message"]
    assert operator.post("/agents/crab/messages", {"text": "fine", "wait": True})["status"] == "done"


def test_a_repeated_request_is_the_same_message(operator: Api, member: Api) -> None:
    """With an Idempotency-Key, for the same person and agent alone."""
    body = {"text": "once", "wait": True}
    first = operator.call("POST", "/agents/crab/messages", body, Idempotency_Key="k1").get_json()
    again = operator.call("POST", "/agents/crab/messages", body, Idempotency_Key="k1").get_json()
    other = member.call("POST", "/agents/crab/messages", body, Idempotency_Key="k1").get_json()
    assert first == again
    assert other["turn"] != first["turn"]
    assert operator.call("POST", "/agents/crab/messages", body, Idempotency_Key="k" * 101).status_code == 400


def test_the_history_is_paged_and_cleared(webapp: AppFixture, operator: Api) -> None:
    """Oldest first within a page, with steps; ``next`` leads back; cleared is gone."""
    webapp.plays["look"] = look
    for text in ("one", "two", "look", "four"):
        operator.post("/agents/crab/messages", {"text": text, "wait": True})
    page = operator.get("/agents/crab/history?limit=3")
    assert [turn["prompt"] for turn in page["turns"]] == ["two", "look", "four"]
    assert page["turns"][1]["steps"][0]["command"] == "ls"
    back = operator.get(f"/agents/crab/history?limit=3&before={page['next']}")
    assert ([turn["prompt"] for turn in back["turns"]], back["next"]) == (["one"], None)
    assert operator.call("DELETE", "/agents/crab/history").status_code == 204
    assert operator.get("/agents/crab/history") == {"turns": [], "next": None, "summary": None}


def test_the_history_is_searched(webapp: AppFixture, operator: Api, member: Api) -> None:
    """The same turns in the same shape, the best first and paged; one's own alone, whatever is asked."""
    for text in ("the boat Nautilus", "something else", "where is the Nautilus?"):
        operator.post("/agents/crab/messages", {"text": text, "wait": True})
    page = operator.get("/agents/crab/history?q=naut&limit=1")
    assert [turn["prompt"] for turn in page["turns"]] == ["the boat Nautilus"]
    older = operator.get(f"/agents/crab/history?q=naut&limit=1&before={page['next']}")
    assert ([turn["prompt"] for turn in older["turns"]], older["next"]) == (["where is the Nautilus?"], None)
    assert len(operator.get("/agents/crab/history?q=%20")["turns"]) == 3
    for query in ("%22", "*", "%00", "NOT", "x" * 10_000, "%ff", "zebra%20quagga"):
        assert operator.get(f"/agents/crab/history?q={query}")["turns"] == (
            operator.get("/agents/crab/history")["turns"] if query == "%00" else []
        ), query[:20]
    assert member.get("/agents/crab/history?q=nautilus")["turns"] == []
    assert len(operator.get(f"/agents/crab/history?q=nautilus&user={operator.user.id}")["turns"]) == 2


def test_the_history_tells_what_was_summed_up(webapp: AppFixture, operator: Api) -> None:
    """What the agent is told instead of the older part, until it is cleared."""
    key = CubicleKey("crab", operator.user.id)
    turn = operator.post("/agents/crab/messages", {"text": "hi", "wait": True})["turn"]
    with webapp.app._store.writing() as db:
        summary_rows.insert_summary(db, key, turn, "They like tea.", 1_800_000_000.0, instead_of=None)
    summary = operator.get("/agents/crab/history")["summary"]
    assert summary == {"text": "They like tea.", "upto": turn, "made_at": "2027-01-15T08:00:00.000Z"}
    operator.call("DELETE", "/agents/crab/history")
    assert operator.get("/agents/crab/history")["summary"] is None


def test_people_see_only_their_own(operator: Api, member: Api) -> None:
    """A member has no way to another's turns or history; the operator has."""
    theirs = member.post("/agents/crab/messages", {"text": "mine", "wait": True})["turn"]
    other = operator.post("/agents/crab/messages", {"text": "not yours", "wait": True})["turn"]
    assert member.refused("GET", f"/turns/{other}")[0] == 404
    assert member.refused("POST", f"/turns/{other}/stop")[0] == 404
    assert member.refused("GET", "/agents/crab/history?user=1")[0] == 403
    assert member.refused("DELETE", "/agents/crab/history?user=1")[0] == 403
    assert [turn["id"] for turn in member.get("/agents/crab/history")["turns"]] == [theirs]
    assert operator.get(f"/turns/{theirs}")["user"] == member.user.id
    assert [t["id"] for t in operator.get(f"/agents/crab/history?user={member.user.id}")["turns"]] == [theirs]


@pytest.mark.parametrize("turn", ["99", "0", "9007199254740991"])
def test_an_unknown_turn_is_not_found(refused_one: Api, turn: str) -> None:
    """404 with a sentence, whatever the number."""
    assert refused_one.refused("GET", f"/turns/{turn}")[0] == 404


@pytest.mark.parametrize("turn", ["-1", "x", "1.0", "99999999999999999999999", "1/"])
def test_no_number_is_no_address(refused_one: Api, turn: str) -> None:
    """404 as JSON, and nothing breaks."""
    token = {"Authorization": f"Bearer {refused_one.token}"}
    answer = refused_one.client.get(f"/api/turns/{turn}", headers=token)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


def look(scene: Scene) -> None:
    """A turn with a command."""
    scene.run(1, "ls", thought="I look.", output="notes.txt")
    scene.say("There is a note.")


def until_asked(api: Api) -> str:
    """The id of the first question that waits."""
    while not (found := api.get("/approvals?status=pending")["approvals"]):
        threading.Event().wait(0.02)
    return str(found[0]["id"])


def approve(api: Api) -> None:
    """Approve the first question."""
    api.post(f"/approvals/{until_asked(api)}", {"decision": "approve"})
