"""An approval as surfaces show it."""

from __future__ import annotations

from orchestrator.core.models import Approval
from orchestrator.core.text import escape_invisible


def approval_json(approval: Approval) -> dict[str, object]:
    """All of it: ``text`` exact, ``shown`` with everything invisible written out."""
    return {
        "id": approval.id,
        "agent": approval.cubicle.agent,
        "user": approval.cubicle.user,
        "turn": approval.turn,
        "step": approval.step,
        "kind": approval.kind,
        "text": approval.text,
        "shown": escape_invisible(approval.text),
        "sha256": approval.sha256,
        "reason": approval.reason,
        "detail": approval.detail,
        "status": str(approval.status),
        "asked_at": approval.asked_at,
        "expires_at": approval.expires_at,
        "decided_at": approval.decided_at,
        "decided_by": approval.decided_by,
    }
