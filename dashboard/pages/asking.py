"""What waits for a person, joined for templates: whether a command may run, a file be fetched, packages be installed,
and what an agent wants to know. Everything in it comes from an agent or from elsewhere, and is text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dashboard.auth import require_asker
from dashboard.languages import page_speech, say, say_reason, size, to_say
from dashboard.services import get_services
from orchestrator.approvals.answers import note_of
from orchestrator.approvals.sources import describe_sources
from orchestrator.capabilities.approval_kind import ByteCount, Fact, Quoted, WarningLine
from orchestrator.capabilities.ask.questions import PENDING, Question
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.core.text import one_line

NAMELESS = "somebody"
_OUTCOMES = {
    ApprovalStatus.APPROVED: to_say("Approved"),
    ApprovalStatus.DENIED: to_say("Denied"),
    ApprovalStatus.EXPIRED: to_say("Expired: nobody answered in time"),
    ApprovalStatus.CANCELLED: to_say("Cancelled"),
}

_BY_WHOM = {
    ApprovalStatus.APPROVED: to_say("Approved by %(person)s"),
    ApprovalStatus.DENIED: to_say("Denied by %(person)s"),
}
_LONGER = {
    "hour": to_say(", and this kind for an hour"),
    "conversation": to_say(", and this kind for the conversation"),
    "always": to_say(", and always for this host"),
}


@dataclass(frozen=True, slots=True)
class PackageLine:
    """One package of a list that is asked about."""

    name: str
    version: str
    size: str
    is_asked: bool
    """The agent named it; the others come along with it."""


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """A question, with the name of the person whose agent asks."""

    approval: Approval
    whose: str
    """Empty when it is the viewer's own."""

    @property
    def wants(self) -> str:
        """What it is about, after the agent's name."""
        kind = REGISTRY.approvals.get(self.approval.kind)
        return say("wants HermitShell to do this" if kind is None else kind.wants)

    @property
    def facts(self) -> list[str]:
        """What else there is to know, before the exact text, each a line."""
        return [_said(fact) for fact in REGISTRY.approval_kind(self.approval.kind).facts(self.approval)]

    @property
    def is_host_asked_again(self) -> bool:
        """A yes for longer covers a host until something new is read."""
        agent = get_services().agents.get(self.approval.cubicle.agent)
        return bool(self.detail.get("host")) and agent.asks_again is not AsksAgain.OFF

    @property
    def read(self) -> list[str]:
        """What the conversation has read, and whether that is why it is asked again, each a line."""
        return describe_sources(self.detail, page_speech())

    @property
    def consequences(self) -> list[str]:
        """What agreeing means, after it."""
        return [_said(fact) for fact in REGISTRY.approval_kind(self.approval.kind).consequences(self.approval)]

    @property
    def detail(self) -> dict[str, Any]:
        """What else to show, by kind."""
        return self.approval.detail

    @property
    def always_host(self) -> str:
        """The host that the viewer may allow from now on; empty when there is none, or for members."""
        return str(self.detail.get("host") or "") if require_asker().is_operator else ""

    @property
    def why(self) -> str:
        """Why the command is asked about, without the command where that is all that it quotes."""
        return say_reason(self.approval.reason, self.approval.text)

    @property
    def sent(self) -> str:
        """What the host of a file is sent: the address after the host's name, where that is as long as was counted."""
        _, slash, path = self.approval.text.partition("://")[2].partition("/")
        sent = slash + path
        return sent if len(sent) == self.detail.get("url_chars") else ""

    @property
    def kinds(self) -> list[str]:
        """What the viewer may allow for longer than once, in their own conversation."""
        if self.approval.cubicle.user != require_asker().user.id:
            return []
        host = self.detail.get("host")
        return [say("fetch from %(host)s", host=host)] if host else list(self.detail.get("kinds", ()))

    @property
    def packages(self) -> list[PackageLine]:
        """The whole list, what was asked for first."""
        asked = {_bare(name) for name in self.detail.get("asked", ())}
        lines = [
            PackageLine(p["name"], p["version"], size(format_size(p["size_bytes"])), _bare(p["name"]) in asked)
            for p in self.detail.get("packages", ())
        ]
        return sorted(lines, key=lambda line: not line.is_asked)

    @property
    def line(self) -> str:
        """What was asked, to tell it from others: the exact text, and of packages their names and versions alone."""
        if self.approval.kind != "packages" or not self.packages:
            return self.approval.text
        names = ", ".join(f"{package.name} {package.version}" for package in self.packages)
        return f"{self.detail.get('system') or say('Packages')}: {names}"

    @property
    def total(self) -> str:
        """What the packages take together."""
        return size(format_size(self.detail.get("total_bytes", 0)))

    @property
    def outcome(self) -> str:
        """How it ended, as a sentence."""
        who = self.approval.decided_by
        is_decided = self.approval.status in (ApprovalStatus.APPROVED, ApprovalStatus.DENIED)
        said = say(_OUTCOMES.get(self.approval.status, ""))
        if who and is_decided:
            said = say(_BY_WHOM[self.approval.status], person=who)
        longer = _LONGER.get(str(self.detail.get("scope") or ("always" if self.detail.get("always") else "")), "")
        longer = say(longer) if longer else ""
        note = f" “{note_of(self.approval)}”" if note_of(self.approval) else ""
        return f"{said}{longer}.{note}"


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What an agent wants to know, with the name of its person."""

    question: Question
    whose: str
    """Empty when it is the viewer's own."""


