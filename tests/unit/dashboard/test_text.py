"""What people read on pages: marked commands, times, colours that can be told apart."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dashboard
from dashboard import ages
from dashboard.marks import mark_hidden
from dashboard.times import iso_time, with_iso_times


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("ls -la", "ls -la"),
        ("a  b", "a  b"),
        ("a\nb", "a\nb"),
        ("rm \u202egpj.exe", "rm {\\u202e}gpj.exe"),
        ("a\u200bb", "a{\\u200b}b"),
        ("a\U000e0041b", "a{\\U000e0041}b"),
        ("a\rb", "a{\\r}b"),
        ("a\x1b[2J", "a{\\x1b}[2J"),
        ("a\xa0b", "a{\\xa0}b"),
        ("ls ", "ls{·}"),
        ("ls   \nrm", "ls{·×3}\nrm"),
        ("ls" + " " * 200 + "rm", "ls{·×200}rm"),
        ("ls" + "\n" * 100 + "rm", "ls{⏎×100}\nrm"),
        ("a\tb", "a{⇥}\tb"),
        ("exаmple", "ex{а}mple"),
        ("<b>&amp;", "<b>&amp;"),
        ("", ""),
    ],
)
def test_what_an_eye_would_miss_is_marked(text: str, seen: str) -> None:
    """Invisible, reordering and foreign characters, long gaps and blanks at the end."""
    assert read(mark_hidden(text)) == seen


@given(st.text())
def test_nothing_is_left_out(text: str) -> None:
    """Every visible ASCII character of the command is there, in order, and no tag but ours."""
    shown = mark_hidden(text)
    assert set(re.findall(r"</?(\w+)", shown)) <= {"mark"}
    outside = re.sub(r"<mark.*?</mark>", "", shown, flags=re.DOTALL)
    assert re.sub(r"\s", "", html.unescape(outside)) == "".join(c for c in text if "!" <= c <= "~")


def read(shown: str) -> str:
    """The page's text, marks in braces."""
    return html.unescape(re.sub(r"<mark[^>]*>(.*?)</mark>", r"{\1}", shown, flags=re.DOTALL))


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (0, "just now"),
        (44, "just now"),
        (50, "1 min ago"),
        (150, "2 min ago"),
        (3600, "1 h ago"),
        (7200, "2 h ago"),
        (86_400, "1 day ago"),
        (200_000, "2 days ago"),
        (-10, "in less than a minute"),
        (-3599, "in 60 min"),
        (-7200, "in 2 h"),
    ],
)
def test_ages(ago: float, text: str) -> None:
    """As people say them."""
    assert ages.format_relative(1_000_000 - ago, 1_000_000) == text


def test_exact_times_are_in_the_persons_zone() -> None:
    """With the zone's name, in summer and winter."""
    assert ages.format_exact(1_772_269_200, "Europe/Vienna") == "Sat 28 Feb 2026, 10:00:00 CET"
    assert ages.format_exact(1_782_637_200, "Europe/Vienna").endswith("CEST")


def test_durations() -> None:
    """Short ones with a tenth, long ones in minutes."""
    assert [ages.format_duration(s) for s in (0.04, 9.94, 14.2, 185)] == ["0.0 s", "9.9 s", "14 s", "3 min 5 s"]


def test_times_at_the_edge() -> None:
    """ISO 8601 in UTC for what is a time, and for nothing else."""
    assert iso_time(1_772_269_200.5) == "2026-02-28T09:00:00.500Z"
    assert with_iso_times({"at": 0.0, "ended_at": None, "cost": 1.5}) == {
        "at": "1970-01-01T00:00:00.000Z",
        "ended_at": None,
        "cost": 1.5,
    }


PAIRS = [
    (ink, ground, 4.5)
    for ink, grounds in {
        "ink": ("ground", "surface", "sunken", "sea-tint", "shell-tint", "code-ground"),
        "ink-soft": ("ground", "surface", "sea-tint", "shell-tint", "sunken"),
        "sea": ("ground", "surface", "shell-tint"),
        "on-sea": ("sea", "sea-strong"),
        "shell": ("surface", "shell-tint"),
        "bad": ("surface", "bad-tint", "ground"),
        "mark-ink": ("mark",),
        "surface": ("shell",),
    }.items()
    for ground in grounds
] + [("edge", "surface", 3.0), ("edge", "ground", 3.0), ("sea", "ground", 3.0), ("good", "surface", 3.0)]
"""Which colours meet, and the contrast that WCAG 2.2 AA asks for: text 4.5, edges of controls and signs 3."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_apart(scheme: str) -> None:
    """Every pair that meets has its contrast, by day and by night."""
    tokens = (Path(dashboard.__file__).parent / "static" / "tokens.css").read_text(encoding="utf-8")
    found = re.findall(r"--([a-z-]+): (?:light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)|(#[0-9a-f]{6}));", tokens)
    colours = {name: both or (light if scheme == "light" else dark) for name, light, dark, both in found}
    assert len(colours) > 30
    low = [
        (a, b, round(contrast(colours[a], colours[b]), 2))
        for a, b, least in PAIRS
        if contrast(colours[a], colours[b]) < least
    ]
    assert low == []


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
