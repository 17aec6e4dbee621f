"""``orchestrator.core.serial_work``: in order for each cubicle, several cubicles at a time; nobody waits in vain."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.core.serial_work import SerialWork

ONE, OTHER = CubicleKey("crab", 1), CubicleKey("crab", 2)


@pytest.fixture
def work() -> Iterator[SerialWork]:
    """Two threads."""
    made = SerialWork("work")
    yield made
    made.close()


def test_it_is_done_in_order(work: SerialWork) -> None:
    """Of one cubicle never two at once; what it returns comes to whoever waits."""
    done: list[int] = []
    lock = threading.Lock()

    def add(number: int) -> int:
        assert lock.acquire(blocking=False), "two at once"
        done.append(number)
        lock.release()
        return number * 2

    futures = [work.add(ONE, lambda number=number: add(number)) for number in range(200)]  # type: ignore[misc]  # mypy can't type a bound default
    assert [future.result(10) for future in futures] == [number * 2 for number in range(200)]
    assert done == list(range(200))


def test_one_cubicle_does_not_wait_for_another(work: SerialWork) -> None:
    """As long as there is a thread; and what is waited for is that of one's own."""
    go_on = threading.Event()
    held = work.add(ONE, lambda: go_on.wait(10))
    assert work.add(OTHER, lambda: "quick").result(10) == "quick"
    work.await_all(OTHER, 10)
    with pytest.raises(TimeoutError):
        work.await_all(ONE, 0.01)
    go_on.set()
    work.await_all(ONE, 10)
    assert held.done()


def test_what_fails_is_told_and_the_next_is_done(work: SerialWork, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal goes to whoever waits; a fault of ours is in the log as well."""

    def refuse() -> None:
        raise NotFound("It is gone.")

    def break_down() -> None:
        raise ZeroDivisionError("a fault")

    refused, broken, fine = work.add(ONE, refuse), work.add(ONE, break_down), work.add(ONE, lambda: 1)
    with pytest.raises(NotFound):
        refused.result(10)
    with pytest.raises(ZeroDivisionError):
        broken.result(10)
    assert fine.result(10) == 1
    assert [record.message for record in caplog.records] == ["work for crab/1 failed"]


def test_once_closed_it_takes_nothing_more() -> None:
    """What was added before is done."""
    work, done = SerialWork("work"), []
    for number in range(50):
        work.add(ONE, lambda number=number: done.append(number))  # type: ignore[misc]  # as above
    work.close()
    assert done == list(range(50))
    with pytest.raises(Unavailable):
        work.add(ONE, lambda: None)
    work.await_all(ONE, 1)
