"""``hermit`` in real cubicles: what it says, what it does, and with which code it ends."""

from __future__ import annotations

import pytest

from tests.real_house import RealHouse, Talker, run_inside

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def agent(house: RealHouse) -> Talker:
    """An agent whose cubicle runs."""
    made = house.agent()
    made.wake()
    return made


def test_help(house: RealHouse, agent: Talker) -> None:
    """It lists what this agent has."""
    ran = run_inside(house.client, agent, "hermit", "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "hermit ask" in ran.out
