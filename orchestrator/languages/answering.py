"""What an agent is told about the language of the person that it works for. Pure."""

from __future__ import annotations

from orchestrator.languages.table import find_language


def language_note(tag: str) -> str:
    """A line before a message, for a person who has chosen a language; empty for one who has not: a model answers in
    the language that it is written to in, and a browser's wishes are no choice."""
    language = find_language(tag) if tag else None
    return (
        "" if language is None else f"Answer in {language.english_name}, unless the person writes in another language."
    )
