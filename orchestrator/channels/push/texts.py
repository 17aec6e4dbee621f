"""What a notification says, what its buttons are, where it leads, how urgent it is and how long it is good for. Pure.

Words of agents are cut and shown as they are, never as ours. Approve is offered only where the whole text that is
decided about stands in the notification, with nothing in it that an eye would miss.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from orchestrator.approvals.notification_rows import Notice
from orchestrator.approvals.sources import describe_sources
from orchestrator.capabilities.ask.questions import Question
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.models import Approval, ApprovalStatus, Turn, TurnStatus
from orchestrator.core.text import one_line
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage
from orchestrator.languages.told import to_say

WHOLE_CHARS = 160
"""So much of a body is shown by every system without unfolding it."""
_MOST_CHARS = 200
_CHOICE_CHARS = 30
_MOST_BUTTONS = 2
"""Browsers show no more."""
_PLAIN = re.compile(r"(?!.* {9})[!-~](?:[ -~]*[!-~])?")
_DAY_S = 24 * 3600
_LEAST_S = 60
_HIDDEN = to_say("Open HermitShell to see what it is about.")
_ENDS = {
    ApprovalStatus.APPROVED: to_say("Approved."),
    ApprovalStatus.DENIED: to_say("Denied."),
    ApprovalStatus.EXPIRED: to_say("Nobody answered in time."),
    ApprovalStatus.CANCELLED: to_say("No longer needed."),
}

_ENDS_BY = {
    ApprovalStatus.APPROVED: to_say("Approved by %(person)s."),
    ApprovalStatus.DENIED: to_say("Denied by %(person)s."),
}


@dataclass(frozen=True, slots=True)
class PushText:
    """One notification."""

    tag: str
    """A newer one with the same takes the place of the older, on the device and on the way."""
    title: str
    body: str
    path: str
    """What it opens."""
    ttl_s: int
    """So long the push service keeps it for a device that is off."""
    urgency: str
    """``high`` wakes a sleeping phone."""
    buttons: tuple[tuple[str, str], ...] = ()
    """What each does, and says."""
    is_over: bool = False
    """It takes back what an earlier one asked."""

    @property
    def topic(self) -> str:
        """The tag as push services take it."""
        return hashlib.sha256(self.tag.encode()).hexdigest()[:32]


def approval_text(
    approval: Approval, called: str, *, shows_text: bool, now: float, speech: SpokenLanguage = IN_ENGLISH
) -> PushText:
    """Whether something may be done; ``called`` is what people call the agent."""
    kind = REGISTRY.approval_kind(approval.kind)
    decides = ("approve", speech.say("Approve"))
    if not (shows_text and is_whole(approval)):
        decides = ("open", speech.say("Review"))
    return PushText(
        tag=f"approval:{approval.id}",
        title=f"{called}: {speech.say(kind.asks)}"
        if shows_text
        else speech.say("%(agent)s needs your approval", agent=called),
        body=_approval_body(approval, speech) if shows_text else speech.say(_HIDDEN),
        path="/approvals",
        ttl_s=_time_left(approval.expires_at, now),
        urgency="high",
        buttons=(decides, ("deny", speech.say("Deny"))),
    )


def _approval_body(approval: Approval, speech: SpokenLanguage) -> str:
    """The exact text, and below it what was read, where both fit."""
    text = one_line(approval.text, _MOST_CHARS)
    whole = "\n".join([text, *describe_sources(approval.detail, speech)])
    return whole if len(whole) <= _MOST_CHARS else text


def is_whole(approval: Approval) -> bool:
    """Everything that is decided about fits into a notification: one short line of plain letters, and nothing that a
    person should see beside it."""
    beside = ("warnings", "scripts", "runs_more", "since_allowed")
    is_short = len(approval.text) <= WHOLE_CHARS and _PLAIN.fullmatch(approval.text) is not None
    return is_short and not any(approval.detail.get(name) for name in beside)


def question_text(
    question: Question, called: str, *, shows_text: bool, now: float, speech: SpokenLanguage = IN_ENGLISH
) -> PushText:
    """What an agent wants to know; its choices are buttons where there are two short ones at most."""
    choices = question.choices
    fits = len(choices) <= _MOST_BUTTONS and all(0 < len(choice) <= _CHOICE_CHARS for choice in choices)
    is_told = shows_text and len(question.text) <= _MOST_CHARS
    return PushText(
        tag=f"question:{question.id}",
        title=speech.say("%(agent)s asks you", agent=called),
        body=one_line(question.text, _MOST_CHARS) if shows_text else speech.say(_HIDDEN),
        path="/approvals",
        ttl_s=_time_left(question.expires_at, now),
        urgency="high",
        buttons=tuple((f"choice:{n}", one_line(choice)) for n, choice in enumerate(choices))
        if fits and is_told
        else (),
    )


def turn_text(turn: Turn, called: str, *, shows_text: bool, speech: SpokenLanguage = IN_ENGLISH) -> PushText:
    """What an agent answered, or why it did not."""
    agent = turn.cubicle.agent
    if turn.status is TurnStatus.DONE:
        title, said = speech.say("%(agent)s answered", agent=called), turn.reply or ""
    else:
        title, said = speech.say("%(agent)s couldn’t finish", agent=called), speech.retell(turn.error or "")
    if turn.may_be_silent:
        title += f" ({speech.say('calendar')})"
    return PushText(
        tag=f"chat:{turn.conversation}",
        title=title,
        body=one_line(" ".join(said.split()), _MOST_CHARS) if shows_text else speech.say(_HIDDEN),
        path=f"/agents/{agent}?conversation={turn.conversation}#turn-{turn.id}",
        ttl_s=_DAY_S // 2,
        urgency="normal",
    )


def notice_text(notice: Notice, called: str, *, shows_text: bool, speech: SpokenLanguage = IN_ENGLISH) -> PushText:
    """What the calendar has to say."""
    agent = notice.cubicle.agent
    return PushText(
        tag=f"notice:{notice.id}",
        title=speech.say("Calendar of %(agent)s", agent=called),
        body=one_line(" ".join(notice.text.split()), _MOST_CHARS) if shows_text else speech.say(_HIDDEN),
        path=f"/agents/{agent}/calendar",
        ttl_s=_DAY_S // 2,
        urgency="normal",
    )


def approval_end_text(approval: Approval, called: str, speech: SpokenLanguage = IN_ENGLISH) -> PushText:
    """It was decided elsewhere."""
    said = speech.say(_ENDS[approval.status])
    if approval.decided_by and approval.status in _ENDS_BY:
        said = speech.say(_ENDS_BY[approval.status], person=approval.decided_by)
    return end_text(f"approval:{approval.id}", called, said, speech)


def end_text(tag: str, called: str, said: str, speech: SpokenLanguage = IN_ENGLISH) -> PushText:
    """What was asked under this tag needs nobody any more."""
    return PushText(
        tag, speech.say("%(agent)s: settled", agent=called), said, "/approvals", _DAY_S, "normal", is_over=True
    )


def test_text(speech: SpokenLanguage) -> PushText:
    """To try a device out."""
    said = speech.say("Notifications work on this device.")
    return PushText("test", "HermitShell", said, "/you#notifications", 600, "normal")


def worker_texts(speech: SpokenLanguage) -> dict[str, str]:
    """For the script that shows notifications, which has these in English."""
    if speech.is_english:
        return {}
    return {
        "unanswered": speech.say("HermitShell didn’t answer, so nothing was done. Try again."),
        "not_done": speech.say("Not done"),
        "open": speech.say("Open HermitShell to decide."),
    }


def _time_left(until: float, now: float) -> int:
    return int(min(max(until - now, _LEAST_S), _DAY_S))
