"""An agent asks its own model what its browser shows: a picture of the window goes to the model at the agent's cost, and
the answer comes back as a page's words."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, run
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.real_app import RealApp, Talker, real_install
from tests.support.scripted_upstream import says, status

pytestmark = pytest.mark.docker

PAGE = b"<!doctype html><title>Bars</title><body style='background:#0000ff'><canvas id=c></canvas>"


def _gives(visit: Visit) -> None:
    visit.send(answer(PAGE, Content_Type="text/html"))


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[RealApp]:
    """An install whose way out leads to one page."""
    town = FakeInternet({"bars.test": [[PUBLIC]]})
    with opened(_gives) as site:
        town.sites[PUBLIC] = site
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=Internet(town)) as made:
            yield made


@pytest.fixture
def talker(install: RealApp) -> Iterator[Talker]:
    """An agent whose browser shows it."""
    made = install.agent(toolsets=["browser"])
    made.wake()
    ran, _ = approved(install, made, "open", "http://bars.test/")
    assert ran.code == 0, ran
    yield made
    close_browser(install, made)


def _pictures(install: RealApp, question: str) -> list[bytes]:
    """Those that the model was shown with this question."""
    parts: list[dict[str, Any]] = []
    for request in list(install.model.requests):
        content = request.json["messages"][-1]["content"] if "messages" in request.json else ""
        if isinstance(content, list) and content[0].get("text") == question:
            parts += [part for part in content if part["type"] == "image_url"]
    return [base64.b64decode(part["image_url"]["url"].removeprefix("data:image/jpeg;base64,")) for part in parts]


def test_the_model_is_shown_the_window(install: RealApp, talker: Talker) -> None:
    """One picture, with the question; it costs; the answer is bounded and nobody's draft."""
    question = install.plays.add(says("Blue. " + "x" * 5_000))
    before = install.api.get(f"/agents/{talker.name}")["spent_today_usd"]
    ran = run(install, talker, "look", question, "--json")
    assert ran.code == 0, ran
    assert ran.json["answer"].startswith("Blue. ")
    assert len(ran.json["answer"]) == 4_000
    (picture,) = _pictures(install, question)
    assert picture.startswith(b"\xff\xd8\xff")
    assert 1_000 < len(picture) == ran.json["picture_bytes"] <= 500_000
    assert install.api.get(f"/agents/{talker.name}")["spent_today_usd"] > before


def test_a_model_without_eyes_says_what_to_do(install: RealApp, talker: Talker) -> None:
    """One sentence, whatever the provider is tried with first."""
    question = install.plays.add(*[status(400)] * 6)
    ran = run(install, talker, "look", question)
    assert ran.code != 0
    assert "takes no pictures" in ran.err
    assert "hermit browser snapshot" in ran.err
    assert 1 <= len(_pictures(install, question)) < 6


def test_without_a_page_or_a_question_nothing_is_asked(install: RealApp, talker: Talker) -> None:
    """The model hears of neither."""
    assert "2,000" in run(install, talker, "look", "x" * 2_001).err
    close_browser(install, talker)
    ran = run(install, talker, "look", "What is there?")
    assert ran.code != 0
    assert "Its pages are gone" in ran.err
    assert _pictures(install, "What is there?") == []


def test_in_a_turn_it_is_a_source(install: RealApp) -> None:
    """The page is heard from, and the turn's own answer stays its own."""
    agent = install.agent(toolsets=["browser"])
    question = install.plays.add(says("It is blue."))
    prompt = install.plays.commands("hermit browser open http://bars.test/", f"hermit browser look '{question}'")
    turn = agent.send(prompt)
    agent.decide(agent.question(turn)["id"], "approve")
    ended = agent.ended(turn, patience_s=120)
    assert "It is blue." in ended["steps"][1]["output"], ended
    assert ended["reply"] == "All done.", ended
    assert "bars.test" in str(ended["sources"])
    close_browser(install, agent)
