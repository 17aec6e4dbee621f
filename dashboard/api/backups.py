"""Backups, for the operator: made into ``HERMIT_HOME/backups``, listed, downloaded, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, BinaryIO
from urllib.parse import quote

from flask import Blueprint, Response, request

from dashboard.auth import operator_only, require_asker
from dashboard.headers import HELD
from dashboard.services import get_services
from dashboard.times import iso_time, with_iso_times
from dashboard.transfers import get_transfers
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
    return {"backups": found, "progress": _progress_json(backups.get_progress()), "free_bytes": backups.free_bytes()}


@api.post("/api/backups")
@operator_only
def make_backup() -> Any:
    """A backup is made from now on."""
    return _progress_json(get_services().backups.begin_backup(require_asker().user)), 202


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


def _progress_json(progress: BackupProgress) -> dict[str, Any]:
    return {**with_iso_times(asdict(progress)), "percent": progress.percent, "remarks": list(progress.remarks)}
