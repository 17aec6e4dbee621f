"""Files from the internet over the API and in the terminal: what is shown, who decides, and the hosts that need no
question."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dashboard.api.approvals import MIN_AGE_S
from orchestrator.__main__ import parser
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.capability import Caller
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from tests.support.app_fixture import AppFixture, run_app
from tests.support.downloads_fixture import BYTES, SHA256, URL
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, make_certificate, opened
from tests.unit.conftest import Api, Browser, logged_in

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_S = 10.0


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install without containers whose internet has one site."""
    path, server = make_certificate(tmp_path, "DNS:files.example")

    def gives(visit: Visit) -> None:
        visit.send(answer(BYTES))

    with opened(gives, server) as site:
        town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
        internet = Internet(town, tls_context(str(path)))
        with run_app(tmp_path / "home", internet=internet) as install:
            yield install


def asked(webapp: AppFixture, api: Api, url: str = URL, call: str = "c1") -> CapabilityCall:
    """What a command in this person's cubicle asks."""
    caller = Caller(CubicleKey("crab", api.user.id), None)
    fields = {"description": "the paper\n\u202e", "url": url, "file_type": "pdf"}
    return webapp.app._capabilities.calls.run_command(caller, call, "ASSET_REQUEST", fields)


def ended(webapp: AppFixture, call: CapabilityCall) -> CapabilityCall:
    """The call, once it has ended."""
    return webapp.app._capabilities.calls.wait_call(call.cubicle, call.id, PATIENCE_S)


def test_it_is_asked_decided_and_listed(webapp: AppFixture, operator: Api) -> None:
    """Under one id among the approvals and the assets; a second decision is 409."""
    call = asked(webapp, operator)
    (asset,) = operator.get("/assets?status=asked")["assets"]
    (approval,) = operator.get("/approvals?status=pending")["approvals"]
    assert asset["id"] == approval["id"] == call.result["id"]
    assert (asset["url"], asset["host"], asset["status"], asset["path"]) == (URL, "files.example", "asked", None)
    assert operator.get("/assets?status=pending")["assets"] == [asset]
    decided = operator.post(f"/assets/{asset['id']}", {"decision": "approve"})
    assert decided["status"] in ("fetching", "done")
    assert operator.refused("POST", f"/assets/{asset['id']}", {"decision": "deny"})[0] == 409
    assert operator.refused("POST", f"/approvals/{asset['id']}", {"decision": "deny"})[0] == 409
    assert ended(webapp, call).status == "done"
    (asset,) = operator.get("/assets?status=done")["assets"]
    assert (asset["path"], asset["size_bytes"], asset["sha256"]) == ("in/report.pdf", len(BYTES), SHA256)
    stored = operator.client.get(
        "/api/agents/crab/files/in/report.pdf", headers={"Authorization": f"Bearer {operator.token}"}
    )
    assert stored.data == BYTES
    stored.close()


def test_unusable_requests(webapp: AppFixture, operator: Api) -> None:
    """Each with the fitting status."""
    asset = asked(webapp, operator).result["id"]
    assert operator.refused("GET", "/assets?status=open")[0] == 400
    assert operator.refused("POST", "/assets/nothing", {"decision": "approve"})[0] == 404
    for body in ({}, {"decision": "yes"}, {"decision": "deny", "always": True}, {"decision": "approve", "always": 1}):
        assert operator.refused("POST", f"/assets/{asset}", body)[0] == 400
    assert operator.refused("GET", "/agents/nobody/hosts")[0] == 404
    assert operator.refused("DELETE", "/agents/crab/hosts/files.example")[0] == 404


def test_a_click_that_came_too_soon_decides_nothing(webapp: AppFixture, operator: Api, app: Flask) -> None:
    """As for every question."""
    browser: Browser = logged_in(webapp, app, operator.user)
    asset = asked(webapp, operator).result["id"]
    assert browser.post(f"/api/assets/{asset}", {"decision": "approve"}).status_code == 409
    threading.Event().wait(MIN_AGE_S)
    assert browser.post(f"/api/assets/{asset}", {"decision": "deny"}).get_json()["status"] == "denied"


