"""What templates are given: our nouns, read once and joined, so that a template only lays out. No template calls
the install.
"""

from __future__ import annotations

import logging
import math
import os
from dataclasses import dataclass

from dashboard.apps import SeenApp, changed_in
from dashboard.auth import own_agents, require_asker
from dashboard.glimpses import PICTURES
from dashboard.languages import page_speech, say, size, to_say
from dashboard.pages.asking import ApprovalView, asking_agents
from dashboard.pages.money import Money, money_of
from dashboard.paths import encode_path
from dashboard.services import get_services
from dashboard.shapes import current_activity, delivery_json
from dashboard.sights import FileSight, sight_of
from orchestrator.approvals.notification_rows import Notice
from orchestrator.approvals.sources import describe_turn
from orchestrator.capabilities.ask.questions import PENDING, Question
from orchestrator.capabilities.calendar.visibility import is_told
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import (
    CALENDAR,
    Agent,
    Approval,
    ApprovalStatus,
    Conversation,
    CubicleKey,
    Delivery,
    Step,
    Turn,
    TurnStatus,
)
from orchestrator.files.attachments import Attachment, split_prompt
from orchestrator.operations.quota.monitor import DiskUse
from orchestrator.turns.branches import Siblings
from orchestrator.turns.plan_rows import PlanItem

logger = logging.getLogger(__name__)

REHEARSAL = "rehearsal"
MOST_BACK = 200
"""Turns that a page has, at most, to show the fork that a branch begins at."""


_AGENT_STATES = {
    "active": to_say("working"),
    "waiting": to_say("waiting for you"),
    "idle": to_say("ready"),
    "stopped": to_say("asleep"),
}
_STEP_STATES = {
    "refused": to_say("refused"),
    "denied": to_say("denied"),
    "expired": to_say("expired"),
    "stopped": to_say("stopped"),
    "cancelled": to_say("cancelled"),
    "failed": to_say("failed"),
}


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent on a card or in the list."""

    agent: Agent
    status: str
    """``active``, ``idle`` or ``stopped``; ``waiting`` where it waits for the viewer."""
    money: Money
    waits_for: str = ""
    """``approval`` or ``answer``, where it waits for the viewer."""
    unread: int = 0
    """How many turns of the viewer's ended since they looked."""

    @property
    def label(self) -> str:
        """How it stands, as a person says it."""
        return say(_AGENT_STATES[self.status])


