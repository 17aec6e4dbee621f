"""``orchestrator.core.hooks``: who hears of a moment, and what a listener that fails does to the others."""

from __future__ import annotations

import logging

import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.core.hooks import Check, Hook, Hooks


def test_calls_every_listener_in_the_order_of_subscribing() -> None:
    """Each hears the payload, the first subscriber first."""
    heard: list[tuple[str, str]] = []
    hook: Hook[str] = Hook("moment")
    hook.subscribe(lambda said: heard.append(("first", said)))
    hook.subscribe(lambda said: heard.append(("second", said)))
    hook.fire("a")
    hook.fire("b")
    assert heard == [("first", "a"), ("second", "a"), ("first", "b"), ("second", "b")]


def test_listener_that_raises_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with the hook's name, and neither the others nor whoever fires notice."""
    heard: list[str] = []

    def fail(_said: str) -> None:
        raise ZeroDivisionError

    hook: Hook[str] = Hook("turn_ended")
    hook.subscribe(fail)
    hook.subscribe(heard.append)
    with caplog.at_level(logging.ERROR):
        hook.fire("a")
    assert heard == ["a"]
    assert [record.getMessage() for record in caplog.records] == ["a listener of turn_ended failed"]
    assert caplog.records[0].exc_info is not None


def test_firing_without_listeners_does_nothing() -> None:
    """A hook that nobody follows costs nothing."""
    Hooks().agent_changed.fire("crab")


def test_every_hook_is_named_as_it_is_called() -> None:
    """The name in the log is the one in the code."""
    hooks = vars(Hooks())
    assert hooks
    assert {name: hook.name for name, hook in hooks.items()} == {name: name for name in hooks}


def test_a_check_that_raises_prevents_the_moment() -> None:
    """It goes through to whoever asks, and those after it are not asked any more."""
    asked: list[str] = []

    def refuse(_key: str) -> None:
        raise Unavailable("The disk is full.")

    check: Check[str] = Check("cubicle_starting")
    check.subscribe(asked.append)
    check.run_checks("a")
    check.subscribe(refuse)
    check.subscribe(asked.append)
    with pytest.raises(Unavailable):
        check.run_checks("b")
    assert asked == ["a", "b"]


def test_two_sets_of_hooks_share_nothing() -> None:
    """There is no global list of listeners."""
    heard: list[str] = []
    one, other = Hooks(), Hooks()
    one.agent_changed.subscribe(heard.append)
    other.agent_changed.fire("crab")
    assert heard == []
