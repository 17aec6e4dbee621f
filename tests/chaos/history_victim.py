"""A process that takes points and goes back until it is killed: ``python -m tests.chaos.history_victim MODE FOLDER``.

A point's label is the digest of the tree that it was taken of, so whoever finds it later can tell whether it is whole.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path

from orchestrator.checkpoints.models import Parts, PointKind
from tests.support.history_fixture import Facts, HistoryFixture, write

FILES = 60
DONE = b"."
"""Said after the start, and after each deed."""
CAP_BYTES = 4 << 20
"""Some hundred points of what ``take`` makes, and more named ones than come together until somebody lets them go."""


def digest(tree: Mapping[Parts, Facts]) -> str:
    """Of every name and byte."""
    return hashlib.sha256(repr(sorted(tree.items())).encode()).hexdigest()


def prepare(history: HistoryFixture) -> tuple[int, int]:
    """Two named points that differ in everything: contents, kinds, folders."""
    for number in range(FILES):
        write(history.work / f"d{number % 7}" / f"f{number}", f"old {number} ".encode() * 500)
    write(history.work / "kind", b"a file")
    write(history.work / "only-then" / "deep" / "a", b"1")
    first = history.take(PointKind.NAMED, digest(history.tree()))
    for number in range(FILES):
        write(history.work / f"d{number % 7}" / f"f{number}", f"new {number} ".encode() * 900, mode=0o755)
    (history.work / "kind").unlink()
    write(history.work / "kind" / "inner", b"a folder now")
    for path in (history.work / "only-then" / "deep" / "a", history.work / "only-then" / "deep"):
        path.unlink() if path.is_file() else path.rmdir()
    write(history.work / "only-now" / "b", b"2")
    second = history.take(PointKind.NAMED, digest(history.tree()))
    return first.id, second.id


def go_back(history: HistoryFixture) -> None:
    """To the one and to the other, for ever."""
    points = [point for point in history.store.list_checkpoints(limit=10_000) if point.kind is PointKind.NAMED]
    while True:
        for point in points:
            history.store.restore(point.id)
            os.write(1, DONE)


def take(history: HistoryFixture) -> None:
    """Points of a changing tree, with so little room that old ones go all the time."""
    chance = random.Random(os.getpid())  # noqa: S311 - no secret
    history.cap = CAP_BYTES
    while True:
        for _ in range(chance.randrange(1, 4)):
            write(
                history.work / chance.choice("abc") / chance.choice("defg"), chance.randbytes(chance.randrange(90_000))
            )
        history.take(PointKind.NAMED if chance.random() < 0.02 else PointKind.COMMAND, digest(history.tree()))
        os.write(1, DONE)


if __name__ == "__main__":
    victim = HistoryFixture(Path(sys.argv[2]))
    os.write(1, DONE)
    {"go back": go_back, "take": take}[sys.argv[1]](victim)
