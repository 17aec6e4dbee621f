"""``capabilities.browser.person_holds``, ``view_window`` and ``person_input``: leases, pictures on their way, hands."""

from __future__ import annotations

import threading

import pytest

from orchestrator.browser.screencast import PointerInput
from orchestrator.capabilities.browser.addresses import host_in, read_address
from orchestrator.capabilities.browser.person_holds import LEASE_S, MOST_S, PersonHolds
from orchestrator.capabilities.browser.person_input import MOST_DEEDS, KeyInput, PasteInput, read_inputs
from orchestrator.capabilities.browser.view_window import MOST_UNSEEN, ViewWindow
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.models import CubicleKey

MINE, OTHER = CubicleKey("crab", 1), CubicleKey("crab", 2)


class Clock:
    """It stands until somebody moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_hold_ends_ten_minutes_after_the_last_input() -> None:
    """Each input renews it; it is one cubicle's alone."""
    clock = Clock()
    holds = PersonHolds(clock)
    assert holds.take(MINE)
    assert holds.left_s(OTHER) is None
    clock.now += LEASE_S - 1
    assert holds.left_s(MINE) == 1
    holds.renew(MINE)
    clock.now += LEASE_S - 1
    assert holds.left_s(MINE) == 1
    clock.now += 1
    assert holds.left_s(MINE) is None
    assert holds.list_holds() == [MINE]
    with pytest.raises(Conflict, match="Take over first"):
        holds.renew(MINE)


def test_a_hold_ends_after_half_an_hour_whatever_is_done() -> None:
    """And can be taken anew."""
    clock = Clock()
    holds = PersonHolds(clock)
    holds.take(MINE)
    for _ in range(int(MOST_S // 300) - 1):
        clock.now += 300
        holds.renew(MINE)
    assert holds.left_s(MINE) == 300
    assert not holds.take(MINE)  # they have it already
    assert holds.left_s(MINE) == 300
    clock.now += 300
    assert holds.left_s(MINE) is None
    assert holds.take(MINE)


def test_each_change_of_hands_is_counted() -> None:
    """So that what was asked for before it is known from what comes after."""
    holds = PersonHolds(Clock())
    assert holds.count_changes(MINE) == 0
    holds.take(MINE)
    holds.take(MINE)
    assert holds.count_changes(MINE) == 1
    assert holds.give_back(MINE) is not None
    assert holds.give_back(MINE) is None
    assert (holds.count_changes(MINE), holds.count_changes(OTHER)) == (2, 0)


def test_a_window_is_sent_no_more_than_it_shows() -> None:
    """A few are on their way; what it never was sent, it can't confirm."""
    window = ViewWindow()
    for number in range(1, MOST_UNSEEN + 1):
        assert window.wait_room(0)
        assert window.count_picture() == number
    assert not window.wait_room(0.01)
    window.confirm(1)
    assert window.wait_room(0)
    window.confirm(1_000_000)
    for _ in range(MOST_UNSEEN):
        assert window.wait_room(0)
        window.count_picture()
    assert not window.wait_room(0)


def test_a_window_that_ends_lets_go_of_whoever_waits() -> None:
    """At once; the first reason stays."""
    window = ViewWindow()
    for _ in range(MOST_UNSEEN):
        window.count_picture()
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(window.wait_room(60)))
    waiting.start()
    window.end("gone")
    window.end("later")
    waiting.join(20)
    assert answers == [False]
    assert window.why_over == "gone"
    assert not window.wait_room(0)


def test_what_hands_do_is_read() -> None:
    """In order."""
    down = {"do": "point", "kind": "down", "x": 0.5, "y": 1, "button": "left", "clicks": 2}
    wheel = {"do": "point", "kind": "wheel", "x": 0, "y": 0, "wheel_down": -120}
    keys, text = {"do": "key", "keys": "Control+a"}, {"do": "paste", "text": "hä"}
    assert read_inputs([down, wheel, keys, text]) == [
        PointerInput("down", 0.5, 1.0, "left", 2),
        PointerInput("wheel", 0.0, 0.0, wheel_down=-120.0),
        KeyInput("Control+a"),
        PasteInput("hä"),
    ]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, "deeds"),
        ([], "deeds"),
        ([{"do": "key", "keys": "a"}] * (MOST_DEEDS + 1), "deeds"),
        (["key"], "do"),
        ([{"do": "open"}], "do"),
        ([{"do": ["key"]}], "do"),
        ([{"do": "key", "keys": "Nothing"}], "keys"),
        ([{"do": "key", "keys": 7}], "keys"),
        ([{"do": "key", "keys": "a", "text": "b"}], "text"),
        ([{"do": "paste", "text": ""}], "text"),
        ([{"do": "paste", "text": "x" * 10_001}], "text"),
        ([{"do": "point", "kind": "fly", "x": 0, "y": 0}], "kind"),
        ([{"do": "point", "kind": "down", "x": 1.1, "y": 0}], "x"),
        ([{"do": "point", "kind": "down", "x": True, "y": 0}], "x"),
        ([{"do": "point", "kind": "down", "x": 0, "y": float("nan")}], "y"),
        ([{"do": "point", "kind": "down", "x": 0, "y": 0, "button": "fourth"}], "button"),
        ([{"do": "point", "kind": "down", "x": 0, "y": 0, "button": []}], "button"),
        ([{"do": "point", "kind": "down", "x": 0, "y": 0, "clicks": 4}], "clicks"),
        ([{"do": "point", "kind": "wheel", "x": 0, "y": 0, "wheel_down": 1e9}], "wheel_down"),
    ],
)
def test_what_hands_can_not_do_is_told_by_field(given: object, names: str) -> None:
    """Before anything of it is done."""
    with pytest.raises(BadInput, match=rf"^{names}: "):
        read_inputs(given)


def test_addresses_are_those_of_public_hosts_or_named_ones() -> None:
    """For a person as for the agent."""
    named = frozenset({("nas.home", 8080)})
    assert read_address("http://nas.home:8080/x", named).port == 8080
    assert read_address("https://shop.test/ä#top", frozenset()).url == "https://shop.test/%C3%A4"
    for url in (
        "http://nas.home:8080/",
        "https://10.0.0.1/",
        "https://www.google-analytics.com/",
        "file:///etc/passwd",
    ):
        with pytest.raises(BadInput):
            read_address(url, frozenset())
    assert host_in("https://shop.test/x") == "shop.test"
    assert host_in("about:blank") == host_in("http://[") == ""
