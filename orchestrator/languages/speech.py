"""A text in a language: looked up by its English wording, with what it is about put into it.

A catalogue is a ``.po`` file, read when somebody first needs it and kept as long as the process lives. Nothing is built
beforehand, and nobody who reads English loads any of it.
"""

from __future__ import annotations

import gettext
import io
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.languages.table import ENGLISH, LANGUAGES, Language
from orchestrator.languages.told import Told

FOLDER = Path(__file__).parent / "catalogues"
_SCRIPTS = "dashboard/static/"


class SpokenLanguage:
    """One language's words."""

    def __init__(
        self,
        language: Language,
        words: gettext.NullTranslations,
        scripts: Mapping[str, str | list[str]] | None = None,
    ) -> None:
        self.language = language
        self._words = words
        self.scripts = scripts or {}
        """What the scripts of pages say, by the English wording; a list for a text that has forms for numbers."""

    @property
    def is_english(self) -> bool:
        """Nothing needs to be looked up."""
        return self.language is ENGLISH

    def say(self, text: str, /, **about: Any) -> str:
        """The text, with ``%(name)s`` filled in from ``about``."""
        said = self._words.gettext(text)
        return said % about if about else said

    def say_many(self, one: str, many: str, count: int, /, **about: Any) -> str:
        """The text for so many; ``%(count)s`` is in ``about`` by itself, written as it is given there else."""
        return self._words.ngettext(one, many, count) % {"count": count, **about}

    def say_as(self, context: str, text: str, /, **about: Any) -> str:
        """A text that means two things in English: ``context`` tells which."""
        said = self._words.pgettext(context, text)
        return said % about if about else said

    def retell(self, text: str) -> str:
        """A sentence that was made elsewhere, in English: in this language where its wording is known."""
        if isinstance(text, Told):
            return self._words.gettext(text.wording) % text.about
        return self._words.gettext(text) if text else text

    def lookup(self, text: str) -> str:
        """The bare text, for templates."""
        return self._words.gettext(text)

    def lookup_many(self, one: str, many: str, count: int) -> str:
        """The bare text for so many, for templates."""
        return self._words.ngettext(one, many, count)

    def lookup_as(self, context: str, text: str) -> str:
        """The bare text of two meanings, for templates."""
        return self._words.pgettext(context, text)


IN_ENGLISH = SpokenLanguage(ENGLISH, gettext.NullTranslations())


class SpokenLanguages:
    """The languages that are offered here."""

    def __init__(self, folder: Path = FOLDER, offered: Sequence[Language] = LANGUAGES) -> None:
        self._folder = folder
        self._offered = {language.tag: language for language in offered}
        self._read = {ENGLISH.tag: IN_ENGLISH}
        self._reading = threading.Lock()

    @property
    def languages(self) -> tuple[Language, ...]:
        """What a person may choose from."""
        return tuple(self._offered.values())

    def of(self, tag: str) -> SpokenLanguage:
        """The words of this language; English for one that is not offered (any more)."""
        language = self._offered.get(tag)
        if language is None:
            return IN_ENGLISH
        with self._reading:
            if tag not in self._read:
                self._read[tag] = read_speech(language, self._folder / f"{language.locale}.po")
            return self._read[tag]


def read_speech(language: Language, path: Path) -> SpokenLanguage:
    """A language by its catalogue."""
    from babel.messages.mofile import write_mo  # noqa: PLC0415 - 5 MB that an install in English does without
    from babel.messages.pofile import read_po  # noqa: PLC0415 - the same

    compiled = io.BytesIO()
    with path.open("rb") as file:
        catalogue = read_po(file)
    write_mo(compiled, catalogue)
    compiled.seek(0)
    scripts: dict[str, str | list[str]] = {}
    for message in catalogue:
        if message.string and any(place.startswith(_SCRIPTS) for place, _ in message.locations):
            if isinstance(message.id, str):
                scripts[message.id] = str(message.string)
            elif all(message.string):
                scripts[message.id[0]] = list(message.string)
    return SpokenLanguage(language, gettext.GNUTranslations(compiled), scripts)
