"""A model works with pages that nobody here wrote, by the browser's commands alone, in a real cubicle and a real
browser: a to-do list of TodoMVC, an API by Swagger UI, a dashboard of AdminLTE."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.app_town import AppTown
from tests.support.page_shell import FIND, decide_all
from tests.support.page_sites import PageSites, page_sites
from tests.support.real_app import RealApp, real_install

pytestmark = [pytest.mark.docker, pytest.mark.thirdparty]

NAMES = ("todo.test", "pets.test", "desk.test")


@pytest.fixture(scope="module")
def sites() -> Iterator[PageSites]:
    """All of them."""
    with page_sites() as made:
        yield made


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    sites: PageSites,
) -> Iterator[RealApp]:
    """An install whose way out leads there."""
    internet = Internet(AppTown(dict.fromkeys(NAMES, sites.port)))
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=internet) as made:
        yield made


def work(install: RealApp, site: str, *commands: str) -> list[str]:
    """What each of these commands on this site printed, after the page itself."""
    agent = install.agent(toolsets=["browser"])
    begin = f"echo {shlex.quote(FIND)} > find.sh; hermit browser open http://{site}/ --why 'a look'"
    turn = agent.send(install.plays.commands(begin, *(f". ./find.sh; {command}" for command in commands)))
    assert decide_all(install, agent, turn) == ["site"]
    steps = agent.ended(turn, patience_s=60)["steps"]
    told = [step["output"] for step in steps]
    assert len(steps) == len(commands) + 1, told
    install.api.call("POST", f"/agents/{agent.name}/browser/close")
    return told


def test_a_to_do_list(install: RealApp) -> None:
    """Two are added, one is done, each filter shows its own, what is done is cleared."""
    told = work(
        install,
        "todo.test",
        "hermit browser type $(ref 'What needs') buy bread --enter; "
        "hermit browser type $(ref 'What needs') mow the lawn --enter",
        "hermit browser snapshot --full",
        "hermit browser click $(last 'checkbox e[0-9]+')",
        "hermit browser click $(ref Active); hermit browser snapshot --full",
        "hermit browser click $(ref Completed); hermit browser snapshot --full",
        "hermit browser click $(ref 'Clear completed'); hermit browser click $(ref All)",
        "hermit browser snapshot --full",
    )
    assert all(words in told[2] for words in ("buy bread", "mow the lawn", "2 items left")), told
    assert "1 item left" in told[3], told
    active, completed, _, everything = (text.rpartition("Under way.")[2] for text in told[4:])
    assert ("buy bread" in active, "mow the lawn" in active) in ((True, False), (False, True)), told
    assert ("buy bread" in completed) == ("mow the lawn" in active), told
    assert ("mow the lawn" in completed) == ("buy bread" in active), told
    assert ("buy bread" in everything, "mow the lawn" in everything) == (
        "buy bread" in active,
        "mow the lawn" in active,
    ), told


def test_an_api_by_its_surface(install: RealApp, sites: PageSites) -> None:
    """An operation is tried out with a body of the agent's own, and its answer read."""
    told = work(
        install,
        "pets.test",
        "until_it_shows 'A new one'",
        "hermit browser click $(last 'e[0-9]+: .{0,40}A new one|e[0-9]+: post ./pets'); hermit browser snapshot --full",
        "hermit browser click $(ref 'Try it out')",
        "hermit browser type $(last 'textbox e[0-9]+') '{\"name\": \"Molly\"}'; hermit browser click $(ref Execute)",
        "until_it_shows Molly; hermit browser snapshot --full",
    )
    assert sites.pets[-1] == {"name": "Molly"}, told
    assert '"made": "Molly"' in told[5], told
    assert "201" in told[5], told


def test_a_dashboard(install: RealApp) -> None:
    """Its menu opens, a page of it is gone to, and a card folds away."""
    told = work(
        install,
        "desk.test",
        "hermit browser click $(ref Orders); until_it_shows 'Paid orders'; hermit browser snapshot --full",
        "hermit browser click $(ref 'Paid orders'); hermit browser snapshot --full",
        "hermit browser click $(ref '-'); hermit browser wait 1; hermit browser snapshot --full",
    )
    assert "Paid orders" not in told[0], told
    assert "There are 7 orders." in told[0], told
    assert "Paid orders" in told[1], told
    assert "### Paid orders" in told[2], told
    assert "There are 7 orders." not in told[3].rpartition("Under way.")[2], told
