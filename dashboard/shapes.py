"""Our nouns as the API shows them: what each object looks like outside, written once. No secret is in any of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dashboard.contents import read_lines
from dashboard.paths import encode_path
from dashboard.times import iso_time, with_iso_times
from orchestrator.agents import agents
from orchestrator.agents.cubicles import CubicleState
from orchestrator.agents.user_rows import Session
from orchestrator.agents.users import id_of_token, session_id
from orchestrator.approvals import grants, sources
from orchestrator.approvals.grant_rows import Grant
from orchestrator.approvals.serialize import approval_json as approval_body
from orchestrator.approvals.source_rows import Source
from orchestrator.capabilities.delivery import deliveries
from orchestrator.channels.services import DashboardServices
from orchestrator.channels.telegram.accounts.rows import BotState, CodeWay
from orchestrator.checkpoints.models import Change, Checkpoint, EntryFacts, PointKind, RestoreResult
from orchestrator.core.db.audit_rows import AuditRow
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import (
    MICRO,
    Agent,
    Approval,
    Conversation,
    CubicleKey,
    Delivery,
    Event,
    Role,
    Step,
    Turn,
    TurnStatus,
    User,
)
from orchestrator.core.text import one_line
from orchestrator.files.names import display_path
from orchestrator.llm.budget import BudgetState
from orchestrator.llm.conversation_use import ConversationUse
from orchestrator.llm.person_budget import PersonBudget
from orchestrator.operations.quota.monitor import DiskUse
from orchestrator.operations.undo import UndoPlan, UndoResult
from orchestrator.turns.branches import Stretch
from orchestrator.turns.serialize import step_json as step_body
from orchestrator.turns.serialize import turn_json as turn_body
from orchestrator.turns.summary_rows import Summary

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Activity:
    """What is going on in the install at one moment."""

    busy: frozenset[CubicleKey]
    running: frozenset[CubicleKey]

    def of(self, agent: str, viewer: User) -> str:
        """``active``, ``idle`` or ``stopped``: an operator is told of the agent as a whole, a member of their own
        part.
        """
        if _concerns(self.busy, agent, viewer):
            return "active"
        return "idle" if _concerns(self.running, agent, viewer) else "stopped"


def current_activity(services: DashboardServices) -> Activity:
    """What is going on now; with an engine that does not answer, nothing is known to run."""
    try:
        running = frozenset(services.cubicles.list_running())
    except Unavailable as error:
        logger.warning("the cubicles can't be counted: %s", error.message)
        running = frozenset()
    return Activity(busy=frozenset(key for key, _ in services.turns.list_running()), running=running)


def conversation_json(conversation: Conversation, *, first: int, unread: int = 0) -> dict[str, Any]:
    """A conversation; ``first`` is the id of the one that messages go to which name none."""
    return with_iso_times(
        {
            "id": conversation.id,
            "agent": conversation.cubicle.agent,
            "user": conversation.cubicle.user,
            "name": conversation.shown_name,
            "is_named": bool(conversation.name),
            "is_first": conversation.id == first,
            "last_turn": conversation.head,
            "forked_from": conversation.forked_from,
            "unread": unread,
            "created_at": conversation.created_at,
            "used_at": conversation.used_at,
        }
    )


def use_json(use: ConversationUse) -> dict[str, Any]:
    """What a conversation takes."""
    return {
        "cost_usd": use.cost_micro / 1e6,
        "tokens": use.tokens,
        "provider": use.provider,
        "model": use.model,
        "prompt_tokens": use.prompt_tokens,
        "context_tokens": use.context_tokens,
    }


def user_json(services: DashboardServices, user: User) -> dict[str, Any]:
    """A person, and how their budget stands."""
    daily, monthly = user.daily_budget_micro, user.monthly_budget_micro
    return {
        "id": user.id,
        "name": user.name,
        "role": str(user.role),
        "telegram_id": user.id_in("telegram"),
        "time_zone": user.time_zone,
        "time_zone_known": user.time_zone_known,
        "language": user.language,
        "has_totp": services.second_factors.is_on(user.id),
        "oidc_account": None if (account := services.oidc.account_of(user.id)) is None else account.label,
        "daily_budget_usd": None if daily is None else daily / MICRO,
        "monthly_budget_usd": None if monthly is None else monthly / MICRO,
        "budget": person_budget_json(services.budget.get_person_standing(user.id)),
    }


def person_budget_json(standing: PersonBudget) -> dict[str, Any]:
    """How a person's day and month stand over all agents, in US dollars; what is held for calls under way counts."""
    return {
        "today_usd": standing.today_micro / MICRO,
        "month_usd": standing.month_micro / MICRO,
        "left_usd": None if standing.left_micro is None else standing.left_micro / MICRO,
        "resets_at": iso_time(standing.day_ends_at),
        "month_resets_at": iso_time(standing.month_ends_at),
        "is_stopped": standing.is_used_up,
    }


