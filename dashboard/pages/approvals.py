"""What agents asked: all that waits for the viewer, and how everything before it was decided, by whom and where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, render_template, request

from dashboard.approval_filters import KINDS, read_filters
from dashboard.auth import own_agents, require_asker
from dashboard.languages import say, to_say
from dashboard.pages.asking import ApprovalView, names_of_others, pending
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.models import ApprovalStatus

pages = Blueprint("approvals_page", __name__)

PAGE = 30
OUTCOMES = (
    (ApprovalStatus.APPROVED, to_say("Approved")),
    (ApprovalStatus.DENIED, to_say("Denied")),
    (ApprovalStatus.EXPIRED, to_say("Expired")),
    (ApprovalStatus.CANCELLED, to_say("Cancelled")),
)
_SIGNS = {ApprovalStatus.APPROVED: "ok", ApprovalStatus.DENIED: "refused", ApprovalStatus.EXPIRED: "refused"}
_WHERE = {
    "dashboard": to_say("in the dashboard"),
    "api": to_say("by API or command line"),
    "telegram": to_say("on Telegram"),
}
_EXACT = {
    "command": to_say("The exact command"),
    "asset": to_say("The exact address"),
    "packages": to_say("The exact list"),
    "package_names": to_say("The exact list"),
    "checkpoint": to_say("The exact change"),
}
_FILTERS = ("agent", "kind", "status")


@dataclass(frozen=True, slots=True)
class PastView(ApprovalView):
    """A question that has ended."""

    @property
    def sign(self) -> str:
        """How it ended, as a sign."""
        return _SIGNS.get(self.approval.status, "stop")

    @property
    def ended(self) -> str:
        """How it ended, as a word."""
        return say(dict(OUTCOMES).get(self.approval.status, ""))

    @property
    def decided(self) -> str:
        """By whom and where, in words; why nobody decided, else."""
        by = self.approval.decided_by or ""
        name, _, surface = by.removesuffix(")").rpartition(" (")
        return f"{name}, {say(_WHERE[surface])}" if by.endswith(")") and surface in _WHERE else by

    @property
    def what(self) -> str:
        """What the exact text is called."""
        return say(_EXACT.get(self.approval.kind, f"The exact {REGISTRY.approval_kind(self.approval.kind).noun}"))


@pages.get("/approvals")
def approvals() -> str:
    """The whole page."""
    return render_template(
        "approvals.html",
        **shell_frame(),
        known_agents=[agent.name for agent in own_agents()],
        kinds=KINDS,
        outcomes=OUTCOMES,
        **_past(),
    )


@pages.get("/parts/inbox")
def inbox() -> str:
    """What waits."""
    return render_template("parts/inbox.html", waiting=pending())


@pages.get("/parts/approvals")
def past() -> str:
    """A page of what has ended."""
    return render_template("parts/approvals.html", **_past())


def _past() -> dict[str, Any]:
    given = {name: value for name in _FILTERS if (value := request.args.get(name, "").strip())}
    before, asked = request.args.get("before", ""), read_filters()
    statuses = tuple(status for status in asked.statuses if status is not ApprovalStatus.PENDING)
    found = get_services().approvals.list_history(replace(asked, statuses=statuses), before=before, limit=PAGE + 1)
    whose = names_of_others()
    at = {**given, "before": before} if before else given
    return {
        "past": [PastView(approval, whose(approval.cubicle)) for approval in found[:PAGE]],
        "given": given,
        "part": f"/parts/approvals?{urlencode(at)}",
        "newest": _url(given) if before else "",
        "older": _url({**given, "before": found[PAGE - 1].id}) if len(found) > PAGE else "",
        "own": require_asker().user.name,
    }


def _url(given: dict[str, str]) -> str:
    return f"/approvals?{urlencode(given)}" if given else "/approvals"
