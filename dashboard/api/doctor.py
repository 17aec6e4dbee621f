"""The doctor, for the operator: have everything looked at, and read what was found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint

from dashboard.auth import operator_only
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.core.finding import finding_json
from orchestrator.operations.doctor.runner import Report

api = Blueprint("doctor", __name__)


@api.get("/api/doctor")
@operator_only
def get_report() -> Any:
    """The examination under way, or what the last one found."""
    return _report_json(get_services().doctor.get_report())


@api.post("/api/doctor")
@operator_only
def begin_checks() -> Any:
    """Everything is looked at from now on."""
    return _report_json(get_services().doctor.begin_run()), 202


def _report_json(found: Report) -> dict[str, Any]:
    return {**with_iso_times(asdict(found)), "findings": [finding_json(finding) for finding in found.findings]}
