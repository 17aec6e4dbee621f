"""Steps: a crab says what it is about to run, the host writes it down, judges it, and answers run, ask, refuse or stop.

Audit first, then the answer, then the deed. Whatever is repeated because an answer got lost gets the same answer.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents.agents import Agents
from orchestrator.approvals import rows as approval_rows
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.limits import refused_before
from orchestrator.approvals.policy.judge import judge_command
from orchestrator.approvals.scripts import ScriptHashes
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks, StepMoment
from orchestrator.core.models import Approval, CubicleKey, Event, Ruling, Step, Verdict
from orchestrator.core.text import escape_invisible
from orchestrator.turns import partial_reply_rows as partial_replies
from orchestrator.turns import rows
from orchestrator.turns.live_output import RUNNING, LiveOutput
from orchestrator.turns.serialize import step_json
from orchestrator.turns.size_rows import count_written_chars
from orchestrator.turns.step_approvals import StepApprovals

MAX_COMMAND_BYTES = 131_000
"""The kernel takes no longer argument than 128 KiB, so nothing longer could run."""
MAX_OUTPUT_CHARS = 65_536
MAX_THOUGHT_CHARS = 20_000
MAX_TURN_CHARS = 1_500_000
"""Of one turn's thoughts, commands and outputs; beyond it outputs are kept in part, and long commands are refused."""
LEAST_CHARS = 2_000
"""Of an output that comes after that, and of a command that is still taken."""


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """What the crab is told."""

    do: str
    """``run``, ``ask_person``, ``refuse``, ``stop`` or ``continue``."""
    reason: str = ""
    advice: str = ""
    """What to tell the model with the result of a command."""


Advise = Callable[[CubicleKey, Step], str]
"""What to tell with the result of a step that has ended; empty for nothing. Never raises."""


