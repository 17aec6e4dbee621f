"""Which connection goes when one more has to fit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from orchestrator.door.http.connection_limits import GRACE_S, choose_to_drop

NOW = 1_000.0


@dataclass(frozen=True)
class Client:
    """A connection."""

    name: str
    since: float
    has_asked: bool = False
    is_waiting: bool = True
    remote_addr: str | None = "127.0.0.1"


OLD, OLDER = Client("old", NOW - 10), Client("older", NOW - 20)
FRESH, FRESHER = Client("fresh", NOW - 0.5), Client("fresher", NOW - 0.1)
KEPT, KEPT_LONGER = Client("kept", NOW - 5, has_asked=True), Client("kept longer", NOW - 50, has_asked=True)
BUSY = Client("busy", NOW - 100, is_waiting=False)
ELSEWHERE = Client("elsewhere", NOW - 60, remote_addr="192.0.2.7")


@pytest.mark.parametrize(
    ("crowd", "goes"),
    [
        ([], None),
        ([BUSY, BUSY], None),
        ([OLD, OLDER, BUSY], OLDER),
        ([OLD, KEPT_LONGER], OLD),
        ([KEPT, KEPT_LONGER], KEPT_LONGER),
        ([FRESH, KEPT, KEPT_LONGER], KEPT_LONGER),
        ([FRESH, OLD], OLD),
        ([FRESH, FRESHER], FRESH),
        ([FRESH, BUSY], FRESH),
        ([ELSEWHERE, OLD, OLDER], OLDER),
        ([ELSEWHERE, KEPT, KEPT_LONGER], KEPT_LONGER),
    ],
)
def test_who_goes(crowd: list[Client], goes: Client | None) -> None:
    """Never who works; whoever came just now only where nobody else waits."""
    assert choose_to_drop(crowd, now=NOW) == goes
    assert choose_to_drop(reversed(crowd), now=NOW) == goes


def test_a_crowd_that_has_asked_leaves_a_new_client_its_moment() -> None:
    """However many more arrive within it."""
    held = [Client(f"{n}", NOW - 100 + n / 100, has_asked=True) for n in range(256)]
    honest = Client("honest", NOW)
    arriving = [Client(f"new {n}", NOW + n / 300) for n in range(200)]
    crowd = [*held, honest]
    for one in arriving:
        goes = choose_to_drop(crowd, now=one.since)
        assert goes is not None
        assert goes != honest
        crowd.remove(goes)
        crowd.append(one)
    assert arriving[-1].since - NOW < GRACE_S
