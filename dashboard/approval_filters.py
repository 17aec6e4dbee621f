"""Which questions of agents a request asks for: by outcome, kind and agent, among those that are the asker's to see."""

from __future__ import annotations

from flask import request

from dashboard.auth import require_asker
from orchestrator.approvals.history_rows import ApprovalFilter
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput
from orchestrator.core.models import ApprovalStatus

KINDS = tuple((kind.name, kind.many) for kind in REGISTRY.approvals.values())
"""What may be asked about, with what a page calls many of them."""


def read_filters() -> ApprovalFilter:
    """What ``status``, ``kind`` and ``agent`` in the query say; raises BadInput."""
    who, status = require_asker(), request.args.get("status", "")
    if status and status not in list(ApprovalStatus):
        raise BadInput(f"status: choose one of {', '.join(ApprovalStatus)}.")
    if (kind := request.args.get("kind", "")) and kind not in dict(KINDS):
        raise BadInput(f"kind: choose one of {', '.join(dict(KINDS))}.")
    return ApprovalFilter(
        (ApprovalStatus(status),) if status else tuple(ApprovalStatus),
        kind=kind or None,
        agent=request.args.get("agent") or None,
        user=None if who.is_operator else who.user.id,
    )