class Steps:
    """The host's half of a command."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        hooks: Hooks,
        agents: Agents,
        approvals: StepApprovals,
        grants: Grants,
        scripts: ScriptHashes,
        outputs: LiveOutput,
        advise: Advise = lambda _key, _step: "",
    ) -> None:
        self._store = store
        self._broker = broker
        self._hooks = hooks
        self._agents = agents
        self._approvals = approvals
        self._grants = grants
        self._scripts = scripts
        self._outputs = outputs
        self._advise = advise

    def start_step(
        self, key: CubicleKey, turn: int, n: int, *, thought: str, command: str, approval: str | None
    ) -> StepAnswer:
        """Judge the command that the crab wants to run as step ``n``. Raises NotFound, BadInput or Conflict."""
        answer = self._judge_start(key, turn, n, thought=thought, command=command, approval=approval)
        if answer.do == Ruling.RUN:
            self._hooks.step_starting.fire(StepMoment(key, turn, n))
        return answer

    def _judge_start(
        self, key: CubicleKey, turn: int, n: int, *, thought: str, command: str, approval: str | None
    ) -> StepAnswer:
        if self._is_over(key, turn):
            return StepAnswer("stop")
        known = self._find_step(turn, n) or self._write_down(key, turn, n, thought=thought, command=command)
        if known is None:
            return StepAnswer("stop")
        if known.command != command:
            raise Conflict(f"Step {n} of this turn is another command. Use the next number.")
        if approval is not None and known.ruling is Ruling.ASK:
            return self._start_approved(key, known, approval)
        return StepAnswer(known.ruling, known.reason)

    def ask_person(self, key: CubicleKey, turn: int, n: int) -> Approval:
        """Ask a person about a step that policy holds; raises NotFound, Conflict or TooMany."""
        step = self._find_step(turn, n)
        if step is None or self._is_over(key, turn):
            raise NotFound(f"There is no step {n} in a turn of yours.")
        if step.ruling is not Ruling.ASK:
            raise Conflict(f"Step {n} needs no approval.")
        agent = self._agents.get(key.agent)
        kinds = judge_command(step.command, agent.approval).kinds
        detail = ({"kinds": list(kinds)} if kinds else {}) | self._scripts.hash_scripts(key, step.command)
        approval = self._approvals.ask_person(key, step, timeout_s=agent.approval_timeout_s, detail=detail)
        self._publish_step(key, turn, n)
        return approval

    def show_output(self, key: CubicleKey, turn: int, n: int, output: str) -> StepAnswer:
        """Show what a command has printed so far, while it runs; raises NotFound for another cubicle's turn."""
        if self._is_over(key, turn):
            return StepAnswer("stop")
        step = self._find_step(turn, n)
        if step is not None and step.status == RUNNING:
            self._outputs.show_output(key, step, output)
        return StepAnswer("continue")

    def end_step(self, key: CubicleKey, turn: int, n: int, *, exit_code: int, output: str, ended: str) -> StepAnswer:
        """Record how a command ended; raises NotFound for a step that was never started."""
        is_over = self._is_over(key, turn)
        with self._store.writing() as db:
            step = rows.get_step(db, turn, n)
            if step is None:
                raise NotFound(f"There is no step {n} in this turn.")
            now, room = time.time(), MAX_TURN_CHARS - count_written_chars(db, turn)
            kept = output[: max(LEAST_CHARS, min(MAX_OUTPUT_CHARS, room))]
            if rows.end_step(db, turn, n, exit_code=exit_code, output=kept, now=now):
                audit_rows.insert_record(
                    db,
                    "command.ended",
                    f"Exit code {exit_code}" + (f" ({ended})" if ended != "exited" else ""),
                    now=now,
                    agent=key.agent,
                    user=key.user,
                    turn=turn,
                    detail={"step": n, "exit_code": exit_code, "ended": ended, "output": output[:2000]},
                )
        self._hooks.step_ended.fire(StepMoment(key, turn, n))
        self._publish_step(key, turn, n)
        ended_step = self._find_step(turn, n)
        advice = self._advise(key, ended_step) if ended_step is not None and not is_over and ended == "exited" else ""
        return StepAnswer("stop" if is_over else "continue", advice=advice)

    def _write_down(self, key: CubicleKey, turn: int, n: int, *, thought: str, command: str) -> Step | None:
        """The step as it stands in the database, be it that the same call was faster; None when the turn is over."""
        agent = self._agents.get(key.agent)
        if not 1 <= n <= agent.step_limit + 5:
            raise BadInput(f"n: this agent may take {agent.step_limit} steps a turn, numbered from 1.")
        if len(command.encode()) > MAX_COMMAND_BYTES or "\0" in command:
            raise BadInput(
                f"The command is over {MAX_COMMAND_BYTES:,} bytes, or holds a NUL. Write long texts to a file in parts."
            )
        sha256, now = hashlib.sha256(command.encode()).hexdigest(), time.time()
        with self._store.writing() as db:
            if not rows.is_open(db, turn):
                return None
            if count_written_chars(db, turn) > MAX_TURN_CHARS and len(command) + len(thought) > LEAST_CHARS:
                raise BadInput(
                    f"This turn has had {MAX_TURN_CHARS:,} characters of commands and output, the most that is kept. "
                    f"Only commands of up to {LEAST_CHARS:,} characters, thought included, are taken until it ends."
                )
            verdict = self._judge_step(db, key, turn, judge_command(command, agent.approval), sha256)
            step = Step(
                turn=turn,
                n=n,
                thought=thought[:MAX_THOUGHT_CHARS],
                command=command,
                sha256=sha256,
                ruling=verdict.ruling,
                reason=verdict.reason,
                approval=None,
                status={Ruling.RUN: "running", Ruling.ASK: "asked", Ruling.REFUSE: "refused"}[verdict.ruling],
                exit_code=None,
                output="",
                started_at=now,
                ended_at=None,
            )
            if not rows.insert_step(db, step):
                return rows.get_step(db, turn, n)
            partial_replies.delete_reply(db, turn)
            audit_rows.insert_record(
                db,
                "command",
                command,
                now=now,
                agent=key.agent,
                user=key.user,
                turn=turn,
                detail={"step": n, "verdict": verdict.ruling, "reason": verdict.reason, "sha256": step.sha256},
            )
        self._publish_step(key, turn, n)
        if step.status == RUNNING:
            self._hooks.step_started.fire(StepMoment(key, turn, n))
        return step

    def _judge_step(self, db: sqlite3.Connection, key: CubicleKey, turn: int, verdict: Verdict, sha256: str) -> Verdict:
        """What policy says, unless a person has said already: allowed in advance, or not agreed to in this turn."""
        if verdict.ruling is not Ruling.ASK:
            return verdict
        refused = refused_before(db, turn, sha256)
        if refused:
            return Verdict(Ruling.REFUSE, refused)
        grants = self._grants.find_covering(db, key, turn, verdict.kinds)
        if grants is None:
            return verdict
        by = dict.fromkeys(f"“{escape_invisible(grant.subject)}”, by {grant.by}" for grant in grants)
        return Verdict(Ruling.RUN, f"Allowed in advance: {'; '.join(by)}.")

    def _start_approved(self, key: CubicleKey, step: Step, approval: str) -> StepAnswer:
        if step.status == "running" and step.approval == approval:
            return StepAnswer(Ruling.RUN)  # told before, but the answer got lost
        with self._store.reading() as db:
            asked = approval_rows.get_approval(db, approval)
        changed = self._scripts.find_changed(asked) if asked is not None and asked.cubicle == key else ""
        if changed:
            return self._refuse_changed(key, step, changed)
        if not self._approvals.use_approval(approval, step):
            return StepAnswer(
                Ruling.REFUSE, "This approval is not valid for this command: it was used, changed or is too old."
            )
        self._publish_step(key, step.turn, step.n)
        self._hooks.step_started.fire(StepMoment(key, step.turn, step.n))
        self._approvals.forget_lock(key, approval)
        return StepAnswer(Ruling.RUN)

    def _refuse_changed(self, key: CubicleKey, step: Step, path: str) -> StepAnswer:
        why = f"{path} was changed after the person was asked about it, so nothing was run. Ask again."
        with self._store.writing() as db:
            rows.set_step(db, step.turn, step.n, "refused")
            audit_rows.insert_record(
                db,
                "approval.void",
                why,
                now=time.time(),
                agent=key.agent,
                user=key.user,
                turn=step.turn,
                detail={"step": step.n, "approval": step.approval, "path": path},
            )
        self._publish_step(key, step.turn, step.n)
        return StepAnswer(Ruling.REFUSE, why)

    def _find_step(self, turn: int, n: int) -> Step | None:
        with self._store.reading() as db:
            return rows.get_step(db, turn, n)

    def _is_over(self, key: CubicleKey, turn: int) -> bool:
        """The turn has ended or shall end; raises NotFound when it is another cubicle's."""
        with self._store.reading() as db:
            may_go_on = rows.may_go_on(db, turn, key)
        if may_go_on is None:
            raise NotFound("There is no such turn in this cubicle.")
        return not may_go_on

    def _publish_step(self, key: CubicleKey, turn: int, n: int) -> None:
        step = self._find_step(turn, n) if self._broker.is_wanted("step") else None
        if step is not None:
            self._broker.publish(Event("step", key, {"turn": turn, **step_json(step)}))
