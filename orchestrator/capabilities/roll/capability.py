"""Dice: the host throws them, as an agent's own would prove nothing, and the audit log keeps how they fell."""

from __future__ import annotations

import re
import secrets
import sqlite3
from dataclasses import dataclass, field

from crab.hermit_commands import Command
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Caller, Capability, Outcome, Policy
from orchestrator.core.errors import BadInput

MOST_DICE, MOST_SIDES = 50, 1_000
_DICE = re.compile(r"([0-9]{0,2})d([0-9]{1,4})(?:([+-])([0-9]{1,4}))?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Roll:
    """Dice are thrown and added up."""

    dice: str = field(metadata=field_metadata(FieldKind.LINE, 20))
    """How many of how many sides, and what is added: ``2d6+1``."""


def roll_dice(_db: sqlite3.Connection, _caller: Caller, asked: Roll) -> Outcome:
    """Throws them. Raises BadInput for what is no dice."""
    found = _DICE.fullmatch(asked.dice.replace(" ", ""))
    if found is None:
        raise BadInput("ROLL: dice: write how many of how many sides, such as 2d6 or 1d20+3.")
    count, sides, more = int(found[1] or 1), int(found[2]), int(f"{found[3]}{found[4]}") if found[3] else 0
    if not (1 <= count <= MOST_DICE and 2 <= sides <= MOST_SIDES):
        raise BadInput(f"ROLL: dice: throw 1 to {MOST_DICE} dice of 2 to {MOST_SIDES:,} sides.")
    fell = [secrets.randbelow(sides) + 1 for _ in range(count)]
    shown = " + ".join(map(str, fell)) + (f" {found[3]} {found[4]}" if found[3] else "")
    total = sum(fell) + more
    return Outcome(f"{found[0]}: {shown} = {total}", {"dice": found[0], "fell": fell, "total": total})


COMMAND = Command("roll", "Throws dice and adds them up: 2d6+1, 1d20.", places=("dice…",), example="hermit roll 2d6+1")

CAPABILITY = Capability(
    "roll",
    (Action("ROLL", Roll, Policy.FREE, cost=1, run=roll_dice, commands=(COMMAND,), is_panel=False),),
)
