"""MCP servers on the real engine: fetched from the registry by the product's own way, run in a container without a
network, and called by an agent with `hermit mcp` in its own cubicle."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from orchestrator.capabilities.packages.indexes import PackageIndexes
from tests.support.real_app import RealApp, Talker, eventually, real_install

pytestmark = pytest.mark.docker

EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
CLOCK = "mcp-server-time==2026.10.19"
SECRET = "s3cret-of-the-operator-42"
_INDEX = ("NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL")


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[RealApp]:
    """An install that knows the indexes of this machine."""
    settings = {name: os.environ[name] for name in _INDEX if name in os.environ}
    # Where the indexes are mirrored in a private network, that is meant here.
    hosts = {host for system in ("pip", "npm") for host in PackageIndexes().list_hosts(system)}
    settings["HERMIT_PRIVATE_HOSTS"] = ",".join(f"{host}:{port}" for host, port in sorted(hosts))
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, environment=settings) as made:
        yield made


def add_server(install: RealApp, name: str, **fields: Any) -> dict[str, Any]:
    """A server that was checked and accepted; every tool asks."""
    made = install.api.call("POST", "/mcp", json={"name": name, **fields})
    assert made.status_code == 201, made.text
    checked = install.api.call("POST", f"/mcp/{name}/check")
    assert checked.status_code == 200, checked.text
    shown = checked.json()
    pins = [
        {"kind": pin["kind"], "name": pin["key"], "sha256": pin["sha256"]}
        for pin in (*shown["tools"], *shown.get("said", ()))
        if pin["state"] != "seen"
    ]
    accepted = install.api.call("POST", f"/mcp/{name}/accept", json={"pins": pins})
    assert accepted.status_code == 200, accepted.text
    return dict(accepted.json())


def set_free(install: RealApp, server: str, *tools: str) -> None:
    """These tools are called without asking."""
    for tool in tools:
        answer = install.api.call("PUT", f"/mcp/{server}/tools/{tool}", json={"decision": "free"})
        assert answer.status_code == 200, answer.text


def give(install: RealApp, agent: Talker, *servers: str) -> None:
    """The agent may use these servers."""
    toolsets = install.api.get(f"/agents/{agent.name}")["toolsets"]
    agent.change(toolsets=[*toolsets, *(f"mcp-{name}" for name in servers)])


def run_turn(install: RealApp, agent: Talker, *words: str) -> str:
    """What this command prints to the agent in a turn."""
    play = install.plays.commands(shlex.join(("hermit", "mcp", *words)))
    turn = agent.ask(play, timeout=120.0)
    return str(turn["steps"][0]["output"])


@pytest.fixture(scope="module")
def everything(install: RealApp) -> dict[str, Any]:
    """A real server of npm's, with a secret."""
    return add_server(install, "everything", npm=EVERYTHING, secrets=["API_KEY"], values={"API_KEY": SECRET})


def test_a_real_npm_server_answers(install: RealApp, everything: dict[str, Any]) -> None:
    """Its tools are listed, explained and called."""
    agent = install.agent()
    give(install, agent, "everything")
    set_free(install, "everything", "echo", "get-sum", "get-env", "get-tiny-image")
    assert "echo" in run_turn(install, agent)
    assert "a" in run_turn(install, agent, "everything", "get-sum", "--help")
    said = run_turn(install, agent, "everything", "echo", "message=ahoy")
    assert "ahoy" in said, said
    assert "42" in run_turn(install, agent, "everything", "get-sum", "a=40", "b=2")


def test_a_secret_in_a_result_is_held_back(install: RealApp, everything: dict[str, Any]) -> None:
    """`get-env` answers with the whole environment; nothing of it comes through, nor is it in a list of containers."""
    agent = install.agent()
    give(install, agent, "everything")
    set_free(install, "everything", "get-env")
    said = run_turn(install, agent, "everything", "get-env")
    assert SECRET not in said
    assert "holds the secret API_KEY" in said, said
    held = install.client.api.containers(filters={"label": f"hermitshell.mcp-servers-of={install.install}"})
    assert held
    assert all(SECRET not in str(install.client.api.inspect_container(one["Id"])) for one in held)


def test_pictures_become_files(install: RealApp, everything: dict[str, Any]) -> None:
    """In `in/`, under the names of server and tool."""
    agent = install.agent()
    give(install, agent, "everything")
    set_free(install, "everything", "get-tiny-image")
    assert "../in/everything-get-tiny-image.png" in run_turn(install, agent, "everything", "get-tiny-image")
    assert b"PNG" in (agent.work.parent / "in" / "everything-get-tiny-image.png").read_bytes()[:8]


def test_a_person_is_asked_with_the_exact_arguments(install: RealApp, everything: dict[str, Any]) -> None:
    """By default; a no calls nothing."""
    agent = install.agent()
    give(install, agent, "everything")
    install.api.call("PUT", "/mcp/everything/tools/get-structured-content", json={"decision": "asks"})
    prompt = install.plays.commands("hermit mcp everything get-structured-content location=Chicago")
    turn = agent.send(prompt)
    asked = next(
        found
        for found in eventually(
            lambda: [a for a in install.api.get("/approvals", status="pending")["approvals"] if a["turn"] == turn]
        )
    )
    assert asked["kind"] == "mcp"
    assert asked["text"] == 'everything get-structured-content\n{\n "location": "Chicago"\n}'
    install.api.call("POST", f"/approvals/{asked['id']}", json={"decision": "deny"})
    assert "The person said no" in str(agent.ended(turn)["steps"][0]["output"])


def test_a_changed_tool_is_off(install: RealApp, everything: dict[str, Any]) -> None:
    """What was not accepted is not called; who has no server does not even hear of the command."""
    agent = install.agent()
    give(install, agent, "everything")
    install.api.call("PUT", "/mcp/everything/tools/echo", json={"decision": "off"})
    assert "so it is off" in run_turn(install, agent, "everything", "echo", "message=a")
    without = install.agent()
    assert "not" in run_turn(install, without)


def test_a_real_pip_server_answers(install: RealApp) -> None:
    """Which speaks the newest protocol."""
    add_server(install, "clock", pip=CLOCK)
    agent = install.agent()
    give(install, agent, "clock")
    set_free(install, "clock", "get_current_time")
    said = run_turn(install, agent, "clock", "get_current_time", "timezone=Europe/Berlin")
    assert "Europe/Berlin" in said, said
