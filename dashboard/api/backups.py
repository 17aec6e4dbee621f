"""Backups, for the operator: made into ``HERMIT_HOME/backups``, listed, downloaded, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, BinaryIO
from urllib.parse import quote

from flask import Blueprint, Response, request

from dashboard.auth import asker, operator_only
from dashboard.headers import HELD
from dashboard.house import services
from dashboard.times import iso, with_iso_times
from dashboard.transfers import transfers
from orchestrator.operations.backup.backups import BackupProgress

api = Blueprint("backups", __name__)

_CHUNK = 1 << 20


@api.get("/api/backups")
@operator_only
def every() -> Any:
    """What is there, what is being made, and how much room there is."""
    backups = services().backups
    found = [
        {"name": kept.name, "size_bytes": kept.size_bytes, "made_at": iso(kept.made_at)}
        for kept in backups.list_backups()
    ]
    return {"backups": found, "progress": _shown(backups.get_progress()), "free_bytes": backups.free_bytes()}


@api.post("/api/backups")
@operator_only
def make() -> Any:
    """A backup is made from now on."""
    return _shown(services().backups.begin_backup(asker().user)), 202


@api.get("/api/backups/<backup>")
@operator_only
def download(backup: str) -> Response:
    """One backup, as bytes."""
    with ExitStack() as until_sent:
        until_sent.callback(transfers().begin_transfer(asker().user.id))
        file, size = services().backups.open_backup(backup, asker().user)
        until_sent.callback(file.close)
        response = Response(iter(()) if request.method == "HEAD" else _pieces(file), content_type="application/gzip")
        response.call_on_close(until_sent.pop_all().close)
    response.content_length = size
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(backup, safe='')}"
    response.headers["Content-Security-Policy"] = HELD
    return response


@api.delete("/api/backups/<backup>")
@operator_only
def remove(backup: str) -> Any:
    """One backup is gone."""
    services().backups.remove_backup(backup, asker().user)
    return "", 204


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _shown(progress: BackupProgress) -> dict[str, Any]:
    return {**with_iso_times(asdict(progress)), "percent": progress.percent, "remarks": list(progress.remarks)}
