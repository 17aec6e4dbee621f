"""The question whether a command may run, in words: as one message with the whole command, under a file where the
command is too long for that, and how it ended. Pure.

A person is never asked about a part of a command: the message holds all of it, or the file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.channels.telegram.notes import NOT_THE_MARK, clock
from orchestrator.nouns import Approval, ApprovalStatus
from orchestrator.telegram_entities import settled
from orchestrator.telegram_text import MARK, Entity, Rich, approval_text, utf16_len
from orchestrator.text import one_line, visible

CAPTION_UNITS, MESSAGE_UNITS = 1024, 4096
_LONG_UNITS = 3000
"""With a longer command the rest of the message might not fit."""
_SHOWN_UNITS = 300
"""Of a command that is in a file, its beginning."""
_LONG = (
    "The command is long ({count:,} characters). All of it is in the file above: read it there before you decide. "
    "This is only how it begins:"
)
_ENDINGS = {
    ApprovalStatus.APPROVED: "Approved by {by}, {at}.",
    ApprovalStatus.DENIED: "Denied by {by}, {at}. It was not run.",
    ApprovalStatus.EXPIRED: "Nobody answered in time, so it was not run.",
    ApprovalStatus.CANCELLED: "Taken back ({by}), so there is nothing to decide. It was not run.",
}


@dataclass(frozen=True, slots=True)
class Question:
    """An approval, and who is asked."""

    approval: Approval
    user: str
    """Whose cubicle it is."""
    zone: str
    """The reader's."""

    @property
    def agent(self) -> str:
        """Who asks."""
        return self.approval.cubicle.agent

    @property
    def shown(self) -> str:
        """The exact command, with everything invisible written out."""
        return visible(self.approval.text)

    @property
    def reason(self) -> str:
        """Why it is asked; it may quote the command."""
        return self.approval.reason.replace(MARK, NOT_THE_MARK)

    @property
    def is_long(self) -> bool:
        """It goes out as a file."""
        return utf16_len(self.shown) > _LONG_UNITS or not self.shown.strip()

    @property
    def file_name(self) -> str:
        """What that file is called."""
        return f"{self.agent}-asks-{self.approval.id}.txt"


def asked(question: Question, now: float) -> Rich:
    """The question as a message or, of a long command, as the caption of the file that holds it."""
    approval, expires = question.approval, clock(question.approval.expires_at, question.zone, now)
    if question.is_long:
        return _over_a_file(question, expires)
    found = approval_text(question.agent, question.user, question.reason, approval.text, expires)
    return _over_a_file(question, expires) if found is None else found[0]


def ended(question: Question, now: float) -> Rich:
    """The same when it is decided: what was asked, and how that ended."""
    approval = question.approval
    ending = _ENDINGS[approval.status].format(
        by=one_line(approval.decided_by or "somebody", 100),
        at=clock(approval.decided_at or now, question.zone, now),
    )
    title = f"{MARK} {question.agent} asked: may this run?"
    limit = CAPTION_UNITS if question.is_long else MESSAGE_UNITS
    lines = [title, *_about(question, 200), "The whole command is in the file above." if question.is_long else ""]
    most = _SHOWN_UNITS if question.is_long else limit
    return _laid_out(lines, question, ["", ending], limit=limit, most_shown=most, is_ending_bold=True)


def _over_a_file(question: Question, expires: str) -> Rich:
    before = [
        f"{MARK} {question.agent} asks: may this run?",
        *_about(question, 200),
        _LONG.format(count=len(question.approval.text)),
    ]
    after = [
        f"SHA-256 of the command: {question.approval.sha256}",
        f"Nothing runs unless you agree. The question lapses at {expires}.",
    ]
    return _laid_out(before, question, after, limit=CAPTION_UNITS, most_shown=_SHOWN_UNITS)


def _about(question: Question, limit: int) -> list[str]:
    reason = one_line(question.reason, limit)
    return [f"For {one_line(question.user, 64)}.", *([reason] if reason else [])]


def _laid_out(
    before: Sequence[str],
    question: Question,
    after: Sequence[str],
    *,
    limit: int,
    most_shown: int = MESSAGE_UNITS,
    is_ending_bold: bool = False,
) -> Rich:
    """The command between two texts, cut where it must be."""
    head, tail = "\n".join(before) + "\n", "\n" + "\n".join(after)
    room = min(limit - utf16_len(head) - utf16_len(tail), most_shown)
    command = _cut(question.shown.replace(MARK, NOT_THE_MARK), room)
    text = head + command + tail
    bold = [Entity("bold", 0, utf16_len(before[0]))]
    if is_ending_bold:
        length = utf16_len(after[-1])
        bold.append(Entity("bold", utf16_len(text) - length, length))
    return Rich(text, settled(text, (*bold, Entity("pre", utf16_len(head), utf16_len(command)))))


def _cut(text: str, units: int) -> str:
    if utf16_len(text) <= units:
        return text
    short = text.encode("utf-16-le", "replace")[: 2 * max(units - 2, 0)].decode("utf-16-le", "ignore")
    return f"{short.rstrip()}…"
