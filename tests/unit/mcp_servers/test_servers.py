"""``mcp_servers.servers``, ``fields``, ``secrets`` and ``checks``: what operators add, decide and see."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.audit import Audit
from orchestrator.core.errors import BadInput, ConfigError, Conflict, NotFound, Outdated, TooMany, Unavailable
from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp_servers import servers as servers_module
from orchestrator.mcp_servers.checks import McpChecks, NoServerChecker
from orchestrator.mcp_servers.models import McpServer, PinState, SeenPin, ToolDecision
from orchestrator.mcp_servers.rows import list_toolsets
from orchestrator.mcp_servers.secrets import McpSecrets
from orchestrator.mcp_servers.servers import McpServers
from tests.support.core_fixture import CoreFixture, core_fixture
from tests.support.mcp_catalogs import FakeServerChecker, make_catalog, make_tool

GITHUB = {
    "npm": "@modelcontextprotocol/server-github@2025.4.8",
    "secrets": ["GITHUB_TOKEN"],
    "hosts": ["api.github.com"],
}
VALUE = "ghp_correct-horse"


@dataclass
class ServersFixture:
    """Servers in a real database."""

    core: CoreFixture
    file: Path
    blotted: list[str]
    servers: McpServers
    changed: list[str]

    def again(self) -> McpServers:
        """The same after a start."""
        return McpServers(self.core.store, self.core.agents, McpSecrets(self.file), self.core.hooks)

    def add(self, name: str = "github", **fields: Any) -> McpServer:
        """One of them."""
        return self.servers.add(name, fields or GITHUB, {}, by="ada (test)")

    def accept_all(self, name: str = "github") -> None:
        """An operator has seen everything."""
        waiting = [pin for pin in self.servers.list_pins(name) if pin.is_waiting]
        pins = [SeenPin(pin.kind, pin.name, pin.offered_sha256) for pin in waiting]
        self.servers.accept_changes(name, pins, by="ada (test)")


@pytest.fixture
def mcp(tmp_path: Path) -> Iterator[ServersFixture]:
    """None yet."""
    with core_fixture(tmp_path) as core:
        file, blotted, changed = tmp_path / "keys" / "mcp.json", list[str](), list[str]()
        core.hooks.mcp_changed.subscribe(changed.append)
        core.agents._more_toolsets = list_toolsets
        named = frozenset({("wiki.lan", 443)})
        servers = McpServers(
            core.store, core.agents, McpSecrets(file), core.hooks, private_hosts=named, blot=blotted.append
        )
        yield ServersFixture(core, file, blotted, servers, changed)


def test_a_server_is_added_and_read_back(mcp: ServersFixture) -> None:
    """As it was given; nobody has it."""
    added = mcp.servers.add(
        "time",
        {"pip": "mcp-server-time==2026.10.19", "args": ["--local-timezone", "UTC"], "env": {"LOG": "info"}},
        {},
        by="ada (test)",
    )
    assert mcp.again().get("time") == added
    assert (added.package, added.argv, added.env) == (
        "mcp-server-time==2026.10.19",
        ("--local-timezone", "UTC"),
        (("LOG", "info"),),
    )
    assert added.toolset not in mcp.core.agents.get("crab").toolsets
    assert mcp.changed == ["time"]
    with pytest.raises(Conflict, match="there is a server time already"):
        mcp.add("time")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "npm"),
        ({"npm": "@scope/server"}, "npm"),
        ({"npm": "server@latest"}, "npm"),
        ({"npm": "../x@1.2.3"}, "npm"),
        ({"pip": "mcp-server-time>=1"}, "pip"),
        ({"pip": "a==1", "npm": "a@1.2.3"}, "pip"),
        ({"command": "python3"}, "command"),
        ({"command": [" "]}, "command"),
        ({"url": "http://mcp.example.com/mcp"}, "url"),
        ({"url": "ftp://mcp.example.com"}, "url"),
        ({"url": "https://user:pw@mcp.example.com"}, "url"),
        ({"url": "https://mcp.example.com/", "hosts": ["a.example"]}, "env"),
        ({"url": "https://mcp.example.com/", "args": ["x"]}, "args"),
        ({"url": "https://mcp.example.com/", "headers": ["Host"]}, "headers"),
        ({"url": "https://mcp.example.com/", "headers": ["X-Key", "x-key"]}, "headers"),
        ({**GITHUB, "headers": ["X-Key"]}, "headers"),
        ({**GITHUB, "hosts": ["10.0.0.1"]}, "hosts"),
        ({**GITHUB, "hosts": ["other.lan"]}, "hosts"),
        ({**GITHUB, "hosts": ["https://api.github.com"]}, "hosts"),
        ({**GITHUB, "hosts": ["a.example:99999"]}, "hosts"),
        ({**GITHUB, "hosts": "api.github.com"}, "hosts"),
        ({**GITHUB, "secrets": ["A B"]}, "secrets"),
        ({**GITHUB, "env": {"GITHUB_TOKEN": "x"}}, "env"),
        ({**GITHUB, "env": {"1": "x"}}, "env"),
        ({**GITHUB, "env": {"A": 1}}, "env"),
        ({**GITHUB, "is_enabled": 1}, "is_enabled"),
        ({**GITHUB, "color": "red"}, "color"),
    ],
)
def test_a_field_of_no_use_is_named(mcp: ServersFixture, fields: dict[str, Any], named: str) -> None:
    """And nothing was added."""
    with pytest.raises(BadInput, match=f"^{named}: "):
        mcp.servers.add("one", fields, {}, by="ada (test)")
    assert mcp.servers.list_servers() == []


@pytest.mark.parametrize("name", ["", "A", "find", "new", "import", "-a", "a" * 33, "a b", None, 3])
def test_names(mcp: ServersFixture, name: Any) -> None:
    """Some words mean something else."""
    with pytest.raises(BadInput, match=r"^name: "):
        mcp.servers.add(name, GITHUB, {}, by="ada (test)")


def test_addresses_that_are_taken(mcp: ServersFixture) -> None:
    """Without encryption in a private network alone; hosts of one where the settings name them."""
    assert mcp.add("lan", url="http://192.168.1.9:8080/mcp").url == "http://192.168.1.9:8080/mcp"
    assert mcp.add("here", url="http://localhost:8080/mcp").url == "http://localhost:8080/mcp"
    assert mcp.add("far", url="https://MCP.example.com").url == "https://mcp.example.com/"
    hosts = ["wiki.lan", "API.github.com", "a.example:8443", "api.github.com"]
    assert mcp.add("hosts", **{**GITHUB, "hosts": hosts}).hosts == ("wiki.lan", "api.github.com", "a.example:8443")


def test_a_secret_goes_in_and_comes_out_for_its_server_alone(mcp: ServersFixture) -> None:
    """It is in a file of the owner's, and in no row."""
    server = mcp.add()
    assert mcp.servers.list_missing_secrets(server) == ("GITHUB_TOKEN",)
    mcp.servers.set_secret("github", "GITHUB_TOKEN", VALUE, by="ada (test)")
    assert mcp.again().secrets_for(server) == {"GITHUB_TOKEN": VALUE}
    assert mcp.servers.list_missing_secrets(server) == ()
    assert VALUE in mcp.blotted
    assert stat.S_IMODE(mcp.file.stat().st_mode) == 0o600
    with mcp.core.store.reading() as db:
        assert VALUE not in "\n".join(db.iterdump())
    mcp.servers.set_secret("github", "GITHUB_TOKEN", "", by="ada (test)")
    assert mcp.again().secrets_for(server) == {}


