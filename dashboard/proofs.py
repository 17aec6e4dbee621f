"""A proof as it is shown: every attempt in words, as pages and the API give it, and as one web page to show others.

That page loads nothing and runs no script, and names nobody: no agent, no person, no path, no machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import render_template

from dashboard.languages import say, to_say
from dashboard.times import iso_time, with_iso_times
from orchestrator.core.models import Stage
from orchestrator.operations.proof.attempts import ATTEMPTS, Attempt
from orchestrator.operations.proof.proof_rows import Proof
from orchestrator.operations.proof.reading import AttemptOutcome, WallVerdict, explain_answer

FILE_NAME = "hermitshell-proof.html"
_SAYS = {
    WallVerdict.HELD: to_say("Held"),
    WallVerdict.NOT_HELD: to_say("NOT held"),
    WallVerdict.UNCLEAR: to_say("Unclear"),
}
_SILENT = to_say("The program gave no answer that can be read: something inside held it up or meddled with it.")


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One of the twelve, as it stands."""

    about: Attempt
    outcome: AttemptOutcome | None
    """None while it has not been made."""

    @property
    def verdict(self) -> str:
        """``held``, ``not_held``, ``unclear``, or empty while it has not been made."""
        return "" if self.outcome is None else str(self.outcome.verdict)

    @property
    def says(self) -> str:
        """The verdict in a word or two."""
        return "" if self.outcome is None else say(_SAYS[self.outcome.verdict])

    @property
    def answered(self) -> str:
        """What the system answered, in words."""
        if self.outcome is None:
            return ""
        said = dict.fromkeys(say(explain_answer(answer)) for answer in self.outcome.answers.values())
        return "; ".join(said) if said else say(_SILENT)

    @property
    def told_by(self) -> str:
        """Whose word the verdict is."""
        return say("watched from outside") if self.about.is_watched else say("told by the program inside")


def proof_words(proof: Proof) -> str:
    """All of it in a few words."""
    said = [say("%(held)s of %(count)s held", held=proof.held, count=len(ATTEMPTS))]
    if proof.broken:
        said.append(say("%(count)s NOT held", count=len(proof.broken)))
    if unclear := proof.count(WallVerdict.UNCLEAR):
        said.append(say("%(count)s unclear", count=unclear))
    return ", ".join(said)


def list_attempts(proof: Proof) -> list[AttemptView]:
    """All twelve, in order; none for a proof that never was."""
    if proof.stage is Stage.NONE:
        return []
    made = {outcome.attempt: outcome for outcome in proof.outcomes}
    return [AttemptView(attempt, made.get(attempt.id)) for attempt in ATTEMPTS]


def proof_json(proof: Proof) -> dict[str, Any]:
    """How it stands, for the API."""
    return {
        "stage": str(proof.stage),
        **with_iso_times({"started_at": proof.started_at, "ended_at": proof.ended_at}),
        "version": proof.version,
        "engine": proof.engine,
        "kernel": proof.kernel,
        "held": proof.held,
        "of": len(ATTEMPTS),
        "problem": proof.problem,
        "attempts": [_attempt_json(view) for view in list_attempts(proof)],
    }


def proof_page(proof: Proof) -> str:
    """It as one file, for anybody."""
    ended = "" if proof.ended_at is None else str(iso_time(proof.ended_at))[:16].replace("T", " ") + " UTC"
    return render_template("proof_shared.html", proof=proof, attempts=list_attempts(proof), ended=ended)


def _attempt_json(view: AttemptView) -> dict[str, Any]:
    is_broken = view.outcome is not None and view.outcome.verdict is not WallVerdict.HELD
    return {
        "id": view.about.id,
        "title": view.about.title,
        "tried": view.about.tried,
        "verdict": view.verdict or None,
        "answered": view.answered,
        "answers": {} if view.outcome is None else dict(view.outcome.answers),
        "is_watched": view.about.is_watched,
        "fix": view.about.fix if is_broken else "",
    }
