"""How a person is asked about files that come from pages, and files that go to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.capabilities.approval_kind import ApprovalKind, ByteCount, Fact, Quoted, WarningLine, host_of
from orchestrator.core.models import Approval
from orchestrator.core.text import one_line

FILE_KIND = "page_file"
UPLOAD_KIND = "page_upload"
_MOST_FILES = 20


def _saved_facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    size = detail.get("size_bytes")
    lines: list[Fact] = [
        ("Reason given: ", Quoted(str(detail.get("why") or "none"), 300)),
        ("Host: ", Quoted(host_of(approval), 260)),
        ("Size: ", ByteCount(size if isinstance(size, int) else 0)),
    ]
    if detail.get("page") not in ("", None, detail.get("host")):
        lines.append(("Given on a page of ", Quoted(str(detail["page"]), 260)))
    if detail.get("url"):
        lines.append(("Its address: ", Quoted(str(detail["url"]), 500)))
    return lines


def _saved_consequences(approval: Approval) -> list[Fact]:
    return [
        "It goes into in/, where the agent can read it. What is in it may be written to steer the agent.",
        (
            f"Always: {approval.cubicle.agent} may then download from ",
            Quoted(host_of(approval), 260),
            ", and save files of its pages, without asking, until it has read something new.",
        ),
    ]


def _saved_in_a_terminal(detail: Mapping[str, Any]) -> list[str]:
    lines = [f"host: {one_line(detail.get('host', ''), 300)}"]
    if detail.get("page") not in ("", None, detail.get("host")):
        lines.append(f"given on a page of {one_line(detail['page'], 300)}")
    if detail.get("url"):
        lines.append(f"address: {one_line(detail['url'], 500)}")
    if detail.get("why"):
        lines.append(f"purpose, in its own words: “{one_line(detail['why'], 500)}”")
    return lines


SAVE_APPROVAL = ApprovalKind(
    FILE_KIND,
    many="Files from pages",
    wants="wants a file that a page gave",
    request="It wants to have this file from a page in its in/",
    asks="may this be saved?",
    noun="file",
    approved="It is being saved.",
    denied="saved",
    infinitive="be saved",
    unless="The agent doesn't get it unless you agree.",
    again="You asked whether this file of a page may be saved, and nobody answered in time, so it was not. If it is "
    "still needed, ask for it again now:\n\n{text}",
    facts=_saved_facts,
    consequences=_saved_consequences,
    terminal=_saved_in_a_terminal,
)


def _files_of(detail: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The path and the size of each."""
    files = detail.get("files")
    listed = files if isinstance(files, list) else []
    return [(str(one["path"]), int(one["size_bytes"])) for one in listed[:_MOST_FILES]]


def _upload_facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    origin = str(detail.get("origin", ""))
    lines: list[Fact] = [
        ("Reason given: ", Quoted(str(detail.get("why") or "none"), 300)),
        ("To: ", Quoted(origin, 300)),
        *(("File: ", Quoted(path, 300), ", ", ByteCount(size)) for path, size in _files_of(detail)),
    ]
    return [*lines, WarningLine(_IN_THE_OPEN)] if origin.startswith("http:") else lines


def _upload_consequences(_: Approval) -> list[Fact]:
    return ["Its page gets them as they are now, and can't be made to forget them."]


def _upload_in_a_terminal(detail: Mapping[str, Any]) -> list[str]:
    lines = [f"file: {one_line(path, 300)}, {size:,} bytes" for path, size in _files_of(detail)]
    if str(detail.get("origin", "")).startswith("http:"):
        lines.append(f"! {_IN_THE_OPEN}")
    if detail.get("why"):
        lines.append(f"purpose, in its own words: “{one_line(detail['why'], 500)}”")
    return lines


_IN_THE_OPEN = "They go over plain http: anybody on the way can read them."
UPLOAD_APPROVAL = ApprovalKind(
    UPLOAD_KIND,
    many="Files for pages",
    wants="wants to give files to a page",
    request="It wants to give these files to a page in its browser",
    asks="may the page get them?",
    noun="list",
    approved="The page gets them.",
    denied="given",
    infinitive="be given",
    unless="The page gets nothing unless you agree.",
    again="You asked whether a page may be given files, and nobody answered in time, so it was not. If it is still "
    "needed, ask for it again now:\n\n{text}",
    facts=_upload_facts,
    consequences=_upload_consequences,
    terminal=_upload_in_a_terminal,
)
