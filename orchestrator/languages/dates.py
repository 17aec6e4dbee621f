"""Days and times as each language writes them, in a zone's own clock.

English is ours: the day before the month and 24 hours, which everybody who reads it understands. The others are as the
data of Unicode's CLDR has them, which is loaded with the first that somebody needs.
"""

from __future__ import annotations

import re
from datetime import date, datetime

from orchestrator.languages.table import ENGLISH, Language

_SHORT_DAY = re.compile(r"(?<![E])E{1,3}(?!E)|c{3}")


def write_date(when: date, english: str, skeleton: str, language: Language = ENGLISH) -> str:
    """By a pattern of ``strftime`` in English, in which ``%-d`` is the day without a nought; in another language by a
    skeleton of CLDR: which parts there are, and how long (``yMMMd``)."""
    if language is ENGLISH:
        return when.strftime(english.replace("%-d", str(when.day)))
    from babel import Locale  # noqa: PLC0415 - 4 MB that an install in English does without
    from babel.dates import format_datetime, match_skeleton  # noqa: PLC0415 - the same

    known = Locale.parse(language.locale).datetime_skeletons
    pattern = str(known[match_skeleton(skeleton, known) or skeleton].pattern)
    if "EEEE" in skeleton:  # CLDR leaves it to us to write out what its nearest pattern has short
        pattern = _SHORT_DAY.sub("EEEE", pattern)
    moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)  # noqa: DTZ001 - a day
    return str(format_datetime(moment, pattern, locale=language.locale))


def write_clock(when: datetime, language: Language = ENGLISH) -> str:
    """The time of day, to the minute: with 24 hours or 12, as the language has it."""
    if language is ENGLISH:
        return f"{when:%H:%M}"
    from babel.dates import format_time  # noqa: PLC0415 - see above

    return str(format_time(when.time(), "short", locale=language.locale))
