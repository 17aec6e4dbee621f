"""Files from the internet in real cubicles: asked for by a panel action and by a command, agreed to over the API, and
read inside with the bytes that the site sent. The internet is one site on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, make_certificate, opened
from tests.support.real_app import RealApp, Talker, eventually, real_install, run_inside
from tests.support.scripted_upstream import answers

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl"),
]

BYTES = os.urandom(1_000_003)
SHA256 = hashlib.sha256(BYTES).hexdigest()
SITE = "https://files.example"
ARTICLE = b"<html><title>Tides</title><nav><a href=/>Home</a></nav><article>" + b"<p>The tide comes in.</p>" * 40


@pytest.fixture(scope="module")
def town() -> FakeInternet:
    """Which names and addresses there are, and what was asked of them."""
    return FakeInternet({"files.example": [[PUBLIC]]})


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    town: FakeInternet,
) -> Iterator[RealApp]:
    """An install whose way out leads to one site."""
    path, server = make_certificate(tmp_path_factory.mktemp("tls"), "DNS:files.example")

    def gives(visit: Visit) -> None:
        if visit.target == "/article":
            visit.send(answer(ARTICLE))
            return
        visit.send(answer(BYTES) if "missing" not in visit.target else answer(b"", "404 Not Found"))

    with opened(gives, server) as site:
        town.sites[PUBLIC] = site
        internet = Internet(town, tls_context(str(path)))
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=internet) as made:
            yield made


@pytest.fixture
def talker(install: RealApp) -> Talker:
    """An agent that may ask for files, whose cubicle runs."""
    made = install.agent(toolsets=["assets"], asks_again="off")
    made.wake()
    return made


def asset(agent: Talker, url: str, *states: str) -> dict[str, Any]:
    """The agent's asset of this URL, once it is in one of these states."""
    return eventually(
        lambda: next(
            (
                found
                for found in agent.api.get("/assets")["assets"]
                if (found["agent"], found["url"]) == (agent.name, url) and found["status"] in states
            ),
            {},
        )
    )


def decide(agent: Talker, found: dict[str, Any], decision: str, **more: Any) -> None:
    """A person's answer."""
    agent.api.post(f"/assets/{found['id']}", {"decision": decision, **more})


def inbox(agent: Talker) -> Path:
    """The host's side of ``in/``."""
    return agent.work.parent / "in"


def test_a_panel_action_brings_a_file(install: RealApp, town: FakeInternet, talker: Talker) -> None:
    """The turn goes on; after a yes the file is there, read-only, and the next turn begins with the news."""
    looked_up = len(town.looked_up)
    url = f"{SITE}/a/report.bin"
    action = {"name": "ASSET_REQUEST", "description": "the report", "url": url}
    turn = talker.ask(install.plays.add(answers(actions=[action]), answers("I asked for it.")))
    assert (turn["status"], turn["reply"]) == ("done", "I asked for it.")
    told = " ".join(str(request.json["messages"]) for request in install.model.requests)
    assert "A person is asked whether the host may fetch this from files.example" in told
    waiting = asset(talker, url, "asked")
    assert (len(town.looked_up), list(inbox(talker).iterdir())) == (looked_up, [])
    decide(talker, waiting, "approve")
    assert asset(talker, url, "done")["sha256"] == SHA256
    following = talker.ask(
        install.plays.commands("sha256sum < ../in/report.bin", "test ! -x ../in/report.bin && ! touch ../in/report.bin")
    )
    assert following["steps"][0]["output"].split()[0] == SHA256
    assert following["steps"][1]["exit_code"] == 0
    news = f"in/report.bin has arrived (you asked for {url})."
    assert any(news in str(request.json["messages"]) for request in install.model.requests)
    (notice,) = talker.api.get(f"/agents/{talker.name}/notices")["notices"]
    assert (notice["kind"], "in/report.bin has arrived" in notice["text"]) == ("asset", True)


def test_a_no_brings_nothing(install: RealApp, town: FakeInternet, talker: Talker) -> None:
    """Not a name is looked up, and the command says who decided, with a code of its own."""
    looked_up, url, ran = len(town.looked_up), f"{SITE}/denied.bin", []
    waiting = threading.Thread(
        target=lambda: ran.append(run_inside(install.client, talker, "hermit", "fetch", url, "--why", "a try"))
    )
    waiting.start()
    decide(talker, asset(talker, url, "asked"), "deny")
    waiting.join(30)
    assert (ran[0].code, "A person said no" in ran[0].err) == (3, True)
    assert (len(town.looked_up), list(inbox(talker).iterdir())) == (looked_up, [])


def test_a_command_waits_for_the_file(install: RealApp, talker: Talker) -> None:
    """In a turn: ``hermit fetch`` prints where it lies once a person has agreed; with ``--json`` as an object."""
    url = f"{SITE}/data.csv?v=1"
    turn = talker.send(install.plays.commands(f"hermit fetch '{url}' --why 'the data' --json", "cksum ../in/data.csv"))
    decide(talker, asset(talker, url, "asked"), "approve", always=True)
    ended = talker.ended(turn)
    printed = str(ended["steps"][0]["output"])
    assert json.loads(printed[printed.index("{") :]) == {
        "path": "/app/workspace/in/data.csv",
        "size_bytes": len(BYTES),
        "sha256": SHA256,
    }
    assert ended["steps"][1]["exit_code"] == 0
    assert talker.api.get(f"/agents/{talker.name}/notices")["notices"] == []
    again = run_inside(install.client, talker, "hermit", "fetch", f"{SITE}/data.csv?v=2", "--why", "again")
    assert (again.code, "/app/workspace/in/data-2.csv" in again.out) == (0, True)  # the host is allowed for ever now
    gone = run_inside(install.client, talker, "hermit", "fetch", f"{SITE}/missing", "--why", "again")
    assert (gone.code, "does not have it (status 404)" in gone.err) == (1, True)
    assert sorted(path.name for path in inbox(talker).iterdir()) == ["data-2.csv", "data.csv"]


def test_what_is_no_url_of_the_internet_is_refused_at_once(install: RealApp, talker: Talker) -> None:
    """Nobody is asked about it."""
    for url in ("https://127.0.0.1/x", "http://files.example/x", "https://metadata.internal/"):
        ran = run_inside(install.client, talker, "hermit", "fetch", url, "--why", "a try")
        assert ran.code == 1, ran
    assert [found for found in talker.api.get("/assets")["assets"] if found["agent"] == talker.name] == []


def test_a_page_is_read(talker: Talker, install: RealApp, client: docker.DockerClient) -> None:
    """After a yes, as Markdown; for a while without asking again, though it is fetched anew once its copy is gone."""
    read = ("hermit", "read", f"{SITE}/article", "--why", "when to sail")
    threading.Thread(target=lambda: _agree(talker, f"{SITE}/article"), daemon=True).start()
    ran = run_inside(client, talker, *read)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("# Tides\n")
    assert ran.out.count("The tide comes in.") == 40
    assert "Home" not in ran.out
    again = run_inside(client, talker, *read)
    assert (again.code, again.out, again.err) == (0, ran.out, "")
    (install.home / "workspaces" / talker.name / "1" / "in" / "article").unlink()
    threading.Thread(target=lambda: _agree(talker, f"{SITE}/article"), daemon=True).start()
    assert run_inside(client, talker, *read).out == ran.out


def _agree(agent: Talker, url: str) -> None:
    asked = asset(agent, url, "asked")
    agent.api.post(f"/approvals/{asked['id']}", {"decision": "approve"})