@dataclass(frozen=True, slots=True)
class StepView:
    """A command, and the question that it asked."""

    step: Step
    approval: Approval | None
    is_over: bool
    """Its turn has ended."""

    @property
    def is_asking(self) -> bool:
        """A person has to decide now."""
        return self.approval is not None and self.approval.status is ApprovalStatus.PENDING

    @property
    def asked(self) -> ApprovalView | None:
        """The question as a card."""
        return None if self.approval is None else ApprovalView(self.approval, "")

    @property
    def state(self) -> str:
        """One word for how it stands, which is also its sign and colour: ``ok, bad, running, asked, refused``."""
        if self.step.status == "done":
            return "ok" if self.step.exit_code == 0 else "bad"
        if self.is_asking:
            return "asked"
        return "running" if self.step.status in ("running", "asked") and not self.is_over else "refused"

    @property
    def ran_s(self) -> float | None:
        """How long its command ran, which begins when a person has said yes; None before it has ended."""
        if self.step.ended_at is None:
            return None
        used_at = None if self.approval is None else self.approval.used_at
        return max(0.0, self.step.ended_at - (used_at or self.step.started_at))

    @property
    def waited_s(self) -> float:
        """How long a person was waited for before it."""
        if self.approval is None or self.approval.decided_at is None:
            return 0.0
        return max(0.0, self.approval.decided_at - self.approval.asked_at)

    @property
    def is_running(self) -> bool:
        """Its command runs now, and may print."""
        return self.state == "running" and self.step.status == "running"

    @property
    def label(self) -> str:
        """The same as a person reads it."""
        if self.step.status == "done":
            return say("exit %(code)s", code=self.step.exit_code)
        if self.step.status in ("running", "asked"):
            return say("cut off") if self.is_over else say("asks you") if self.is_asking else say("running")
        return say(_STEP_STATES[self.step.status]) if self.step.status in _STEP_STATES else self.step.status


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A file that a turn delivered, or a word about one that was not sent."""

    delivery: Delivery
    url: str
    """Its download; empty when there is none (any more)."""
    size: str
    sight: FileSight
    """What can be seen of it."""

    @property
    def path(self) -> str:
        """Its page."""
        return f"/agents/{self.delivery.cubicle.agent}/delivered/{self.delivery.id}"


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that came with a message, as its text tells of it, which whoever types such a text can do too."""

    name: str
    size: str
    path: str = ""
    """Where its person finds it among their own files; empty for what is not in ``in/``."""
    is_picture: bool = False
    """It was one when it was sent; what is there now decides what is shown."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Which entry of the calendar a turn comes from."""

    entry: int
    title: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """A message with all that came of it."""

    turn: Turn
    words: str
    """What the person wrote; empty when files came alone."""
    files: tuple[SentFile, ...]
    steps: tuple[StepView, ...]
    deliveries: tuple[DeliveryView, ...] = ()
    decided: tuple[ApprovalView, ...] = ()
    """What the install was asked to do, and how that ended."""
    answered: tuple[Question, ...] = ()
    """What the person was asked, and how that ended."""
    notifications: tuple[Notice, ...] = ()
    """What the install said about it."""
    planned: Planned | None = None
    """The entry of the calendar that made it, while there is one."""
    apps: tuple[SeenApp, ...] = ()
    """The web apps that it made or changed, those that are still there."""
    changed: int = 0
    """How many files it changed, as far as that can be looked at."""
    is_undone: bool = False
    """Its changes of files were taken back."""
    siblings: tuple[int, ...] = ()
    """What could stand in its place in the conversation that is shown, itself too; nothing elsewhere."""
    plan: tuple[PlanItem, ...] = ()
    """What the agent is about to do, or was."""
    read: str = ""
    """What strangers may have written and it brought into the conversation, as a list of words."""

    @property
    def is_run(self) -> bool:
        """The calendar made it, nobody wrote."""
        return self.turn.source == CALENDAR

    @property
    def is_silent(self) -> bool:
        """A run of the calendar of which nothing was to be told."""
        has_news = bool(self.deliveries or self.apps or self.notifications or self.decided or self.answered)
        return self.turn.status.is_final and not is_told(self.turn) and not has_news

    @property
    def is_open(self) -> bool:
        """Something may still come."""
        return not self.turn.status.is_final

    @property
    def number(self) -> int:
        """Which of its siblings it is, from 1."""
        return self.siblings.index(self.turn.id) + 1 if self.turn.id in self.siblings else 1

    @property
    def previous(self) -> int | None:
        """The sibling before it."""
        return self.siblings[self.number - 2] if self.number > 1 else None

    @property
    def next(self) -> int | None:
        """The sibling after it."""
        return self.siblings[self.number] if self.number < len(self.siblings) else None

    @property
    def may_repeat(self) -> bool:
        """It came to nothing, and the same message can be sent again."""
        return self.turn.status in (TurnStatus.FAILED, TurnStatus.STOPPED) and not self.is_run

    @property
    def waited_s(self) -> float:
        """How long a person was waited for, before its commands."""
        return sum(step.waited_s for step in self.steps)

    @property
    def took_s(self) -> float:
        """How long the agent worked, without that; 0 before it has ended, or was begun."""
        if self.turn.started_at is None or self.turn.ended_at is None:
            return 0.0
        return max(0.0, self.turn.ended_at - self.turn.started_at - self.waited_s)

    @property
    def plan_done(self) -> int:
        """Items of its plan that are done."""
        return sum(item.is_done for item in self.plan)

    @property
    def is_queued(self) -> bool:
        """Nobody has begun it."""
        return self.turn.status is TurnStatus.QUEUED


def agent_views() -> list[AgentView]:
    """Every agent that the viewer may use."""
    services, who = get_services(), require_asker()
    now, asking, unread = current_activity(services), asking_agents(), services.read_marks.count_unread(who.user.id)
    return [
        AgentView(
            agent,
            "waiting" if agent.name in asking else now.of(agent.name, who.user),
            money_of(agent.name),
            asking.get(agent.name, ""),
            unread.get(agent.name, 0),
        )
        for agent in own_agents()
    ]


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """One thing in a conversation: a turn, or a notice that is about none."""

    turn: TurnView | None = None
    notice: Notice | None = None


def turn_view(turn: Turn, siblings: tuple[int, ...] = ()) -> TurnView:
    """One turn, with its money, its steps and all that was said about it."""
    services = get_services()
    now = services.turns.get(turn.id)
    words, files = split_prompt(now.prompt)
    span = services.undo.get_span(turn.id)
    asked = (ApprovalView(approval, "") for approval in services.approvals.of_turn(turn.id))
    return TurnView(
        now,
        words,
        tuple(map(_sent_file, files)),
        tuple(StepView(step, _question(step), now.status.is_final) for step in services.turns.list_steps(turn.id)),
        tuple(_delivery_view(d) for d in services.deliveries.of_turns([turn.id])),
        tuple(view for view in asked if view.approval.status is not ApprovalStatus.PENDING),
        tuple(question for question in services.questions.of_turn(turn.id) if question.status != PENDING),
        tuple(services.notifications.of_turn(now.cubicle, turn.id)),
        _planned(now),
        tuple(changed_in(now)),
        span.changed if span else 0,
        span is not None and span.undone_at is not None,
        siblings,
        tuple(services.plans.list_items(turn.id)),
        describe_turn(services.conversations.list_turn_sources(turn.id), page_speech()),
    )


