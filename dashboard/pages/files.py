"""An agent's workspace for the viewer: its folders, page by page, and one file with what may be seen of it. Downloads,
uploads and deletions are the API's.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response, render_template, request

from dashboard.apps import dashboard_origin
from dashboard.auth import login_digest, require_asker
from dashboard.books import view_book
from dashboard.headers import allow_frame
from dashboard.pages.editing import may_edit
from dashboard.pages.folder_list import list_view, view_entry
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.glimpse import glimpse, pdf_page, picture
from dashboard.pages.media import send_media
from dashboard.paths import BEFORE_IN_PAGES, asked_for, encode_path
from dashboard.services import get_services
from dashboard.transfers import get_transfers
from orchestrator.apps.previews.csp import SANDBOX
from orchestrator.core.errors import NotFound, OrchestratorError, Unavailable, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import DirEntry
from orchestrator.files.names import display_path

pages = Blueprint("files_pages", __name__)

DRAWING_S = 10.0
"""How long a browser waits for a PDF's pages before it is told that they are still being drawn."""
Parts = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Crumb:
    """A folder above."""

    name: str
    path: str


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
            get_services().workspaces.list_folder(key, parts, limit=1)  # it is one of the five
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


@pages.get("/agents/<name>/media/<any_path:path>")
def played(name: str, path: str) -> Response:  # noqa: ARG001 - as above
    """A piece of sound or video for a file's page."""
    try:
        return send_media(own_key(name), asked_for(BEFORE_IN_PAGES))
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


@pages.get("/parts/sheets/<name>/<any_path:path>")
def read_sheets(name: str, path: str) -> str:  # noqa: ARG001 - as above
    """A spreadsheet's sheets, or that they are being read."""
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        book = get_services().sheets.read_file(own_key(name), asked_for(BEFORE_IN_PAGES), wait_s=DRAWING_S)
        return render_template("parts/sheets.html", sheets=view_book(book) if book else [], book="f")
    except (NotFound, UnsafePath) as error:
        raise NotFound(error.message) from error
    except OrchestratorError as error:
        return render_template("parts/sheets.html", sheets=[], trouble=error.message)
    finally:
        end()


@pages.get("/parts/files/<name>")
def top_now(name: str) -> str:
    """The workspace as it stands."""
    return render_template("parts/files.html", agent=get_services().agents.get(name), **list_view(own_key(name), ()))


@pages.get("/parts/files/<name>/<any_path:path>")
def folder_now(name: str, path: str) -> str:  # noqa: ARG001 - as above
    """A folder as it stands."""
    parts = asked_for(BEFORE_IN_PAGES)
    try:
        key = own_key(name)
        listed = list_view(key, parts, since=_known_since(key, parts))
    except UnsafePath as error:
        raise NotFound(error.message) from error
    return render_template("parts/files.html", agent=get_services().agents.get(name), **listed)


def _folder_page(name: str, key: CubicleKey, parts: Parts) -> str:
    """A folder that is there: whoever asks has seen to that, so none that isn't is written down as looked into."""
    since = get_services().folder_looks.look_into(key, parts) if _ever_new(parts) else None
    listed = list_view(key, parts, since=since)
    return render_template("files.html", **agent_frame(name, "files"), **listed, crumbs=_crumbs(parts))


def _asks_for(view: str) -> bool:
    return request.args.get("view") == view


def _hold_page(key: CubicleKey, parts: Parts) -> tuple[str, str]:
    """Where a frame on the page that is being made finds this file as a page by itself, or why it doesn't."""
    try:
        url = get_services().previews.page_url(
            key, encode_path(*parts), dashboard=dashboard_origin(), login=login_digest()
        )
    except Unavailable as error:
        return "", error.message
    allow_frame(url)
    return url, ""


def _known_since(key: CubicleKey, parts: Parts) -> float | None:
    return get_services().folder_looks.get_since(key, parts) if _ever_new(parts) else None


def _ever_new(parts: Parts) -> bool:
    """There are marks in this folder: the five are always there, and what is in ``data`` changes by itself."""
    return bool(parts) and parts[0] != b"data"


def _file_page(name: str, key: CubicleKey, parts: Parts, entry: DirEntry) -> str:
    seen = glimpse(key, parts, entry) if entry.kind == "file" else None
    page_url, why_no_page = _hold_page(key, parts) if seen and seen.is_page and _asks_for("page") else ("", "")
    view = view_entry(parts[:-1], entry)
    return render_template(
        "file.html",
        **agent_frame(name, "files"),
        view=view,
        crumbs=_crumbs(parts),
        above=encode_path(*parts[:-1]),
        seen=seen,
        is_source=_asks_for("source"),
        page_url=page_url,
        why_no_page=why_no_page,
        sandbox=SANDBOX,
        may_edit=view.may_go
        and entry.kind == "file"
        and may_edit(entry.size_bytes)
        and (seen is None or seen.sort == "text" or not entry.size_bytes),
    )


def _crumbs(parts: Parts) -> list[Crumb]:
    return [Crumb(display_path(part), encode_path(*parts[: n + 1])) for n, part in enumerate(parts)]
