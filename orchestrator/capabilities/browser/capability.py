"""The browser as agents know it: its commands, and how a person is asked about a site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.approval_kind import ApprovalKind, Fact, Quoted, WarningLine
from orchestrator.capabilities.browser.file_questions import SAVE_APPROVAL, UPLOAD_APPROVAL
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset
from orchestrator.core.models import Approval
from orchestrator.core.text import one_line

KIND, COMPANIONS_KIND = "site", "site_hosts"
MOST_TEXT = 10_000
_MOST_PARAMS = 100_000
_MOST_WARNINGS = 8


@dataclass(frozen=True, slots=True)
class BrowserCall:
    """One thing to do in the browser; each of its fields is for some of them."""

    do: str = field(metadata=field_metadata(FieldKind.LINE, 20))
    url: str = field(default="", metadata=field_metadata(FieldKind.URL, 2000))
    ref: str = field(default="", metadata=field_metadata(FieldKind.LINE, 40))
    """What the page's text calls an element: ``e7``."""
    text: str = field(default="", metadata=field_metadata(FieldKind.TEXT, MOST_TEXT))
    enter: bool = field(default=False, metadata=field_metadata(FieldKind.FLAG, 5))
    full: bool = field(default=False, metadata=field_metadata(FieldKind.FLAG, 5))
    urls: bool = field(default=False, metadata=field_metadata(FieldKind.FLAG, 5))
    start: int = field(default=0, metadata=field_metadata(FieldKind.COUNT))
    """The character of the page's text to begin with."""
    find: str = field(default="", metadata=field_metadata(FieldKind.LINE, 200))
    tab: int | None = field(default=None, metadata=field_metadata(FieldKind.ID))
    number: int | None = field(default=None, metadata=field_metadata(FieldKind.ID))
    """Of a file that a page gave."""
    files: tuple[str, ...] = field(default=(), metadata=field_metadata(FieldKind.LINES, 1000))
    """Paths within the workspace: ``work/report.pdf``."""
    secret: str = field(default="", metadata=field_metadata(FieldKind.LINE, 40))
    """The name of one that the person keeps."""
    out: str = field(default="", metadata=field_metadata(FieldKind.FILE_NAME, 100))
    method: str = field(default="", metadata=field_metadata(FieldKind.LINE, 100))
    params: str = field(default="", metadata=field_metadata(FieldKind.TEXT, _MOST_PARAMS))
    """A JSON object."""
    frame: str = field(default="", metadata=field_metadata(FieldKind.LINE, 100))
    dialog: str = field(default="", metadata=field_metadata(FieldKind.LINE, 40))
    why: str = field(default="", metadata=field_metadata(FieldKind.TEXT, 500))
    """For the person who is asked."""


def _command(
    words: str,
    help: str,  # noqa: A002 - what it is
    *places: str,
    options: tuple[Option, ...] = (),
    example: str = "",
    paths: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    **fields: object,
) -> Command:
    do = words.replace(" ", "_")
    return Command(
        f"browser {words}",
        help,
        places=places,
        options=options,
        fields={"do": do, **fields},
        example=example,
        paths=paths,
        needs=needs,
    )


_WHY = Option("why", "what it is for: the person reads it", value="TEXT")
_OUT = Option("out", "the name of the file in ../in", value="NAME")
COMMANDS = (
    _command(
        "open",
        "Shows a page as text. Elements have refs, such as e7. A person is asked about each new site.",
        "url",
        options=(_WHY, Option("new-tab", "in a new tab", field="full")),
        example="hermit browser open https://example.com --why 'the opening hours are there'",
    ),
    _command(
        "snapshot",
        "What changed on the page; with --full the page.",
        options=(
            Option("full", "the whole page"),
            Option("from", "go on from this character", value="N", field="start"),
            Option("find", "the lines with these words alone", value="WORDS"),
            Option("urls", "with where links lead"),
        ),
    ),
    _command("click", "Clicks an element.", "ref", example="hermit browser click e7"),
    _command(
        "type",
        "Puts a text into a field, in place of what is in it.",
        "ref",
        "text…",
        options=(Option("enter", "then press Enter"),),
        example="hermit browser type e6 blue shoes --enter",
    ),
    _command(
        "fill",
        "Types a secret that the person keeps for this page's host into a field. You never see it.",
        "ref",
        options=(Option("secret", "its name", value="NAME"),),
        needs=("secret",),
        example="hermit browser fill e9 --secret shop-password",
    ),
    _command("secrets", "The secrets that the person keeps for you: names, and hosts."),
    _command("select", "Chooses from a list.", "ref", "text…", example="hermit browser select e5 blue"),
    _command("press", "Presses a key, such as Enter or Control+a.", "text"),
    _command("hover", "Puts the pointer over an element.", "ref"),
    _command("scroll", "Scrolls: up or down.", "text"),
    _command("back", "The page before this one."),
    _command("reload", "The same page again."),
    _command("wait", "Waits until the page shows a text, or for so many seconds.", "text…"),
    _command("screenshot", "A picture of the page, as a file in ../in.", options=(_OUT, Option("full", "all of it"))),
    _command(
        "look",
        "Asks your model a question about a picture of the page.",
        "text…",
        options=(Option("full", "of all of it"),),
        example="hermit browser look 'Which bar of the chart is the highest?'",
    ),
    _command("pdf", "The page as a PDF, in ../in.", options=(_OUT,)),
    Command(
        "browser read",
        "Prints the page as Markdown, as its scripts made it; with URL that page.",
        places=("url?",),
        options=(
            _WHY,
            Option("links", "number its links, and list them at the end"),
            Option("from", "go on from this character", value="N"),
        ),
        fields={"do": "read"},
        local=("links", "from"),
        reads="url",
    ),
    _command("images", "The page's images: where they are, and how large."),
    _command("downloads", "The files that pages gave, each with its number."),
    _command(
        "save",
        "Puts a file that a page gave into ../in. A person is asked first.",
        "number",
        options=(_OUT, _WHY),
        example="hermit browser save 1 --why 'the invoice of May'",
    ),
    _command(
        "upload",
        "Gives files of the workspace to a page. A person is asked first.",
        "ref",
        "files*",
        options=(_WHY,),
        paths=("files",),
        example="hermit browser upload e4 report.pdf --why 'they want it as a PDF'",
    ),
    _command("console", "What pages wrote to the console."),
    _command("frames", "The page's frames, for `cdp --frame`."),
    _command(
        "dialog",
        "Answers a dialog of the page: accept or dismiss.",
        "text",
        options=(
            Option("text", "what to write into it", value="TEXT", field="params"),
            Option("id", "which one", value="ID", field="dialog"),
        ),
    ),
    _command("tabs", "The open tabs; with N that one comes to the front.", "tab?"),
    _command(
        "close", "Closes the browser; with --tab only that tab.", options=(Option("tab", "its number", value="N"),)
    ),
    _command(
        "allow",
        "Asks the person whether this page's site may load what is told as not loaded.",
        options=(_WHY,),
    ),
    _command(
        "cdp",
        "Calls a method of the DevTools protocol on the page.",
        "method",
        "params?",
        options=(Option("frame", "in this frame", value="ID"),),
        example="""hermit browser cdp Runtime.evaluate '{"expression": "document.title"}'""",
    ),
)

