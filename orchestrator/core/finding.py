"""A finding: how one part is, in a sentence, and how to fix it. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingState(StrEnum):
    """``WARN`` is something to know or to do some day; ``FAIL`` keeps messages from being answered, or is unsafe."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    part: str
    state: FindingState
    text: str
    fix: str = ""
    """What to do about it; empty when all is well."""


def ok(part: str, text: str) -> Finding:
    """All is well."""
    return Finding(part, FindingState.OK, text)


def warn(part: str, text: str, fix: str) -> Finding:
    """Something to know."""
    return Finding(part, FindingState.WARN, text, fix)


def fail(part: str, text: str, fix: str) -> Finding:
    """Something that must be fixed."""
    return Finding(part, FindingState.FAIL, text, fix)


def finding_json(finding: Finding) -> dict[str, str]:
    """The finding as surfaces show it; ``mend`` is what the API has always called the fix."""
    return {"part": finding.part, "state": str(finding.state), "text": finding.text, "mend": finding.fix}
