"""How much one cubicle may do within a time. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """How much one cubicle may do within a time; what a busy agent meets first."""

    files_per_minute: int = 20
    files_per_day: int = 200
    installs_per_hour: int = 10


USUAL_RATES = Rates()
