"""Backups, for the operator: made into ``HERMIT_HOME/backups``, listed, downloaded, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, BinaryIO
from urllib.parse import quote

from flask import Blueprint, Response, request

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.headers import HELD
from dashboard.services import get_services
from dashboard.times import iso_time, with_iso_times
from dashboard.transfers import get_transfers
from orchestrator.core.errors import BadInput
from orchestrator.operations.backup.backups import BackupProgress

api = Blueprint("backups", __name__)

_CHUNK = 1 << 20


@api.get("/api/backups")
@operator_only
def list_backups() -> Any:
    """What is there, what is being made, and how much room there is."""
    backups = get_services().backups
    found = [
        {"name": kept.name, "size_bytes": kept.size_bytes, "made_at": iso_time(kept.made_at)}
        for kept in backups.list_backups()
    ]
    staged, outcome = backups.get_staged(), backups.get_outcome()
    return {
        "backups": found,
        "progress": _progress_json(backups.get_progress()),
        "free_bytes": backups.free_bytes(),
        "restore": None
        if staged is None
        else {"file": staged.file, "asked_by": staged.asked_by, "asked_at": iso_time(staged.asked_at)},
        "restored": None if outcome is None else {**asdict(outcome), "at": iso_time(outcome.at)},
    }


@api.post("/api/backups")
@operator_only
def make_backup() -> Any:
    """A backup is made from now on."""
    return _progress_json(get_services().backups.begin_backup(require_asker().user)), 202


@api.post("/api/backups/<backup>/restore")
@operator_only
def restore(backup: str) -> Any:
    """A backup is checked as a whole; if it is good, the next start restores it."""
    return _progress_json(get_services().backups.begin_restore(backup, require_asker().user)), 202


@api.delete("/api/restore")
@operator_only
def cancel_restore() -> Any:
    """The next start restores nothing."""
    get_services().backups.cancel_restore(require_asker().user)
    return "", 204


@api.get("/api/backup-plan")
@operator_only
def get_plan() -> Any:
    """When backups are made by themselves."""
    return _plan_json()


@api.put("/api/backup-plan")
@operator_only
def set_plan() -> Any:
    """Another plan, by the asker's clock."""
    body, who = bodies.json_body("every", "at", "weekday", "keep"), require_asker()
    every = body.get("every")
    if every not in ("day", "week", None):
        raise BadInput("every: write day, week, or null for never.")
    weekday = body.get("weekday", 0) if every == "week" else None
    if every == "week" and weekday is None:
        raise BadInput("weekday: write 0 for Monday to 6 for Sunday.")
    fields = None if every is None else {"at": body.get("at"), "weekday": weekday, "keep": body.get("keep")}
    get_services().backup_schedule.set_plan(fields, by=f"{who.user.name} ({who.surface})", time_zone=who.user.time_zone)
    return _plan_json()


@api.get("/api/backups/<backup>")
@operator_only
def download_backup(backup: str) -> Response:
    """One backup, as bytes."""
    with ExitStack() as until_sent:
        until_sent.callback(get_transfers().begin_transfer(require_asker().user.id))
        file, size = get_services().backups.open_backup(backup, require_asker().user)
        until_sent.callback(file.close)
        response = Response(
            iter(()) if request.method == "HEAD" else _read_pieces(file), content_type="application/gzip"
        )
        response.call_on_close(until_sent.pop_all().close)
    response.content_length = size
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(backup, safe='')}"
    response.headers["Content-Security-Policy"] = HELD
    return response


@api.delete("/api/backups/<backup>")
@operator_only
def remove_backup(backup: str) -> Any:
    """One backup is gone."""
    get_services().backups.remove_backup(backup, require_asker().user)
    return "", 204


def _read_pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _plan_json() -> dict[str, Any]:
    schedule = get_services().backup_schedule
    plan, due = schedule.get_plan(), schedule.next_due()
    if plan is None:
        return {"every": None, "at": None, "weekday": None, "keep": None, "time_zone": None, "next_at": None}
    return {"every": "day" if plan.weekday is None else "week", **asdict(plan), "next_at": iso_time(due)}


def _progress_json(progress: BackupProgress) -> dict[str, Any]:
    return {**with_iso_times(asdict(progress)), "percent": progress.percent, "remarks": list(progress.remarks)}
