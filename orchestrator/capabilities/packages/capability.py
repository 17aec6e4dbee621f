"""Packages: programs from PyPI and npm, of which a person sees the exact list first."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.approval_kind import ApprovalKind, ByteCount, Fact, Quoted
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset
from orchestrator.core.models import Approval

_MOST_ASKED = 10


@dataclass(frozen=True, slots=True)
class Install:
    """A request for packages, for a person to decide."""

    system: str = field(metadata=field_metadata(FieldKind.SYSTEM, 10))
    """``pip`` or ``npm``."""
    packages: tuple[str, ...] = field(metadata=field_metadata(FieldKind.LINES, 200))
    """``NAME`` or ``NAME==VERSION`` (of npm also ``NAME@VERSION``)."""


def _facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    lines: list[Fact] = []
    if approval.reason:
        lines.append(("Reason given: ", Quoted(approval.reason, 300)))
    asked = detail.get("asked")
    names = [str(name) for name in asked] if isinstance(asked, list) else []
    if names:
        parts = [part for name in names[:_MOST_ASKED] for part in (Quoted(name, 80), " ")]
        more = f"and {len(names) - _MOST_ASKED} more" if len(names) > _MOST_ASKED else ""
        lines.append(("Asked for: ", *parts, more))
    packages, total = detail.get("packages"), detail.get("total_bytes")
    if isinstance(packages, list) and isinstance(total, int):
        count = f"{len(packages):,} package{'' if len(packages) == 1 else 's'}"
        lines.append((f"With dependencies: {count}, ", ByteCount(total), " in total."))
    return lines


def _consequences(_: Approval) -> list[Fact]:
    return ["Exactly these versions are downloaded. They get no more rights than the agent's own commands."]


INSTALL = Action(
    "INSTALL",
    Install,
    Policy.ASKS,
    cost=60,
    commands=(
        Command(
            "install",
            "A person is asked; when they agree the packages are downloaded and installed for you. SYSTEM: pip or npm.",
            places=("system", "packages*"),
            options=(Option("no-wait", "return at once; what comes of it shows later"),),
            example="hermit install pip 'humanize==4.9.0'",
        ),
    ),
    is_panel=False,
)


def _name_consequences(approval: Approval) -> list[Fact]:
    lines: list[Fact] = ["The package index reads these names. You see the whole list before anything is downloaded."]
    kinds = approval.detail.get("kinds")
    if isinstance(kinds, list) and kinds:
        lines.append(("For longer, for any name: ", Quoted(str(kinds[0]), 80)))
    return lines


APPROVAL = ApprovalKind(
    "packages",
    many="Packages",
    wants="wants to install packages",
    request="It wants to install these packages",
    asks="may these packages be installed?",
    noun="list",
    approved="They are being downloaded.",
    denied="installed",
    infinitive="be installed",
    unless="Nothing is downloaded unless you agree.",
    again="You asked whether these packages may be installed, and nobody answered in time, so they were not. If "
    "they are still needed, ask for them again now:\n\n{text}",
    facts=_facts,
    consequences=_consequences,
)

NAMES_APPROVAL = ApprovalKind(
    "package_names",
    many="Look-ups of packages",
    wants="wants to look up packages",
    request="It wants to look up these packages",
    asks="may these packages be looked up?",
    noun="list",
    approved="They are being looked up.",
    denied="looked up",
    infinitive="be looked up",
    unless="Nothing leaves unless you agree.",
    again="You asked whether these packages may be looked up, and nobody answered in time, so they were not. If "
    "they are still needed, ask for them again now:\n\n{text}",
    consequences=_name_consequences,
)

CAPABILITY = Capability(
    "packages",
    (INSTALL,),
    toolset=Toolset("packages", "Packages", "Ask for packages from PyPI or npm. You see the full list and decide."),
    prompt=Prompt(command="`hermit install pip|npm NAME`, after a yes."),
    approval=APPROVAL,
    first_approval=NAMES_APPROVAL,
)
