"""Calls: an agent asks the host for something by a command or a panel action, and it is done once.

The call's row and its effect are one transaction, under an id that the caller chose, so asking again after a lost
answer does nothing twice. What waits for a person or a worker is a row that says so; whoever asked looks again.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.capabilities import call_rows as rows
from orchestrator.capabilities.actions.format import as_object
from orchestrator.capabilities.actions.parse import read_action, read_command
from orchestrator.capabilities.call_rows import DONE, FAILED, WAITING, CapabilityCall
from orchestrator.capabilities.capability import Action, ActionRequest, Caller, Deeds
from orchestrator.capabilities.registry import Registry
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError, TooMany
from orchestrator.core.models import CubicleKey
from orchestrator.core.text import one_line
from orchestrator.turns import rows as turn_rows

HOURLY_UNITS = 1_000
"""What one cubicle may have done in an hour; a calendar entry costs 5, a question to a person 20."""
MAX_BATCH = 100
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOUR_S = 3600.0
_KEPT_S = 7 * 24 * 3600.0
_TIDY_S = 3600.0
_AUDITED_CHARS, _REFUSED_CHARS = 500, 100
"""What the audit log keeps of a long field, beside the digest of the whole; the noun's own row has what was done."""
_LOOK_S = 1.0
"""A waiting caller looks at least this often, so that a finish is never missed for long."""


class _Exhausted(TooMany):
    """The hour's allowance is used up; that alone is not written down each time."""


