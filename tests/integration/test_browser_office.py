"""A model works in an application of an office by the browser's commands, in a real cubicle and a real browser: it logs
in, goes through a form in steps with a dialog in between, and deletes a row. What counts is what the application has in
the end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.fake_internet import PUBLIC, FakeInternet, opened
from tests.support.office_site import OfficeSite
from tests.support.real_app import RealApp, real_install

pytestmark = pytest.mark.docker

PASSWORD = "a long word & 7 signs"
REF = r"""ref() {
    hermit browser snapshot --full | grep -oE "e[0-9]+: $1|\[$1\]\(e[0-9]+\)" | grep -oE 'e[0-9]+' | head -1
}"""
COMMANDS = (
    f"echo {shlex.quote(REF)} > office.sh; hermit browser open http://office.test/ --why bookings",
    f". ./office.sh; hermit browser type $(ref Name) ada; hermit browser type $(ref Password) '{PASSWORD}' --enter",
    ". ./office.sh; hermit browser click $(ref New)",
    (
        ". ./office.sh; hermit browser type $(ref Customer) Blue Shoes; hermit browser select $(ref Kind) business; "
        "hermit browser click $(ref Urgent); hermit browser click $(ref Next)"
    ),
    ". ./office.sh; hermit browser type $(ref Amount) 120; hermit browser click $(ref Book)",
    "hermit browser dialog accept",
    ". ./office.sh; hermit browser click $(ref 'Delete row 0')",
    "hermit browser dialog dismiss",
    (
        ". ./office.sh; hermit browser click $(ref 'Delete row 0'); hermit browser dialog accept; "
        "hermit browser snapshot --full"
    ),
)


@pytest.fixture(scope="module")
def office() -> OfficeSite:
    """With a booking that is to go."""
    return OfficeSite(PASSWORD, [{"customer": "Old", "amount": "1"}])


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    office: OfficeSite,
) -> Iterator[RealApp]:
    """An install whose way out leads there."""
    town = FakeInternet({"office.test": [[PUBLIC]]})
    with opened(office) as site:
        town.sites[PUBLIC] = site
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=Internet(town)) as made:
            yield made


def test_an_application_is_worked_in(install: RealApp, office: OfficeSite) -> None:
    """The old booking is gone after the second question, and the new one has all of its fields."""
    agent = install.agent(toolsets=["browser"])
    turn = agent.send(install.plays.commands(*COMMANDS))
    question = agent.question(turn)
    assert question["text"] == "http://office.test/"
    agent.decide(question["id"], "approve")
    steps = agent.ended(turn, patience_s=120)["steps"]
    told = [step["output"] for step in steps]
    assert len(steps) == len(COMMANDS), told
    assert len(office.sessions) == 1, told
    assert office.bookings == [{"customer": "Blue Shoes", "kind": "business", "urgent": "on", "amount": "120"}], told
    assert "Book 120 euro?" in told[4]
    assert "was dismissed" in told[7]
    assert "Blue Shoes" in told[8]
    assert PASSWORD not in "".join(told)
