"""What a person decides, by kind: a command in the cubicle, a download, packages; in which words it is asked, answered
and ended, and which facts stand around the exact text. Pure.

What an agent wrote stands as code, and nothing in these facts can be tapped: a preview or a tap would be the very
request that is being asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.approval_answers import note_of
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, many, note, size, unlinked
from orchestrator.nouns import Approval, ApprovalStatus
from orchestrator.text import look_alikes, one_line

COMMAND, ASSET, PACKAGES = "command", "asset", "packages"
_LONGER = {"hour": ", and this kind for an hour", "conversation": ", and this kind for this conversation"}
PRESS_TO_AGREE = note("Press Approve to agree", "Replying to a question denies it, and your words go to the agent.")
_MOST_SCRIPTS = 5
_KIND_CHARS = 200
_HOST_CHARS = 40
_MOST_ASKED = 10
_MOST_WARNINGS = 8


@dataclass(frozen=True, slots=True)
class ApprovalKind:
    """How one kind is spoken of."""

    asks: str
    """``may this run?``"""
    noun: str
    """What the exact text is called."""
    approved: str
    denied: str
    unless: str
    """``Nothing runs unless you agree.``"""
    again: str
    """For the agent, when the person asks it to try once more."""
    facts: Callable[[Approval], list[NoteLine]]
    """What else there is to know, before the exact text."""
    consequences: Callable[[Approval], list[NoteLine]]
    """What agreeing means, after it."""


def of(approval: Approval) -> ApprovalKind:
    """How this one is spoken of."""
    return _KINDS.get(approval.kind, _KINDS[COMMAND])


def ending(approval: Approval, by: str, at: str) -> str:
    """How it ended, as a sentence or two."""
    kind = of(approval)
    match approval.status:
        case ApprovalStatus.APPROVED:
            longer = _LONGER.get(str(approval.detail.get("scope", "")), "")
            longer = ", and always for this host" if is_always(approval) else longer
            return " ".join(filter(None, (f"Approved by {by}, {at}{longer}.", _then(approval, kind.approved))))
        case ApprovalStatus.DENIED:
            note = f" “{unlinked(one_line(note_of(approval), 300))}”" if note_of(approval) else ""
            return f"Denied by {by}, {at}. It was not {kind.denied}.{note}"
        case ApprovalStatus.EXPIRED:
            return f"Nobody answered in time, so it was not {kind.denied}."
        case _:
            return f"Cancelled ({by}), so there is nothing to decide. It was not {kind.denied}."


def toast(approval: Approval) -> str:
    """What stands over the chat after the press."""
    kind = of(approval)
    if approval.status is not ApprovalStatus.APPROVED:
        return f"Denied. It will not {_INFINITIVES[kind.denied]}."
    longer = _LONGER.get(str(approval.detail.get("scope", "")), "")
    return f"Always allowed. {kind.approved}" if is_always(approval) else f"Approved{longer}. {kind.approved}"


def is_always(approval: Approval) -> bool:
    """The person agreed to the host for ever."""
    return approval.detail.get("always") is True


def host_of(approval: Approval) -> str:
    """The host that may be allowed for ever; empty where there is none."""
    return one_line(str(approval.detail.get("host", "")), 260)


def always_label(approval: Approval) -> str:
    """The words of that button. Of a long name the end is shown: whose it is stands there."""
    host = host_of(approval)
    return f"Always allow {host if len(host) <= _HOST_CHARS else '…' + host[-_HOST_CHARS + 1 :]}"


def _then(approval: Approval, sentence: str) -> str:
    """That a command runs is seen from what it does."""
    return "" if approval.kind == COMMAND else sentence


# --- facts -------------------------------------------------------------------------------------------------------


def _of_command(approval: Approval) -> list[NoteLine]:
    """What agreeing means: the files that run, what it is when it is agreed to for longer."""
    scripts = [script for script in approval.detail.get("scripts", ()) if isinstance(script, dict)]
    lines: list[NoteLine] = [
        (
            "Runs ",
            QuotedText(str(script["path"]), 200),
            ", as it is now" if script["sha256"] else ", which doesn't exist",
        )
        for script in scripts[:_MOST_SCRIPTS]
    ]
    lines += [f"and {len(scripts) - _MOST_SCRIPTS} more files"] if len(scripts) > _MOST_SCRIPTS else []
    if approval.detail.get("runs_more"):
        lines.append("It also runs other files, which can't be named in advance.")
    kinds = [str(kind) for kind in approval.detail.get("kinds", ())]
    if kinds:
        parts = [part for kind in kinds for part in (QuotedText(kind, _KIND_CHARS), " ")]
        lines.append(("For longer: ", *parts[:-1]))
    return [*lines, *_look_alikes(approval)]


def _look_alikes(approval: Approval) -> list[NoteLine]:
    found = look_alikes(approval.text)
    return [f"⚠ Looks like something else: {', '.join(found)}"] if found else []


def _reason(approval: Approval) -> list[NoteLine]:
    """Of a command: why the house asks."""
    words = one_line(approval.reason, 200)
    return [words] if words else []


def _of_asset(approval: Approval) -> list[NoteLine]:
    detail = approval.detail
    lines: list[NoteLine] = [
        ("Reason given: ", QuotedText(str(detail.get("description") or approval.reason or "none"), 300))
    ]
    if detail.get("file_type"):
        lines.append(("Expected: ", QuotedText(str(detail["file_type"]), 60)))
    lines.append(("Host: ", QuotedText(host_of(approval), 260)))
    count = detail.get("url_chars")
    if isinstance(count, int) and count > 1:
        lines.append(f"Sent to the host: {many(count, 'character')} after its name.")
    warnings = detail.get("warnings")
    listed = warnings if isinstance(warnings, list) else []
    lines += [f"⚠ {unlinked(one_line(str(warning), 400))}" for warning in listed[:_MOST_WARNINGS]]
    return lines


def _after_asset(approval: Approval) -> list[NoteLine]:
    return [
        "Its size isn't known until it's downloaded. It goes into in/, where the agent can read it.",
        ("Always: from ", QuotedText(host_of(approval), 260), f" {approval.cubicle.agent} may then download freely."),
    ]


def _of_packages(approval: Approval) -> list[NoteLine]:
    detail = approval.detail
    lines: list[NoteLine] = []
    if approval.reason:
        lines.append(("Reason given: ", QuotedText(approval.reason, 300)))
    asked = detail.get("asked")
    names = [str(name) for name in asked] if isinstance(asked, list) else []
    if names:
        parts = [part for name in names[:_MOST_ASKED] for part in (QuotedText(name, 80), " ")]
        more = f"and {len(names) - _MOST_ASKED} more" if len(names) > _MOST_ASKED else ""
        lines.append(("Asked for: ", *parts, more))
    packages, total = detail.get("packages"), detail.get("total_bytes")
    if isinstance(packages, list) and isinstance(total, int):
        lines.append(f"With dependencies: {many(len(packages), 'package')}, {size(total)} in total.")
    return lines


def _after_packages(_: Approval) -> list[NoteLine]:
    return ["Exactly these versions are downloaded. They get no more rights than the agent's own commands."]


_INFINITIVES = {"run": "run", "downloaded": "be downloaded", "installed": "be installed"}
_KINDS = {
    COMMAND: ApprovalKind(
        asks="may this run?",
        noun="command",
        approved="It runs now.",
        denied="run",
        unless="Nothing runs unless you agree.",
        again="You asked whether this command may run, and nobody answered in time, so it was not run. If it is still "
        "needed, try it again now:\n\n{text}",
        facts=_reason,
        consequences=_of_command,
    ),
    ASSET: ApprovalKind(
        asks="may this be downloaded?",
        noun="address",
        approved="It is being downloaded.",
        denied="downloaded",
        unless="Nothing is downloaded unless you agree.",
        again="You asked whether this may be downloaded, and nobody answered in time, so it was not. If it is still "
        "needed, ask for it again now:\n\n{text}",
        facts=_of_asset,
        consequences=_after_asset,
    ),
    PACKAGES: ApprovalKind(
        asks="may these packages be installed?",
        noun="list",
        approved="They are being downloaded.",
        denied="installed",
        unless="Nothing is downloaded unless you agree.",
        again="You asked whether these packages may be installed, and nobody answered in time, so they were not. If "
        "they are still needed, ask for them again now:\n\n{text}",
        facts=_of_packages,
        consequences=_after_packages,
    ),
}