def test_a_secret_of_no_use_is_never_quoted(mcp: ServersFixture) -> None:
    """The sentence names its name."""
    mcp.add()
    for key, value in (("OTHER", VALUE), ("GITHUB_TOKEN", "abc"), ("GITHUB_TOKEN", "x" * 9_000), ("OTHER", "")):
        with pytest.raises(BadInput) as error:
            mcp.servers.set_secret("github", key, value, by="ada (test)")
        assert key in error.value.message
        assert not value or value not in error.value.message
    mcp.add("far", url="https://mcp.example.com/", headers=["X-Key"])
    with pytest.raises(BadInput, match="X-Key"):
        mcp.servers.set_secret("far", "X-Key", "line\r\nOther: x", by="ada (test)")


def test_a_removed_server_leaves_nothing(mcp: ServersFixture) -> None:
    """Another of its name has neither its secrets nor what was decided; agents lose it."""
    server = mcp.add()
    mcp.servers.set_secret("github", "GITHUB_TOKEN", VALUE, by="ada (test)")
    mcp.servers.record_catalog(server, make_catalog(make_tool("search")))
    agents = mcp.core.agents
    agents.update_agent("crab", {"toolsets": ["memory", "mcp-github"]})
    mcp.servers.remove("github", by="ada (test)")
    assert agents.get("crab").toolsets == ("memory",)
    assert VALUE not in mcp.file.read_text(encoding="utf-8")
    with pytest.raises(NotFound):
        mcp.servers.get("github")
    again = mcp.add()
    assert (mcp.servers.secrets_for(again), mcp.servers.list_pins("github")) == ({}, [])
    with pytest.raises(BadInput, match="toolsets"):
        agents.update_agent("crab", {"toolsets": ["mcp-nowhere"]})


