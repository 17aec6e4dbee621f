"""What a person decides, by kind: a command in the cubicle, a download, packages; in which words it is asked, answered
and ended, and which facts stand around the exact text. Pure.

What an agent wrote stands as code, and nothing in these facts can be tapped: a preview or a tap would be the very
request that is being asked about.
"""

from __future__ import annotations

from orchestrator.approvals.answers import note_of
from orchestrator.capabilities.approval_kind import (
    COMMAND_KIND,
    ApprovalKind,
    ByteCount,
    Fact,
    FactPart,
    Quoted,
    WarningLine,
    host_of,
)
from orchestrator.capabilities.approval_kind import list_facts as facts_of
from orchestrator.capabilities.table import REGISTRY
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, format_size, system_note, unlink_text
from orchestrator.core.models import Approval, ApprovalStatus
from orchestrator.core.text import one_line

_LONGER = {"hour": ", and this kind for an hour", "conversation": ", and this kind for this conversation"}
PRESS_TO_AGREE = system_note(
    "Press Approve to agree", "Replying to a question denies it, and your words go to the agent."
)
_HOST_CHARS = 40


def kind_of(approval: Approval) -> ApprovalKind:
    """How this one is spoken of."""
    return REGISTRY.approval_kind(approval.kind)


def list_facts(approval: Approval) -> list[NoteLine]:
    """What else there is to know, before the exact text."""
    return [_line(fact) for fact in facts_of(kind_of(approval), approval)]


def list_consequences(approval: Approval) -> list[NoteLine]:
    """What agreeing means, after it."""
    return [_line(fact) for fact in kind_of(approval).consequences(approval)]


def ending_text(approval: Approval, by: str, at: str) -> str:
    """How it ended, as a sentence or two."""
    kind = kind_of(approval)
    match approval.status:
        case ApprovalStatus.APPROVED:
            longer = _LONGER.get(str(approval.detail.get("scope", "")), "")
            longer = ", and always for this host" if is_always(approval) else longer
            return " ".join(filter(None, (f"Approved by {by}, {at}{longer}.", _then(approval, kind.approved))))
        case ApprovalStatus.DENIED:
            note = f" “{unlink_text(one_line(note_of(approval), 300))}”" if note_of(approval) else ""
            return f"Denied by {by}, {at}. It was not {kind.denied}.{note}"
        case ApprovalStatus.EXPIRED:
            return f"Nobody answered in time, so it was not {kind.denied}."
        case _:
            return f"Cancelled ({by}), so there is nothing to decide. It was not {kind.denied}."


def toast_text(approval: Approval) -> str:
    """What stands over the chat after the press."""
    kind = kind_of(approval)
    if approval.status is not ApprovalStatus.APPROVED:
        return f"Denied. It will not {kind.infinitive}."
    longer = _LONGER.get(str(approval.detail.get("scope", "")), "")
    return f"Always allowed. {kind.approved}" if is_always(approval) else f"Approved{longer}. {kind.approved}"


def is_always(approval: Approval) -> bool:
    """The person agreed to the host for ever."""
    return approval.detail.get("always") is True


def always_label(approval: Approval) -> str:
    """The words of that button. Of a long name the end is shown: whose it is stands there."""
    host = host_of(approval)
    return f"Always allow {host if len(host) <= _HOST_CHARS else '…' + host[-_HOST_CHARS + 1 :]}"


def _then(approval: Approval, sentence: str) -> str:
    """That a command runs is seen from what it does."""
    return "" if kind_of(approval) is COMMAND_KIND else sentence


def _line(fact: Fact) -> NoteLine:
    return tuple(map(_part, fact)) if isinstance(fact, tuple) else _part(fact)


def _part(part: FactPart) -> str | QuotedText:
    match part:
        case Quoted():
            return QuotedText(part.text, part.limit)
        case WarningLine():
            return f"⚠ {unlink_text(part.text)}"
        case ByteCount():
            return format_size(part.count)
        case _:
            return part
