"""Rows of proofs: one for each run, with what came of its attempts so far. The newest of each cubicle are kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey, Stage
from orchestrator.operations.proof.attempts import ATTEMPTS, BY_ID
from orchestrator.operations.proof.reading import AttemptOutcome, WallVerdict

KEPT = 20
_COLUMNS = "id, started_at, ended_at, stage, version, engine, kernel, outcomes, problem"


@dataclass(frozen=True, slots=True)
class Proof:
    """One run of the twelve attempts."""

    id: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    stage: Stage = Stage.NONE
    version: str = ""
    """HermitShell's."""
    engine: str = ""
    """Which engine, with its version."""
    kernel: str = ""
    outcomes: tuple[AttemptOutcome, ...] = ()
    problem: str = ""
    """Why it broke off, as a sentence."""

    def count(self, verdict: WallVerdict) -> int:
        """How many attempts ended so."""
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def held(self) -> int:
        """How many were held."""
        return self.count(WallVerdict.HELD)

    @property
    def is_all_held(self) -> bool:
        """Every one was."""
        return self.stage is Stage.DONE and self.held == len(ATTEMPTS)

    @property
    def broken(self) -> tuple[AttemptOutcome, ...]:
        """Those that were not."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict is WallVerdict.NOT_HELD)

    @property
    def summary(self) -> str:
        """All of it in a few words."""
        parts = [f"{self.held} of {len(ATTEMPTS)} held"]
        if self.broken:
            parts.append(f"{len(self.broken)} NOT held")
        if unclear := self.count(WallVerdict.UNCLEAR):
            parts.append(f"{unclear} unclear")
        return ", ".join(parts)


def insert_proof(db: sqlite3.Connection, key: CubicleKey, *, version: str, now: float) -> int:
    """One that runs from now on; the oldest make room for it. Its number."""
    db.execute(
        "DELETE FROM proofs WHERE agent = ? AND user = ? AND id NOT IN "
        "(SELECT id FROM proofs WHERE agent = ? AND user = ? ORDER BY id DESC LIMIT ?)",
        (key.agent, key.user, key.agent, key.user, KEPT - 1),
    )
    found = db.execute(
        "INSERT INTO proofs (agent, user, started_at, stage, version) VALUES (?, ?, ?, ?, ?)",
        (key.agent, key.user, now, Stage.RUNNING, version),
    )
    return int(found.lastrowid or 0)


def set_surroundings(db: sqlite3.Connection, proof: int, *, engine: str, kernel: str) -> None:
    """What it runs on."""
    db.execute("UPDATE proofs SET engine = ?, kernel = ? WHERE id = ?", (engine, kernel, proof))


def set_outcomes(db: sqlite3.Connection, proof: int, outcomes: Sequence[AttemptOutcome]) -> None:
    """What has come of it so far."""
    said = [{"attempt": one.attempt, "verdict": one.verdict, "answers": dict(one.answers)} for one in outcomes]
    db.execute("UPDATE proofs SET outcomes = ? WHERE id = ?", (json.dumps(said), proof))


def end_proof(db: sqlite3.Connection, proof: int, *, problem: str, now: float) -> None:
    """It is over; with a problem it broke off."""
    stage = Stage.FAILED if problem else Stage.DONE
    db.execute(
        "UPDATE proofs SET stage = ?, ended_at = ?, problem = ? WHERE id = ? AND stage = ?",
        (stage, now, problem, proof, Stage.RUNNING),
    )


def end_running(db: sqlite3.Connection, *, problem: str, now: float) -> None:
    """Whatever an earlier run of ours left is over."""
    db.execute(
        "UPDATE proofs SET stage = ?, ended_at = ?, problem = ? WHERE stage = ?",
        (Stage.FAILED, now, problem, Stage.RUNNING),
    )


def list_proofs(db: sqlite3.Connection, key: CubicleKey, *, limit: int) -> list[Proof]:
    """The newest of one cubicle, newest first."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM proofs WHERE agent = ? AND user = ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - a constant
        (key.agent, key.user, limit),
    )
    return [_proof_of(row) for row in found]


def find_other_turn(db: sqlite3.Connection, key: CubicleKey) -> int | None:
    """The newest turn of somebody else's cubicle, or of another agent's."""
    found = db.execute("SELECT MAX(id) FROM turns WHERE agent != ? OR user != ?", (key.agent, key.user)).fetchone()
    return None if found[0] is None else int(found[0])


def _proof_of(row: sqlite3.Row) -> Proof:
    number, started, ended, stage, version, engine, kernel, outcomes, problem = row
    read = (
        AttemptOutcome(one["attempt"], WallVerdict(one["verdict"]), one["answers"])
        for one in json.loads(outcomes)
        if one["attempt"] in BY_ID  # another version of ours tried others
    )
    return Proof(number, started, ended, Stage(stage), version, engine, kernel, tuple(read), problem)
