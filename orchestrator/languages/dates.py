"""Days and times as each language writes them, in a zone's own clock.

English is ours: the day before the month and 24 hours, which everybody who reads it understands. The others are as the
data of Unicode's CLDR has them, which is loaded with the first that somebody needs.
"""

from __future__ import annotations

from datetime import date, datetime

from orchestrator.languages.table import ENGLISH, Language


def write_date(when: date, english: str, skeleton: str, language: Language = ENGLISH) -> str:
    """By a pattern of ``strftime`` in English, in which ``%-d`` is the day without a nought; in another language by a
    skeleton of CLDR: which parts there are, and how long (``yMMMd``)."""
    if language is ENGLISH:
        return when.strftime(english.replace("%-d", str(when.day)))
    from babel.dates import format_skeleton  # noqa: PLC0415 - 4 MB that an install in English does without

    moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)  # noqa: DTZ001 - a day
    return str(format_skeleton(skeleton, moment, locale=language.locale))


def write_clock(when: datetime, language: Language = ENGLISH) -> str:
    """The time of day, to the minute: with 24 hours or 12, as the language has it."""
    if language is ENGLISH:
        return f"{when:%H:%M}"
    from babel.dates import format_time  # noqa: PLC0415 - see above

    return str(format_time(when.time(), "short", locale=language.locale))