class Calls:
    """What every agent asks of the host."""

    def __init__(self, *, store: Store, agents: Agents, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._agents = agents
        self._registry = Registry(())
        self._deeds: Deeds = {}
        self._now = now
        self._changed = threading.Condition()  # notified when a call that waited has ended
        self._tidy_at = 0.0

    def set_registry(self, registry: Registry, deeds: Deeds) -> None:
        """This is what there is to ask for, and what carries it out; an action without a deed is not available. To be
        called once, before anything is asked: a deed may end calls in turn, so both know each other."""
        self._registry, self._deeds = registry, deeds

    def find_caller(self, key: CubicleKey, named: int | None) -> Caller:
        """Who calls when a program of this cubicle ``named`` the turn that it belongs to. One that names none, or one
        that is over, calls in the only turn under way. Raises NotFound for another cubicle's turn, and BadInput when it
        could be any of several."""
        with self._store.reading() as db:
            held = [claim.turn for _, claim in turn_rows.list_running(db, key)]
            if named is not None and turn_rows.may_go_on(db, named, key) is None:
                raise NotFound("There is no such turn in this cubicle.")
        if named in held:
            return Caller(key, named)
        if len(held) > 1:
            raise BadInput("turn: several turns are under way. Name the one that you work on.")
        return Caller(key, held[0] if held else None)

    def run_command(self, caller: Caller, call: str, name: str, fields: Mapping[str, Any]) -> CapabilityCall:
        """Do what a command inside the cubicle asks for; ``call`` is its id, and the same id gives the same answer.

        Raises BadInput, NotFound, Conflict, TooMany, TooLarge or Unavailable; nothing has changed then. A call that was
        refused before comes back as failed.
        """
        if not _ID.fullmatch(call):
            raise BadInput("call: send an id of 1 to 64 letters, figures, dots and hyphens.")
        return self._run_once(caller, call, read_command(name, fields, self._registry.actions))

    def run_batch(self, caller: Caller, n: int, entries: Sequence[object]) -> list[dict[str, Any]]:
        """Do the panel actions of a turn's step, one by one in their order; each result is
        ``{"ok": True, "result"}`` or ``{"ok": False, "error"}``. Sent again, the same ones are not done again."""
        return [self._try_action(caller, f"{caller.turn}.{n}.{at}", entry) for at, entry in enumerate(entries)]

    def get_call(self, key: CubicleKey, call: str) -> CapabilityCall:
        """The call as it stands; raises NotFound when it is none of this cubicle's."""
        with self._store.reading() as db:
            found = rows.get_call(db, key, call)
        if found is None:
            raise NotFound("There is no such call of this cubicle.")
        return found

    def wait_call(self, key: CubicleKey, call: str, timeout_s: float) -> CapabilityCall:
        """The call when it has ended, or as it stands when the time is up; raises NotFound."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while (found := self.get_call(key, call)).status == WAITING:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, _LOOK_S))
        return found

    def finish_calls(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None:
        """End the calls that wait for this reference; ended already is fine. May be part of a larger transaction."""
        with self._store.writing() as db:
            rows.finish_calls(db, waits_for, DONE if ok else FAILED, text=text, result=result or {}, now=self._now())
            self._store.after_commit(self._wake_waiting)

    def _wake_waiting(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def waited_s(self, key: CubicleKey, turn: int, *, since: float = 0.0) -> tuple[float, bool]:
        """How long commands of this turn have waited for people since then, and whether one still does: seconds that
        don't count as theirs."""
        now, total, reached = self._now(), 0.0, since
        with self._store.reading() as db:
            spans = [] if turn_rows.may_go_on(db, turn, key) is None else rows.list_waiting_spans(db, turn)
        for begin, end in spans:
            until = now if end is None else end
            total += max(0.0, until - max(begin, reached))
            reached = max(reached, until)
        return total, any(end is None for _, end in spans)

    def offered_names(self, key: CubicleKey) -> list[str]:
        """The names of what this cubicle's agent may call, sorted."""
        toolsets = self._agents.get(key.agent).toolsets
        return sorted(name for name in self._deeds if self._registry.is_allowed(name, toolsets))

    def forget_old(self) -> None:
        """Forget what ended long ago. May be called as often as one likes; it looks once an hour."""
        now = self._now()
        if now < self._tidy_at:
            return
        with self._store.writing() as db:
            rows.delete_old_calls(db, now - _KEPT_S)
        self._tidy_at = now + _TIDY_S

    # --- one call ----------------------------------------------------------------------------------------------

    def _try_action(self, caller: Caller, call: str, entry: object) -> dict[str, Any]:
        try:
            done = self._run_once(caller, call, read_action(entry, self._registry.actions))
        except OrchestratorError as error:
            return {"ok": False, "error": error.message}
        return {"ok": done.status != FAILED, ("error" if done.status == FAILED else "result"): done.text}

    def _run_once(self, caller: Caller, call: str, asked: ActionRequest) -> CapabilityCall:
        self._check_allowed(caller, asked.action)
        shown = as_object(asked)
        sha256 = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
        try:
            return self._carried_out(caller, call, asked, sha256)
        except OrchestratorError as error:
            if not isinstance(error, _Exhausted):
                self._record_refusal(caller, call, shown, sha256, error)
            raise

    def _carried_out(self, caller: Caller, call: str, asked: ActionRequest, sha256: str) -> CapabilityCall:
        now, key, action = self._now(), caller.key, asked.action
        with self._store.writing() as db:
            before = rows.get_call(db, key, call)
            if before is not None:
                if before.sha256 != sha256:
                    raise Conflict("call: this id was used for something else.")
                return before
            self._check_allowance(db, key, action.cost, now)
            outcome = self._deeds[action.name](db, caller, asked.given)
            done = CapabilityCall(
                id=call,
                cubicle=key,
                turn=caller.turn,
                name=action.name,
                sha256=sha256,
                status=WAITING if outcome.waits_for else DONE,
                text=outcome.text,
                result=dict(outcome.result),
                waits_for=outcome.waits_for,
                at=now,
                ended_at=None if outcome.waits_for else now,
            )
            rows.insert_call(db, done, action.cost)
            self._write_audit(db, done, as_object(asked) | {"policy": str(action.policy)})
        return done

    def _check_allowed(self, caller: Caller, action: Action) -> None:
        if action.name not in self._deeds:
            raise NotFound(f"{action.name} is not available in this install.")
        if not self._registry.is_allowed(action.name, self._agents.get(caller.key.agent).toolsets):
            toolset = self._registry.toolset_of(action.name)
            if not toolset:  # a name for each of what there is
                raise NotFound(f"{action.name} is not for this agent: the operator gave it nothing of this kind.")
            raise NotFound(f"{action.name} is switched off for this agent (its toolset {toolset}).")

    def _check_allowance(self, db: sqlite3.Connection, key: CubicleKey, cost: int, now: float) -> None:
        if rows.sum_spent(db, key, now - _HOUR_S) + cost > HOURLY_UNITS:
            raise _Exhausted("This agent has asked the host for too much within an hour. Try again later.")

    def _record_refusal(
        self, caller: Caller, call: str, asked: dict[str, object], sha256: str, error: OrchestratorError
    ) -> None:
        """A refusal is written down and costs something, so that no agent can fill the records with them."""
        now, key = self._now(), caller.key
        refused = CapabilityCall(
            id=call,
            cubicle=key,
            turn=caller.turn,
            name=str(asked["name"]),
            sha256=sha256,
            status=FAILED,
            text=error.message,
            result={"code": error.code},
            waits_for="",
            at=now,
            ended_at=now,
        )
        with self._store.writing() as db:
            if rows.get_call(db, key, call) is None and rows.sum_spent(db, key, now - _HOUR_S) < HOURLY_UNITS:
                rows.insert_call(db, refused, 1)
                self._write_audit(db, refused, asked)

    def _write_audit(self, db: sqlite3.Connection, call: CapabilityCall, asked: Mapping[str, object]) -> None:
        key, is_refused = call.cubicle, call.status == FAILED
        kind, most = ("capability.refused", _REFUSED_CHARS) if is_refused else ("capability", _AUDITED_CHARS)
        said, detail = f"{call.name}: {one_line(call.text, 300)}", _shortened(asked, call.sha256, most)
        audit_rows.insert_record(
            db, kind, said, now=call.at, agent=key.agent, user=key.user, turn=call.turn, detail=detail
        )


def _shortened(asked: Mapping[str, object], sha256: str, most: int) -> dict[str, object]:
    """What was asked with its long texts cut, and then with the digest of the whole: nobody fills the log with them."""
    short = {name: f"{v[:most]}…" if isinstance(v, str) and len(v) > most else v for name, v in asked.items()}
    return short if short == asked else {**short, "sha256": sha256}
