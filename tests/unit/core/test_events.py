"""``orchestrator.core.events``: news reach whoever watches, and a slow watcher costs nobody's time."""

from __future__ import annotations

import threading

from orchestrator.core.events import Broker, Subscription
from orchestrator.core.models import Event


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


def test_a_mark_is_another_one_after_any_news() -> None:
    """Heard or not, and also after news that nobody made because nobody listened; and in another broker."""
    broker = Broker()
    marks = [broker.mark, broker.mark]
    assert marks[0] == marks[1] != Broker().mark
    broker.publish(_event(1))
    marks.append(broker.mark)
    assert not broker.is_wanted("step")
    marks.append(broker.mark)
    subscription = broker.subscribe()
    assert broker.is_wanted("step")
    assert broker.mark == marks[-1]
    broker.unsubscribe(subscription)
    assert len(set(marks)) == 3


def test_only_what_is_wanted_is_heard() -> None:
    """And nobody need make news that nobody wants."""
    broker = Broker()
    subscription = broker.subscribe("bot", "agent")
    broker.publish(_event(1))
    assert subscription.get(0.01) is None
    assert broker.is_wanted("bot")
    assert not broker.is_wanted("turn")
    subscription.set_kinds(None)
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


def _live(turn: int, text: str, kind: str = "delta") -> Event:
    return Event(kind, None, {"turn": turn, "text": text})


def _all_of(subscription: Subscription) -> list[tuple[str, object]]:
    heard = []
    while (event := subscription.get(0.01)) is not None:
        heard.append((event.kind, event.body.get("text", event.body.get("n"))))
    return heard


def test_a_slow_watcher_gets_the_newest_draft_alone() -> None:
    """Each draft takes the place of the one before it, of the same turn and kind."""
    broker = Broker()
    subscription = broker.subscribe()
    for text in ("I", "I am", "I am here"):
        broker.publish(_live(1, text))
        broker.publish(_live(2, text.upper()))
    broker.publish(_live(1, "out", "output"))
    assert _all_of(subscription) == [("delta", "I am here"), ("delta", "I AM HERE"), ("output", "out")]
    broker.publish(_live(1, "once more"))
    assert _all_of(subscription) == [("delta", "once more")]


def test_no_draft_overtakes_what_came_before_it() -> None:
    """What is written after a step is heard after it."""
    broker = Broker()
    subscription = broker.subscribe()
    broker.publish(_live(1, "first"))
    broker.publish(Event("step", None, {"turn": 1, "n": 1}))
    broker.publish(_live(1, "second"))
    assert _all_of(subscription) == [("delta", "first"), ("step", 1), ("delta", "second")]


def test_drafts_push_nothing_out_and_may_be_pushed_out() -> None:
    """However many drafts come, other news stay; and a draft that was pushed out comes again with the next."""
    broker = Broker()
    subscription = broker.subscribe()
    broker.publish(_event(0))
    for n in range(3000):
        broker.publish(_live(1, str(n)))
    assert _all_of(subscription) == [("turn", 0), ("delta", "2999")]
    broker.publish(_live(1, "lost"))
    for n in range(1500):
        broker.publish(Event("cubicle", None, {"n": n}))
    broker.publish(_live(1, "found"))
    assert _all_of(subscription)[-1] == ("delta", "found")
