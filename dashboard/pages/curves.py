"""Curves of what was measured again and again, drawn as paths of an SVG that is 600 wide and 100 high. Where nothing
was measured there is no line. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 600.0, 100.0
_STEPS = 200
"""As many points as can be told apart."""
_CLOSEST = 64
"""So many times less than the limit is the least that the whole height is."""
_GAP_S = 200.0
"""Longer than this without a measurement: nothing was running."""

Point = tuple[float, float]
"""When, and how much."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One measure over some time."""

    line: str
    """The path; empty without any point."""
    area: str
    """What is below it."""
    top: float
    """How much the whole height is."""
    most: float
    most_at: float
    average: float


def draw_curve(points: Sequence[Point], *, since: float, until: float, limit: float) -> Curve | None:
    """The points drawn against the limit, or against a part of it where they are all far below; None without any."""
    if not points:
        return None
    most_at, most = max(points, key=lambda point: point[1])
    top = limit
    while most < top / 2.5 and top > limit / _CLOSEST:
        top /= 2
    step = (until - since) / _STEPS
    lines, areas = [], []
    for run in _runs(points, max(_GAP_S, 2 * step)):
        drawn = [_place(point, since, until, top) for point in _thinned(run, since, step)]
        lines.append(_line(drawn))
        areas.append(f"M{drawn[0][0]} {_HEIGHT:g}L{' '.join(f'{x} {y}' for x, y in drawn)} {drawn[-1][0]} {_HEIGHT:g}Z")
    average = sum(amount for _, amount in points) / len(points)
    return Curve("".join(lines), "".join(areas), top, most, most_at, average)


def _runs(points: Sequence[Point], gap_s: float) -> list[list[Point]]:
    """The points in pieces without a gap."""
    found: list[list[Point]] = []
    for point in points:
        if found and point[0] - found[-1][-1][0] <= gap_s:
            found[-1].append(point)
        else:
            found.append([point])
    return found


def _thinned(run: Sequence[Point], since: float, step: float) -> list[Point]:
    """One point a step, where many were measured: their highest, so that no peak is lost."""
    highest: dict[int, Point] = {}
    for point in run:
        at = int((point[0] - since) / step)
        if at not in highest or point[1] > highest[at][1]:
            highest[at] = point
    return list(highest.values())


def _place(point: Point, since: float, until: float, top: float) -> tuple[float, float]:
    x = (point[0] - since) / (until - since) * _WIDTH
    y = _HEIGHT - min(1.0, point[1] / top) * _HEIGHT
    return round(x, 1), round(y, 1)


def _line(drawn: Sequence[Point]) -> str:
    """A point by itself is a short line, which is drawn as a dot."""
    rest = " ".join(f"{x} {y}" for x, y in drawn[1:])
    return f"M{drawn[0][0]} {drawn[0][1]}" + (f"L{rest}" if rest else "h.5")
