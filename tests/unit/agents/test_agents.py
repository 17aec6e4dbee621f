"""``orchestrator.agents.agents``: making, changing and checking them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents.agents import FIELDS, as_json
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import ApprovalPolicy, CubicleLimits
from tests.support.core_fixture import CoreFixture, at_once, core_fixture

TOKEN = "123456789:" + "A" * 35


@pytest.fixture
def house(tmp_path: Path) -> Iterator[CoreFixture]:
    """One agent, ``crab``."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.mark.parametrize("name", ["a", "helper-2", "0", "a" * 32])
def test_takes_a_plain_name(house: CoreFixture, name: str) -> None:
    """Small letters, digits, hyphens."""
    assert house.agents.create({"name": name}).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "a b",
        "-a",
        "a-",
        "a_b",
        "a.b",
        "..",
        "a/b",
        "é",
        "a\n",
        "a\0",
        "a" * 33,
        None,
        7,
        ["a"],
        {"a": 1},
        True,
    ],
)
def test_refuses_a_name_that_would_need_care(house: CoreFixture, name: Any) -> None:
    """It is part of paths and of container names."""
    with pytest.raises(BadInput, match="name"):
        house.agents.create({"name": name})


WRONG: dict[str, dict[str, Any]] = {
    "an unknown setting": {"privileged": True},
    "an image that is not ours": {"image": "debian"},
    "an image as list": {"image": ["base"]},
    "no approval": {"approval": "never"},
    "approval as truth": {"approval": False},
    "approval as list": {"approval": ["off"]},
    "a role that is a number": {"role": 1},
    "a long role": {"role": "x" * 201},
    "a NUL": {"personality": "a\0b"},
    "a provider that is not there": {"provider": "nobody"},
    "steps as text": {"step_limit": "30"},
    "steps as truth": {"step_limit": True},
    "no steps": {"step_limit": 0},
    "half a step": {"step_limit": 1.5},
    "endless steps": {"step_limit": 2**70},
    "no time": {"command_timeout_s": 0},
    "a long wait": {"approval_timeout_s": 10**9},
    "a budget below nothing": {"daily_budget_usd": -1},
    "a budget that is no number": {"daily_budget_usd": float("nan")},
    "an endless budget": {"daily_budget_usd": float("inf")},
    "a huge budget": {"daily_budget_usd": 10**30},
    "a budget as truth": {"daily_budget_usd": True},
    "a budget as text": {"daily_budget_usd": "5"},
    "limits as number": {"limits": 5},
    "limits as list": {"limits": []},
    "no limits": {"limits": None},
    "an unknown limit": {"limits": {"gpus": 1}},
    "a true limit": {"limits": {"cpus": True}},
    "a true memory": {"limits": {"memory_mb": True}},
    "half a process": {"limits": {"pids": 20.5}},
    "a limit as text": {"limits": {"memory_mb": "512"}},
    "no limit": {"limits": {"memory_mb": None}},
    "too little": {"limits": {"memory_mb": 1}},
    "too much": {"limits": {"cpus": 10**9}},
    "not a number": {"limits": {"cpus": float("nan")}},
    "toolsets as text": {"toolsets": "calendar"},
    "an unknown toolset": {"toolsets": ["root"]},
    "a toolset that is a list": {"toolsets": [["calendar"]]},
    "a Telegram token that is none": {"telegram_token": "x"},
    "a Telegram token as number": {"telegram_token": 7},
    "a Telegram token as list": {"telegram_token": []},
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG)
def test_refuses_what_can_not_be(house: CoreFixture, fields: dict[str, Any]) -> None:
    """New or changed, the setting is named and nothing has changed."""
    before = house.crab
    with pytest.raises(BadInput) as refused:
        house.agents.update_agent("crab", {"role": "changed", **fields})
    assert next(iter(fields)) in refused.value.message
    assert house.crab == before
    with pytest.raises(BadInput):
        house.agents.create({"name": "other", **fields})
    assert [agent.name for agent in house.agents.list_agents()] == ["crab"]


def test_changes_what_is_named_and_nothing_else(house: CoreFixture) -> None:
    """Limits one by one, too."""
    before = house.crab
    house.agents.update_agent(
        "crab", {"approval": "all", "limits": {"cpus": 2}, "daily_budget_usd": 0.1, "toolsets": []}
    )
    house.agents.update_agent("crab", {"limits": {"pids": 100}, "name": "crab"})
    assert house.crab == replace(
        before,
        approval=ApprovalPolicy.ALL,
        limits=CubicleLimits(cpus=2, pids=100),
        daily_budget_micro=100_000,
        toolsets=(),
    )


