"""Transcripts: a conversation that was exported as JSON, here or elsewhere, read with suspicion. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.models import Ruling, Step, TurnStatus
from orchestrator.turns.prompts import MAX_PROMPT_CHARS

FORMAT, VERSION = "hermitshell-conversation", 1
MOST_TURNS, MOST_STEPS = 5_000, 50_000
SOURCES = frozenset({"dashboard", "api", "terminal", "telegram", "calendar"})
OTHER_SOURCE = "import"
"""What a turn comes from that says nothing we know."""
_MAX_TEXT_CHARS = 1_000_000
_STEP_ENDS = frozenset({"done", "refused", "denied", "expired", "cancelled"})
_RULINGS = frozenset(str(ruling) for ruling in Ruling)
_ENDS = frozenset(str(status) for status in TurnStatus if status.is_final)


@dataclass(frozen=True, slots=True)
class ToldTurn:
    """A turn of a transcript. Its steps have 0 for their turn."""

    id: int
    """Its number in the transcript."""
    parent: int | None
    """The number of an earlier one that it follows."""
    source: str
    prompt: str
    status: TurnStatus
    reply: str | None
    error: str | None
    created_at: float
    started_at: float | None
    ended_at: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as it was exported."""

    name: str
    head: int
    """The number of the last turn of the branch that goes on."""
    turns: tuple[ToldTurn, ...]
    """Each after the one that it follows."""


def read_transcript(body: Mapping[str, Any]) -> Transcript:
    """The conversation in an export. Raises BadInput with the field that makes no sense."""
    if body.get("format") != FORMAT:
        raise BadInput("format: this is no exported conversation. Export one as JSON, then import that file.")
    if body.get("version") != VERSION:
        raise BadInput(f"version: this HermitShell reads version {VERSION}. Update it, then import the file again.")
    given = body.get("turns")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_TURNS:
        raise BadInput(f"turns: there must be 1 to {MOST_TURNS:,} of them.")
    turns: list[ToldTurn] = []
    known: set[int] = set()
    for n, each in enumerate(given):
        turns.append(_read_turn(f"turns.{n}", each, known))
        known.add(turns[-1].id)
    if sum(len(turn.steps) for turn in turns) > MOST_STEPS:
        raise BadInput(f"turns: they have more than {MOST_STEPS:,} commands.")
    about = body.get("conversation")
    about = about if isinstance(about, dict) else {}
    head = about.get("last_turn")
    name = about.get("name") if about.get("is_named") else ""
    return Transcript(
        name=name if isinstance(name, str) else "",
        head=head if isinstance(head, int) and head in known else turns[-1].id,
        turns=tuple(turns),
    )


def _read_turn(at: str, given: object, known: set[int]) -> ToldTurn:
    if not isinstance(given, dict):
        raise BadInput(f"{at}: this must be an object.")
    number, parent = given.get("id"), given.get("parent")
    if type(number) is not int or number in known or not 0 < number < 2**53:
        raise BadInput(f"{at}.id: this must be a whole number that no other turn has.")
    if parent is not None and type(parent) is not int:
        raise BadInput(f"{at}.parent: this must be the id of an earlier turn, or null.")
    # One that was exported while the agent worked on it has no end.
    status = _read_word(given, "status", _ENDS, str(TurnStatus.STOPPED))
    created_at = _read_time(at, given, "created_at")
    return ToldTurn(
        id=number,
        parent=parent if parent in known else None,
        source=_read_word(given, "source", SOURCES, OTHER_SOURCE),
        prompt=_read_text(at, given, "prompt", most=MAX_PROMPT_CHARS),
        status=TurnStatus(status),
        reply=_read_text(at, given, "reply") if given.get("reply") is not None else None,
        error=_read_text(at, given, "error") if given.get("error") is not None else None,
        created_at=created_at,
        started_at=_read_time(at, given, "started_at") if given.get("started_at") is not None else None,
        ended_at=_read_time(at, given, "ended_at") if given.get("ended_at") is not None else created_at,
        steps=_read_steps(at, given.get("steps", [])),
    )


def _read_steps(at: str, given: object) -> tuple[Step, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise BadInput(f"{at}.steps: this must be a list.")
    return tuple(_read_step(f"{at}.steps.{n}", n + 1, each) for n, each in enumerate(given))


def _read_step(at: str, n: int, given: object) -> Step:
    if not isinstance(given, dict):
        raise BadInput(f"{at}: this must be an object.")
    command, code = _read_text(at, given, "command"), given.get("exit_code")
    if code is not None and (type(code) is not int or not -(2**31) <= code < 2**31):
        raise BadInput(f"{at}.exit_code: this must be a whole number, or null.")
    started_at = _read_time(at, given, "started_at")
    return Step(
        turn=0,
        n=n,
        thought=_read_text(at, given, "thought"),
        command=command,
        sha256=hashlib.sha256(command.encode()).hexdigest(),
        ruling=Ruling(_read_word(given, "verdict", _RULINGS, str(Ruling.RUN))),
        reason=_read_text(at, given, "reason"),
        approval=None,
        status=_read_word(given, "status", _STEP_ENDS, "cancelled"),
        exit_code=code,
        output=_read_text(at, given, "output"),
        started_at=started_at,
        ended_at=_read_time(at, given, "ended_at") if given.get("ended_at") is not None else None,
    )


def _read_word(given: Mapping[str, Any], field: str, known: frozenset[str], otherwise: str) -> str:
    """One of the words that we know, or what stands for any other."""
    value = given.get(field)
    return value if isinstance(value, str) and value in known else otherwise


def _read_text(at: str, given: Mapping[str, Any], field: str, *, most: int = _MAX_TEXT_CHARS) -> str:
    value = given.get(field, "")
    if not isinstance(value, str) or len(value) > most:
        raise BadInput(f"{at}.{field}: this must be a text of at most {most:,} characters.")
    return value.replace("\0", "")


def _read_time(at: str, given: Mapping[str, Any], field: str) -> float:
    value = given.get(field)
    try:
        seconds = datetime.fromisoformat(value).timestamp() if isinstance(value, str) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds < 253_402_300_800:
        raise BadInput(f"{at}.{field}: this must be a time such as 2026-05-01T12:00:00Z.")
    return seconds
