"""Downloads: a file from the internet, of which a person sees the exact address first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.approval_kind import ApprovalKind, Fact, Quoted, WarningLine, host_of
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset
from orchestrator.core.models import Approval
from orchestrator.core.text import one_line

_MOST_WARNINGS = 8


@dataclass(frozen=True, slots=True)
class AssetRequest:
    """A request for a file from the internet, for a person to decide."""

    description: str = field(metadata=field_metadata(FieldKind.TEXT, 500))
    url: str = field(metadata=field_metadata(FieldKind.URL, 2000))
    file_type: str = field(default="", metadata=field_metadata(FieldKind.FILE_TYPE, 100))
    max_age: int | None = field(default=None, metadata=field_metadata(FieldKind.COUNT))
    """A copy of it that came at most so many seconds ago does as well; without it a new one is fetched."""


def _facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    lines: list[Fact] = [("Reason given: ", Quoted(str(detail.get("description") or approval.reason or "none"), 300))]
    if detail.get("file_type"):
        lines.append(("Expected: ", Quoted(str(detail["file_type"]), 60)))
    lines.append(("Host: ", Quoted(host_of(approval), 260)))
    count = detail.get("url_chars")
    if isinstance(count, int) and count > 1:
        lines.append(f"Sent to the host: {count:,} characters after its name.")
    warnings = detail.get("warnings")
    listed = warnings if isinstance(warnings, list) else []
    return [*lines, *(WarningLine(one_line(str(warning), 400)) for warning in listed[:_MOST_WARNINGS])]


def _consequences(approval: Approval) -> list[Fact]:
    return [
        "Its size isn't known until it's downloaded. It goes into in/, where the agent can read it.",
        (
            f"Always: {approval.cubicle.agent} may then download from ",
            Quoted(host_of(approval), 260),
            " without asking, until it has read something new.",
        ),
    ]


def _in_a_terminal(detail: Mapping[str, Any]) -> list[str]:
    if "host" not in detail:
        return []
    host, reads = one_line(detail["host"], 300), one_line(detail.get("host_shown", ""), 300)
    read_as = f" (reads “{reads}”)" if reads and reads != host else ""
    lines = [f"host: {host}{read_as}; it gets the {detail.get('url_chars', 0):,} characters after its name"]
    lines += [f"! {one_line(warning, 2_500)}" for warning in detail.get("warnings", [])]
    if detail.get("description"):
        lines.append(f"purpose, in its own words: “{one_line(detail['description'], 500)}”")
    return lines


REQUEST = Action(
    "ASSET_REQUEST",
    AssetRequest,
    Policy.ASKS,
    cost=20,
    commands=(
        Command(
            "fetch",
            "A person is asked; when they agree the file is downloaded into /app/workspace/in.",
            places=("url",),
            options=(
                Option("why", "what it is and what for: the person reads it", value="TEXT", field="description"),
                Option("type", "the type of file, such as pdf", value="TYPE", field="file_type"),
                Option("no-wait", "return at once; what comes of it shows later"),
            ),
            needs=("description",),
            example="hermit fetch https://example.com/prices.csv --why 'the price list for the report'",
        ),
        Command(
            "read",
            "Prints web pages as Markdown, and PDFs as text. Each is fetched into in/ after a person's yes; one that "
            "came within 15 minutes is not fetched again.",
            places=("url", "others*"),
            options=(
                Option("why", "what it is read for: the person reads it", value="TEXT", field="description"),
                Option("links", "number its links, and list them at the end"),
                Option("browser", "in the agent's browser, for pages that scripts make"),
                Option("from", "go on from this character", value="N"),
            ),
            fields={"description": "to read it", "max_age": 900, "others": []},
            local=("others", "links", "from", "browser"),
            reads="url",
            example="hermit read https://example.com/article --why 'it may say when the law changed'",
        ),
    ),
)
APPROVAL = ApprovalKind(
    "asset",
    many="Files from the internet",
    wants="wants a file from the internet",
    request="It wants to download this from the internet into its in/",
    asks="may this be downloaded?",
    noun="address",
    approved="It is being downloaded.",
    denied="downloaded",
    infinitive="be downloaded",
    unless="Nothing is downloaded unless you agree.",
    again="You asked whether this may be downloaded, and nobody answered in time, so it was not. If it is still "
    "needed, ask for it again now:\n\n{text}",
    facts=_facts,
    consequences=_consequences,
    terminal=_in_a_terminal,
)

CAPABILITY = Capability(
    "downloads",
    (REQUEST,),
    toolset=Toolset(
        "assets", "Files from the internet", "Ask for a file from the internet. You see the exact address and decide."
    ),
    prompt=Prompt(
        command="`hermit fetch URL --why TEXT`, after a yes into ../in; `hermit read URL` prints it.",
        action="ASSET_REQUEST:description|url|file_type",
        rank=-1,
    ),
    approval=APPROVAL,
)
