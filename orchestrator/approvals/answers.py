"""What a person may say to a question beside yes or no: words with a no, a yes for longer than once. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.core.errors import BadInput
from orchestrator.core.models import Approval, ApprovalStatus
from orchestrator.core.text import escape_invisible, is_unicode

COMMAND = "command"
"""The kind of a question about a command in a cubicle; every other kind is about what the host shall do."""
MAX_NOTE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class DecisionDetails:
    """What goes with the decision."""

    note: str = ""
    """With a no: why, or what to do instead. The agent reads it."""
    scope: GrantScope | None = None
    """With a yes: how long the same may be done without asking."""


NOTHING = DecisionDetails()


def describe_allowance(approval: Approval) -> tuple[GrantKind, tuple[str, ...]]:
    """What saying yes for longer would allow; nothing where there is no name for it."""
    if approval.kind == COMMAND or "kinds" in approval.detail:
        kind = GrantKind(approval.detail.get("grants", GrantKind.COMMAND))
        return kind, tuple(approval.detail.get("kinds", ()))
    host = approval.detail.get("host")
    return GrantKind.HOST, (str(host),) if host else ()


def check_answer(approval: Approval, said: DecisionDetails, *, approve: bool) -> None:
    """Raises BadInput for what does not fit this question."""
    if said.scope is not None and not (approve and describe_allowance(approval)[1]):
        field = "always" if said.scope is GrantScope.ALWAYS else "scope"
        raise BadInput(f"{field}: this can only be approved once.")
    if said.note and approve:
        raise BadInput("note: words go with a no. Approve without them, and write to the agent.")
    if len(said.note) > MAX_NOTE_CHARS:
        raise BadInput(f"note: at most {MAX_NOTE_CHARS:,} characters fit.")
    if not is_unicode(said.note):
        raise BadInput("note: it holds half a character (a lone surrogate). Send plain Unicode.")


def make_note(said: DecisionDetails) -> dict[str, Any]:
    """What is kept of it with the question."""
    kept: dict[str, Any] = {"note": said.note} if said.note else {}
    if said.scope is not None:
        kept |= {"scope": str(said.scope)} | ({"always": True} if said.scope is GrantScope.ALWAYS else {})
    return kept


def note_of(approval: Approval) -> str:
    """The words that came with a no; mostly empty."""
    return str(approval.detail.get("note", "")) if approval.status is ApprovalStatus.DENIED else ""


def quote_note(approval: Approval) -> str:
    """Those words as a sentence to go on with; empty where there are none."""
    note = note_of(approval)
    return f" They said: “{escape_invisible(note)}”" if note else ""


def too_late(approval: Approval) -> str:
    """Why a question can't be decided any more."""
    if approval.status is ApprovalStatus.EXPIRED:
        what = "run" if approval.kind == COMMAND else "done"
        return f"Too late: nobody answered in time, so it was not {what}. Ask the agent to try again."
    if approval.status is ApprovalStatus.CANCELLED:
        return "Too late: the turn has ended, so there is nothing left to decide."
    return f"It was {approval.status} already, by {approval.decided_by}."
