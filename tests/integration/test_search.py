"""Searching the web from a real cubicle: by the command, with a search engine on loopback. The cubicle itself stays
without a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, make_certificate, opened
from tests.support.real_app import RealApp, real_install, run_inside
from tests.unit.capabilities.search.test_engines import ANSWERS, PAGE

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl"),
]


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[RealApp]:
    """An install whose way out leads to one search engine."""
    path, server = make_certificate(tmp_path_factory.mktemp("tls"), "DNS:api.tavily.com")

    def finds(visit: Visit) -> None:
        visit.send(answer(json.dumps(ANSWERS["tavily"]).encode()))

    with opened(finds, server) as site:
        internet = Internet(FakeInternet({"api.tavily.com": [[PUBLIC]]}, {PUBLIC: site}), tls_context(str(path)))
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=internet) as made:
            yield made


def test_an_agent_looks_something_up(install: RealApp, client: docker.DockerClient) -> None:
    """Without an engine it hears who can add one; with one it reads what was found, as text and as JSON."""
    agent = install.agent(toolsets=["search"])
    agent.wake()
    search = ("hermit", "search", "tea houses in Vienna")
    refused = run_inside(client, agent, *search)
    assert refused.code == 1
    assert "The operator can add one in the dashboard" in refused.err
    install.app.services.search_engines.save_key("tavily", "t", "", by="ada")
    found = run_inside(client, agent, *search, "--count", "3")
    assert (found.code, found.err) == (0, "Searching for “tea houses in Vienna”.\n")
    assert found.out.splitlines()[:3] == ["1 result from Tavily:", "1. A title (2026-01-02)", f"   {PAGE}"]
    assert json.loads(run_inside(client, agent, *search, "--json").out)["results"][0]["url"] == PAGE


def test_without_the_toolset_there_is_none(install: RealApp, client: docker.DockerClient) -> None:
    """Exit code 4: this agent does not have it."""
    agent = install.agent(toolsets=["memory"])
    agent.wake()
    assert run_inside(client, agent, "hermit", "search", "tea").code == 4
