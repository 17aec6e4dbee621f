"""A file's text to be changed, and a new file. The page holds the text itself and saves it as a form; where scripts
run, ``editor.js`` puts an editor in its place and saves over the API. Both save only over what was read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from flask import Blueprint, redirect, render_template, request
from werkzeug import Response

from dashboard import hand_changes
from dashboard.languages import say, to_say
from dashboard.pages.frame import agent_frame, own_key
from dashboard.paths import BEFORE_IN_PAGES, asked_for, encode_path
from dashboard.services import get_services
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, TooLarge, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.names import display_path
from orchestrator.files.person_changes import MOST_SAVED_BYTES

pages = Blueprint("editing", __name__)

NO_TEXT = to_say(
    "This file isn’t text in UTF-8, so it can’t be edited here. Download it to open it in a program of your own."
)
TOO_LARGE = to_say("This file is too large to edit here. Download it, or ask the agent to change it.")
Parts = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A text on its way."""

    text: str
    digest: str
    """The SHA-256 of the file that it takes the place of; empty for a new one."""
    ends: str
    """How its lines end: ``lf``, or ``crlf``."""
    name: str = ""
    """Of a new file."""
    trouble: str = ""
    """Why it was not saved."""
    is_outdated: bool = False
    """The file was changed meanwhile; ``digest`` is what it has now."""


@pages.get("/agents/<name>/edit/<any_path:path>")
def edit(name: str, path: str) -> str:  # noqa: ARG001 - the path is read as it was sent
    """The text of a file, or with ``new=1`` an empty one in a folder."""
    key, parts = own_key(name), asked_for(BEFORE_IN_PAGES)
    try:
        if request.args.get("new") == "1":
            hand_changes.check_folder(key, parts)
            return _page(name, parts, Draft("", "", "lf"), is_new=True)
        return _page(name, parts, _read(key, parts), is_new=False)
    except TooLarge as error:
        raise TooLarge(say(TOO_LARGE)) from error
    except UnsafePath as error:  # for whoever reads, what may not be opened is not there
        raise NotFound(error.message) from error


@pages.post("/agents/<name>/edit/<any_path:path>")
def save(name: str, path: str) -> Response | str:  # noqa: ARG001 - as above
    """The text is the file's, if the file is still what was read; else it is asked for again, with nothing lost."""
    key, parts = own_key(name), asked_for(BEFORE_IN_PAGES)
    is_new = request.args.get("new") == "1"
    draft = _sent()
    target = (*parts, draft.name.encode()) if is_new else parts
    try:
        with hand_changes.remembered(key, target):
            hand_changes.save(key, target, _encode(draft), expected=None if is_new else draft.digest)
    except OrchestratorError as error:
        return _page(name, parts, _again(key, parts, draft, error, is_new=is_new), is_new=is_new)
    return redirect(f"/agents/{name}/files/{encode_path(*target)}", 303)


def may_edit(size_bytes: int) -> bool:
    """A text of this size can be saved."""
    return size_bytes <= MOST_SAVED_BYTES


def _page(name: str, parts: Parts, draft: Draft, *, is_new: bool) -> str:
    return render_template(
        "edit.html",
        **agent_frame(name, "files"),
        draft=draft,
        is_new=is_new,
        path=encode_path(*parts),
        above=encode_path(*(parts if is_new else parts[:-1])),
        called=display_path(parts[-1]),
        most_bytes=MOST_SAVED_BYTES,
    )


def _read(key: CubicleKey, parts: Parts) -> Draft:
    """Raises BadInput for what is no text, TooLarge, NotFound, UnsafePath, Changing, Unavailable."""
    if parts[:1] == (b"data",):
        raise BadInput("What is in data/ is kept by HermitShell itself and can't be changed here.")
    with get_services().workspaces.copy_out(key, parts, max_bytes=MOST_SAVED_BYTES) as copy:
        content = copy.file.read()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadInput(NO_TEXT) from error
    if "\0" in text:
        raise BadInput(NO_TEXT)
    is_dos = "\r\n" in text and text.count("\r\n") == text.count("\n")
    return Draft(text, copy.sha256, "crlf" if is_dos else "lf")


def _sent() -> Draft:
    form = request.form
    ends = "crlf" if form.get("ends") == "crlf" else "lf"
    name = form.get("name", "").strip()
    if "/" in name:
        raise BadInput("name: type the name alone, without folders.")
    return Draft(form.get("text", ""), form.get("digest", ""), ends, name)


def _encode(draft: Draft) -> bytes:
    """A form's lines end as the file's did."""
    text = draft.text.replace("\r\n", "\n").replace("\r", "\n")
    return (text.replace("\n", "\r\n") if draft.ends == "crlf" else text).encode("utf-8", "replace")


def _again(key: CubicleKey, parts: Parts, draft: Draft, error: OrchestratorError, *, is_new: bool) -> Draft:
    """What was sent, with what there is now where it is about a file that is there."""
    digest = draft.digest
    if error.code == "outdated" and not is_new:
        with get_services().workspaces.copy_out(key, parts, max_bytes=MOST_SAVED_BYTES) as copy:
            digest = copy.sha256
    is_outdated = digest != draft.digest and digest != hashlib.sha256(_encode(draft)).hexdigest()
    return Draft(draft.text, digest, draft.ends, draft.name, error.message, is_outdated)
