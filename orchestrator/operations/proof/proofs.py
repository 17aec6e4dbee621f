"""Proofs: the twelve attempts, made in a cubicle of an agent as it is, one after the other, while a person looks on.

A row is written before anything is tried, and again after each attempt, so what was seen is kept whatever happens. One
proof at a time in the whole install, as it opens a port on this computer and uses a cubicle up to its limits.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event
from orchestrator.core.version import VERSION
from orchestrator.engine.protocol import EngineFacts, ExecEngine
from orchestrator.operations.proof import proof_rows as rows
from orchestrator.operations.proof.attempts import ATTEMPTS, Attempt
from orchestrator.operations.proof.proof_rows import Proof
from orchestrator.operations.proof.reading import MOST_BYTES, AttemptOutcome, WallVerdict, judge, read_words
from orchestrator.operations.proof.watch import EscapeWatch

logger = logging.getLogger(__name__)

INSIDE = Path(__file__).with_name("inside.py")
_ATTEMPT_S, _HUNG_S = 8, 12.0
"""How long an attempt may take inside, and how long is waited for one that somebody inside holds up."""
_CLOSE_S = 15.0
_CUT_SHORT = "HermitShell was stopped before it was finished. Run it again."


@dataclass(frozen=True, slots=True)
class ProofParts:
    """What a proof needs of the install."""

    store: Store
    broker: Broker
    agents: Agents
    cubicles: Cubicles
    programs: ExecEngine
    facts: EngineFacts
    folder: Path
    """Where bait is laid out for the moment."""
    doors: Path
    """Where the connections of all cubicles are."""
    keys: Callable[[], Iterable[str]]
    """The real keys of the install."""
    find_address: Callable[[], str]
    """What address this computer has."""
    is_busy: Callable[[CubicleKey], bool]
    """A turn is under way in the cubicle."""


class Proofs:
    """The proof under way, and those that were. May be used from any thread."""

    def __init__(self, parts: ProofParts) -> None:
        self._parts = parts
        self._lock = threading.Lock()  # protects _thread
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def list_proofs(self, key: CubicleKey, *, limit: int = rows.KEPT) -> list[Proof]:
        """The newest of a cubicle, newest first."""
        with self._parts.store.reading() as db:
            return rows.list_proofs(db, key, limit=limit)

    def get_latest(self, key: CubicleKey) -> Proof:
        """How it stands: the one under way, or the last; an empty one where there never was any."""
        return next(iter(self.list_proofs(key, limit=1)), Proof())

    def begin(self, key: CubicleKey, *, by: str) -> Proof:
        """The attempts are made from now on. Raises Conflict while a proof is under way anywhere, or the agent is
        working; NotFound for an unknown agent."""
        self._parts.agents.get(key.agent)
        with self._lock:
            if self._closing.is_set() or (self._thread is not None and self._thread.is_alive()):
                raise Conflict("A proof is already running. Wait a few seconds until it has finished.")
            if self._parts.is_busy(key):
                raise Conflict(f"{key.agent} is working. Wait until it has answered, then try again.")
            with self._parts.store.writing() as db:
                number = rows.insert_proof(db, key, version=VERSION, now=time.time())
                text = f"{by} let {key.agent} try twelve ways out of its cubicle."
                audit_rows.insert_record(db, "proof.begun", text, now=time.time(), agent=key.agent, user=key.user)
            self._thread = threading.Thread(target=self._run, args=(key, number), name="proofs", daemon=True)
            self._thread.start()
        self._publish(key)
        return self.get_latest(key)

    def reconcile(self) -> None:
        """After a start: what an earlier process of ours was in the middle of is over."""
        with self._parts.store.writing() as db:
            rows.end_running(db, problem=_CUT_SHORT, now=time.time())

    def close(self) -> None:
        """One under way ends after its present attempt, and says so."""
        self._closing.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_CLOSE_S)

    def _run(self, key: CubicleKey, number: int) -> None:
        outcomes: list[AttemptOutcome] = []
        problem = ""
        try:
            self._try_all(key, number, outcomes)
        except OrchestratorError as error:
            problem = error.message
        except Exception:  # the top of a thread: whoever waits must hear that it ended
            logger.exception("a proof broke off")
            problem = "It broke off; the orchestrator's log says why."
        try:
            self._end(key, number, outcomes, problem)
        except OrchestratorError as error:
            logger.warning("the end of a proof was not written down: %s", error.message)
        self._publish(key)

    def _try_all(self, key: CubicleKey, number: int, outcomes: list[AttemptOutcome]) -> None:
        parts = self._parts
        parts.cubicles.start(key)
        engine, kernel = _describe(parts.facts)
        with parts.store.writing() as db:
            rows.set_surroundings(db, number, engine=engine, kernel=kernel)
            other = rows.find_other_turn(db, key)
        limits = parts.agents.get(key.agent).limits
        with EscapeWatch(parts.folder, parts.keys(), doors=parts.doors, address=parts.find_address()) as watch:
            given = watch.given(limits, other=other)
            for attempt in ATTEMPTS:
                if self._closing.is_set():
                    raise Conflict(_CUT_SHORT)
                outcomes.append(self._try_one(key, attempt, watch, given))
                with parts.store.writing() as db:
                    rows.set_outcomes(db, number, outcomes)
                self._publish(key)

    def _try_one(
        self, key: CubicleKey, attempt: Attempt, watch: EscapeWatch, given: Mapping[str, Any]
    ) -> AttemptOutcome:
        program = ("/usr/bin/python3", "-I", "-S", "-c", INSIDE.read_text("utf-8"), attempt.id, json.dumps(given))
        output = self._parts.programs.run_program(
            self._parts.cubicles.container_name(key),
            ("/usr/bin/timeout", "-k", "1", str(_ATTEMPT_S), *program),
            within_s=_HUNG_S,
            most_bytes=MOST_BYTES + 1,
        )
        heard = read_words(output, attempt)
        if heard is None:
            logger.warning("the attempt %s gave no answer that can be read (%d bytes)", attempt.id, len(output))
        has_come = watch.has_come(attempt.id, () if heard is None else heard.brought) if attempt.is_watched else None
        return judge(attempt, heard, has_come=has_come)

    def _end(self, key: CubicleKey, number: int, outcomes: list[AttemptOutcome], problem: str) -> None:
        broken = [outcome.about.title for outcome in outcomes if outcome.verdict is WallVerdict.NOT_HELD]
        held = sum(outcome.verdict is WallVerdict.HELD for outcome in outcomes)
        text = f"{key.agent} tried to get out of its cubicle: {held} of {len(ATTEMPTS)} attempts were held."
        if broken:
            text += f" NOT held: {', '.join(broken)}."
            logger.error("walls of the cubicle of %s did not hold: %s", key.agent, ", ".join(broken))
        now = time.time()
        with self._parts.store.writing() as db:
            rows.end_proof(db, number, problem=problem, now=now)
            detail = {one.attempt: str(one.verdict) for one in outcomes}
            audit_rows.insert_record(
                db, "proof.ended", f"{text} {problem}".strip(), now=now, agent=key.agent, user=key.user, detail=detail
            )

    def _publish(self, key: CubicleKey) -> None:
        self._parts.broker.publish(Event("proof", key, {}))


def _describe(facts: EngineFacts) -> tuple[str, str]:
    """The engine and the kernel that cubicles run on, as the engine tells."""
    version, told = facts.version(), facts.info()
    name = str(dict(version.get("Platform") or {}).get("Name") or "") or "Docker"
    engine = f"{name.partition(' -')[0]} {version.get('Version', '')}".strip()
    return engine[:80], str(told.get("KernelVersion", ""))[:80]
