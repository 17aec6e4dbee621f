"""The catalogues: up to date with the sources, and those that are offered say everything, of the same parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from orchestrator.languages.check import find_problems, read_template
from orchestrator.languages.extract import POT, collect, update, write_pot
from orchestrator.languages.speech import FOLDER, SpokenLanguages, read_speech
from orchestrator.languages.table import FINISHED, LANGUAGES, TRANSLATED, Language

AGAIN = "Texts were changed: run 'python -m orchestrator.languages.extract', and translate what is new."


def test_all_texts_are_collected() -> None:
    """The template and the list of texts of each language are what the sources say now."""
    template = collect()
    assert POT.read_text(encoding="utf-8") == write_pot(template), AGAIN
    for language in TRANSLATED:
        path = FOLDER / f"{language.locale}.po"
        assert path.read_text(encoding="utf-8") == update(path, template, language.locale), f"{path.name}: {AGAIN}"


def test_there_is_a_catalogue_for_every_language_and_no_other() -> None:
    """Files and the table tell the same."""
    assert {path.stem for path in FOLDER.glob("*.po")} == {language.locale for language in TRANSLATED}
    assert {language.tag for language in TRANSLATED} >= FINISHED


@pytest.mark.parametrize("language", LANGUAGES[1:], ids=lambda one: one.tag)
def test_what_is_offered_is_finished(language: Language) -> None:
    """Nothing is missing, fuzzy, or made of other parts than the English text."""
    assert list(find_problems(FOLDER / f"{language.locale}.po", read_template())) == []


def made(folder: Path, body: str) -> Path:
    """A catalogue in German with these messages."""
    path = folder / "de.po"
    head = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    plural = '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
    path.write_text(head + plural + body, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("english", "german", "problem"),
    [
        ("Save", "", "not translated"),
        ("Ask %(agent)s", "Frag nach", "English has"),
        ("<strong>On.</strong> Well", "An.", "tags"),
        ("Save", '\\"Speichern\\"', "straight quotation mark"),
        ("name: write a name.", "Name: schreib einen.", "name of a field"),
        ("Save", "Speichern ", "blank"),
        ("Save", "100 %", "percent"),
        ("%(count)s %% used", "%(count)s % verbraucht", "English has"),
    ],
)
def test_the_check_finds_what_is_wrong(tmp_path: Path, english: str, german: str, problem: str) -> None:
    """Each kind of mistake is told by the message that it is in."""
    path = made(tmp_path, f'msgid "{english}"\nmsgstr "{german}"\n')
    with path.open("rb") as file:
        template = read_po(file)
    found, *_ = find_problems(path, template)
    assert problem in found


def test_plurals_may_leave_out_the_number(tmp_path: Path) -> None:
    """ "One file" needs none; a form that is missing does."""
    texts = 'msgid "%(count)s file"\nmsgid_plural "%(count)s files"\n'
    path = made(tmp_path, texts + 'msgstr[0] "eine Datei"\nmsgstr[1] "%(count)s Dateien"\n')
    with path.open("rb") as file:
        template = read_po(file)
    assert list(find_problems(path, template)) == []
    spoken = read_speech(Language("de", "Deutsch", "German"), path)
    assert spoken.say_many("%(count)s file", "%(count)s files", 1) == "eine Datei"
    assert spoken.say_many("%(count)s file", "%(count)s files", 7) == "7 Dateien"


def test_what_nobody_translated_is_english(tmp_path: Path) -> None:
    """An unknown text, an unknown language and one that is not finished yet are no error."""
    german = Language("de", "Deutsch", "German")
    made(tmp_path, '#: dashboard/static/copy.js\nmsgid "Copied"\nmsgstr "Kopiert"\n')
    languages = SpokenLanguages(tmp_path, (LANGUAGES[0], german))
    assert languages.of("de").say("Copied") == "Kopiert"
    assert languages.of("de").scripts == {"Copied": "Kopiert"}
    assert languages.of("de").say("Something new") == "Something new"
    assert languages.of("tlh").is_english
    assert languages.of("de") is languages.of("de")


def test_english_names_are_names() -> None:
    """Tags are as BCP 47 writes them, and file names as CLDR does."""
    for language in TRANSLATED:
        assert re.fullmatch(r"[a-z]{2}(-[A-Z][a-z]{3})?", language.tag)
        assert (FOLDER / f"{language.locale}.po").is_file()
