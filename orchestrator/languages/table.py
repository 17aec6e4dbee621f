"""The languages there are. Data alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """One of them."""

    tag: str
    """By BCP 47, as pages and browsers write it."""
    own_name: str
    english_name: str
    """As an agent's instructions call it."""

    @property
    def locale(self) -> str:
        """How the data of Unicode's CLDR and our catalogues call it."""
        return self.tag.replace("-", "_")


ENGLISH = Language("en", "English", "English")
TRANSLATED = (
    Language("de", "Deutsch", "German"),
    Language("fr", "Français", "French"),
    Language("es", "Español", "Spanish"),
    Language("ja", "日本語", "Japanese"),
    Language("zh-Hans", "简体中文", "Simplified Chinese"),
)
"""Those with a catalogue, finished or not."""
FINISHED = frozenset({"de", "fr", "es", "ja", "zh-Hans"})
"""Whose catalogue says everything: only these are offered, and the tests hold each to it."""
LANGUAGES = (ENGLISH, *(language for language in TRANSLATED if language.tag in FINISHED))
"""What a person may choose."""


def find_language(tag: str) -> Language | None:
    """The one with this tag, if it is offered."""
    return next((language for language in LANGUAGES if language.tag == tag), None)
