"""Backups by the clock: when they are due, what is made up for, which are kept."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.core.models import Stage
from orchestrator.operations.backup.backups import PLANNED, Backups
from orchestrator.operations.backup.schedule import BackupPlan, BackupSchedule, describe_plan
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser

VIENNA = "Europe/Vienna"
DAY_S = 24 * 3600.0


def at(text: str, zone: str = VIENNA) -> float:
    """``2026-11-25 02:59`` by this clock."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("weekday", "now", "last", "following"),
    [
        (None, "2026-11-25 02:59", "2026-11-24 03:00", "2026-11-25 03:00"),
        (None, "2026-11-25 03:00", "2026-11-25 03:00", "2026-11-26 03:00"),
        (0, "2026-11-25 12:00", "2026-11-23 03:00", "2026-11-30 03:00"),
        (2, "2026-11-25 02:00", "2026-11-18 03:00", "2026-11-25 03:00"),
        (6, "2026-11-22 03:00", "2026-11-22 03:00", "2026-11-29 03:00"),
        (None, "2026-10-25 12:00", "2026-10-25 03:00", "2026-10-26 03:00"),
        (None, "2026-03-29 12:00", "2026-03-29 03:00", "2026-03-30 03:00"),
    ],
)
def test_when_it_is_due(weekday: int | None, now: str, last: str, following: str) -> None:
    """By the clock of whoever planned it, also on days with an hour more or less."""
    plan = BackupPlan("03:00", weekday, 7, VIENNA)
    assert (plan.last_due(at(now)), plan.next_due(at(now))) == (at(last), at(following))


class Clock:
    """A schedule whose time the test says, over the install's own backups."""

    def __init__(self, install: AppFixture) -> None:
        self.now = at("2026-11-25 12:00")
        self.store, self.home = install.app._store, install.services.backups._home
        self.install = install
        self.backups = Backups(self.home, install.services.audit, install.services.broker, now=lambda: self.now)
        self.schedule = self.fresh()

    def fresh(self) -> BackupSchedule:
        """As after a start."""
        return BackupSchedule(self.store, self.backups, now=lambda: self.now)

    @property
    def made(self) -> list[str]:
        """What was made by plan: days, oldest first."""
        return sorted(kept.name[len(PLANNED) :][:10] for kept in self.backups.list_backups() if PLANNED in kept.name)


@pytest.fixture
def clock(webapp: AppFixture) -> Clock:
    """Every day at three, the last two are kept."""
    found = Clock(webapp)
    found.schedule.set_plan({"at": "03:00", "weekday": None, "keep": 2}, by="ada", time_zone=VIENNA)
    return found


def test_a_plan_begins_with_its_next_time_and_keeps_the_last(clock: Clock) -> None:
    """Once for each time; the oldest goes after a new one was read back, and what somebody made stays."""
    by_hand = clock.home.backups / "hermit-2020-01-01-000000.tar.gz"
    by_hand.write_bytes(b"kept")
    assert not clock.schedule.run_due()
    for day in range(26, 30):
        clock.now = at(f"2026-11-{day} 03:10")
        assert clock.schedule.run_due()
        assert not clock.schedule.run_due()
    assert clock.made == ["2026-11-28", "2026-11-29"]
    assert by_hand.read_bytes() == b"kept"
    said = clock.install.services.audit.search_records(kind="backup.deleted")
    assert [row.text.partition("hermit-planned-")[2][:10] for row in said] == ["2026-11-27", "2026-11-26"]


def test_what_was_missed_is_made_up_for_once(clock: Clock) -> None:
    """After days without power there is one backup, not one for each; no plan, no backup."""
    clock.now += 5 * DAY_S
    assert clock.fresh().run_due()
    assert not clock.fresh().run_due()
    assert clock.schedule.set_plan(None, by="ada", time_zone=VIENNA) is None
    clock.now += 5 * DAY_S
    assert (clock.schedule.run_due(), clock.schedule.next_due()) == (False, None)


def test_what_fails_is_tried_again_and_deletes_nothing(clock: Clock) -> None:
    """An hour later, or after a start; until then the time is not done."""
    clock.now += DAY_S
    assert clock.schedule.run_due()
    clock.now += DAY_S
    free, clock.backups.free_bytes = clock.backups.free_bytes, lambda: 0  # type: ignore[method-assign]
    assert not clock.schedule.run_due()
    assert clock.backups.get_progress().stage is Stage.FAILED
    clock.backups.free_bytes = free  # type: ignore[method-assign]
    assert not clock.schedule.run_due()  # not at once
    assert clock.fresh().run_due()
    assert len(clock.made) == 2


def test_a_clock_that_was_far_ahead_stops_nothing_for_ever(clock: Clock) -> None:
    """What was done in the year 2100 does not count in this one."""
    here, clock.now = clock.now, clock.now + 70 * 365 * DAY_S
    assert clock.schedule.run_due()
    clock.now = here + DAY_S
    assert clock.schedule.run_due()


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": "24:00"}, {"at": "3:00"}, {"at": None}, {"at": "03:00\n"}, {"weekday": 7}, {"weekday": True},
        {"keep": 0}, {"keep": 101}, {"keep": 2.5}, {"keep": None},
    ],
)  # fmt: skip
def test_what_is_no_plan(clock: Clock, wrong: dict[str, object]) -> None:
    """A refusal names the field and leaves the plan as it was."""
    before = clock.schedule.get_plan()
    with pytest.raises(BadInput, match=next(iter(wrong))):
        clock.schedule.set_plan({"at": "03:00", "weekday": 1, "keep": 3, **wrong}, by="ada", time_zone=VIENNA)
    assert clock.schedule.get_plan() == before


def test_the_plan_over_the_api_and_on_the_page(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """By the asker's clock, and in words."""
    webapp.services.users.update_user(operator.user.id, {"time_zone": VIENNA})
    assert operator.get("/backup-plan")["every"] is None
    sent = {"every": "week", "at": "04:30", "weekday": 6, "keep": 1}
    found = operator.call("PUT", "/backup-plan", sent).get_json()
    assert {name: found[name] for name in (*sent, "time_zone")} == {**sent, "time_zone": VIENNA}
    page = browser.client.get("/settings").get_data(as_text=True)
    assert "Made every Sunday at 04:30 (Europe/Vienna), the last one is kept." in page
    assert operator.refused("PUT", "/backup-plan", {"every": "month"})[0] == 400
    assert operator.refused("PUT", "/backup-plan", {"every": "day"})[0] == 400
    assert (
        operator.call("PUT", "/backup-plan", {"every": "day", "at": "00:00", "keep": 7}).get_json()["weekday"] is None
    )
    assert describe_plan(BackupPlan("03:00", None, 7, "UTC")) == "every day at 03:00 (UTC), the last 7 are kept"
    assert operator.call("PUT", "/backup-plan", {"every": None}).get_json()["next_at"] is None
