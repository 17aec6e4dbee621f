"""Which language somebody gets, and how each writes dates, numbers and lists."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime

import pytest

from dashboard import ages
from orchestrator.languages.answering import language_note
from orchestrator.languages.choice import choose_language
from orchestrator.languages.dates import write_clock, write_date
from orchestrator.languages.numbers import join_list, respell_numbers, write_dollars, write_number
from orchestrator.languages.table import ENGLISH, TRANSLATED
from orchestrator.languages.told import worded

OFFERED = ("en", "de", "fr", "es", "ja", "zh-Hans")
BY_TAG = {language.tag: language for language in TRANSLATED} | {"en": ENGLISH}
WHEN = datetime(2026, 2, 28, 17, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ((), "en"),
        ((("de-AT", 1.0),), "de"),
        ((("nl", 1.0), ("fr-CA", 0.8), ("en", 0.5)), "fr"),
        ((("en-US", 1.0), ("de", 0.9)), "en"),
        ((("de", 0.2), ("ja", 0.7)), "ja"),
        ((("de", 0.0), ("es-419", 0.1)), "es"),
        ((("zh-CN", 1.0),), "zh-Hans"),
        ((("zh-Hans-SG", 1.0),), "zh-Hans"),
        ((("zh-TW", 1.0), ("zh-Hant", 0.9)), "en"),
        ((("*", 1.0),), "en"),
        ((("x" * 500, 1.0),), "en"),
    ],
)
def test_the_dearest_wish_that_can_be_met(wanted: tuple[tuple[str, float], ...], chosen: str) -> None:
    """By quality, whatever the region; for Chinese by the characters; else English."""
    assert choose_language(wanted, OFFERED) == chosen


@pytest.mark.parametrize(
    ("tag", "number", "dollars", "listed"),
    [
        ("en", "1,234.5", "$1,234.50", "a, b and c"),
        ("de", "1.234,5", "1.234,50\xa0$", "a, b und c"),
        ("fr", "1\u202f234,5", "1\u202f234,50\xa0$", "a, b et c"),
        ("es", "1.234,5", "1.234,50\xa0$", "a, b y c"),
        ("ja", "1,234.5", "$1,234.50", "a、b、c"),
        ("zh-Hans", "1,234.5", "$1,234.50", "a、b和c"),
    ],
)
def test_numbers_money_and_lists(tag: str, number: str, dollars: str, listed: str) -> None:
    """With the language's own signs, in its own order."""
    language = BY_TAG[tag]
    assert write_number(1234.5, language, places=1) == number
    assert respell_numbers("1,234.5 kB", language) == f"{number} kB"
    assert write_dollars("$1,234.50", language) == dollars
    assert join_list(["a", "b", "c"], language) == listed
    assert join_list(["a"], language) == "a"


@pytest.mark.parametrize(
    ("tag", "day", "clock"),
    [
        ("en", "Sat 28 Feb", "17:05"),
        ("de", "Sa., 28. Feb.", "17:05"),
        ("fr", "sam. 28 févr.", "17:05"),
        ("es", "sáb, 28 feb", "17:05"),
        ("ja", "2月28日(土)", "17:05"),
        ("zh-Hans", "2月28日周六", "17:05"),
    ],
)
def test_days_and_times(tag: str, day: str, clock: str) -> None:
    """By the patterns of CLDR; English is ours."""
    assert write_date(WHEN, "%a %-d %b", "MMMEd", BY_TAG[tag]) == day
    assert write_clock(WHEN, BY_TAG[tag]) == clock


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("en", "Sunday 1 March"),
        ("de", "Sonntag, 1. März"),
        ("fr", "dimanche 1 mars"),
        ("es", "domingo, 1 de marzo"),
        ("ja", "3月1日日曜日"),
        ("zh-Hans", "3月1日星期日"),
    ],
)
def test_whole_days(tag: str, said: str) -> None:
    """Written out, as on the first page."""
    assert write_date(date(2026, 3, 1), "%A %-d %B", "MMMMEEEEd", BY_TAG[tag]) == said
    assert write_date(date(2026, 3, 1), "%A", "EEEE", BY_TAG["de"]) == "Sonntag"


def test_durations_are_plain() -> None:
    """English pages write as before."""
    assert ages.format_duration(0.24) == "0.2 s"
    assert ages.format_relative(0.0, 7200.0) == "2 h ago"


def test_a_sentence_remembers_its_wording() -> None:
    """It is its English text wherever it goes, and says what was put into it."""
    said = worded("There is no agent %(name)s.", name="crab")
    assert said == "There is no agent crab."
    assert (said.wording, said.about) == ("There is no agent %(name)s.", {"name": "crab"})


def test_agents_are_told_of_a_choice_alone() -> None:
    """What a browser wishes for is none."""
    assert language_note("") == ""
    assert language_note("tlh") == ""
    assert language_note("en") == "Answer in English, unless the person writes in another language."


def test_english_loads_no_data_of_other_languages() -> None:
    """An install in English keeps its memory."""
    program = (
        "import sys; from dashboard import ages, languages; ages.format_exact(0.0, 'UTC'); "
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'babel'], 'babel is loaded'"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
