"""``orchestrator.capabilities.browser.sent_bytes``: how much goes to a site before a person is asked again."""

from __future__ import annotations

from orchestrator.capabilities.browser.sent_bytes import MOST_BYTES, SentBytes


def test_a_site_is_spent_and_renewed() -> None:
    """What was sent counts for its host; a yes gives as much again, to the names below the site too."""
    sent = SentBytes()
    sent.begin_turn(1)
    sent.set_usage({"up.shop.test": MOST_BYTES, "other.test": 500})
    assert sent.is_spent("shop.test")
    assert not sent.is_spent("other.test")
    assert not sent.is_spent("p.test")
    sent.allow_more("shop.test")
    assert not sent.is_spent("shop.test")
    assert sent.most_up("up.shop.test") == 2 * MOST_BYTES
    assert sent.most_up("other.test") == MOST_BYTES


def test_files_that_a_person_agreed_to_come_on_top() -> None:
    """For their host alone, through a new gate too, and until the turn is over."""
    sent = SentBytes()
    sent.begin_turn(1)
    sent.allow_files("shop.test", 500)
    assert sent.most_up("shop.test") == MOST_BYTES + 500
    assert sent.most_up("up.shop.test") == MOST_BYTES
    sent.set_usage({"shop.test": 700})
    sent.change_gate()
    assert sent.most_up("shop.test") == MOST_BYTES - 200
    sent.begin_turn(2)
    assert sent.most_up("shop.test") == MOST_BYTES


def test_a_turn_begins_anew() -> None:
    """Through the same gate, which goes on counting."""
    sent = SentBytes()
    sent.begin_turn(1)
    sent.set_usage({"shop.test": MOST_BYTES})
    sent.allow_more("shop.test")
    sent.begin_turn(1)
    assert sent.most_up("shop.test") == 2 * MOST_BYTES
    sent.begin_turn(2)
    assert not sent.is_spent("shop.test")
    assert sent.most_up("shop.test") == 2 * MOST_BYTES  # half of which went before this turn


def test_another_browser_is_no_way_around_it() -> None:
    """Its gate counts from nothing, and what was sent in this turn still counts."""
    sent = SentBytes()
    sent.begin_turn(1)
    sent.set_usage({"shop.test": 1_500_000})
    sent.change_gate()
    assert sent.most_up("shop.test") == 500_000
    sent.set_usage({"shop.test": 500_000})
    assert sent.is_spent("shop.test")
    sent.change_gate()
    assert sent.most_up("shop.test") == 0
    sent.begin_turn(2)
    assert sent.most_up("shop.test") == MOST_BYTES
