"""An errand: something to be fetched from the outside by a container that is thrown away; and what its sender must be
able to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Errand:
    """Something to be fetched from the outside by a container that is thrown away."""

    id: str
    image: str
    uid: int
    gid: int
    given: Path
    """What it gets, read-only inside."""
    brought: Path
    """What it brings; of its own making, so a stranger's word."""
    time_s: float
    max_bytes: int


class Errands(Protocol):
    """Whoever sends errands."""

    def run(self, errand: Errand, *, is_wanted: Callable[[], bool]) -> None:
        """The errand is over, one way or another, when this returns. Raises Unavailable."""

    def clear(self) -> None:
        """None is under way any more, not even one that was sent before a restart."""


class NoErrands:
    """Nobody is there to be sent, as where the house stands on paper alone."""

    def run(self, errand: Errand, *, is_wanted: Callable[[], bool]) -> None:  # noqa: ARG002 - as whoever does go
        """It can't be done."""
        raise Unavailable("Nothing can be downloaded here: no engine runs helper containers for this install.")

    def clear(self) -> None:
        """None ever was."""
