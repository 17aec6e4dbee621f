"""Five-field cron lines (``0 9 * * 1-5``): read as Debian's cron reads them, and where it can be told, as a rule.

Days and weekdays that are both given mean either of them; 0 and 7 are Sunday. The reading is cronsim's.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from cronsim import CronSim, CronSimError

from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule
from orchestrator.core.errors import BadInput

MAX_CHARS = 200
_ANY_DAY = datetime(2026, 1, 1)  # noqa: DTZ001  # cronsim wants some moment even for reading alone


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line that was read and has a time to come."""

    line: str

    @property
    def is_hourly(self) -> bool:
        """It comes due in each hour of its days, so that an hour which comes twice is no reason to pause."""
        return len(_fields(self).hours) == 24

    def __str__(self) -> str:
        return self.line


def read_cron(text: str) -> Cron:
    """The line; raises BadInput."""
    line = " ".join(text.split()).upper()
    if len(line) > MAX_CHARS or len(line.split(" ")) != 5 or not line.isascii():
        raise BadInput(
            "repeat: a cron line has five fields: minute, hour, day, month and weekday, such as 0 9 * * 1-5; "
            "a rule looks like FREQ=WEEKLY;BYDAY=MO."
        )
    try:
        cron = Cron(line)
        next(_fields(cron))
    except CronSimError as error:
        field = str(error).removeprefix("Bad ") or "a field"
        raise BadInput(f"repeat: the cron line's {field} is wrong. It may look like 0 9 * * 1-5.") from error
    except StopIteration as error:
        raise BadInput("repeat: this cron line would never come due.") from error
    return cron


def as_rule(cron: Cron) -> Rule | None:
    """The same as a rule, for words and for calendar apps; None where one rule can't say it."""
    found = _fields(cron)
    month_days = _plain(found.days, 31)
    weekdays = _plain({day % 7 if isinstance(day, int) else day for day in found.weekdays}, 7)
    if month_days is None or weekdays is None:
        return None
    if not found.day_and:
        if month_days and weekdays:
            return None
        month_days = weekdays = ()  # either of them, and one of them is every day
    days = tuple(sorted((0, (day - 1) % 7) for day in weekdays))
    hours, minutes = tuple(sorted(found.hours)), tuple(sorted(found.minutes))
    months = () if len(found.months) == 12 else tuple(sorted(found.months))
    if len(hours) == 24 and not month_days:
        return Rule(Freq.HOURLY, months=months, days=days, minutes=minutes)
    freq = Freq.WEEKLY if days and not month_days else Freq.MONTHLY if month_days and not days else Freq.DAILY
    return Rule(freq, months=months, month_days=month_days, days=days, hours=hours, minutes=minutes)


def _fields(cron: Cron) -> CronSim:
    return CronSim(cron.line, _ANY_DAY)


def _plain(values: AbstractSet[int | tuple[int, int]], full: int) -> tuple[int, ...] | None:
    """The numbers, none when they are all there are, or None with such things as the last Friday among them."""
    numbers = sorted(value for value in values if isinstance(value, int) and value >= 0)
    if len(numbers) != len(values):
        return (-1,) if values == {CronSim.LAST} else None
    return () if len(numbers) == full else tuple(numbers)
