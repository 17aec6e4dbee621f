"""What one cubicle may send through its door, and that its neighbour is served meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import TooMany
from orchestrator.door.bodies import BodyAllowance
from tests.support.core_fixture import KEY, OTHER
from tests.support.two_doors import TwoDoors, street_of
from tests.support.unix_http import UnixHttp

MIB = 1024 * 1024
ASK = {"messages": [{"role": "user", "content": "hello"}]}

SHAPES = {
    "empty lists": b"[]",
    "empty objects": b"{}",
    "nested lists": b"[[[[]]]]",
    "small objects": b'{"role":"user"}',
    "empty texts": b'""',
    "numbers": b"1",
    "nothing": b"null",
}
"""Items that cost a few bytes to send, and each an object or a place in a list to hold."""


@pytest.fixture
def street(tmp_path: Path) -> Iterator[TwoDoors]:
    """Two cubicles, each with its door."""
    with street_of(tmp_path / "home") as made:
        yield made


def _of_size(item: bytes, size: int) -> bytes:
    return b'{"messages":[' + b",".join([item] * (size // (len(item) + 1) - 20)) + b"]}"


def _peak_bytes() -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("item", SHAPES.values(), ids=SHAPES)
def test_many_small_things_cost_the_host_little(street: TwoDoors, item: bytes) -> None:
    """Sixteen bodies of eight megabytes at once are refused before anything is made of them, and a neighbour's call is
    answered in between."""
    body, answers = _of_size(item, 8 * MIB), []
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _peak_bytes()

    def flood() -> None:
        answers.append(street.call("POST", "llm", body)[0])

    crowd = [threading.Thread(target=flood) for _ in range(16)]
    for one in crowd:
        one.start()
    assert street.call("POST", "llm", ASK, key=OTHER)[0] == 200
    for one in crowd:
        one.join(60)
    assert answers == [400] * 16
    assert _peak_bytes() - before < 700 * MIB  # the clients' own copies are part of it; it was gigabytes
    assert street.call("POST", "llm", ASK)[0] == 200


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("status", 100_000),
        ("approvals", 100_000),
        ("streams", 100_000),
        ("calls", 300_000),
        ("turns/1/steps", 1_100_000),
        ("turns/1/finish", 1_100_000),
    ],
)
def test_a_route_takes_no_more_than_it_needs(street: TwoDoors, path: str, size: int) -> None:
    """The head alone decides: the body is never waited for."""
    client = UnixHttp(street.door(KEY))
    client.putrequest("POST", f"/api/internal/{path}")
    client.putheader("Content-Length", str(size))
    client.endheaders()
    answer = client.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["code"]) == (413, "too_large")
    client.close()


def test_the_bytes_in_flight_are_counted() -> None:
    """What doesn't fit waits until something else was answered; who waits too long is told so."""
    allowance, entered = BodyAllowance(100, wait_s=0.05), threading.Event()
    with allowance.hold(60), pytest.raises(TooMany), allowance.hold(60):
        raise AssertionError("unreachable")
    patient = BodyAllowance(100, wait_s=30)

    def second() -> None:
        with patient.hold(60):
            entered.set()

    waiting = threading.Thread(target=second)
    with patient.hold(60):
        waiting.start()
        time.sleep(0.05)
        assert not entered.is_set()
        with patient.hold(40):
            assert not entered.is_set()
    waiting.join(30)
    assert entered.is_set()
    with patient.hold(1000):  # alone, anything that its route takes fits
        assert not waiting.is_alive()


def test_large_bodies_are_read_one_after_another() -> None:
    """Small ones pass by."""
    allowance = BodyAllowance(wait_s=0.05)
    with allowance.reading(MIB), allowance.reading(1000), pytest.raises(TooMany), allowance.reading(MIB):
        raise AssertionError("unreachable")
    with allowance.reading(MIB):
        pass
