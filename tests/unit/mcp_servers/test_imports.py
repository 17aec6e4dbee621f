"""``mcp_servers.imports``: the files of other programs, as proposals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import BadInput
from orchestrator.mcp_servers.imports import McpImportPlan, ServerProposal, plan_import


def plan(servers: Any, key: str = "mcpServers") -> McpImportPlan:
    """What becomes of a file."""
    return plan_import(json.dumps({key: servers}))


def one(entry: Any) -> ServerProposal:
    """The only one in a file."""
    (found,) = plan({"one": entry}).proposals
    return found


def test_packages_of_npm() -> None:
    """However the program was told to run them."""
    for command, args in (
        ("npx", ["-y", "@a/server@1.2.3", "/data"]),
        ("/usr/bin/npx", ["--yes", "--package", "@a/server@1.2.3", "server", "/data"]),
        ("cmd", ["/c", "npx", "-y", "@a/server@1.2.3", "/data"]),
        ("C:\\node\\npx.cmd", ["-y", "--package=@a/server@1.2.3", "server", "/data"]),
    ):
        found = one({"command": command, "args": args})
        assert (found.fields["npm"], found.fields["args"], found.needs) == ("@a/server@1.2.3", ["/data"], ())
        assert any("folders of this computer" in note for note in found.notes)


def test_packages_of_pypi() -> None:
    """uvx, uv and pipx."""
    for command, args in (
        ("uvx", ["mcp-server-time@1.2.3", "--x"]),
        ("uv", ["tool", "run", "mcp-server-time==1.2.3", "--x"]),
        ("pipx", ["run", "--spec", "mcp-server-time==1.2.3", "mcp-server-time", "--x"]),
        ("uvx", ["--from", "mcp-server-time==1.2.3", "mcp-server-time", "--x"]),
    ):
        found = one({"command": command, "args": args})
        assert (found.fields["pip"], found.fields["args"]) == ("mcp-server-time==1.2.3", ["--x"])


def test_a_version_is_asked_for() -> None:
    """Where the file leaves it to chance."""
    for entry, named in (
        ({"command": "npx", "args": ["-y", "@a/server"]}, "--npm @a/server@VERSION"),
        ({"command": "npx", "args": ["@a/server@latest"]}, "--npm @a/server@VERSION"),
        ({"command": "uvx", "args": ["mcp-server-time"]}, "--pip mcp-server-time==VERSION"),
    ):
        assert named in one(entry).needs[0]


def test_secrets_are_told_from_the_rest() -> None:
    """By their names, or because the file leaves their values out; their values are in no text of the proposal."""
    env = {"LOG_LEVEL": "info", "API_KEY": "s3cret-value", "GITHUB_TOKEN": "${input:token}", "TEAM": "<your team>"}
    found = one({"command": "npx", "args": ["a@1.0.0"], "env": env})
    assert found.fields["env"] == {"LOG_LEVEL": "info"}
    assert found.fields["secrets"] == ["API_KEY", "GITHUB_TOKEN", "TEAM"]
    assert found.values == {"API_KEY": "s3cret-value"}
    assert found.asks_for == ("GITHUB_TOKEN", "TEAM")
    assert "s3cret-value" not in repr(found)


def test_servers_at_urls() -> None:
    """With headers whose values are secrets."""
    headers = {"Authorization": "Bearer abcdef", "X-Team": "${env:TEAM}"}
    found = one({"type": "http", "url": "https://mcp.example.com/mcp", "headers": headers})
    assert found.fields == {"url": "https://mcp.example.com/mcp", "headers": ["Authorization", "X-Team"]}
    assert (found.values, found.asks_for) == ({"Authorization": "Bearer abcdef"}, ("X-Team",))


def test_what_cant_be_taken_is_said() -> None:
    """With the reason, and the others are taken."""
    found = plan(
        {
            "image": {"command": "docker", "args": ["run", "-i", "mcp/time"]},
            "own": {"command": "node", "args": ["/home/me/server.js"]},
            "repo": {"command": "uvx", "args": ["git+https://example.com/x"]},
            "nothing": {},
            "text": "npx",
            "odd": {"command": "npx", "args": [1]},
            "none": {"command": "npx", "args": ["-y"]},
            "My Notes!": {"command": "npx", "args": ["a@1.0.0"]},
            "my-notes": {"command": "npx", "args": ["b@1.0.0"]},
            "find": {"command": "npx", "args": ["c@1.0.0"]},
        },
        key="servers",
    )
    assert [proposal.name for proposal in found.proposals] == ["my-notes", "my-notes-2", "find-1"]
    assert len(found.refused) == 7
    assert "an image of a container" in found.refused[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"mcpServers": []}', '{"servers": {}}', "// x\n{}", '{"a": "\\ud800"}']
)
def test_a_file_without_servers(text: str) -> None:
    """Is told from one with."""
    with pytest.raises(BadInput, match=r"^file: "):
        plan_import(text)


def test_the_settings_of_vs_code() -> None:
    """The servers stand a level deeper."""
    (found,) = plan_import(json.dumps({"mcp": {"servers": {"a": {"command": "npx", "args": ["a@1.0.0"]}}}})).proposals
    assert found.name == "a"


TEXT = st.characters(codec="utf-8")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(TEXT, max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(TEXT, max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["command", "args", "env", "url", "headers", "type"])


@given(st.dictionaries(st.text(TEXT, max_size=8), st.dictionaries(KEYS, JSON, max_size=6), max_size=4))
def test_any_server_is_taken_or_refused(servers: dict[str, Any]) -> None:
    """And each server of it is in one of the lists."""
    if not servers:
        with pytest.raises(BadInput, match=r"^file: "):
            plan(servers)
        return
    found = plan(servers)
    assert len(found.proposals) + len(found.refused) == len(servers)
