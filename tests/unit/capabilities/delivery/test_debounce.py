"""``orchestrator.capabilities.delivery.debounce``: when a name was quiet for long enough."""

from __future__ import annotations

import pytest

from orchestrator.capabilities.delivery.debounce import (
    FIRST_TRY_S,
    LAST_TRY_S,
    LONGEST_QUIET_S,
    MOST,
    QUIET_S,
    Debouncer,
    Ready,
)


def taken(settling: Debouncer, now: float) -> list[bytes]:
    """What is due by then."""
    names = []
    while (found := settling.take_due(now)) is not None:
        names.append(found[0].name)
    return names


def test_a_rename_is_due_at_once_and_a_close_after_a_moment() -> None:
    """Each once."""
    settling = Debouncer()
    settling.on_complete(b"moved", 10.0, at=0)
    settling.on_created(b"closed", 10.0, at=0)
    assert taken(settling, 10.0) == [b"moved"]
    assert settling.next_due() == 10.0 + QUIET_S
    assert taken(settling, 10.0 + QUIET_S) == [b"closed"]
    assert settling.next_due() is None


def test_slow_parts_are_waited_for_longer() -> None:
    """Three times their longest pause, but not for ever."""
    settling = Debouncer()
    for at in (0.0, 1.0, 2.0, 3.0):
        settling.on_created(b"log", at, at=at)
        assert taken(settling, at + 0.99) == []
    assert settling.next_due() == pytest.approx(6.0)
    settling.on_created(b"log", 5.9, at=5.9)
    assert settling.next_due() == pytest.approx(5.9 + 2.9 * 3)
    settling.on_created(b"log", 14.0, at=14.0)
    assert settling.next_due() == pytest.approx(14.0 + LONGEST_QUIET_S)


def test_what_waits_only_for_quiet_is_due_when_its_writer_has_ended() -> None:
    """However slowly it was written; what could not be taken keeps its time, until there is news of it."""
    settling = Debouncer()
    for at in (0.0, 3.0):
        settling.on_created(b"slow", at, at=at)
    settling.on_created(b"open", 3.0, at=3.0)
    found = settling.take_due(3.0 + QUIET_S)
    assert found is not None
    settling.retry_later(found[0], 4.2, 1)
    settling.hurry_all(4.3)
    assert taken(settling, 4.3) == [b"slow"]
    assert settling.next_due() == pytest.approx(4.2 + FIRST_TRY_S)
    settling.on_created(b"open", 4.4, at=4.4)
    settling.hurry_all(4.5)
    assert taken(settling, 4.5) == [b"open"]


def test_what_is_due_is_not_put_off_by_a_hurry() -> None:
    """It only ever comes sooner."""
    settling = Debouncer()
    settling.on_complete(b"moved", 1.0, at=0)
    settling.hurry_all(2.0)
    assert settling.next_due() == 1.0


def test_what_can_not_be_taken_is_tried_ever_less_often() -> None:
    """News of it begin again; when it was first heard of stays."""
    settling, now = Debouncer(), 0.0
    settling.on_created(b"a", now, at=77.0)
    pauses = []
    for _ in range(12):
        now = settling.next_due() or 0.0
        found = settling.take_due(now)
        assert found is not None
        ready, tries = found
        assert ready.found_at == 77.0
        settling.retry_later(ready, now, tries + 1)
        pauses.append((settling.next_due() or 0.0) - now)
    assert pauses[0] == FIRST_TRY_S
    assert pauses == pytest.approx(sorted(pauses))
    assert pauses[-1] == pytest.approx(LAST_TRY_S)
    settling.on_created(b"a", now + 1, at=99.0)
    assert settling.next_due() == pytest.approx(now + 1 + QUIET_S)
    assert settling.oldest_since() == 77.0


def test_what_was_asked_for_is_due_at_once_and_survives_a_flood() -> None:
    """Even when it was waited for."""
    settling = Debouncer()
    settling.on_created(b"a", 0.0, at=0)
    settling.on_created(b"b", 0.0, at=0)
    settling.on_complete(b"a", 0.1, at=0, asked=17)
    settling.clear_pending()
    assert settling.take_due(0.1) == (Ready(b"a", 0, 17), 0)
    assert len(settling) == 0


def test_it_remembers_only_so_many() -> None:
    """And says that there were more."""
    settling = Debouncer()
    for number in range(MOST + 10):
        settling.on_created(str(number).encode(), 0.0, at=0)
    assert len(settling) == MOST
    assert settling.is_overrun
