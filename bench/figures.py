"""Figures: what was measured, the arithmetic on it, and how it becomes a table on the page. It measures nothing."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


@dataclass(frozen=True)
class Row:
    """One line of a table: values of one kind, the floor that they are compared with, and what they should keep to."""

    what: str
    values: Sequence[float]
    floor: str = ""
    most: float | None = None
    """The median should be no more."""
    most_p99: float | None = None
    least: float | None = None
    """Or no less, for what is better when it is more."""
    unit: str = "ms"

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def p99(self) -> float:
        """The 99th percentile, or the maximum of few."""
        return p99(self.values)

    @property
    def goal(self) -> str:
        """In signs."""
        if self.least is not None:
            return f"≥ {self.least:,.6g}"
        if self.most is None:
            return ""
        return f"≤ {self.most:,.6g}" + (f" ({self.most_p99:,.6g})" if self.most_p99 is not None else "")

    @property
    def verdict(self) -> str:
        """Whether the goal was met; empty where there is none."""
        if self.least is None and self.most is None:
            return ""
        is_met = (
            (self.least is None or self.p50 >= self.least)
            and (self.most is None or self.p50 <= self.most)
            and (self.most_p99 is None or self.p99 <= self.most_p99)
        )
        return "yes" if is_met else "no"


@dataclass(frozen=True)
class Curve:
    """What something takes at each of several sizes."""

    what: str
    of: str
    """What is counted."""
    points: tuple[tuple[float, float], ...]
    unit: str = "ms"

    @property
    def exponent(self) -> float:
        """How it grows over the upper half of the sizes: 0 not at all, 1 with the size, 2 with its square."""
        (small, less), (large, more) = self.points[len(self.points) // 2 - (len(self.points) % 2 == 0)], self.points[-1]
        return math.log(max(more, 1e-9) / max(less, 1e-9)) / math.log(large / small)


@dataclass(frozen=True)
class Found:
    """What a part of the bench found: text for the page, and what can be drawn."""

    text: str
    curves: tuple[Curve, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Titles by the name of the picture that shows the curves whose ``of`` is that name."""


def p99(values: Sequence[float]) -> float:
    """The 99th percentile, or the maximum of few."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def number(value: float) -> str:
    """Three digits that count, and no more behind the point than help."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(rows: Sequence[Row], floors: Mapping[str, Row]) -> str:
    """Markdown: the floors first, then what is measured against them."""
    lines = ["| what | p50 | p99 | unit | against its floor | goal | met |", "|---|---:|---:|---|---|---|---|"]
    for row in [*floors.values(), *rows]:
        ratio = ""
        if row.floor:
            floor = floors[row.floor]
            ratio = f"{number(row.p50 / floor.p50)} × {floor.what}" if floor.p50 else ""
        spread = number(row.p99) if len(row.values) > 1 else ""
        lines.append(
            f"| {row.what} | {number(row.p50)} | {spread} | {row.unit} | {ratio} | {row.goal} | {row.verdict} |"
        )
    return "\n".join(lines)


def growth_table(curves: Sequence[Curve]) -> str:
    """Markdown: each curve with its first and its last point and how it grows."""
    lines = ["| what | from | to | exponent, upper half |", "|---|---:|---:|---:|"]
    for curve in curves:
        ends = [f"{number(y)} {curve.unit} at {x:,.0f}" for x, y in (curve.points[0], curve.points[-1])]
        lines.append(f"| {curve.what}, by {curve.of} | {ends[0]} | {ends[1]} | {curve.exponent:.2f} |")
    return "\n".join(lines)


def markers(name: str) -> tuple[str, str]:
    """What stands around a part's figures on the page."""
    return f"<!-- {name} figures -->".replace("<!--  ", "<!-- "), f"<!-- end of {name} figures -->".replace(
        "of  ", "of "
    )


def placed(page: str, name: str, text: str) -> str:
    """The page with ``text`` between a part's markers. Raises ValueError where it has none."""
    begin, end = markers(name)
    head, found, rest = page.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"docs/performance.md has no place for '{name}': it needs '{begin}' and '{end}'.")
    return f"{head}{begin}\n{text}\n{end}{tail}"


def keep(name: str, text: str, page: Path = PAGE) -> None:
    """Write a part's figures into the page."""
    page.write_text(placed(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def machine() -> str:
    """What it was measured on."""
    said = subprocess.run(["/usr/bin/lscpu", "-J"], capture_output=True, check=True, text=True).stdout
    named = {fact["field"].rstrip(":"): fact["data"] for fact in json.loads(said)["lscpu"]}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{named['CPU(s)']} × {named['Model name']}, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def circumstances(loads: Sequence[float]) -> str:
    """Machine, date, and how busy it was before, while and after."""
    noted = " – ".join(f"{load:.1f}" for load in sorted({min(loads), max(loads)}))
    return f"Machine: {machine()}, {time.strftime('%Y-%m-%d')}; load while it was measured: {noted}."
