"""MCP servers on the real engine: fetched from the registry by the product's own way, run in a container without a
network, and called by an agent with `hermit mcp` in its own cubicle."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from tests.support.real_app import RealApp, Talker, real_install

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
    settings["HERMIT_PRIVATE_HOSTS"] = "registry.npmjs.org:443,pypi.org:443,files.pythonhosted.org:443"
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
    agent = install.agent()
    give(install, agent, "everything")
    set_free(install, "everything", "echo", "get-sum", "get-env", "get-tiny-image")
    assert "echo" in run_turn(install, agent)
    assert "a" in run_turn(install, agent, "everything", "get-sum", "--help")
    said = run_turn(install, agent, "everything", "echo", "message=ahoy")
    assert "ahoy" in said, said
    assert "42" in run_turn(install, agent, "everything", "get-sum", "a=40", "b=2")