@dataclass(frozen=True, slots=True)
class WaitingQuestions:
    """All that waits for the viewer, each kind oldest first: a new one moves nothing that is read already."""

    approvals: list[ApprovalView]
    questions: list[QuestionView]

    @property
    def count(self) -> int:
        """How many."""
        return len(self.approvals) + len(self.questions)


def pending() -> WaitingQuestions:
    """What the viewer may decide and answer."""
    services, who, whose = get_services(), require_asker(), names_of_others()
    user = None if who.is_operator else who.user.id
    approvals = services.approvals.list_approvals(status=ApprovalStatus.PENDING, user=user)
    questions = services.questions.list_questions(status=PENDING, user=user)
    return WaitingQuestions(
        [ApprovalView(found, whose(found.cubicle)) for found in reversed(approvals)],
        [QuestionView(found, whose(found.cubicle)) for found in reversed(questions)],
    )


def asking_agents() -> dict[str, str]:
    """The agents that wait for the viewer in the viewer's own conversations, and whether for an ``approval`` or an
    ``answer``."""
    services, user = get_services(), require_asker().user.id
    approvals = services.approvals.list_approvals(status=ApprovalStatus.PENDING, user=user)
    questions = services.questions.list_questions(status=PENDING, user=user)
    answers = {found.cubicle.agent: "answer" for found in questions}
    return {**answers, **{found.cubicle.agent: "approval" for found in approvals}}


def pending_in_chat(key: CubicleKey) -> WaitingQuestions:
    """What a conversation waits for; whether a command may run is asked at its step."""
    services = get_services()
    approvals = services.approvals.list_approvals(status=ApprovalStatus.PENDING, user=key.user)
    questions = services.questions.list_questions(status=PENDING, user=key.user)
    return WaitingQuestions(
        [ApprovalView(a, "") for a in reversed(approvals) if a.cubicle == key and a.step is None],
        [QuestionView(q, "") for q in reversed(questions) if q.cubicle == key],
    )


def names_of_others() -> Callable[[CubicleKey], str]:
    """Tells whose a cubicle is; empty for the viewer's own."""
    viewer = require_asker().user.id
    names = {user.id: user.name for user in get_services().users.list_users()}
    return lambda key: "" if key.user == viewer else names.get(key.user, NAMELESS)


def _bare(name: str) -> str:
    """A package's name without version, as its index compares names."""
    bare = name[:1] + name[1:].partition("@")[0]
    for sign in ("==", "<", ">", "~", "!", "[", " "):
        bare = bare.partition(sign)[0]
    return bare.lower().replace("_", "-").replace(".", "-")


def _said(fact: Fact) -> str:
    """One line as plain text."""
    match fact:
        case tuple():
            return "".join(map(_said, fact))
        case Quoted():
            return f"“{one_line(fact.text, fact.limit)}”"
        case WarningLine():
            return fact.text
        case ByteCount():
            return size(format_size(fact.count))
        case _:
            return page_speech().retell(fact)
