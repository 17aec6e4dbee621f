"""Conversations over the API and in the terminal: begun, listed, named, written in, deleted; one's own alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

PATH = "/agents/crab/conversations"
ROOT = Path(__file__).resolve().parents[4]


def say(api: Api, text: str, conversation: int | None = None) -> int:
    """A message that was answered; its turn."""
    body = {"text": text, "wait": True, **({} if conversation is None else {"conversation": conversation})}
    return int(api.post("/agents/crab/messages", body)["turn"])


def test_a_person_has_several(operator: Api) -> None:
    """Each with its own messages and history; what names none is in the first."""
    first_turn = say(operator, "Hello crab")
    made = operator.post(PATH, {"name": "Boat"})
    assert (made["name"], made["is_named"], made["is_first"], made["last_turn"]) == ("Boat", True, False, None)
    there = say(operator, "Where is the harbour?", made["id"])
    assert operator.get(f"/turns/{there}")["conversation"] == made["id"]
    listed = operator.get(PATH)["conversations"]
    assert [(one["name"], one["is_first"], one["last_turn"]) for one in listed] == [
        ("Boat", False, there),
        ("Hello crab", True, first_turn),
    ]
    history = "/agents/crab/history"
    assert [turn["id"] for turn in operator.get(history)["turns"]] == [first_turn]
    assert [turn["id"] for turn in operator.get(f"{history}?conversation={made['id']}")["turns"]] == [there]
    assert [turn["id"] for turn in operator.get(f"{history}?q=harbour")["turns"]] == [there]
    assert operator.get(f"{history}?q=harbour&conversation={listed[1]['id']}")["turns"] == []
    assert [one["id"] for one in operator.get(f"{PATH}?q=harbour")["conversations"]] == [made["id"]]
    assert operator.get(f"{PATH}?limit=1") == {"conversations": [listed[0]], "next": made["id"]}
    assert operator.get(f"{PATH}?limit=1&before={made['id']}") == {"conversations": [listed[1]], "next": None}


def test_it_is_named_cleared_and_deleted(operator: Api) -> None:
    """Nothing of the others changes."""
    kept = say(operator, "keep me")
    made = operator.post(PATH)
    say(operator, "Lemon cake", made["id"])
    at = f"{PATH}/{made['id']}"
    assert operator.call("PATCH", at, {"name": "Cakes"}).get_json()["name"] == "Cakes"
    assert operator.call("PATCH", at, {"name": ""}).get_json()["name"] == "Lemon cake"
    assert operator.call("DELETE", f"/agents/crab/history?conversation={made['id']}").status_code == 204
    assert operator.get(f"/agents/crab/history?conversation={made['id']}")["turns"] == []
    assert operator.call("DELETE", at).status_code == 204
    assert operator.refused("DELETE", at)[0] == 404
    assert operator.refused("POST", "/agents/crab/messages", {"text": "x", "conversation": made["id"]})[0] == 404
    assert [turn["id"] for turn in operator.get("/agents/crab/history")["turns"]] == [kept]


def test_one_that_is_worked_in_stays(webapp: AppFixture, operator: Api) -> None:
    """It is said why, and what to do."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    made = operator.post(PATH)
    turn = operator.post("/agents/crab/messages", {"text": "long", "conversation": made["id"]})["turn"]
    status, why = operator.refused("DELETE", f"{PATH}/{made['id']}")
    assert (status, "Stop that first" in why) == (409, True)
    operator.post(f"/turns/{turn}/stop")
    webapp.services.turns.wait_for_end(turn, 10)
    assert operator.call("DELETE", f"{PATH}/{made['id']}").status_code == 204


def test_everybody_has_their_own(operator: Api, member: Api) -> None:
    """A member reaches none of another person's; an operator may look, by saying whose."""
    mine, theirs = operator.post(PATH, {"name": "mine"}), member.post(PATH, {"name": "theirs"})
    for method, path, body in (
        ("PATCH", f"{PATH}/{mine['id']}", {"name": "x"}),
        ("DELETE", f"{PATH}/{mine['id']}", None),
        ("GET", f"/agents/crab/history?conversation={mine['id']}", None),
        ("DELETE", f"/agents/crab/history?conversation={mine['id']}", None),
        ("POST", "/agents/crab/messages", {"text": "x", "conversation": mine["id"]}),
    ):
        assert member.refused(method, path, body)[0] == 404, (method, path)
    assert "mine" not in [one["name"] for one in member.get(PATH)["conversations"]]
    assert "theirs" in [one["name"] for one in operator.get(f"{PATH}?user={member.user.id}")["conversations"]]
    assert operator.refused("PATCH", f"{PATH}/{theirs['id']}", {"name": "x"})[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", PATH, {"name": 7}, 400),
        ("POST", PATH, {"name": "x" * 101}, 400),
        ("POST", PATH, {"title": "x"}, 400),
        ("PATCH", f"{PATH}/1", {}, 400),
        ("PATCH", f"{PATH}/99", {"name": "x"}, 404),
        ("GET", f"{PATH}?limit=0", None, 400),
        ("GET", f"{PATH}?q={'x' * 2_001}", None, 400),
        ("GET", "/agents/crab/history?conversation=x", None, 400),
        ("GET", "/agents/crab/history?conversation=99", None, 404),
        ("POST", "/agents/crab/messages", {"text": "x", "conversation": "1"}, 400),
        ("POST", "/agents/crab/messages", {"text": "x", "conversation": -1}, 400),
        ("GET", "/agents/nobody/conversations", None, 404),
        ("POST", "/agents/nobody/conversations", None, 404),
    ],
)
def test_what_makes_no_sense_is_refused(refused_one: Api, method: str, path: str, body: object, status: int) -> None:
    """With a sentence, and nothing changed."""
    assert refused_one.refused(method, path, body)[0] == status