def test_a_start_forgets_the_secrets_of_a_server_that_is_gone(mcp: ServersFixture) -> None:
    """As after a death between its row and its file."""
    server = mcp.add()
    mcp.servers.set_secret("github", "GITHUB_TOKEN", VALUE, by="ada (test)")
    with mcp.core.store.writing() as db:
        db.execute("DELETE FROM mcp_servers")
    mcp.again().start()
    assert json.loads(mcp.file.read_text(encoding="utf-8")) == {}
    assert McpSecrets(mcp.file).list_names(server.id) == ()


def test_a_file_of_secrets_that_is_damaged_starts_nothing(tmp_path: Path) -> None:
    """Its text is in no sentence."""
    file = tmp_path / "mcp.json"
    for text in ('{"a": {"b"', "[1]", '{"a": "secret-text"}'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as error:
            McpSecrets(file)
        assert "secret-text" not in error.value.message


def test_what_runs_is_changed(mcp: ServersFixture) -> None:
    """What was seen is to be checked again; a secret that is no longer named is forgotten; off for now is no change of
    that kind."""
    server = mcp.add()
    mcp.servers.set_secret("github", "GITHUB_TOKEN", VALUE, by="ada (test)")
    mcp.servers.record_catalog(server, make_catalog(make_tool("search")))
    mcp.accept_all()
    mcp.servers.record_packages(server, "sha256:ab")
    off = mcp.servers.change("github", {"is_enabled": False}, by="ada (test)")
    assert (off.is_enabled, off.packages_digest) == (False, "sha256:ab")
    assert mcp.servers.get_tool("github", "search").in_force is ToolDecision.ASKS
    changed = mcp.servers.change("github", {"npm": "other@1.0.0", "secrets": ["TOKEN"]}, by="ada (test)")
    assert (changed.packages_digest, changed.checked_at) == ("", None)
    tool = mcp.servers.get_tool("github", "search")
    assert (tool.state, tool.in_force) == (PinState.UNCHECKED, ToolDecision.OFF)
    assert VALUE not in mcp.file.read_text(encoding="utf-8")
    with pytest.raises(Conflict, match="Check it again"):
        mcp.servers.record_catalog(server, make_catalog())
    with pytest.raises(Conflict):
        mcp.servers.record_packages(server, "sha256:cd")


def test_what_waits_can_only_be_accepted_as_it_was_shown(mcp: ServersFixture) -> None:
    """Not what came meanwhile; not twice; not what nobody says."""
    server = mcp.add()
    mcp.servers.record_catalog(server, make_catalog(make_tool("search", "one")))
    (shown,) = mcp.servers.list_pins("github")
    with pytest.raises(Conflict, match="Accept it first"):
        mcp.servers.set_decision("github", "search", ToolDecision.FREE, by="ada (test)")
    mcp.servers.record_catalog(server, make_catalog(make_tool("search", "two")))
    seen = SeenPin("tool", "search", shown.offered_sha256)
    with pytest.raises(Outdated, match="Look again"):
        mcp.servers.accept_changes("github", [seen], by="ada (test)")
    with pytest.raises(NotFound):
        mcp.servers.accept_changes("github", [SeenPin("tool", "none", "x")], by="ada (test)")
    mcp.accept_all()
    assert (
        mcp.servers.set_decision("github", "search", ToolDecision.FREE, by="ada (test)").in_force is ToolDecision.FREE
    )
    (pin,) = mcp.servers.list_pins("github")
    with pytest.raises(Conflict, match="nothing to accept"):
        mcp.servers.accept_changes("github", [SeenPin("tool", "search", pin.sha256)], by="ada (test)")
    assert [state.waiting for state in mcp.servers.list_states()] == [0]


def test_every_decision_is_in_the_audit_log(mcp: ServersFixture) -> None:
    """With who it was; values of secrets and of the environment are not."""
    server = mcp.servers.add(
        "github", {**GITHUB, "env": {"MODE": "plain-value"}}, {"GITHUB_TOKEN": VALUE}, by="ada (x)"
    )
    mcp.servers.record_catalog(server, make_catalog(make_tool("search")))
    mcp.accept_all()
    mcp.servers.set_decision("github", "search", ToolDecision.FREE, by="ada (test)")
    mcp.servers.remove("github", by="ada (test)")
    found = Audit(mcp.core.store).search_records()
    rows = [(row.kind, row.text, str(row.detail)) for row in found if row.kind.startswith("mcp.")]
    kinds = {kind for kind, _, _ in rows}
    assert kinds == {"mcp.added", "mcp.said", "mcp.accepted", "mcp.decided", "mcp.removed"}
    assert VALUE not in str(rows)
    assert "plain-value" not in str(rows)
    assert mcp.changed == ["github", "github"]


def test_there_is_a_most(mcp: ServersFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to do then."""
    monkeypatch.setattr(servers_module, "MOST", 1)
    mcp.add("one")
    with pytest.raises(TooMany, match="Remove one"):
        mcp.add("two")


def test_a_check_records_what_the_server_says(mcp: ServersFixture) -> None:
    """When all its secrets have values."""
    checker = FakeServerChecker()
    checks = McpChecks(mcp.servers, checker)
    mcp.add()
    with pytest.raises(Conflict, match="mcp secret github GITHUB_TOKEN"):
        checks.check("github")
    assert checker.asked == []
    mcp.servers.set_secret("github", "GITHUB_TOKEN", VALUE, by="ada (test)")
    assert len(checks.check("github").news) == 2
    assert mcp.servers.get("github").checked_at is not None
    checker.trouble = "The server ended at once."
    with pytest.raises(Unavailable, match="ended at once"):
        checks.check("github")
    with pytest.raises(Unavailable, match="can't be started here"):
        McpChecks(mcp.servers, NoServerChecker()).check("github")


def test_one_check_of_a_server_at_a_time(mcp: ServersFixture) -> None:
    """The second is told so."""
    inside, may_end = threading.Event(), threading.Event()

    class SlowChecker:
        """Waits."""

        def check(self, _server: McpServer) -> McpCatalog:
            """Until it may end."""
            inside.set()
            assert may_end.wait(30)
            return make_catalog()

    checks = McpChecks(mcp.servers, SlowChecker())
    mcp.add("time", pip="mcp-server-time==1.0")
    worker = threading.Thread(target=checks.check, args=("time",))
    worker.start()
    try:
        assert inside.wait(30)
        with pytest.raises(Conflict, match="being checked already"):
            checks.check("time")
    finally:
        may_end.set()
        worker.join()
    assert checks.check("time").news == ()
