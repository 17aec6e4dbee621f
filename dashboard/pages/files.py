"""An agent's workspace for the viewer: its folders, page by page, and one file with what may be seen of it. Downloads,
uploads and deletions are the API's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template, request

from dashboard.auth import require_asker
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.glimpse import glimpse, pdf_page, picture
from dashboard.paths import BEFORE_IN_PAGES, asked_for, decode_path, encode_path
from dashboard.services import get_services
from dashboard.transfers import get_transfers
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import DirEntry
from orchestrator.files.names import display_path

pages = Blueprint("files_pages", __name__)

PAGE = 100
DRAWING_S = 10.0
"""How long a browser waits for a PDF's pages before it is told that they are still being drawn."""
Parts = tuple[bytes, ...]

FOLDERS = {
    b"work": "Where it works: programs, notes and what it installed.",
    b"in": "Files you gave it. It can read them but not change them.",
    b"out": "What it makes for you. Files here are sent to you automatically.",
    b"www": "Its web apps, one folder each.",
    b"data": "What HermitShell lets it read: its calendar, memories and packages.",
}
"""The workspace's own five, in the order of a day's work."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """A folder above."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class FileView:
    """One name in a folder."""

    name: str
    path: str
    kind: str
    size: str
    modified: float
    hint: str
    """What one of the workspace's own folders is for."""
    may_go: bool
    """A person may delete it."""


@pages.get("/agents/<name>/files")
def top(name: str) -> str:
    """The workspace."""
    return _folder_page(name, own_key(name), ())


@pages.get("/agents/<name>/files/<any_path:path>")
def below(name: str, path: str) -> str:  # noqa: ARG001 - the path is read as it was sent
    """A folder or a file."""
    key, parts = own_key(name), asked_for(BEFORE_IN_PAGES)
    try:
        if len(parts) < 2:
            return _folder_page(name, key, parts)
        entry = get_services().workspaces.get_entry(key, parts)
        if entry.kind == "folder":
            return _folder_page(name, key, parts)
        return _file_page(name, key, parts, entry)
    except UnsafePath as error:  # for whoever reads, what may not be opened is not there
        raise NotFound(error.message) from error


@pages.get("/agents/<name>/picture/<any_path:path>")
def shown_picture(name: str, path: str) -> Response:  # noqa: ARG001 - as above
    """A picture for a file's page."""
    try:
        return picture(own_key(name), asked_for(BEFORE_IN_PAGES))
    except UnsafePath as error:
        raise NotFound(error.message) from error


@pages.get("/agents/<name>/page/<digest>/<id:number>")
def shown_page(name: str, digest: str, number: int) -> Response:
    """A page of a PDF for a file's page."""
    return pdf_page(own_key(name), digest, number)


@pages.get("/parts/pages/<name>/<any_path:path>")
def drawn_pages(name: str, path: str) -> str:  # noqa: ARG001 - as above
    """A PDF's pages, or that they are being drawn."""
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        drawn = get_services().pdf_pages.draw_pages(own_key(name), asked_for(BEFORE_IN_PAGES), wait_s=DRAWING_S)
        return render_template("parts/pages.html", agent=get_services().agents.get(name), drawn=drawn, trouble="")
    except (NotFound, UnsafePath) as error:
        raise NotFound(error.message) from error
    except OrchestratorError as error:
        return render_template("parts/pages.html", drawn=None, trouble=error.message)
    finally:
        end()


@pages.get("/parts/files/<name>")
def top_now(name: str) -> str:
    """The workspace as it stands."""
    return render_template("parts/files.html", agent=get_services().agents.get(name), **_listed(own_key(name), ()))


@pages.get("/parts/files/<name>/<any_path:path>")
def folder_now(name: str, path: str) -> str:  # noqa: ARG001 - as above
    """A folder as it stands."""
    parts = asked_for(BEFORE_IN_PAGES)
    try:
        listed = _listed(own_key(name), parts)
    except UnsafePath as error:
        raise NotFound(error.message) from error
    return render_template("parts/files.html", agent=get_services().agents.get(name), **listed)


def _folder_page(name: str, key: CubicleKey, parts: Parts) -> str:
    return render_template("files.html", **agent_frame(name, "files"), **_listed(key, parts), crumbs=_crumbs(parts))


def _file_page(name: str, key: CubicleKey, parts: Parts, entry: DirEntry) -> str:
    seen = glimpse(key, parts, entry) if entry.kind == "file" else None
    return render_template(
        "file.html",
        **agent_frame(name, "files"),
        view=_view(parts[:-1], entry),
        crumbs=_crumbs(parts),
        above=encode_path(*parts[:-1]),
        seen=seen,
    )


def _listed(key: CubicleKey, parts: Parts) -> dict[str, Any]:
    """A page of a folder, for its template."""
    sent = request.args.get("after", "")
    after = decode_path(sent)
    if len(after) > 1:
        raise BadInput("after: send what the page before gave as next.")
    page = get_services().workspaces.list_folder(key, parts, after=after[0] if after else None, limit=PAGE)
    entries = page.entries if parts else sorted(page.entries, key=lambda entry: tuple(FOLDERS).index(entry.raw))
    return {
        "path": encode_path(*parts),
        "folder": parts[0].decode() if len(parts) == 1 else "" if parts else "top",
        "is_data": parts[:1] == (b"data",),
        "entries": [_view(parts, entry) for entry in entries],
        "after": sent,
        "next": None if page.next is None else encode_path(page.next),
    }


def _view(folder: Parts, entry: DirEntry) -> FileView:
    return FileView(
        entry.name,
        encode_path(*folder, entry.raw),
        entry.kind,
        format_size(entry.size_bytes) if entry.kind == "file" else "",
        entry.modified,
        FOLDERS[entry.raw] if not folder else "",
        may_go=bool(folder) and folder[0] != b"data",
    )


def _crumbs(parts: Parts) -> list[Crumb]:
    return [Crumb(display_path(part), encode_path(*parts[: n + 1])) for n, part in enumerate(parts)]
