"""From any text to a full-text query (SQLite FTS5): every word is quoted, so no text can be a query of its own making.

Words are joined by OR and BM25 weighs them: a rare one counts more than a common one. Endings are cut off lightly, in
English and German, and searched as beginnings too, so that ``allergies`` finds ``allergic``. The words that every
sentence has are left out, unless there is nothing else.
"""

from __future__ import annotations

import re
import unicodedata

MAX_TEXT_CHARS = 4_000
MAX_WORDS = 12
"""Beyond so many a query only gets slower; the longest stay, because they say most."""
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_STEM = 4
_ENDINGS = (
    *("ungen", "ation", "ingen", "ings", "ment", "lich", "isch", "ness", "ing", "ies", "ied", "ung", "est", "ers"),
    *("ern", "ed", "es", "er", "en", "em", "ly", "st", "al", "ic", "s", "e", "n", "t", "y"),
)  # fmt: skip
"""The longest first."""
_COMMON = frozenset(
    (  # noqa: SIM905  # rows of words can be read, a page of quotes and commas cannot
        "a about above after again all also am an and any are as at be because been before being both but by can "
        "could d did do does doing don down each else ever few for from further get gets give go goes got had has "
        "have having he her here hers him his how i if in into is it its just kind know let like ll m many may me "
        "might more most much must my need no nor not now of off on one only or other our out over own please re s "
        "same shall she should so some such t tell than that the their them then there these they this those thing "
        "things through to too under until up us ve very want wants was way we were what when where which while who "
        "whom whose why will with would you your yours "
        "aber alle alles als also am an auch auf aus bei beim bin bis bist bitte da damit dann das dass dein deine "
        "dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine "
        "einem einen einer eines er es etwas euch euer fur hab habe haben hat hatte hier ich ihm ihn ihr ihre ihrem "
        "ihren ihrer im in ins ist ja jede jeden jeder jetzt kann kein keine konnen machen man mein meine meinem "
        "meinen meiner mich mir mit nach nicht noch nun nur ob oder ohne sag sein seine seinem seinen seiner sich sie "
        "sind so soll sollte uber um und uns unser unsere vom von vor wann war waren warum was weil welche welchem "
        "welchen welcher welches wem wen wenn wer werde werden wessen wie wieder wieviel will wir wird wo woher wohin "
        "zu zum zur "
    ).split()
)  # fmt: skip


def match_of(text: str) -> str | None:
    """The FTS5 expression that finds what the text is about, or None when the text has no words.

    Anything may be in the text; the expression holds letters and figures within quotes only.
    """
    terms = [term for word in list_telling_words(text) for term in _terms(word)]
    return " OR ".join(dict.fromkeys(terms)) or None


def list_telling_words(text: str) -> list[str]:
    """The words that say what a text is about, folded, in their order, each once. Those that every sentence has are
    left out, unless there are no others; of more than ``MAX_WORDS`` the longest stay."""
    found = map(fold_word, _WORD.findall(unicodedata.normalize("NFC", text[:MAX_TEXT_CHARS])))
    words = list(dict.fromkeys(filter(None, found)))
    telling = [word for word in words if word not in _COMMON] or words
    kept = set(sorted(telling, key=len, reverse=True)[:MAX_WORDS])
    return [word for word in telling if word in kept]


def fold_word(word: str) -> str:
    """The word in lower case without accents, as the index has it."""
    plain = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in plain if not unicodedata.combining(char) and (char.isalnum()))


def _terms(word: str) -> list[str]:
    """The word itself, which counts twice where it stands, and its beginning."""
    if not word:
        return []
    stem = stem_of(word)
    return [f'"{word}"'] if stem is None else [f'"{word}"', f'"{stem}"*']


def stem_of(word: str) -> str | None:
    """The beginning by which a word's other forms are found; None for words too short and for figures."""
    if len(word) < _SHORTEST_STEM or word.isdigit():
        return None
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _SHORTEST_STEM), "")
    return word.removesuffix(ending)
