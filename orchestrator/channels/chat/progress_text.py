"""What a turn under way is doing, folded from its events, and the few words that say so. Pure.

What the agent wrote (a command, the reply so far) stands under the same line as its answers do, so that nothing in it
can pass for the install's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from orchestrator.channels.chat import system_text
from orchestrator.channels.chat.agent_text import MARK, add_header, agent_messages, safe_name
from orchestrator.channels.chat.rich_text import RichText, TextEntity, plain_text, utf16_len
from orchestrator.core.models import ApprovalStatus, Event, TurnStatus
from orchestrator.core.text import one_line

_COMMAND_CHARS = 160
_ITEM_CHARS = 100
_TAIL_CHARS = 3_000
"""Of a long reply under way the end is shown; laying out all of it several times a second would cost too much."""


class TurnPhase(StrEnum):
    """What goes on."""

    STARTING = "starting"
    THINKING = "thinking"
    RUNNING = "running"
    ASKING = "asking"
    WRITING = "writing"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """Where a turn stands, as far as its events tell."""

    turn: int
    agent: str
    """What people call it."""
    phase: TurnPhase = TurnPhase.STARTING
    steps: int = 0
    command: str = ""
    text: str = ""
    """The reply so far."""
    plan: tuple[tuple[str, bool], ...] = ()
    """What the agent is about to do, each with whether it is done."""


def apply_event(standing: TurnProgress, event: Event) -> TurnProgress:
    """How the turn stands after this event of its own."""
    read = _READERS.get(event.kind)
    return standing if read is None or standing.phase is TurnPhase.OVER else read(standing, event.body)


def _of_turn(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    status = TurnStatus(body["status"])
    if status.is_final:
        return replace(standing, phase=TurnPhase.OVER)
    if status is TurnStatus.WAITING:
        return replace(standing, phase=TurnPhase.ASKING)
    if status is TurnStatus.RUNNING and standing.phase in (TurnPhase.STARTING, TurnPhase.ASKING):
        return replace(standing, phase=TurnPhase.THINKING)
    return standing


def _of_step(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    now = replace(standing, steps=max(standing.steps, body["n"]), command=body["command"], text="")
    phase = {"running": TurnPhase.RUNNING, "asked": TurnPhase.ASKING}.get(body["status"], TurnPhase.THINKING)
    return replace(now, phase=phase)


def _of_delta(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    return replace(standing, phase=TurnPhase.WRITING, text=body["text"])


def _of_approval(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    if body["status"] == ApprovalStatus.PENDING:
        return replace(standing, phase=TurnPhase.ASKING)
    return replace(standing, phase=TurnPhase.THINKING) if standing.phase is TurnPhase.ASKING else standing


def _of_question(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    if body["status"] == "pending":
        return replace(standing, phase=TurnPhase.ASKING)
    return replace(standing, phase=TurnPhase.RUNNING) if standing.phase is TurnPhase.ASKING else standing


def _of_plan(standing: TurnProgress, body: Mapping[str, Any]) -> TurnProgress:
    return replace(standing, plan=tuple((item["text"], item["is_done"]) for item in body["plan"]))


_READERS: dict[str, Callable[[TurnProgress, Mapping[str, Any]], TurnProgress]] = {
    "turn": _of_turn,
    "step": _of_step,
    "delta": _of_delta,
    "approval": _of_approval,
    "question": _of_question,
    "plan": _of_plan,
}

_DOES = {
    TurnPhase.STARTING: "is getting ready",
    TurnPhase.THINKING: "is thinking",
    TurnPhase.ASKING: "is waiting for your answer",
    TurnPhase.WRITING: "is writing",
}


def status_line(standing: TurnProgress, elapsed_s: float) -> RichText:
    """The status message; with a plan, the list of what is done and what is to come."""
    facts = [_steps(standing.steps), _span(elapsed_s)]
    plan = "\n".join(f"{'☑' if is_done else '☐'} {one_line(text, _ITEM_CHARS)}" for text, is_done in standing.plan)
    if standing.phase is TurnPhase.RUNNING:
        command = one_line(standing.command.strip(), _COMMAND_CHARS)
        part = ", ".join(["running", f"step {standing.steps}", *filter(None, facts[1:])])
        code = (TextEntity("code", 0, utf16_len(command)),) if command else ()
        return add_header(standing.agent, RichText("\n".join(filter(None, (command, plan))), code), part)
    about = ", ".join(filter(None, facts))
    if standing.phase is TurnPhase.OVER:
        return finished_text(standing.agent)
    if plan:
        doing = _DOES[standing.phase].removeprefix("is ")
        return add_header(standing.agent, RichText(plan), ", ".join(filter(None, (doing, *facts))))
    does = f"{MARK} {safe_name(standing.agent)} {_DOES[standing.phase]}…"
    return RichText(f"{does} ({about})" if about else does)


def finished_text(agent: str) -> RichText:
    """What a status message says that can't be deleted any more."""
    return RichText(f"{MARK} {safe_name(agent)} is done.")


def so_far(agent: str, render: Callable[[str], RichText], text: str) -> RichText:
    """The reply as far as it has come, in one message: the end of it, where there is more."""
    is_long = len(text) > _TAIL_CHARS
    shown = plain_text("…" + text[-_TAIL_CHARS:]) if is_long else render(text)
    return (agent_messages(agent, shown) or [add_header(agent, RichText("…"))])[-1]


def unlink_text(rich: RichText) -> RichText:
    """The same to the eye, and nothing in it is an address: a draft can't be told to go without a link preview, and a
    preview would be fetched before anybody has agreed to anything."""
    return RichText(system_text.unlink_text(rich.text), rich.entities)  # as long, so that no entity moves


def _steps(count: int) -> str:
    return "" if count == 0 else "1 step" if count == 1 else f"{count} steps"


def _span(seconds: float) -> str:
    """Coarse, so that a message that says it is not edited all the time."""
    if seconds < 10:
        return ""
    if seconds < 60:
        return f"{int(seconds) // 10 * 10} s"
    minutes = int(seconds) // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