def test_changes_at_once_are_all_kept(house: CoreFixture) -> None:
    """Nobody overwrites what somebody else has just changed."""
    changes: list[dict[str, Any]] = [
        {"step_limit": 7},
        {"command_timeout_s": 8},
        {"role": "r"},
        {"limits": {"cpus": 3}},
        {"limits": {"pids": 99}},
        {"approval": "off"},
    ]
    at_once(*(partial(house.agents.update_agent, "crab", change) for change in changes))
    crab = house.crab
    assert (crab.step_limit, crab.command_timeout_s, crab.role, crab.limits.cpus, crab.limits.pids, crab.approval) == (
        7,
        8,
        "r",
        3,
        99,
        ApprovalPolicy.OFF,
    )


def test_a_name_stays(house: CoreFixture) -> None:
    """It can't be changed, nor taken twice."""
    with pytest.raises(BadInput):
        house.agents.update_agent("crab", {"name": "other"})
    with pytest.raises(Conflict):
        house.agents.create({"name": "crab"})


def test_unknown_agents_are_not_found(house: CoreFixture) -> None:
    """To read, change and remove; the name is shown so that it can do no harm."""
    for act in (house.agents.get, house.agents.remove, partial(house.agents.update_agent, fields={})):
        with pytest.raises(NotFound, match=r"no agent called 'no\\x1b'"):
            act("no\x1b")


def test_the_telegram_token_is_never_shown(house: CoreFixture) -> None:
    """It is stored, and whether there is one can be asked."""
    house.agents.update_agent("crab", {"telegram_token": TOKEN})
    assert house.agents.has_telegram("crab")
    assert TOKEN not in repr(house.crab) + str(as_json(house.crab)) + str(house.audited("agent.changed"))
    house.agents.update_agent("crab", {"telegram_token": None})
    assert not house.agents.has_telegram("crab")


def test_is_shown_with_all_its_settings(house: CoreFixture) -> None:
    """Dollars for micro-dollars, no token."""
    body = as_json(house.crab)
    assert set(body) == {"name", *FIELDS} - {"telegram_token"}
    assert body["daily_budget_usd"] == 5.0
    assert body["limits"] == {"cpus": 1.0, "memory_mb": 1024, "pids": 256, "disk_mb": 2048}


def test_removing_takes_its_turns_along(house: CoreFixture) -> None:
    """The audit log and the spending stay."""
    turn = house.under_way()
    house.agents.remove("crab")
    with pytest.raises(NotFound):
        house.turns.get(turn.id)
    assert [row.text for row in house.audited("turn.asked")] == ["go"]


def test_what_is_known_of_an_agent_is_what_it_is(house: CoreFixture) -> None:
    """However often it was asked for before; a change that came to nothing changes nothing."""
    assert house.agents.get("crab").step_limit == house.agents.get("crab").step_limit
    house.agents.update_agent("crab", {"step_limit": 7})
    assert house.agents.get("crab").step_limit == 7
    with pytest.raises(BadInput):
        house.agents.update_agent("crab", {"step_limit": 8, "image": "no such"})
    assert house.agents.get("crab").step_limit == 7
    house.agents.remove("crab")
    with pytest.raises(NotFound):
        house.agents.get("crab")


def test_whoever_follows_an_agent_hears_of_what_is_there_by_then(house: CoreFixture) -> None:
    """After the commit: whoever looks sees the change. What was refused is no change."""
    seen: list[tuple[str, str]] = []

    def look(name: str) -> None:
        found = next((agent for agent in house.agents.list_agents() if agent.name == name), None)
        seen.append((name, "gone" if found is None else house.agents.get(name).role))

    house.hooks.agent_changed.subscribe(look)
    house.agents.create({"name": "newt", "role": "Cook"})
    house.agents.update_agent("newt", {"role": "Baker"})
    with pytest.raises(BadInput):
        house.agents.update_agent("newt", {"role": 7})
    house.agents.remove("newt")
    assert seen == [("newt", "Cook"), ("newt", "Baker"), ("newt", "gone")]