def agent_json(services: DashboardServices, agent: Agent, status: str, viewer: User) -> dict[str, Any]:
    """An agent with its settings; its Telegram token is never shown."""
    bot, standing = services.bots.find_bot(agent.name), services.budget.get_standing(agent.name)
    return {
        **agents.as_json(agent),
        "approval": str(agent.approval),
        "asks_again": str(agent.asks_again),
        "has_telegram": services.agents.has_telegram(agent.name),
        "telegram": None if bot is None else {"state": str(bot.state), "username": bot.username},
        "status": status,
        "spent_today_usd": standing.spent_micro / MICRO,
        "budget": budget_json(standing),
        "ics_url": services.calendar.feed_url(CubicleKey(agent.name, viewer.id)),
        "created_at": iso_time(agent.created_at),
        **_people_of(services, agent, viewer),
    }


def budget_json(standing: BudgetState) -> dict[str, Any]:
    """How an agent's day stands, in US dollars and in tokens of models without a known price."""
    return {
        "spent_usd": standing.spent_micro / MICRO,
        "held_usd": standing.held_micro / MICRO,
        "budget_usd": standing.budget_micro / MICRO,
        "left_usd": standing.left_micro / MICRO,
        "tokens": standing.tokens,
        "token_budget": standing.token_budget,
        "resets_at": iso_time(standing.resets_at),
        "is_stopped": standing.is_stopped,
    }


def bot_json(bot: BotState) -> dict[str, Any]:
    """A Telegram bot. A code that the bot sends is not shown: that it was read there is what it proves."""
    return {
        "agent": bot.agent,
        "bot": bot.bot,
        "username": bot.username,
        "state": str(bot.state),
        "code": bot.code if bot.code_way is CodeWay.SHOWN else None,
        "code_way": None if bot.code_way is None else str(bot.code_way),
        "code_sent_at": iso_time(bot.code_sent_at),
        "code_expires_at": iso_time(bot.code_expires_at),
        "problem": bot.problem,
        "added_at": iso_time(bot.added_at),
        "paired_at": iso_time(bot.paired_at),
    }


def turn_json(turn: Turn, steps: Sequence[Step], *, siblings: Sequence[int], children: Sequence[int]) -> dict[str, Any]:
    """A turn with its steps, the turns that stand beside it in its conversation, and those that follow it."""
    return {
        "id": turn.id,
        **with_iso_times(turn_body(turn)),
        "siblings": list(siblings),
        "children": list(children),
        "status": turn_status(turn.status),
        "steps": [step_json(step) for step in steps],
    }


def turn_status(status: str) -> str:
    """A turn's status outside: one that waits for its cubicle is under way for whoever sent it."""
    return str(TurnStatus.RUNNING) if status == TurnStatus.QUEUED else str(status)


def summary_json(summary: Summary | None) -> dict[str, Any] | None:
    """What stands for the older part of a conversation, where it was summed up."""
    if summary is None or summary.made_at is None:
        return None
    return {"text": summary.text, "upto": summary.upto, "made_at": iso_time(summary.made_at)}


def stretch_json(stretch: Stretch) -> dict[str, Any]:
    """Turns of a conversation that follow each other, between two forks."""
    return {
        "first": stretch.first.id,
        "last": stretch.last.id,
        "parent": stretch.first.parent,
        "turns": stretch.count,
        "words": one_line(stretch.first.prompt, 120),
        "created_at": iso_time(stretch.first.created_at),
        "is_shown": stretch.is_shown,
    }


def checkpoint_json(point: Checkpoint) -> dict[str, Any]:
    """A point of time of a workspace."""
    return {
        "id": point.id,
        "kind": str(point.kind),
        "name": point.label if point.kind is PointKind.NAMED else None,
        "turn": point.turn,
        "step": point.step,
        "at": iso_time(point.at),
        "changed": point.changed,
        "torn": point.torn,
        "unkept": point.unkept,
    }


def change_json(change: Change, points: tuple[CubicleKey, int, int] | None = None) -> dict[str, Any]:
    """A path that differs between two points; with these, whose and which, the lines that differ too."""
    body: dict[str, Any] = {
        "path": encode_path(*change.path),
        "shown": display_path(*change.path),
        "kind": change.kind,
        "old": _entry_facts(change.old),
        "new": _entry_facts(change.new),
    }
    if points is not None:
        lines = read_lines(change, *points)
        body["lines"] = None if lines is None else [f"{line.sign}{line.text}" for line in lines]
    return body


