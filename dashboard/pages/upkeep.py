"""What the operator looks after, on the page of settings: what the doctor found, the backups, and which hosts are
allowed. Its parts are fetched again when there is news.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only, require_asker
from dashboard.languages import say, say_many, size
from dashboard.services import get_services
from orchestrator.approvals.grant_rows import Grant
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import Unavailable
from orchestrator.operations.backup.schedule import DAYS, MOST_KEPT, BackupPlan
from orchestrator.operations.doctor.runner import Report

pages = Blueprint("upkeep", __name__)

_SIGNS = {"fail": "bad", "warn": "caution", "ok": "ok"}
_WORST_FIRST = tuple(_SIGNS)
_NAMES = {"hermitshell": "HermitShell"}


@dataclass(frozen=True, slots=True)
class FindingView:
    """One thing that the doctor found."""

    part: str
    sign: str
    """A sign that is also its colour."""
    text: str
    fix: str


def upkeep_context() -> dict[str, Any]:
    """For ``upkeep.html`` and the parts in it."""
    return {
        **_doctor(),
        **_backups(),
        **_plan(),
        "grants": _grants(),
        "names": sorted(get_services().settings.allowed_hosts),
    }


@pages.get("/parts/doctor")
@operator_only
def doctor() -> str:
    """What was found."""
    return render_template("parts/doctor.html", **_doctor())


@pages.get("/parts/backups")
@operator_only
def backups() -> str:
    """The backups."""
    return render_template("parts/backups.html", **_backups())


@pages.get("/parts/backup-plan")
@operator_only
def plan() -> str:
    """When they are made by themselves."""
    return render_template("parts/backup_plan.html", **_plan())


@pages.get("/parts/allowed")
@operator_only
def allowed() -> str:
    """What all agents may do without asking."""
    return render_template("parts/allowed.html", grants=_grants())


def _doctor() -> dict[str, Any]:
    report = get_services().doctor.get_report()
    return {"report": report, "findings": _findings(report), "verdict": _verdict(report)}


def _findings(report: Report) -> list[FindingView]:
    found = sorted(report.findings, key=lambda finding: _WORST_FIRST.index(finding.state))
    return [FindingView(_NAMES.get(one.part, one.part), _SIGNS[one.state], one.text, one.fix) for one in found]


def _verdict(report: Report) -> str:
    """All of it in a few words."""
    states = [str(finding.state) for finding in report.findings]
    bad, odd = states.count("fail"), states.count("warn")
    if not bad and not odd:
        return say("All is well.")
    said = [say_many("%(count)s thing to fix", "%(count)s things to fix", bad)] if bad else []
    said += [say_many("%(count)s thing to know", "%(count)s things to know", odd)] if odd else []
    return f"{', '.join(said)}."


def _backups() -> dict[str, Any]:
    services = get_services().backups
    try:
        free: int | None = services.free_bytes()
    except Unavailable:
        free = None  # how the parts are says it
    return {
        "kept": services.list_backups(),
        "making": services.get_progress(),
        "free": free,
        "size": lambda count: size(format_size(count)),
        "staged": services.get_staged(),
        "outcome": services.get_outcome(),
    }


def _plan() -> dict[str, Any]:
    schedule = get_services().backup_schedule
    found = schedule.get_plan()
    said = "" if found is None else _plan_words(found)
    return {"plan": found, "plan_said": said, "plan_next": schedule.next_due(), "days": DAYS, "most_kept": MOST_KEPT}


def _plan_words(plan: BackupPlan) -> str:
    about = {"time": plan.at, "zone": plan.time_zone}
    if plan.weekday is None:
        said = say("every day at %(time)s (%(zone)s)", **about)
    else:
        said = say("every %(day)s at %(time)s (%(zone)s)", day=say(DAYS[plan.weekday]), **about)
    return f"{said}, {say_many('the last one is kept', 'the last %(count)s are kept', plan.keep)}"


def _grants() -> list[Grant]:
    services, viewer = get_services(), require_asker().user
    return [
        held for agent in services.agents.list_agents() for held in services.grants.of_agent(agent.name, viewer=viewer)
    ]