def test_in_the_terminal(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """``./hermit conversations``, ``chat --conversation`` and ``history --conversation``."""

    def hermit(*arguments: str) -> str:
        options = parser(arguments[0]).parse_args(list(arguments))
        assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
        return capsys.readouterr().out

    say(operator, "Hello crab")
    made = json.loads(hermit("conversations", "crab", "new", "Boat", "--json"))
    number = str(made["id"])
    assert hermit("conversations", "crab", "new").startswith("This is conversation ")
    assert hermit("chat", "crab", "Where is the harbour?", "--conversation", number) == (
        "You said: Where is the harbour?\n"
    )
    lines = hermit("conversations", "crab", "list").splitlines()

    assert "Boat" in lines[1]
    assert any(line.startswith("1 *") and "Hello crab" in line for line in lines)
    assert "Hello crab" not in hermit("conversations", "crab", "list", "--find", "harbour")
    assert hermit("conversations", "crab", "list", "--find", "zebra") == "No conversation matches.\n"
    assert "Where is the harbour?" in hermit("history", "crab", "--conversation", number)
    assert "harbour" not in hermit("history", "crab")
    turn = operator.get(f"/agents/crab/history?conversation={number}")["turns"][0]["turn"]
    with pytest.raises(OrchestratorError, match="--yes"):
        hermit("conversations", "crab", "rm-message", str(turn))
    gone = hermit("conversations", "crab", "rm-message", str(turn), "--yes")
    assert gone == f"Message {turn} is deleted.\n"
    assert hermit("history", "crab", "--conversation", number) == "No messages yet.\n"
    assert hermit("conversations", "crab", "rename", number, "Tides") == f"Conversation {number} is called Tides.\n"
    with pytest.raises(OrchestratorError, match="--yes"):
        hermit("conversations", "crab", "rm", number)
    assert hermit("conversations", "crab", "rm", number, "--yes") == f"Conversation {number} is deleted.\n"
    with pytest.raises(OrchestratorError, match=f"no conversation {number}"):
        hermit("chat", "crab", "hi", "--conversation", number)


def test_a_message_is_edited_and_asked_again(operator: Api) -> None:
    """Beside itself; each branch is shown again by any of its turns, and a conversation goes on from one."""
    first, second = say(operator, "one"), say(operator, "two")
    place = operator.get(f"/turns/{first}")["conversation"]
    at = f"{PATH}/{place}"
    edited = operator.call("POST", f"{at}/branch", {"turn": second, "text": "two, but better"})
    assert edited.status_code == 202
    number = edited.get_json()["turn"]
    operator.post(f"/turns/{number}/stop")
    answered = operator.get(f"/turns/{number}")
    assert (answered["parent"], answered["siblings"], answered["prompt"]) == (
        first,
        [second, number],
        "two, but better",
    )
    assert operator.get(f"/turns/{first}")["children"] == [second, number]
    again = operator.post(f"{at}/branch", {"turn": second})["turn"]
    history = operator.get("/agents/crab/history")["turns"]
    assert [(turn["id"], turn["prompt"], turn["siblings"]) for turn in history] == [
        (first, "one", [first]),
        (again, "two", [second, number, again]),
    ]
    assert operator.call("PATCH", at, {"turn": number}).get_json()["last_turn"] == number
    assert [turn["id"] for turn in operator.get("/agents/crab/history")["turns"]] == [first, number]
    tree = operator.get(f"{at}/tree")["branches"]
    assert [(one["first"], one["last"], one["turns"], one["words"], one["is_shown"]) for one in tree] == [
        (first, first, 1, "one", True),
        (second, second, 1, "two", False),
        (number, number, 1, "two, but better", True),
        (again, again, 1, "two", False),
    ]
    fork = operator.post(PATH, {"turn": second})
    assert (fork["forked_from"], fork["last_turn"]) == (second, second)
    shared = operator.get(f"/agents/crab/history?conversation={fork['id']}")["turns"]
    assert [turn["id"] for turn in shared] == [first, second]


def test_a_branch_is_begun_once_for_a_repeated_request(operator: Api) -> None:
    """By the sender's own Idempotency-Key."""
    turn = say(operator, "one")
    at = f"{PATH}/{operator.get(f'/turns/{turn}')['conversation']}/branch"
    made = {operator.call("POST", at, {"turn": turn}, Idempotency_Key="k").get_json()["turn"] for _ in range(2)}
    assert len(made) == 1


@pytest.mark.parametrize(
    ("method", "tail", "body", "status"),
    [
        ("POST", "/branch", {}, 400),
        ("POST", "/branch", {"turn": "1"}, 400),
        ("POST", "/branch", {"turn": 99}, 404),
        ("POST", "/branch", {"turn": 1, "text": 5}, 400),
        ("POST", "/branch", {"turn": 1, "text": " "}, 400),
        ("POST", "/branch", {"turn": 1, "words": "x"}, 400),
        ("PATCH", "", {"turn": 99}, 404),
        ("PATCH", "", {"turn": "1"}, 400),
        ("POST", "?", {"turn": 99}, 404),
    ],
)
def test_a_branch_of_nothing_is_refused(operator: Api, method: str, tail: str, body: object, status: int) -> None:
    """With a sentence, and the conversation is as it was."""
    turn = say(operator, "one")
    assert turn == 1
    place = operator.get(f"/turns/{turn}")["conversation"]
    path = PATH if tail == "?" else f"{PATH}/{place}{tail}"
    assert operator.refused(method, path, body)[0] == status
    assert [one["id"] for one in operator.get("/agents/crab/history")["turns"]] == [turn]
    assert len(operator.get(PATH)["conversations"]) == 1
