"""MCP servers over HTTP, on the command line and on their pages: added, checked, decided about, removed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.app_fixture import AppFixture
from tests.support.command_line import CommandLine
from tests.support.mcp_catalogs import FakeServerChecker, make_catalog, make_tool
from tests.unit.conftest import Api
from tests.unit.dashboard.api.test_second_factor import browser_of

GITHUB = {"name": "github", "npm": "@a/server-github@2025.4.8", "secrets": "TOKEN", "hosts": ["api.github.com"]}
VALUE = "correct-horse"


@pytest.fixture
def checker(webapp: AppFixture) -> FakeServerChecker:
    """What servers say here."""
    fake = FakeServerChecker()
    webapp.services.mcp_checks._checker = fake
    return fake


def test_from_adding_to_an_agent_that_has_it(operator: Api, checker: FakeServerChecker) -> None:
    """Everything that an operator does, in order."""
    added = operator.post("/mcp", {**GITHUB, "values": {"TOKEN": VALUE}})
    assert added["secrets"] == [{"name": "TOKEN", "is_set": True}]
    assert (added["agents"], added["checked_at"]) == ([], None)
    checked = operator.post("/mcp/github/check")
    assert (checked["news"], checked["waiting"]) == (2, 2)
    tool = checked["tools"][0]
    assert (tool["key"], tool["state"], tool["decision"], tool["arguments"]) == ("search", "new", "off", ["path"])
    pins = [{"kind": one["kind"], "name": one["key"], "sha256": one["sha256"]} for one in checked["tools"]]
    accepted = operator.post("/mcp/github/accept", {"pins": pins})
    assert {one["decision"] for one in accepted["tools"]} == {"asks"}
    assert operator.call("PUT", "/mcp/github/tools/search", {"decision": "free"}).status_code == 200
    assert operator.call("PUT", "/mcp/github/agents", {"agents": ["crab"]}).status_code == 200
    assert "mcp-github" in operator.get("/agents/crab")["toolsets"]
    checker.catalog = make_catalog(make_tool("search", "Other words."), make_tool("write"))
    (changed,) = (one for one in operator.post("/mcp/github/check")["tools"] if one["state"] == "changed")
    assert changed["difference"]["parts"] == [
        {"where": "description", "before": "Does things.", "after": "Other words."}
    ]
    assert operator.refused("POST", "/mcp/github/accept", {"pins": pins[:1]})[0] == 412
    assert operator.call("PUT", "/mcp/github/agents", {"agents": []}).status_code == 200
    assert "mcp-github" not in operator.get("/agents/crab")["toolsets"]
    assert operator.call("PATCH", "/mcp/github", {"is_enabled": False}).get_json()["is_enabled"] is False
    assert VALUE not in str(operator.get("/mcp/github")) + str(operator.get("/audit"))
    assert operator.call("DELETE", "/mcp/github").status_code == 204
    assert operator.get("/mcp")["servers"] == []


def test_what_is_wrong_is_named(operator: Api, checker: FakeServerChecker) -> None:
    """The field, and what to do."""
    operator.post("/mcp", {"name": "time", "pip": "mcp-server-time==1.0"})
    checker.trouble = "time ended at once."
    for method, path, body, status, named in (
        ("POST", "/mcp", {"name": "x", "colour": 1}, 400, "colour"),
        ("POST", "/mcp", {"name": "x", "npm": "a"}, 400, "npm"),
        ("POST", "/mcp", {"name": "time", "pip": "mcp-server-time==1.0"}, 409, "name"),
        ("POST", "/mcp", {"name": "x", "pip": "a==1", "values": []}, 400, "values"),
        ("PATCH", "/mcp/time", {"hosts": 3}, 400, "hosts"),
        ("GET", "/mcp/none", None, 404, "none"),
        ("POST", "/mcp/time/check", None, 503, "ended at once"),
        ("POST", "/mcp/time/accept", {"pins": "all"}, 400, "pins"),
        ("POST", "/mcp/time/accept", {"pins": [{"kind": "x", "name": "a", "sha256": "b"}]}, 400, "pins"),
        ("PUT", "/mcp/time/tools/none", {"decision": "asks"}, 404, "none"),
        ("PUT", "/mcp/time/tools/none", {"decision": "maybe"}, 400, "decision"),
        ("PUT", "/mcp/time/agents", {"agents": ["nobody"]}, 404, "nobody"),
        ("PUT", "/mcp/time/secrets", {"name": "X", "value": "abcdef"}, 400, "X"),
        ("POST", "/mcp-import", {"text": "{}"}, 400, "file"),
        ("POST", "/mcp-import", {"text": '{"servers": {"a": {}}}', "take": ["b"]}, 400, "take"),
    ):
        found, sentence = operator.refused(method, path, body)
        assert (found, named in sentence) == (status, True), (method, path, sentence)


def test_the_servers_of_another_program(operator: Api) -> None:
    """Those that are named are added; values of the file are in no answer."""
    text = json.dumps(
        {
            "mcpServers": {
                "a": {"command": "npx", "args": ["a@1.0.0"], "env": {"API_KEY": VALUE, "TOKEN": "${input:t}"}},
                "b": {"command": "npx", "args": ["b"]},
                "c": {"command": "docker"},
            }
        }
    )
    plan = operator.post("/mcp-import", {"text": text})
    assert [(one["name"], bool(one["needs"]), one["is_added"]) for one in plan["proposals"]] == [
        ("a", False, False),
        ("b", True, False),
    ]
    assert len(plan["refused"]) == 1
    done = operator.post("/mcp-import", {"text": text, "take": ["a", "b"]})
    assert [one["is_added"] for one in done["proposals"]] == [True, False]
    assert VALUE not in str(plan) + str(done)
    (server,) = operator.get("/mcp")["servers"]
    assert server["secrets"] == [{"name": "API_KEY", "is_set": True}, {"name": "TOKEN", "is_set": False}]
    assert operator.post("/mcp-import", {"text": text, "take": ["a"]})["proposals"][0]["trouble"].startswith("name:")


@pytest.fixture
def line(webapp: AppFixture, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Somebody who types."""
    return CommandLine(webapp, capsys)


