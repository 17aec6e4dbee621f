"""What agents may do without asking, over the API and in the terminal; a no with words, a yes for longer."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

BUILD = "delete below work/build/"
PATH = "/agents/crab/grants"
ROOT = Path(__file__).resolve().parents[4]


def _asked(webapp: AppFixture, api: Api, command: str = "rm -rf build") -> dict[str, Any]:
    """A question of this person's agent about a command; its turn waits for the answer."""
    webapp.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, command)}")
    turn = api.post("/agents/crab/messages", {"text": "ask"})["turn"]
    until = time.monotonic() + 10
    while not (found := [a for a in api.get("/approvals?status=pending")["approvals"] if a["turn"] == turn]):
        assert time.monotonic() < until
        threading.Event().wait(0.02)
    return dict(found[0])


def _run(webapp: AppFixture, capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command prints."""
    options: Any = parser().parse_args(list(argv))
    assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
    return capsys.readouterr().out


def test_grants_are_given_listed_and_taken_back(webapp: AppFixture, operator: Api) -> None:
    """For the conversation unless it is said otherwise; the fields are those of the contract, and more."""
    given = operator.post(PATH, {"kind": "command", "subject": BUILD})
    assert {"id", "kind", "subject", "scope", "since", "by"} <= set(given)
    assert [given[name] for name in ("kind", "subject", "scope", "by")] == [
        "command",
        BUILD,
        "conversation",
        "ada (api)",
    ]
    always = operator.post(PATH, {"kind": "host", "subject": "Files.Example", "scope": "always"})
    assert (always["subject"], always["until"], always["user"]) == ("files.example", None, None)
    assert [grant["id"] for grant in operator.get(PATH)["grants"]] == [given["id"], always["id"]]
    assert [host["host"] for host in operator.get("/agents/crab/hosts")["hosts"]] == ["files.example"]
    assert operator.call("DELETE", f"{PATH}/{given['id']}").status_code == 204
    assert operator.refused("DELETE", f"{PATH}/{given['id']}")[0] == 404
    assert len(operator.get(PATH)["grants"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "desktop", "subject": BUILD}, "kind"),
        ({"kind": "mcp", "subject": BUILD}, "subject"),
        ({"kind": "command", "subject": "ls"}, "subject"),
        ({"kind": "command"}, "subject"),
        ({"kind": "command", "subject": BUILD, "scope": "ever"}, "scope"),
        ({"kind": "command", "subject": BUILD, "for": "hour"}, "for"),
    ],
)
def test_what_does_not_fit_is_named(operator: Api, body: dict[str, Any], field: str) -> None:
    """And nothing is allowed."""
    status, error = operator.refused("POST", PATH, body)[:2]
    assert status == 400
    assert field in str(error)
    assert operator.get(PATH)["grants"] == []


def test_a_yes_for_longer_becomes_a_grant(webapp: AppFixture, operator: Api) -> None:
    """The question says which kind; afterwards the agent isn't asked about it."""
    question = _asked(webapp, operator)
    (pending,) = operator.get("/approvals?status=pending")["approvals"]
    assert pending["detail"]["kinds"] == [BUILD]
    operator.post(f"/approvals/{question['id']}", {"decision": "approve", "scope": "hour"})
    (grant,) = operator.get(PATH)["grants"]
    assert (grant["subject"], grant["scope"]) == (BUILD, "hour")
    webapp.plays["again"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -rf build/x')}")
    again = operator.post("/agents/crab/messages", {"text": "again", "wait": True, "timeout": 10})
    assert again["reply"] == "ran: True"


def test_a_no_has_words(webapp: AppFixture, operator: Api) -> None:
    """They go with a no alone."""
    question = _asked(webapp, operator)
    path = f"/approvals/{question['id']}"
    assert operator.refused("POST", path, {"decision": "approve", "note": "yes"})[0] == 400
    assert operator.refused("POST", path, {"decision": "deny", "note": 1})[0] == 400
    assert operator.refused("POST", path, {"decision": "deny", "scope": "hour"})[0] == 400
    denied = operator.post(path, {"decision": "deny", "note": " use trash \n"})
    assert (denied["status"], denied["detail"]["note"]) == ("denied", "use trash")


def test_the_terminal_does_all_of_it(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """``grants``, ``approve --for`` and ``deny ID WORDS``."""
    assert "asks each time" in _run(webapp, capsys, "grants", "crab", "list")
    question = _asked(webapp, operator)
    assert f"“{BUILD}”" in _run(webapp, capsys, "approvals")
    assert "for an hour" in _run(webapp, capsys, "approve", question["id"], "--for", "hour")
    assert BUILD in _run(webapp, capsys, "grants", "crab", "list")
    added = _run(webapp, capsys, "grants", "crab", "add", "command", "stop processes", "--for", "always")
    assert f'"{BUILD}"' in _run(webapp, capsys, "grants", "crab", "list", "--json")
    assert "asks again" in _run(webapp, capsys, "grants", "crab", "rm", added.split()[2].rstrip("."))
    with pytest.raises(OrchestratorError, match="no kind of command"):
        _run(webapp, capsys, "grants", "crab", "add", "command", "everything")
    other = _asked(webapp, operator, "rm -rf dist")
    _run(webapp, capsys, "deny", other["id"], "keep it")
    assert webapp.services.approvals.get(other["id"]).detail["note"] == "keep it"