def restore_json(done: RestoreResult) -> dict[str, Any]:
    """What going back did; going back to ``before`` takes it back."""
    return {
        "before": done.before.id,
        "after": done.after.id,
        "changed": [encode_path(*path) for path in done.changed],
        "left": [{"path": encode_path(*one.path), "why": one.why} for one in done.left],
    }


def undo_plan_json(plan: UndoPlan, *, most: int) -> dict[str, Any]:
    """What taking a turn back would do."""
    return {
        "turn": plan.turn.id,
        "turns": list(plan.turns),
        "total": len(plan.changes),
        "changes": [change_json(change) for change in plan.changes[:most]],
        "conflicts": [change_json(change) for change in plan.conflicts[:most]],
        "stays": [asdict(deed) for deed in plan.stays],
        "undone_at": iso_time(plan.undone_at),
    }


def undo_result_json(done: UndoResult) -> dict[str, Any]:
    """What taking a turn back did."""
    return {
        "files": None if done.files is None else restore_json(done.files),
        "conversation_moved": done.has_moved,
        "stays": [asdict(deed) for deed in done.stays],
    }


def _entry_facts(facts: EntryFacts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {
        "type": facts.kind.name.lower(),
        "size": facts.size_bytes,
        "mode": f"{facts.mode:04o}",
        "kept": facts.is_kept,
    }


def outcome_json(turn: Turn) -> dict[str, Any]:
    """What whoever sent a message wants to know."""
    return {"turn": turn.id, "status": turn_status(turn.status), "reply": turn.reply, "error": turn.error}


def step_json(step: Step) -> dict[str, Any]:
    """A command within a turn."""
    return with_iso_times(step_body(step))


def approval_json(approval: Approval) -> dict[str, Any]:
    """A question to a person."""
    return with_iso_times(approval_body(approval))


def grant_json(grant: Grant) -> dict[str, Any]:
    """What an agent may do without asking."""
    return {**grants.as_json(grant), "since": iso_time(grant.since), "until": iso_time(grant.until)}


def source_json(source: Source) -> dict[str, Any]:
    """Something that a conversation has read."""
    return {**sources.as_json(source), "first_at": iso_time(source.first_at), "last_at": iso_time(source.last_at)}


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """A file that left an agent's ``out/``."""
    return with_iso_times(deliveries.as_json(delivery))


def session_facts(session: Session, own_token: str) -> dict[str, Any]:
    """A login for whom it belongs to; ``own_token`` is that of the one who asks, or empty."""
    return {
        "id": session_id(session.sha256),
        "browser": session.browser,
        "address": session.address,
        "created_at": session.created_at,
        "seen_at": session.seen_at,
        "is_this": bool(own_token) and session_id(session.sha256) == id_of_token(own_token),
    }


def audit_json(row: AuditRow) -> dict[str, Any]:
    """Something that happened."""
    return with_iso_times(asdict(row))


def cubicle_json(key: CubicleKey, state: CubicleState, disk: DiskUse) -> dict[str, Any]:
    """A cubicle: whether it runs, since when, and what it uses."""
    usage = state.usage
    uptime_s = None if state.started_at is None else round(max(0.0, time.time() - state.started_at), 1)
    return {
        "agent": key.agent,
        "user": key.user,
        "state": "running" if state.running else "stopped",
        "started_at": iso_time(state.started_at),
        "uptime_s": uptime_s,
        "cpu_percent": None if usage is None else usage.cpu_percent,
        "memory_bytes": None if usage is None else usage.memory_bytes,
        "pids": None if usage is None else usage.pids,
        "disk": disk_json(disk),
    }


def disk_json(disk: DiskUse) -> dict[str, Any]:
    """What a workspace takes of the disk, and how much it may take."""
    return {**asdict(disk), "level": disk.level.value, "measured_at": iso_time(disk.measured_at)}


def event_json(event: Event) -> dict[str, Any]:
    """News, with whose it is."""
    body = with_iso_times(event.body)
    if event.kind == "turn" and "status" in body:
        body["status"] = turn_status(body["status"])
    whose = {} if event.cubicle is None else {"agent": event.cubicle.agent, "user": event.cubicle.user}
    return {**body, **whose}


def _people_of(services: DashboardServices, agent: Agent, viewer: User) -> dict[str, Any]:
    """Whom the agent is for, which operators alone are told."""
    if viewer.role is not Role.OPERATOR:
        return {}
    people = services.access.list_people(agent.name)
    return {"people": None if people is None else list(people)}


def _concerns(keys: frozenset[CubicleKey], agent: str, viewer: User) -> bool:
    return any(
        (key.agent == agent and viewer.role is Role.OPERATOR) or key == CubicleKey(agent, viewer.id) for key in keys
    )