def test_people_see_and_decide_only_their_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """And only the operator allows a host for ever, sees which are, and takes one back."""
    webapp.services.agents.update_agent("crab", {"asks_again": "off"})  # else what comes meanwhile counts
    mine, theirs = asked(webapp, operator).result["id"], asked(webapp, member).result["id"]
    assert [asset["id"] for asset in member.get("/assets")["assets"]] == [theirs]
    assert len(operator.get("/assets")["assets"]) == 2
    assert member.refused("POST", f"/assets/{mine}", {"decision": "approve"})[0] == 404
    assert member.refused("POST", f"/assets/{theirs}", {"decision": "approve", "always": True})[0] == 403
    assert member.refused("GET", "/agents/crab/hosts")[0] == 403
    assert member.refused("DELETE", "/agents/crab/hosts/files.example")[0] == 403
    member.post(f"/assets/{theirs}", {"decision": "approve"})
    operator.post(f"/assets/{mine}", {"decision": "approve", "always": True})
    (allowed,) = operator.get("/agents/crab/hosts")["hosts"]
    assert (allowed["agent"], allowed["host"], allowed["by"]) == ("crab", "files.example", "ada (api)")
    at_once = asked(webapp, member, f"{URL}?2", "c2")
    assert ended(webapp, at_once).status == "done"
    assert operator.refused("POST", f"/assets/{at_once.result['id']}", {"decision": "deny"})[0] == 409
    assert operator.call("DELETE", "/agents/crab/hosts/Files.Example").status_code == 204
    assert operator.get("/agents/crab/hosts")["hosts"] == []


def test_deleting_the_person_takes_the_question_along(webapp: AppFixture, operator: Api, member: Api) -> None:
    """Nobody is asked about it any more, and nothing of it is kept."""
    asset = asked(webapp, member).result["id"]
    assert operator.call("DELETE", f"/users/{member.user.id}").status_code == 204
    assert operator.get("/approvals?status=pending")["approvals"] == []
    assert operator.refused("POST", f"/assets/{asset}", {"decision": "approve"})[0] == 404


# --- the terminal --------------------------------------------------------------------------------------------------


def hermit(webapp: AppFixture, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints."""
    options: Any = parser().parse_args(list(arguments))
    capsys.readouterr()
    assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
    return capsys.readouterr().out


def test_the_terminal_shows_it_whole(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """The URL, the host in its true letters, each warning, the agent's words made harmless."""
    url = "https://xn--pypal-4ve.example/x?d=4f8a1c9be07d5523aa9914ce5bdf70e6"
    asked(webapp, operator, url)
    said = hermit(webapp, capsys, "approvals")
    assert f"    {url}\n" in said
    assert "host: xn--pypal-4ve.example (reads “" in said
    assert "    ! " in said
    assert "“the paper\\n\\u202e”" in said


def test_the_terminal_allows_and_revokes(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """``approve --always``, ``hosts list`` and ``hosts rm``."""
    call = asked(webapp, operator)
    assert "asks before each download" in hermit(webapp, capsys, "hosts", "crab", "list")
    said = hermit(webapp, capsys, "approve", call.result["id"], "--always")
    assert "crab can now download from files.example without asking" in said
    assert ended(webapp, call).status == "done"
    assert "files.example  ada (" in hermit(webapp, capsys, "hosts", "crab", "list")
    assert '"host": "files.example"' in hermit(webapp, capsys, "hosts", "crab", "list", "--json")
    hermit(webapp, capsys, "hosts", "crab", "rm", "files.example")
    with pytest.raises(OrchestratorError, match="not on crab's list"):
        hermit(webapp, capsys, "hosts", "crab", "rm", "files.example")
    denied = asked(webapp, operator, f"{URL}?2", "c2")
    hermit(webapp, capsys, "deny", denied.result["id"])
    assert ended(webapp, denied).status == "failed"


def test_a_chat_says_what_waits(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal to ask in: the question, and the commands that answer it."""

    def play(scene: Any) -> None:
        fields = {"name": "ASSET_REQUEST", "description": "x", "url": URL}
        webapp.app._capabilities.calls.run_batch(Caller(scene.key, scene.turn.id), 1, [fields])
        scene.say("I asked for it.")

    webapp.plays["fetch"] = play
    options: Any = parser().parse_args(["chat", "crab", "fetch"])
    assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
    told = capsys.readouterr()
    (asset,) = operator.get("/assets")["assets"]
    assert "I asked for it." in told.out
    assert f"    {URL}\n" in told.err
    assert f"./hermit approve {asset['id']}" in told.err
