"""The words of terminals: a window's size, and the stream of a shell in a cubicle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator.core.errors import BadInput

MARK = "HERMIT_TTY"
"""The variable by which everything that was started in a terminal is known inside, with the terminal's id."""
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Size:
    """A window, in characters."""

    columns: int
    rows: int

    def __post_init__(self) -> None:
        if not (1 <= self.columns <= _MOST and 1 <= self.rows <= _MOST):
            raise BadInput(f"columns, rows: a terminal has 1 to {_MOST:,} of each.")


class Tty(Protocol):
    """One shell's terminal. ``read`` is for one thread; the others may be called from any."""

    def read(self) -> bytes:
        """What the inside printed next, a piece of it; empty once the shell, its cubicle or the stream has ended."""

    def write(self, data: bytes) -> None:
        """The shell gets this. Raises Unavailable when it takes nothing more."""

    def resize(self, size: Size) -> None:
        """The window has another size; a shell that has ended needs none."""

    def close(self) -> None:
        """A read under way ends, as does every later one. Again is fine. What runs inside goes on until
        ``end_terminals``."""
