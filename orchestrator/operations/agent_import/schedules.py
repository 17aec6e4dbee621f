"""What another product had planned, as entries of our calendar: ``cron/jobs.json`` of all three, which differ in how
they write a time. Pure; whether an entry can come due is the calendar's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orchestrator.capabilities.calendar.describe import describe_rhythm
from orchestrator.capabilities.calendar.input import EntryInput, plan_of, read_new
from orchestrator.capabilities.calendar.recurrence.occurrences import check_plan
from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import one_line

MOST_JOBS = 100
_MOST_MS = 4_102_444_800_000
"""The end of the year 2099."""
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """A schedule that can come."""

    entry: EntryInput
    rhythm: str
    """When, in words."""
    was_on: bool

    @property
    def fields(self) -> dict[str, str]:
        """What the calendar makes it of."""
        entry = self.entry
        return {name: getattr(entry, name) for name in ("title", "prompt", "start", "time_zone", "repeat")}


@dataclass(frozen=True, slots=True)
class LostEntry:
    """A schedule that can't, and why."""

    title: str
    why: str


def read_jobs(content: bytes, zone: str, now: datetime) -> Iterator[PlannedEntry | LostEntry]:
    """Every job of the file; ``zone`` is for those that name none. Raises BadInput for a file that is none."""
    jobs = read_object(content).get("jobs")
    if not isinstance(jobs, list):
        raise BadInput("It has no list of jobs.")
    for job in jobs[:MOST_JOBS]:
        title = _title_of(job)
        try:
            entry = read_new(_fields(job, title, zone, now), zone)
            check_plan(plan_of(*entry.when), now=now)
            yield PlannedEntry(entry, describe_rhythm(entry, ""), job.get("enabled", True) is True)
        except OrchestratorError as error:
            yield LostEntry(title, error.message)
    if len(jobs) > MOST_JOBS:
        yield LostEntry(f"{len(jobs) - MOST_JOBS:,} more", f"At most {MOST_JOBS} come.")


def _title_of(job: Any) -> str:
    name = job.get("name") if isinstance(job, dict) else None
    return one_line(" ".join(name.split()), _TITLE_CHARS) if isinstance(name, str) and name.strip() else "(no name)"


def _fields(job: Any, title: str, zone: str, now: datetime) -> dict[str, str]:
    if not isinstance(job, dict) or not isinstance(job.get("schedule"), dict):
        raise BadInput("It can't be read.")
    prompt = _prompt_of(job)
    return {"title": title if title != "(no name)" else one_line(prompt, 40), "prompt": prompt} | _when(
        job["schedule"], zone, now
    )


def _prompt_of(job: Mapping[str, Any]) -> str:
    payload = job.get("payload")
    found = [job.get("prompt")]
    if isinstance(payload, dict):
        found = [payload.get("message"), payload.get("text")]
    prompt = next((text.strip() for text in found if isinstance(text, str) and text.strip()), "")
    if not prompt:
        raise BadInput("It has no message for the agent: it is the other product's own, or runs a script.")
    return prompt


def _when(schedule: Mapping[str, Any], zone: str, now: datetime) -> dict[str, str]:
    kind = schedule.get("kind")
    named = schedule.get("tz") or zone
    if not isinstance(named, str):
        raise BadInput("Its time zone can't be read.")
    if kind == "cron":
        line = schedule.get("expr")
        if not isinstance(line, str):
            raise BadInput("Its cron line can't be read.")
        return {"start": now.strftime("%Y-%m-%dT%H:%M:00+00:00"), "time_zone": named, "repeat": line}
    if kind in ("every", "interval"):
        return _interval(schedule, named, now)
    if kind in ("at", "once"):
        return {"start": _moment(schedule), "time_zone": named, "repeat": ""}
    raise BadInput("Nobody here knows this kind of schedule.")


def _interval(schedule: Mapping[str, Any], zone: str, now: datetime) -> dict[str, str]:
    minutes: Any
    if "minutes" in schedule:
        minutes = schedule["minutes"]
    else:
        every: Any = schedule.get("everyMs", schedule.get("every_ms"))
        minutes = every / 60_000 if type(every) in (int, float) else None
    if type(minutes) not in (int, float) or minutes != int(minutes) or not 1 <= minutes <= 525_600:
        raise BadInput("Only whole minutes, up to a year, come as an interval.")
    count = int(minutes)
    for unit, size in (("DAILY", 1440), ("HOURLY", 60), ("MINUTELY", 1)):
        if count % size == 0:
            return {
                "start": now.strftime("%Y-%m-%dT%H:%M:00+00:00"),
                "time_zone": zone,
                "repeat": f"FREQ={unit};INTERVAL={count // size}",
            }
    raise BadInput("This interval can't be said here.")


def _moment(schedule: Mapping[str, Any]) -> str:
    names = ("at", "run_at", "atMs", "at_ms")
    at: Any = next((schedule[name] for name in names if schedule.get(name) is not None), None)
    if type(at) in (int, float) and 0 < at < _MOST_MS:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
    if not isinstance(at, str):
        raise BadInput("Its time can't be read.")
    return at.strip().replace("Z", "+00:00")
