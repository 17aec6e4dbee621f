"""The question that a person decides, in words: as one message with the whole text that it is about (a command, an
address, a list of packages), under a file where that is too long, and how it ended. Pure.

A person is never asked about a part: the message holds all of it, or the file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.capabilities.approval_kind import ApprovalKind
from orchestrator.channels.chat import approval_kinds
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.rich_text import RichText, TextEntity, move_entities, normalize_entities, utf16_len
from orchestrator.channels.chat.system_text import NOT_THE_MARK, NoteLine, QuotedText, format_clock, laid_out
from orchestrator.core.models import Approval
from orchestrator.core.text import escape_invisible, one_line

CAPTION_UNITS, MESSAGE_UNITS = 1024, 4096
_LONG_UNITS = 3000
"""With a longer text the rest of the message might not fit."""
_SHOWN_UNITS = 300
"""Of what is in a file, its beginning."""
_LEAST_SHOWN_UNITS = 40
_LITTLE_UNITS = 500
_LONG = "The {noun} is long ({count:,} characters): {where} The full text is in the file above. It begins:"
_TO_READ = "read it page by page to approve it here."
_TOO_LONG = "too long to approve here. Approve it in the dashboard or in the terminal."
PAGE_UNITS, MOST_PAGES = 3_300, 12
READABLE_UNITS = PAGE_UNITS * MOST_PAGES
"""Nobody reads more with care; a longer text is approved where there is more room."""


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """An approval, and who is asked."""

    approval: Approval
    user: str
    """Whose cubicle it is."""
    zone: str
    """The reader's."""
    conversation: str = ""
    """In which it was asked, where the chat writes to another."""
    called: str = ""
    """What people call the agent, where that is another name."""

    @property
    def agent(self) -> str:
        """Who asks."""
        return self.called or self.approval.cubicle.agent

    @property
    def shown(self) -> str:
        """The exact text, with everything invisible written out."""
        return escape_invisible(self.approval.text)

    @property
    def kind(self) -> ApprovalKind:
        """How it is spoken of."""
        return approval_kinds.kind_of(self.approval)

    @property
    def facts(self) -> list[NoteLine]:
        """What else there is to know."""
        return [_without_mark(line) for line in approval_kinds.list_facts(self.approval)]

    @property
    def reason(self) -> str:
        """Why it is asked; it may quote the command."""
        return self.approval.reason.replace(MARK, NOT_THE_MARK)

    @property
    def is_long(self) -> bool:
        """It goes out as a file."""
        return utf16_len(self.shown) > _LONG_UNITS - self._units_around or not self.shown.strip()

    @property
    def _units_around(self) -> int:
        """How much room the facts take, beyond what little is always there."""
        lines = [*self.facts, *approval_kinds.list_consequences(self.approval)]
        return max(laid_out("", lines).units - _LITTLE_UNITS, 0)

    @property
    def file_name(self) -> str:
        """What that file is called."""
        return f"{self.approval.cubicle.agent}-asks-{self.approval.id}.txt"


def asked_body(question: ApprovalQuestion, now: float) -> RichText:
    """The question as a message or, of a long text, as the caption of the file that holds it."""
    approval, expires = question.approval, format_clock(question.approval.expires_at, question.zone, now)
    if question.is_long:
        return _over_a_file(question, expires)
    kind = question.kind
    lapses = f"{kind.unless} It expires at {expires}."
    after = ["", *approval_kinds.list_consequences(approval), lapses]
    return _laid_out(_asks(question), _about(question), question, after, limit=MESSAGE_UNITS)


def ended_body(question: ApprovalQuestion, now: float) -> RichText:
    """The same when it is decided: what was asked, and how that ended."""
    approval = question.approval
    by = one_line(approval.decided_by or "somebody", 100).replace(MARK, NOT_THE_MARK)
    ending = approval_kinds.ending_text(approval, by, format_clock(approval.decided_at or now, question.zone, now))
    before = _about(question)
    if question.is_long:
        before = [*before[:3], f"The whole {question.kind.noun} is in the file above."]
    limit = CAPTION_UNITS if question.is_long else MESSAGE_UNITS
    most = _SHOWN_UNITS if question.is_long else limit
    title = f"{question.agent} asked: {question.kind.asks}"
    return _laid_out(title, before, question, ["", ending], limit=limit, most_shown=most, is_ending_bold=True)


def _over_a_file(question: ApprovalQuestion, expires: str) -> RichText:
    """Under a file there is little room: what must be known before deciding stays, the rest gives way."""
    approval, kind = question.approval, question.kind
    where = _TO_READ if utf16_len(question.shown) <= READABLE_UNITS else _TOO_LONG
    before = [*_about(question)[:6], _LONG.format(noun=kind.noun, count=len(approval.text), where=where)]
    after: list[NoteLine] = [
        f"SHA-256 of the {kind.noun}: {approval.sha256}",
        f"{kind.unless} It expires at {expires}.",
    ]
    return _laid_out(_asks(question), before, question, after, limit=CAPTION_UNITS, most_shown=_SHOWN_UNITS)


def _asks(question: ApprovalQuestion) -> str:
    return f"{question.agent} asks: {question.kind.asks}"


def _about(question: ApprovalQuestion) -> list[NoteLine]:
    place: list[NoteLine] = [("In “", QuotedText(question.conversation, 60), "”.")] if question.conversation else []
    return [f"For {one_line(question.user, 64)}.", *place, *question.facts]


def _laid_out(
    title: str,
    before: Sequence[NoteLine],
    question: ApprovalQuestion,
    after: Sequence[NoteLine],
    *,
    limit: int,
    most_shown: int = MESSAGE_UNITS,
    is_ending_bold: bool = False,
) -> RichText:
    """The exact text between facts, cut where it must be; where even that is too much, the last facts give way."""
    head, tail = laid_out(title, before), laid_out("", after)
    room = min(limit - head.units - tail.units - 2, most_shown)
    if room < _LEAST_SHOWN_UNITS and len(before) > 2:
        shorter = [*before[:-2], before[-1]]
        return _laid_out(
            title, shorter, question, after, limit=limit, most_shown=most_shown, is_ending_bold=is_ending_bold
        )
    command = _cut(question.shown.replace(MARK, NOT_THE_MARK), room)
    start, units = head.units + 1, utf16_len(command)
    text = f"{head.text}\n{command}\n{tail.text}"
    entities = [*head.entities, TextEntity("pre", start, units), *move_entities(tail.entities, start + units + 1)]
    if is_ending_bold:
        length = utf16_len(str(after[-1]))
        entities.append(TextEntity("bold", utf16_len(text) - length, length))
    return RichText(text, normalize_entities(text, tuple(entities)))


def _cut(text: str, units: int) -> str:
    if utf16_len(text) <= units:
        return text
    short = text.encode("utf-16-le", "replace")[: 2 * max(units - 2, 0)].decode("utf-16-le", "ignore")
    return f"{short.rstrip()}…"


def _without_mark(line: NoteLine) -> NoteLine:
    """A reason of the install may quote the command."""
    return line.replace(MARK, NOT_THE_MARK) if isinstance(line, str) else line
