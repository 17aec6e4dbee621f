"""Backups by the clock: every day or week at a time of day, and how many of them are kept.

The plan is a setting of the install. Which time was done is written down after its backup was made and read back, so a
time that a stop or a death cut off, or that nobody was up for, is made up for after the start. What fails is tried
again an hour later. Only backups that a plan made are ever deleted by it.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from orchestrator.agents import install_settings_rows as rows
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput
from orchestrator.core.models import Stage
from orchestrator.core.periodic import Periodic
from orchestrator.core.time_zones import list_time_zones
from orchestrator.languages.told import to_say
from orchestrator.operations.backup.backups import Backups

logger = logging.getLogger(__name__)

PLAN, DONE = "backup_plan", "backup_done"
DAYS = (
    to_say("Monday"),
    to_say("Tuesday"),
    to_say("Wednesday"),
    to_say("Thursday"),
    to_say("Friday"),
    to_say("Saturday"),
    to_say("Sunday"),
)
MOST_KEPT = 100
_AT = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_LOOK_S = 30.0
_AGAIN_S = 3600.0
_AHEAD_S = 8 * 24 * 3600.0
"""A time that was done so long after now was done by a clock that was wrong."""


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """When backups are made by themselves."""

    at: str
    """``03:00``, by the clock of ``time_zone``."""
    weekday: int | None
    """0 for Monday; None for every day."""
    keep: int
    time_zone: str

    def last_due(self, now: float) -> float:
        """The last of its times that is not after ``now`` (both Unix seconds)."""
        return self._find(now, -1)

    def next_due(self, now: float) -> float:
        """The first of its times after ``now``."""
        return self._find(now, 1)

    def _find(self, now: float, step: int) -> float:
        zone, hour, minute = ZoneInfo(self.time_zone), int(self.at[:2]), int(self.at[3:])
        today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
        for n in range(-1, 9):
            day = today + timedelta(days=n * step)
            moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).timestamp()
            is_there = moment > now if step > 0 else moment <= now
            if is_there and self.weekday in (None, day.weekday()):
                return moment
        raise AssertionError("there is one every week")


class BackupSchedule:
    """Makes backups when they are due, in a thread that looks twice a minute."""

    def __init__(self, store: Store, backups: Backups, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._backups = backups
        self._now = now
        self._tried_at = float("-inf")
        self._rounds = Periodic("backup-schedule", self.run_due, every_s=lambda: _LOOK_S)

    def start(self) -> None:
        """Look from now on."""
        self._rounds.start()

    def close(self) -> None:
        """Look no more."""
        self._rounds.close()

    def get_plan(self) -> BackupPlan | None:
        """The plan; None when backups are made by hand alone."""
        with self._store.reading() as db:
            chosen = rows.list_settings(db).get(PLAN, "")
        return BackupPlan(**json.loads(chosen)) if chosen else None

    def set_plan(self, fields: Mapping[str, Any] | None, *, by: str, time_zone: str) -> BackupPlan | None:
        """Another plan from ``at``, ``weekday`` and ``keep``, or none; the first backup is at its next time. Raises
        BadInput."""
        plan, now = None if fields is None else _read_plan(fields, time_zone), self._now()
        said = "Backups are no longer made by themselves" if plan is None else f"Backups are made {describe_plan(plan)}"
        with self._store.writing() as db:
            rows.set_setting(db, PLAN, "" if plan is None else json.dumps(asdict(plan)), now)
            rows.set_setting(db, DONE, str(now), now)
            audit_rows.insert_record(db, "setting.changed", f"{said}. By {by}.", now=now)
        self._tried_at = float("-inf")
        return plan

    def next_due(self) -> float | None:
        """When the next one is made; None without a plan."""
        plan = self.get_plan()
        return None if plan is None else plan.next_due(self._now())

    def run_due(self) -> bool:
        """Make a backup if one is due, and let the oldest go; False when none was, or it failed."""
        plan, now = self.get_plan(), self._now()
        if plan is None or not self._is_due(plan, now):
            return False
        if self._backups.get_progress().stage is Stage.RUNNING or time.monotonic() - self._tried_at < _AGAIN_S:
            return False
        self._tried_at = time.monotonic()
        if not self._backups.make_planned(plan.keep):
            logger.warning("the planned backup failed; it is tried again in an hour")
            return False
        with self._store.writing() as db:
            rows.set_setting(db, DONE, str(plan.last_due(now)), now)
        self._tried_at = float("-inf")
        return True

    def _is_due(self, plan: BackupPlan, now: float) -> bool:
        with self._store.reading() as db:
            done = float(rows.list_settings(db).get(DONE, "0"))
        return plan.last_due(now) > (done if done < now + _AHEAD_S else 0.0)


def describe_plan(plan: BackupPlan) -> str:
    """``every Monday at 03:00 (Europe/Vienna), the last 7 are kept``."""
    day = "day" if plan.weekday is None else DAYS[plan.weekday]
    kept = "the last one is kept" if plan.keep == 1 else f"the last {plan.keep} are kept"
    return f"every {day} at {plan.at} ({plan.time_zone}), {kept}"


def _read_plan(fields: Mapping[str, Any], time_zone: str) -> BackupPlan:
    at, weekday, keep = fields.get("at"), fields.get("weekday"), fields.get("keep")
    if not isinstance(at, str) or not _AT.fullmatch(at):
        raise BadInput("at: write a time of day such as 03:00.")
    if weekday is not None and (type(weekday) is not int or not 0 <= weekday <= 6):
        raise BadInput("weekday: write 0 for Monday to 6 for Sunday, or null for every day.")
    if type(keep) is not int or not 1 <= keep <= MOST_KEPT:
        raise BadInput(f"keep: write a whole number from 1 to {MOST_KEPT}.")
    if time_zone not in list_time_zones():
        raise BadInput("time_zone: write an IANA name such as Europe/Vienna.")
    return BackupPlan(at, weekday, keep, time_zone)