def turn_in(conversation: Conversation, turn: Turn) -> TurnView:
    """One turn, as it stands in a conversation."""
    return turn_view(turn, get_services().branches.list_siblings([turn], conversation).get(turn.id, ()))


def page_of_talk(
    conversation: Conversation, before: int | None, limit: int, *, back_to: int | None = None
) -> tuple[list[ChatEntry], int | None]:
    """The newest turns of a conversation with the notices between them, oldest first, and where to page on from; more
    than ``limit`` where the page should go back to a turn that is not too far."""
    turns, key = get_services().turns, conversation.cubicle
    reach = limit if back_to is None else MOST_BACK
    found = turns.list_history(key, conversation=conversation.id, limit=reach + 1, before=before)
    if back_to is not None:
        limit = max(limit, next((len(found) - n for n, turn in enumerate(found) if turn.id == back_to), 0))
    page = found[-limit:]
    until = turns.get(before).created_at if before and page else math.inf
    siblings = get_services().branches.list_siblings(page, conversation) if page else {}
    return _with_notices(key, conversation.id, page, until, siblings), page[0].id if len(found) > limit else None


def page_after(turn: Turn, limit: int) -> tuple[list[ChatEntry], int | None]:
    """The turns that came after one with the notices between them, oldest first, and where to read on from."""
    key, found = turn.cubicle, get_services().history.list_following(turn, limit=limit + 1)
    page, rest = found[:limit], found[limit:]
    until = rest[0].created_at if rest else math.inf
    return _with_notices(key, turn.conversation, page, until), page[-1].id if rest else None


def page_around(turn: Turn, limit: int) -> tuple[list[ChatEntry], int | None, int | None]:
    """A turn with so many before and after it, and where to read on from to either side. One that was cleared is alone,
    as it has no place any more."""
    around = get_services().history.list_around(turn, limit=limit + 1)
    if around is None:
        return [ChatEntry(turn=turn_view(turn))], None, None
    before, after = around
    page = [*before[-limit:], turn, *after[:limit]]
    until = after[limit].created_at if len(after) > limit else math.inf
    talk = _with_notices(turn.cubicle, turn.conversation, page, until)
    return talk, page[0].id if len(before) > limit else None, page[-1].id if len(after) > limit else None


def _with_notices(
    key: CubicleKey, place: int, page: list[Turn], until: float, siblings: Siblings | None = None
) -> list[ChatEntry]:
    """Turns, oldest first, with the notices that came between the first of them and ``until``."""
    notifications = (
        get_services().notifications.list_outside_turns(key, since=page[0].created_at, until=until) if page else []
    )
    beside = siblings or {}
    talk = [(turn.created_at, ChatEntry(turn=turn_view(turn, beside.get(turn.id, ())))) for turn in page]
    for notice in (one for one in notifications if one.conversation in (None, place)):
        at_n = next((n for n, (at, _) in enumerate(talk) if at > notice.at), len(talk))
        talk.insert(at_n, (notice.at, ChatEntry(notice=notice)))
    return [entry for _, entry in talk]


def disk_of(agent: Agent) -> DiskUse | None:
    """What the viewer's workspace with this agent takes; None when that can't be told now."""
    try:
        return get_services().quota.use_of(CubicleKey(agent.name, require_asker().user.id))
    except OrchestratorError as error:
        logger.warning("the disk use of %s can't be told: %s", agent.name, error.message)
        return None


def is_rehearsal(agent: Agent) -> bool:
    """No real model answers for this agent."""
    return (agent.provider or get_services().models()["default"]) == REHEARSAL


def _delivery_view(delivery: Delivery) -> DeliveryView:
    url = delivery_json(delivery)["url"] or ""
    return DeliveryView(
        delivery, url, size(format_size(delivery.size_bytes)), sight_of(delivery) if url else FileSight()
    )


def _sent_file(file: Attachment) -> SentFile:
    folder, _, name = file.path.partition("/")
    path = encode_path(b"in", os.fsencode(name)) if folder == "in" and name and "/" not in name else ""
    is_picture = file.type in PICTURES.values() and path != ""
    return SentFile(file.path.removeprefix("in/"), size(format_size(file.size_bytes)), path, is_picture)


def _planned(turn: Turn) -> Planned | None:
    run = get_services().calendar.run_of(turn.id) if turn.source == CALENDAR else None
    return None if run is None else Planned(run[1].id, run[1].title)


def _question(step: Step) -> Approval | None:
    if step.approval is None:
        return None
    try:
        return get_services().approvals.get(step.approval)
    except NotFound:
        return None  # the step outlived it
