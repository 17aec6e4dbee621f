"""Points of time: an agent lists and compares those of its files, names one, and goes back; within its turn freely,
further after a person's yes."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.approval_kind import ApprovalKind, Fact
from orchestrator.capabilities.capability import Action, Capability, Policy
from orchestrator.core.models import Approval

KIND = "checkpoint"
MOST_PATH_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class ListPoints:
    """The points that there are, the newest first."""

    limit: int = field(default=20, metadata=field_metadata(FieldKind.COUNT, 5))


@dataclass(frozen=True, slots=True)
class ComparePoint:
    """What differs from a point; without one from where the turn began."""

    id: int | None = field(default=None, metadata=field_metadata(FieldKind.ID))


@dataclass(frozen=True, slots=True)
class CreatePoint:
    """A name for the files as they are now."""

    name: str = field(metadata=field_metadata(FieldKind.LINE, 100))


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """Files and folders are to be as they were at a point; everything, where none is named."""

    id: int = field(metadata=field_metadata(FieldKind.ID))
    paths: tuple[str, ...] = field(default=(), metadata=field_metadata(FieldKind.LINES, MOST_PATH_CHARS))


LIST = Action(
    "CHECKPOINT_LIST",
    ListPoints,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "checkpoint list",
            "The points of time of your files that can be gone back to.",
            options=(Option("limit", "the most to list", value="N"),),
        ),
    ),
    is_panel=False,
)
DIFF = Action(
    "CHECKPOINT_DIFF",
    ComparePoint,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "checkpoint diff",
            "The files that differ from a point; without ID those that this turn changed.",
            places=("id?",),
            example="hermit checkpoint diff 12",
        ),
    ),
    is_panel=False,
)
CREATE = Action(
    "CHECKPOINT_CREATE",
    CreatePoint,
    Policy.FREE,
    cost=5,
    commands=(
        Command(
            "checkpoint create",
            "Keeps work/, out/ and www/ as they are now, under a name.",
            places=("name…",),
            example="hermit checkpoint create before the rewrite",
        ),
    ),
    is_panel=False,
)
RESTORE = Action(
    "CHECKPOINT_RESTORE",
    RestorePoint,
    Policy.ASKS,
    cost=10,
    commands=(
        Command(
            "checkpoint restore",
            "Files are as they were at that point; without PATHS all of them. To a point before this turn a person "
            "must agree.",
            places=("id", "paths*"),
            options=(Option("no-wait", "return at once"),),
            fields={"paths": ""},
            example="hermit checkpoint restore 12 work/report.md www",
        ),
    ),
    is_panel=False,
)
"""Within the running turn nobody is asked: `AgentPoints` decides that."""


def _consequences(_: Approval) -> list[Fact]:
    return ["The files as they are now become a point first, so this can be taken back."]


APPROVAL = ApprovalKind(
    KIND,
    many="Earlier files",
    wants="wants to put files back to how they were before its turn",
    request="It wants to put its files back",
    asks="may these files be put back?",
    noun="change",
    approved="They are being put back.",
    denied="done",
    infinitive="be done",
    unless="No file changes unless you agree.",
    again="You asked whether files may be put back, and nobody answered in time, so they were not. If it is still "
    "needed, ask again now:\n\n{text}",
    consequences=_consequences,
)

CAPABILITY = Capability(
    "checkpoint",
    (LIST, DIFF, CREATE, RESTORE),
    approval=APPROVAL,
)
