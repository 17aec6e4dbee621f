"""What becomes of an agent's browser and its call when Chromium, its container or the orchestrator dies in the middle:
the agent is told in a sentence, nothing is done twice, a question stays, and no container is left.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import docker
import pytest

from orchestrator.engine.helpers import BARE_LIVE_BROWSER, LIVE_BROWSER
from tests.support.fake_internet import FakeSite, Visit, answer, opened
from tests.support.real_app import AppProcess, Ran, Talker, eventually, process_install, run_inside

pytestmark = pytest.mark.docker

PAGE = (
    "<title>Till</title><h1>Till</h1><button onclick=\"fetch('/pay', {method: 'POST'})\">Pay</button>"
    "<button onclick=\"document.title = 'sure ' + confirm('Really?')\">Ask</button>"
)


@dataclass
class Till:
    """A site at which a click may not count twice."""

    paid: int = 0
    arrived: threading.Event = field(default_factory=threading.Event)

    def __call__(self, visit: Visit) -> None:
        """Whoever pays waits for the answer."""
        if visit.head.startswith("POST /pay "):
            self.paid += 1
            self.arrived.set()
            visit.over.wait(4)
        visit.send(answer(PAGE.encode(), Content_Type="text/html"))


@pytest.fixture(scope="module")
def till() -> Till:
    """What it counts."""
    return Till()


@pytest.fixture(scope="module")
def shop(till: Till) -> Iterator[FakeSite]:
    """Where it is."""
    with opened(till) as site:
        yield site


@pytest.fixture(scope="module")
def process(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    shop: FakeSite,
) -> Iterator[AppProcess]:
    """An install that is a process, whose operator named the shop."""
    image_tag("base"), image_tag("browser")
    environment = {"HERMIT_PRIVATE_HOSTS": f"localhost:{shop.port}"}
    with process_install(tmp_path_factory.mktemp("home"), client, environment) as made:
        yield made
        made.kill()
        for container in live_browsers(made):
            client.api.remove_container(container, force=True)


@pytest.fixture
def url(shop: FakeSite) -> str:
    """Its page."""
    return f"http://localhost:{shop.port}/"


def live_browsers(process: AppProcess) -> list[str]:
    """The ids of the containers, with or without Chromium's own sandbox."""
    labels = [f"{kind.label}={process.install}" for kind in (LIVE_BROWSER, BARE_LIVE_BROWSER)]
    found = [process.client.api.containers(all=True, filters={"label": label}) for label in labels]
    return list({str(one["Id"]) for some in found for one in some})


@dataclass
class Shopping:
    """What a test does with an agent in the shop."""

    process: AppProcess
    agent: Talker

    def run(self, *words: str) -> Ran:
        """A command of the browser, outside of any turn."""
        return run_inside(self.process.client, self.agent, "hermit", "browser", *words)

    def enter(self, url: str) -> str:
        """It is in the shop, with a person's yes; the page."""
        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(self.run, "open", url)
            self.decide(self.question())
            opened_page = opening.result(60)
        assert opened_page.code == 0, opened_page
        return opened_page.out

    def question(self) -> str:
        """The open question, once there is one."""
        found = eventually(self.questions)
        assert len(found) == 1
        return found[0]

    def questions(self) -> list[str]:
        """All that are open."""
        pending = self.process.api.get("/approvals", status="pending")["approvals"]
        return [one["id"] for one in pending if one["agent"] == self.agent.name]

    def decide(self, question: str) -> None:
        """A person says yes."""
        assert self.agent.decide(question, "approve").ok

    def turn(self, command: str) -> int:
        """A turn in which this command runs."""
        return self.agent.send(self.process.plays.commands(command))

    def said(self, turn: int) -> str:
        """What the turn's command said."""
        return str(self.agent.ended(turn, patience_s=90)["steps"])

    def helpers(self) -> list[str]:
        """The ids of browsers' containers."""
        return live_browsers(self.process)


@pytest.fixture
def shopping(process: AppProcess) -> Iterator[Shopping]:
    """A fresh agent, whose cubicle runs; its browser is closed in the end."""
    agent = process.agent(toolsets=["browser"])
    agent.wake()
    made = Shopping(process, agent)
    yield made
    made.run("close")


def ref_of(page: str, name: str) -> str:
    """The ref of a button."""
    found = re.search(rf"\[button (e\d+): {name}\]", page)
    assert found, page
    return found[1]


def kill_chromium(shopping: Shopping) -> None:
    """All of it, from outside."""
    (helper,) = shopping.helpers()
    for row in shopping.process.client.api.top(helper)["Processes"]:
        if "chromium" in row[-1] and "python" not in row[-1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(row[1]), signal.SIGKILL)


def remove_container(shopping: Shopping) -> None:
    """By somebody who does not know us."""
    (helper,) = shopping.helpers()
    shopping.process.client.api.remove_container(helper, force=True)


@pytest.mark.parametrize("break_it", [kill_chromium, remove_container], ids=["chromium", "container"])
def test_the_browser_dies_in_the_middle(
    shopping: Shopping, till: Till, url: str, break_it: Callable[[Shopping], None]
) -> None:
    """The call ends with a sentence, what was done is not done again, and the next browser asks a person first."""
    pay = ref_of(shopping.enter(url), "Pay")
    till.arrived.clear()
    paid = till.paid
    turn = shopping.turn(f"hermit browser click {pay}; echo code $?")
    assert till.arrived.wait(30)
    break_it(shopping)
    said = shopping.said(turn)
    assert "The next call starts another" in said
    assert "Traceback" not in said
    assert till.paid == paid + 1
    assert "# Till" in shopping.enter(url)
    assert till.paid == paid + 1


def test_the_orchestrator_dies_while_a_person_is_asked(shopping: Shopping, url: str) -> None:
    """The question is there afterwards, and a yes to it opens the page for the agent that waited."""
    turn = shopping.turn(f"hermit browser open {url}")
    question = shopping.question()
    shopping.process.restart()
    assert shopping.questions() == [question]
    assert shopping.helpers() == []
    shopping.decide(question)
    assert "# Till" in shopping.said(turn)
    assert "# Till" in shopping.run("snapshot", "--full").out


def test_the_orchestrator_dies_in_the_middle_of_a_deed(shopping: Shopping, till: Till, url: str) -> None:
    """The agent hears that it may have happened; it is not done again, and the browser of before is gone."""
    pay = ref_of(shopping.enter(url), "Pay")
    till.arrived.clear()
    paid = till.paid
    turn = shopping.turn(f"hermit browser click {pay}")
    assert till.arrived.wait(30)
    shopping.process.restart()
    said = shopping.said(turn)
    assert "may have happened or not" in said
    assert shopping.helpers() == []
    assert "restarted" in shopping.run("snapshot").err
    assert till.paid == paid + 1


def test_a_dialog_outlasts_nothing(shopping: Shopping, url: str) -> None:
    """A dialog of a browser that went is not answered in the next one."""
    ask = ref_of(shopping.enter(url), "Ask")
    assert "Really?" in shopping.run("click", ask).out
    kill_chromium(shopping)
    answered = shopping.run("dialog", "accept")
    assert answered.code != 0
    assert "another browser" in answered.err
