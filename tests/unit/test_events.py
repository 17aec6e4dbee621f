"""``orchestrator.events``: news reach whoever watches, and a slow watcher costs nobody's time."""

from __future__ import annotations

import threading

from orchestrator.events import Broker
from orchestrator.nouns import Event


def _event(n: int) -> Event:
    return Event("turn", None, {"n": n})


def test_everybody_who_listens_hears() -> None:
    """In order, from the moment of listening on."""
    broker = Broker()
    broker.publish(_event(0))
    assert not broker.is_wanted("turn")
    one, two = broker.subscribe(), broker.subscribe()
    assert broker.is_wanted("turn")
    for n in (1, 2):
        broker.publish(_event(n))
    for subscription in (one, two):
        heard = [subscription.get(1), subscription.get(1), subscription.get(0.01)]
        assert [event.body["n"] if event else None for event in heard] == [1, 2, None]


def test_only_what_is_wanted_is_heard() -> None:
    """And nobody need make news that nobody wants."""
    broker = Broker()
    subscription = broker.subscribe("bot", "agent")
    broker.publish(_event(1))
    assert subscription.get(0.01) is None
    assert broker.is_wanted("bot")
    assert not broker.is_wanted("turn")
    subscription.narrow(None)
    broker.publish(_event(2))
    assert (heard := subscription.get(1)) is not None
    assert heard.body["n"] == 2


def test_a_slow_watcher_loses_the_oldest() -> None:
    """The newest thousand are there."""
    broker = Broker()
    slow = broker.subscribe()
    for n in range(2_500):
        broker.publish(_event(n))
    first = slow.get(1)
    assert first is not None
    assert first.body["n"] == 1_500


def test_who_has_left_hears_nothing() -> None:
    """Leaving twice is fine."""
    broker = Broker()
    subscription = broker.subscribe()
    broker.unsubscribe(subscription)
    broker.unsubscribe(subscription)
    broker.publish(_event(1))
    assert subscription.get(0.01) is None
    assert not broker.is_wanted("turn")


def test_closing_wakes_whoever_waits() -> None:
    """At once, and every later wait returns at once too."""
    broker = Broker()
    subscription = broker.subscribe()
    heard: list[object] = []
    waiting = threading.Thread(target=lambda: heard.append(subscription.get(30)))
    waiting.start()
    broker.close()
    waiting.join(5)
    assert heard == [None]
    assert subscription.is_closed
    assert subscription.get(30) is None


def test_many_publish_at_once() -> None:
    """Nothing is lost below the cap."""
    broker = Broker()
    subscription = broker.subscribe()

    def publish() -> None:
        for n in range(50):
            broker.publish(_event(n))

    threads = [threading.Thread(target=publish) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sum(subscription.get(0.01) is not None for _ in range(600)) == 500
