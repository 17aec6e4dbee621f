"""Pauses where a busy machine might make them, as a pytest plug-in: ``./hermit test -ptests.pauses --pauses=SEED``.

The main thread rests between lines of tests, and every thread that is started rests at calls of ours, each for a random
moment. What holds only because one thread is quicker than another falls over; what is right takes longer, and that is
all. Each test has a bound for the pauses of either kind. The same seed pauses alike, as far as threads do.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_ROOT = str(Path(__file__).resolve().parents[1])
_OURS = tuple(f"{_ROOT}/{folder}/" for folder in ("orchestrator", "dashboard", "tests"))
_TESTS = f"{_ROOT}/tests/"


@dataclass(slots=True)
class Rest:
    """How often somebody rests, and for how long."""

    likely: float
    """Of each chance, from 0 to 1."""
    longest_s: float
    in_all_s: float
    """In one test."""
    left_s: float = 0.0

    def begin(self) -> None:
        """Another test."""
        self.left_s = self.in_all_s

    def chance(self, dice: random.Random) -> None:
        """Rest now, or not."""
        if self.left_s > 0 and dice.random() < self.likely:
            pause_s = dice.random() * self.longest_s
            self.left_s -= pause_s
            time.sleep(pause_s)


class Pauses:
    """The plug-in itself."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - no secret
        self._tests = Rest(0.1, 0.3, 0.6)
        self._threads = Rest(0.004, 0.25, 3.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """A test with its fixtures."""
        self._tests.begin()
        self._threads.begin()
        if sys.gettrace() is None:  # once for all tests: a thread that begins meanwhile must not be in the middle of it
            sys.settrace(self._in_test)
            threading.settrace(self._in_thread)
        return (yield)

    def _in_test(self, frame: FrameType, event: str, _: Any) -> Any:
        """Between any two lines of a test, a fixture or a helper."""
        if event == "line":
            self._tests.chance(self._dice)
        is_watched = self._tests.left_s > 0 and frame.f_code.co_filename.startswith(_TESTS)
        return self._in_test if is_watched else None

    def _in_thread(self, frame: FrameType, _event: str, _: Any) -> Any:
        """Where a function of ours is called."""
        if frame.f_code.co_filename.startswith(_OURS):
            self._threads.chance(self._dice)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--pauses``: the seed."""
    parser.addoption("--pauses", type=int, default=1, metavar="SEED", help="where the pauses fall (tests.pauses)")


def pytest_configure(config: pytest.Config) -> None:
    """Each worker has pauses of its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    config.pluginmanager.register(Pauses(config.getoption("--pauses") * 1000 + int(worker)), "pauses")