BROWSER = Action("BROWSER", BrowserCall, Policy.ASKS, cost=2, commands=COMMANDS, is_panel=False)
"""A person is asked about sites; on one that is allowed the agent does as it likes."""


def _facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    lines: list[Fact] = [("Reason given: ", Quoted(str(detail.get("why") or "none"), 300))]
    lines.append(("Site: ", Quoted(str(detail.get("site", "")), 260), " and the names below it"))
    warnings = detail.get("warnings")
    listed = warnings if isinstance(warnings, list) else []
    return [*lines, *(WarningLine(one_line(str(warning), 400)) for warning in listed[:_MOST_WARNINGS])]


def _consequences(_: Approval) -> list[Fact]:
    return [
        "The agent can send this site anything it knows. What it reads there may be written to steer it.",
        "A yes holds until it leaves the site.",
    ]


def _in_a_terminal(detail: Mapping[str, Any]) -> list[str]:
    lines = [f"site: {one_line(detail.get('site', ''), 300)}, and the names below it"]
    lines += [f"! {one_line(warning, 2_500)}" for warning in detail.get("warnings", [])]
    if detail.get("why"):
        lines.append(f"purpose, in its own words: “{one_line(detail['why'], 500)}”")
    return [*lines, "the agent can send this site anything it knows"]


APPROVAL = ApprovalKind(
    KIND,
    many="Sites",
    wants="wants to open a site in its browser",
    request="It wants to open this in its browser",
    asks="may this be opened?",
    noun="address",
    approved="It is being opened.",
    denied="opened",
    infinitive="be opened",
    unless="Nothing is contacted unless you agree.",
    again="You asked whether this may be opened in your browser, and nobody answered in time, so it was not. If it is "
    "still needed, ask for it again now:\n\n{text}",
    facts=_facts,
    consequences=_consequences,
    terminal=_in_a_terminal,
)


def _companion_facts(approval: Approval) -> list[Fact]:
    detail = approval.detail
    return [
        ("Reason given: ", Quoted(str(detail.get("why") or "none"), 300)),
        ("Pages of ", Quoted(str(detail.get("site", "")), 260), " also load from these hosts."),
    ]


def _companion_consequences(_: Approval) -> list[Fact]:
    return ["They get what such pages send them. A yes holds while a page of that site is open."]


COMPANIONS_APPROVAL = ApprovalKind(
    COMPANIONS_KIND,
    many="Hosts of pages",
    wants="wants a page to load from other hosts",
    request="It wants a page to load from these hosts",
    asks="may the page load from these hosts?",
    noun="list",
    approved="The page is loaded again.",
    denied="loaded",
    infinitive="be loaded",
    unless="Nothing of theirs is loaded unless you agree.",
    again="You asked whether a page may load from other hosts, and nobody answered in time, so it did not. If it "
    "is still needed, ask for it again now:\n\n{text}",
    facts=_companion_facts,
    consequences=_companion_consequences,
)

CAPABILITY = Capability(
    "browser",
    (BROWSER,),
    toolset=Toolset(
        "browser",
        "Browser",
        "Use web pages in a browser of its own. You are asked about each site; the browser has no other way out.",
    ),
    prompt=Prompt(bare="`hermit browser open URL`"),
    approval=APPROVAL,
    more_approvals=(COMPANIONS_APPROVAL, SAVE_APPROVAL, UPLOAD_APPROVAL),
)
