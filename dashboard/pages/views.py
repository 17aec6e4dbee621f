"""What templates are given: our nouns, read once and joined, so that a template only lays out. No template calls
the house.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from dashboard.auth import asker
from dashboard.house import services
from dashboard.shapes import activity, delivery_json
from orchestrator.attachments import untold
from orchestrator.delivery.words import size
from orchestrator.disk.metering import DiskUse
from orchestrator.errors import NotFound, OrchestratorError
from orchestrator.nouns import Agent, Approval, ApprovalStatus, CubicleKey, Delivery, Step, Turn, TurnStatus

logger = logging.getLogger(__name__)

REHEARSAL = "rehearsal"


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent on a card or in the list."""

    agent: Agent
    status: str
    spent_micro: int

    @property
    def is_over_budget(self) -> bool:
        """Nothing is left of today's money."""
        return self.spent_micro >= self.agent.daily_budget_micro

    @property
    def label(self) -> str:
        """How it stands, as a person says it."""
        return {"active": "working", "idle": "ready", "stopped": "asleep"}[self.status]


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """A question, with the name of the person whose agent asks."""

    approval: Approval
    whose: str
    """Empty when it is the viewer's own."""


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
    def state(self) -> str:
        """One word for how it stands, which is also its sign and colour: ``ok, bad, running, asked, refused``."""
        if self.step.status == "done":
            return "ok" if self.step.exit_code == 0 else "bad"
        if self.is_asking:
            return "asked"
        return "running" if self.step.status in ("running", "asked") and not self.is_over else "refused"

    @property
    def label(self) -> str:
        """The same as a person reads it."""
        if self.step.status == "done":
            return f"exit {self.step.exit_code}"
        if self.step.status in ("running", "asked"):
            return "cut off" if self.is_over else "asks you" if self.is_asking else "running"
        return self.step.status


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A file that a turn delivered, or a word about one that was not sent."""

    delivery: Delivery
    url: str
    """Its download; empty when there is none (any more)."""
    size: str


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that came with a message, as its text tells of it: good to look at, never to open anything by."""

    name: str
    size: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """A message with all that came of it."""

    turn: Turn
    words: str
    """What the person wrote; empty when files came alone."""
    files: tuple[SentFile, ...]
    steps: tuple[StepView, ...]
    deliveries: tuple[DeliveryView, ...] = ()

    @property
    def is_open(self) -> bool:
        """Something may still come."""
        return not self.turn.status.is_final

    @property
    def is_queued(self) -> bool:
        """Nobody has begun it."""
        return self.turn.status is TurnStatus.QUEUED


def agent_views() -> list[AgentView]:
    """Every agent."""
    house, who = services(), asker()
    now = activity(house)
    return [
        AgentView(agent, now.of(agent.name, who.user), house.budget.today(agent.name).spent_micro)
        for agent in house.agents.every()
    ]


def pending() -> list[ApprovalView]:
    """The questions that the viewer may answer, oldest first: a new one moves nothing that is read already."""
    house, who = services(), asker()
    names = {user.id: user.name for user in house.people.every()}
    found = house.approvals.every(status=ApprovalStatus.PENDING, user=None if who.is_operator else who.user.id)
    return [
        ApprovalView(a, "" if a.cubicle.user == who.user.id else names.get(a.cubicle.user, "somebody"))
        for a in reversed(found)
    ]


def turn_view(turn: Turn) -> TurnView:
    """One turn, with its money and its steps."""
    turns = services().turns
    now = turns.get(turn.id)
    words, files = untold(now.prompt)
    return TurnView(
        now,
        words,
        tuple(SentFile(file.path.removeprefix("in/"), size(file.size_bytes)) for file in files),
        tuple(StepView(step, _question(step), now.status.is_final) for step in turns.steps(turn.id)),
        tuple(_delivery_view(d) for d in services().deliveries.of_turns([turn.id])),
    )


def page_of_turns(key: CubicleKey, before: int | None, limit: int) -> tuple[list[TurnView], int | None]:
    """The newest turns, oldest first, and where to page on from."""
    found = services().turns.history(key, limit=limit + 1, before=before)
    page = found[-limit:]
    return [turn_view(turn) for turn in page], page[0].id if len(found) > limit else None


def disk_of(agent: Agent) -> DiskUse | None:
    """What the viewer's workspace with this agent takes; None when that can't be told now."""
    try:
        return services().disk.use_of(CubicleKey(agent.name, asker().user.id))
    except OrchestratorError as error:
        logger.warning("the disk use of %s can't be told: %s", agent.name, error.message)
        return None


def is_rehearsal(agent: Agent) -> bool:
    """No real model answers for this agent."""
    return (agent.provider or services().models()["default"]) == REHEARSAL


def _delivery_view(delivery: Delivery) -> DeliveryView:
    return DeliveryView(delivery, delivery_json(delivery)["url"] or "", size(delivery.size_bytes))


def _question(step: Step) -> Approval | None:
    if step.approval is None:
        return None
    try:
        return services().approvals.get(step.approval)
    except NotFound:
        return None  # the step outlived it
