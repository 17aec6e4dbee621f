"""Which of the languages there are comes nearest to what a browser asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SIMPLIFIED = ("zh", "zh-cn", "zh-sg", "zh-my", "zh-hans")
"""What means the simplified characters; whoever asks for the traditional ones wants others."""


def choose_language(wanted: Iterable[tuple[str, float]], offered: Sequence[str]) -> str:
    """The tag of the first wish that can be met, the dearest first; English where none can, as the first offered."""
    by_wish = sorted(((tag, quality) for tag, quality in wanted if quality > 0), key=lambda wish: -wish[1])
    known = {tag.lower(): tag for tag in offered}
    for tag, _ in by_wish:
        if found := known.get(_plain(tag)):
            return found
    return offered[0]


def _plain(tag: str) -> str:
    """``de-AT`` is German; for Chinese the characters matter and not the place."""
    folded = tag.lower().replace("_", "-")
    if folded.partition("-")[0] != "zh":
        return folded.partition("-")[0]
    is_simplified = folded in _SIMPLIFIED or folded.startswith("zh-hans-")
    return "zh-hans" if is_simplified else folded
