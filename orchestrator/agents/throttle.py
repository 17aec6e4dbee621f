"""A bound on wrong guesses at passwords and codes, in memory alone: a restart forgets it, which costs a guesser more
than it gives. It knows names and times, no passwords.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass

from orchestrator.core.errors import TooMany

_TRIES = 10
_TRIES_WINDOW_S = 300.0


class Throttle:
    """At most a few wrong guesses per name and per install within a while.

    A guess counts as wrong from its beginning until it was right, so that many at once can't pass together.
    """

    def __init__(self) -> None:
        self._guesses: deque[Guess] = deque()
        self._lock = threading.Lock()  # protects _guesses

    def count_attempt(self, name: str) -> Guess:
        """Count a guess. Raises TooMany while this name, or everybody together, guessed too often."""
        guess = Guess(time.monotonic(), name)
        with self._lock:
            while self._guesses and self._guesses[0].at < guess.at - _TRIES_WINDOW_S:
                self._guesses.popleft()
            of_name = sum(earlier.name == name for earlier in self._guesses)
            if of_name >= _TRIES or len(self._guesses) >= _TRIES * 10:
                raise TooMany("Too many wrong tries. Wait five minutes, or run './hermit login-link' on the host.")
            self._guesses.append(guess)
        return guess

    def was_right(self, guess: Guess) -> None:
        """It does not count any more."""
        with self._lock, contextlib.suppress(ValueError):  # it may be too old to be there
            self._guesses.remove(guess)


@dataclass(frozen=True, eq=False, slots=True)
class Guess:
    """One, from its beginning on."""

    at: float
    name: str
