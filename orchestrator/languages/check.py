"""What is wrong with a catalogue: ``python -m orchestrator.languages.check de`` lists it, and the tests ask the same of
every language that is offered. For those who translate; nothing that runs imports this.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from orchestrator.languages.speech import FOLDER
from orchestrator.languages.table import TRANSLATED

_PLACE = re.compile(r"%\(\w+\)s|%%")
_TAG = re.compile(r"</?[a-z][^>]*>")
_TRANSLATED_ATTRIBUTE = re.compile(r' (?:title|aria-label|alt)="[^"]*"')
_FIELD = re.compile(r"(?!missed|skipped)([a-z_]+(?:, [a-z_]+)*): (?=[a-z])")
"""An error of a field begins with the field's name, by which a page finds it."""


def find_problems(path: Path, template: Catalog) -> Iterator[str]:
    """Every message that is missing, not translated, unsure, or not made of the same parts as the English one."""
    with path.open("rb") as file:
        catalogue = read_po(file)
    forms = catalogue.num_plurals
    for wanted in template:
        if not wanted.id:
            continue
        found = catalogue.get(wanted.id, wanted.context)
        said = _first(wanted.id)
        if found is None:
            yield f"{said!r}: it is missing; collect the texts again."
        elif found.fuzzy:
            yield f"{said!r}: it is marked as fuzzy; look at it, then take the mark away."
        else:
            yield from (f"{said!r}: {problem}" for problem in _compare(found, forms))


def _compare(message: Message, forms: int) -> Iterator[str]:
    strings = [message.string] if isinstance(message.string, str) else list(message.string or ())
    if not all(text.strip() for text in strings) or (not isinstance(message.id, str) and len(strings) != forms):
        yield "it is not translated."
        return
    ids = [message.id] if isinstance(message.id, str) else list(message.id)
    for n, text in enumerate(strings):
        english = ids[min(n if len(strings) > 1 else len(ids) - 1, len(ids) - 1)]
        yield from _compare_one(english, text, is_plural=len(ids) > 1)


def _compare_one(english: str, text: str, *, is_plural: bool) -> Iterator[str]:
    there, wanted = Counter(_PLACE.findall(text)), Counter(_PLACE.findall(english))
    if is_plural:  # "one file" may go without the number
        there.pop("%(count)s", None)
        wanted.pop("%(count)s", None)
    if set(there) != set(wanted):
        yield f"it has {sorted(there)} where English has {sorted(wanted)}."
    if "%" in _PLACE.sub("", text) and "%" not in _PLACE.sub("", english):
        yield "a percent sign is written %% here." if "%%" in english else "it has a percent sign that English has not."
    if Counter(_tags(text)) != Counter(_tags(english)):
        yield f"its tags are {sorted(_tags(text))} where English has {sorted(_tags(english))}."
    if '"' in _TAG.sub("", text) and '"' not in _TAG.sub("", english):
        yield "it has a straight quotation mark (\"), which would end an attribute; use the language's own."
    if (field := _FIELD.match(english)) and not text.startswith(field[0].rstrip()):
        yield f"it begins with the name of a field, which stays: {field[0]!r}."
    if (english[:1].isspace(), english[-1:].isspace()) != (text[:1].isspace(), text[-1:].isspace()):
        yield "it begins or ends with a blank, and English doesn't, or the other way round."


def _tags(text: str) -> list[str]:
    return [_TRANSLATED_ATTRIBUTE.sub("", tag) for tag in _TAG.findall(text)]


def _first(ids: str | Sequence[str]) -> str:
    return ids if isinstance(ids, str) else ids[0]


def read_template() -> Catalog:
    """All texts there are."""
    with (FOLDER / "messages.pot").open("rb") as file:
        return read_po(file)


def main(tags: Sequence[str]) -> int:
    """All that is wrong with these languages, or with all; how many things."""
    count = 0
    for language in TRANSLATED:
        if tags and language.tag not in tags and language.locale not in tags:
            continue
        for problem in find_problems(FOLDER / f"{language.locale}.po", read_template()):
            print(f"{language.tag}: {problem}")  # noqa: T201 - a program for a terminal
            count += 1
    print(f"{count} problems." if count else "Nothing is wrong.")  # noqa: T201 - the same
    return count


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
