"""A language that nobody speaks: every letter of a text is another one, so that what stays as it is was never a
message of the catalogues. Names that are put into a text, tags and addresses stay. Dates are Japanese, which has no
such letters.
"""

from __future__ import annotations

import gettext
import re
from dataclasses import dataclass

from babel.messages.pofile import read_po

from orchestrator.languages.speech import FOLDER, SpokenLanguage, SpokenLanguages
from orchestrator.languages.table import ENGLISH, Language

_KEPT = re.compile(r"(%\(\w+\)s|%%|<code.*?</code>|<kbd.*?</kbd>|<[^>]*>|&\w+;)", re.DOTALL)
_LETTERS = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "åƀçđéƒǧĥîĵķļɱñøþɋŕšţûṽŵẋýžÅƁÇĐÉƑǦĤÎĴĶĻṀÑØÞɊŔŠŢÛṼŴẊÝŽ"
)


@dataclass(frozen=True, slots=True)
class _Pseudo(Language):
    @property
    def locale(self) -> str:
        """Whose dates and numbers it has."""
        return "ja"


PSEUDO = _Pseudo("xx", "Ƥŝéûđø", "Pseudo")


def pseudo(text: str) -> str:
    """The text in it."""
    return "".join(piece if n % 2 else piece.translate(_LETTERS) for n, piece in enumerate(_KEPT.split(text)))


class _Words(gettext.NullTranslations):
    """Only what the catalogues know is said."""

    def __init__(self, known: set[str]) -> None:
        super().__init__()
        self._known = known

    def gettext(self, message: str) -> str:
        return pseudo(message) if message in self._known else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    def pgettext(self, context: str, message: str) -> str:
        return self.gettext(message)


class PseudoLanguages(SpokenLanguages):
    """English, and the one that nobody speaks."""

    def __init__(self) -> None:
        super().__init__(offered=(ENGLISH, PSEUDO))
        with (FOLDER / "messages.pot").open("rb") as file:
            template = read_po(file)
        texts = [((one.id,) if isinstance(one.id, str) else tuple(one.id), one) for one in template]
        known = {text for ids, _ in texts for text in ids}
        scripts: dict[str, str | list[str]] = {}
        for ids, message in texts:
            if any(place.startswith("dashboard/static/") for place, _ in message.locations):
                scripts[ids[0]] = pseudo(ids[0]) if len(ids) == 1 else [pseudo(text) for text in ids]
        self._pseudo = SpokenLanguage(PSEUDO, _Words(known), scripts)

    def of(self, tag: str) -> SpokenLanguage:
        """English, or that one."""
        return self._pseudo if tag == PSEUDO.tag else super().of(tag)
