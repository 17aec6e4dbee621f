"""``orchestrator.agents.agents``: making, changing and checking them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents.agent_fields import FIELDS
from orchestrator.agents.agents import as_json
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import ApprovalPolicy, CubicleLimits
from tests.support.core_fixture import CoreFixture, at_once, core_fixture

TOKEN = "123456789:" + "A" * 35


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """One agent, ``crab``."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.mark.parametrize("name", ["a", "helper-2", "0", "a" * 32])
def test_takes_a_plain_name(install: CoreFixture, name: str) -> None:
    """Small letters, digits, hyphens."""
    assert install.agents.create({"name": name}).name == name


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
def test_refuses_a_name_that_would_need_care(install: CoreFixture, name: Any) -> None:
    """It is part of paths and of container names."""
    with pytest.raises(BadInput, match="name"):
        install.agents.create({"name": name})


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
def test_refuses_what_can_not_be(install: CoreFixture, fields: dict[str, Any]) -> None:
    """New or changed, the setting is named and nothing has changed."""
    before = install.crab
    with pytest.raises(BadInput) as refused:
        install.agents.update_agent("crab", {"role": "changed", **fields})
    assert next(iter(fields)) in refused.value.message
    assert install.crab == before
    with pytest.raises(BadInput):
        install.agents.create({"name": "other", **fields})
    assert [agent.name for agent in install.agents.list_agents()] == ["crab"]


def test_changes_what_is_named_and_nothing_else(install: CoreFixture) -> None:
    """Limits one by one, too."""
    before = install.crab
    install.agents.update_agent(
        "crab", {"approval": "all", "limits": {"cpus": 2}, "daily_budget_usd": 0.1, "toolsets": []}
    )
    install.agents.update_agent("crab", {"limits": {"pids": 100}, "name": "crab"})
    assert install.crab == replace(
        before,
        approval=ApprovalPolicy.ALL,
        limits=CubicleLimits(cpus=2, pids=100),
        daily_budget_micro=100_000,
        toolsets=(),
    )


def test_changes_at_once_are_all_kept(install: CoreFixture) -> None:
    """Nobody overwrites what somebody else has just changed."""
    changes: list[dict[str, Any]] = [
        {"step_limit": 7},
        {"command_timeout_s": 8},
        {"role": "r"},
        {"limits": {"cpus": 3}},
        {"limits": {"pids": 99}},
        {"approval": "off"},
    ]
    at_once(*(partial(install.agents.update_agent, "crab", change) for change in changes))
    crab = install.crab
    assert (crab.step_limit, crab.command_timeout_s, crab.role, crab.limits.cpus, crab.limits.pids, crab.approval) == (
        7,
        8,
        "r",
        3,
        99,
        ApprovalPolicy.OFF,
    )


def test_a_name_stays(install: CoreFixture) -> None:
    """It can't be changed, nor taken twice."""
    with pytest.raises(BadInput):
        install.agents.update_agent("crab", {"name": "other"})
    with pytest.raises(Conflict):
        install.agents.create({"name": "crab"})


def test_unknown_agents_are_not_found(install: CoreFixture) -> None:
    """To read, change and remove; the name is shown so that it can do no harm."""
    for act in (install.agents.get, install.agents.remove, partial(install.agents.update_agent, fields={})):
        with pytest.raises(NotFound, match=r"no agent called 'no\\x1b'"):
            act("no\x1b")


def test_the_telegram_token_is_never_shown(install: CoreFixture) -> None:
    """It is stored, and whether there is one can be asked."""
    install.agents.update_agent("crab", {"telegram_token": TOKEN})
    assert install.agents.has_telegram("crab")
    assert TOKEN not in repr(install.crab) + str(as_json(install.crab)) + str(install.audited("agent.changed"))
    install.agents.update_agent("crab", {"telegram_token": None})
    assert not install.agents.has_telegram("crab")


def test_is_shown_with_all_its_settings(install: CoreFixture) -> None:
    """Dollars for micro-dollars, no token."""
    body = as_json(install.crab)
    assert set(body) == {"name", *FIELDS} - {"telegram_token"}
    assert body["daily_budget_usd"] == 5.0
    assert body["limits"] == {"cpus": 1.0, "memory_mb": 1024, "pids": 256, "disk_mb": 2048}


def test_removing_takes_its_turns_along(install: CoreFixture) -> None:
    """The audit log and the spending stay."""
    turn = install.under_way()
    install.agents.remove("crab")
    with pytest.raises(NotFound):
        install.turns.get(turn.id)
    assert [row.text for row in install.audited("turn.asked")] == ["go"]


def test_what_is_known_of_an_agent_is_what_it_is(install: CoreFixture) -> None:
    """However often it was asked for before; a change that came to nothing changes nothing."""
    assert install.agents.get("crab").step_limit == install.agents.get("crab").step_limit
    install.agents.update_agent("crab", {"step_limit": 7})
    assert install.agents.get("crab").step_limit == 7
    with pytest.raises(BadInput):
        install.agents.update_agent("crab", {"step_limit": 8, "image": "no such"})
    assert install.agents.get("crab").step_limit == 7
    install.agents.remove("crab")
    with pytest.raises(NotFound):
        install.agents.get("crab")


def test_whoever_follows_an_agent_hears_of_what_is_there_by_then(install: CoreFixture) -> None:
    """After the commit: whoever looks sees the change. What was refused is no change."""
    seen: list[tuple[str, str]] = []

    def look(name: str) -> None:
        found = next((agent for agent in install.agents.list_agents() if agent.name == name), None)
        seen.append((name, "gone" if found is None else install.agents.get(name).role))

    install.hooks.agent_changed.subscribe(look)
    install.agents.create({"name": "newt", "role": "Cook"})
    install.agents.update_agent("newt", {"role": "Baker"})
    with pytest.raises(BadInput):
        install.agents.update_agent("newt", {"role": 7})
    install.agents.remove("newt")
    assert seen == [("newt", "Cook"), ("newt", "Baker"), ("newt", "gone")]
