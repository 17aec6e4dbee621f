"""Sentences that are English wherever they are made, and can be said in another language later. Pure."""

from __future__ import annotations

from typing import Any, Self


class Told(str):
    """A sentence, which remembers its wording and what was put into it: ``"There is no agent %(name)s."``."""

    __slots__ = ("about", "wording")

    wording: str
    about: dict[str, Any]

    def __new__(cls, wording: str, about: dict[str, Any]) -> Self:
        """The sentence in English."""
        made = super().__new__(cls, wording % about)
        made.wording = wording
        made.about = about
        return made


def worded(wording: str, /, **about: Any) -> Told:
    """``worded("There is no agent %(name)s.", name=name)``: for the errors that people meet in the dashboard."""
    return Told(wording, about)


def to_say(text: str) -> str:
    """The text itself: marks what is said later, so that it gets into the catalogues."""
    return text