def test_the_command_line(
    operator: Api, checker: FakeServerChecker, line: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same, typed; values are read from stdin and never printed."""
    assert "None." in line.good("mcp", "list")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{VALUE}\n"))
    package = ("--npm", "@a/server@1.2.3", "--secret", "TOKEN", "--allow-host", "api.github.com", "--env", "A=b=c")
    assert "mcp check github" in line.good("mcp", "add", "github", *package, "--", "--flag", "x")
    assert operator.get("/mcp/github")["args"] == ["--flag", "x"]
    assert operator.get("/mcp/github")["env"] == {"A": "b=c"}
    assert "check it" in line.good("mcp", "list")
    checker.catalog = make_catalog(make_tool("search", "Finds\u202e things."), instructions="Be \x1b[31mkind.")
    assert "2 wait for you" in line.good("mcp", "check", "github")
    assert "Nothing was accepted" in line.refused("mcp", "accept", "github")
    said = line.good("mcp", "accept", "github", "--yes")
    assert "server's own words" in said
    assert "Finds\\u202e things." in said
    assert "\x1b" not in said
    assert "mcp give github AGENT" in said
    checker.catalog = make_catalog(make_tool("search", "Finds other things."), instructions="Be kind.")
    line.good("mcp", "check", "github")
    said = line.good("mcp", "accept", "github", "search", "--yes")
    assert "+ Finds other things." in said
    assert "TOOL: nothing of search waits" in line.refused("mcp", "accept", "github", "search")
    line.good("mcp", "set", "github", "search", "free")
    assert operator.get("/mcp/github")["tools"][0]["decision"] == "free"
    line.good("mcp", "give", "github", "crab")
    shown = line.good("mcp", "show", "github")
    assert "used by   crab" in shown
    assert "search(path) — free." in shown
    assert VALUE not in shown
    line.good("mcp", "take", "github", "crab")
    line.good("mcp", "disable", "github")
    assert operator.get("/mcp/github")["is_enabled"] is False
    line.good("mcp", "enable", "github")
    line.good("mcp", "secret", "github", "TOKEN", "--forget")
    assert "set TOKEN" in line.good("mcp", "list")
    line.good("mcp", "rm", "github", "--yes")
    file = tmp_path / "mcp.json"
    file.write_text('{"servers": {"t": {"command": "uvx", "args": ["t@1.0"]}}}', encoding="utf-8")
    assert "t: added" in line.good("mcp", "import", str(file), "--yes")
    assert "can't be read" in line.refused("mcp", "import", str(tmp_path / "none.json"))


def test_the_pages(webapp: AppFixture, operator: Api, checker: FakeServerChecker) -> None:
    """Words of a server are escaped, its hidden characters written out, and no value of a secret is on them."""
    client = browser_of(webapp, operator).client
    assert "No servers yet" in client.get("/mcp").get_data(as_text=True)
    operator.post("/mcp", {**GITHUB, "values": {"TOKEN": VALUE}})
    checker.catalog = make_catalog(
        make_tool("search", "Finds <b>things</b>\u202e.", annotations={"readOnlyHint": True}), prompts=("review",)
    )
    operator.post("/mcp/github/check")
    for path in ("/mcp", "/mcp/github", "/parts/mcp", "/parts/mcp/github"):
        page = client.get(path).get_data(as_text=True)
        assert "github" in page
        assert VALUE not in page
        assert "<b>things" not in page
    assert "Finds &lt;b&gt;things&lt;/b&gt;\\u202e." in page
    assert "only reads" in page
    assert client.get("/mcp/none").status_code == 404
