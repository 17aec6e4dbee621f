"""What of a file that an agent made may be looked at on a page of ours, and how: text as escaped text, pictures of four
kinds by a response of their own in which nothing can run, sound and video by a player, PDFs by pictures of their pages
that a program in a container drew. Everything else is for the viewer's own programs.

What a file is, its first bytes say, never its name. Nothing is decoded, rendered or unpacked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flask import Response

from dashboard.auth import require_asker
from dashboard.glimpses import HEAD_BYTES, PICTURE_BYTES, PICTURES, read_text, refuse_picture
from dashboard.headers import HELD
from dashboard.languages import page_speech, say, to_say
from dashboard.pages.media import PLAYED
from dashboard.pages.text_faces import Face, find_face
from dashboard.services import get_services
from dashboard.transfers import get_transfers
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.files.magic import content_of
from orchestrator.files.mime_types import type_of
from orchestrator.files.models import DirEntry

TEXT_BYTES = 64 * 1024
_OF_OWN_PROGRAMS = {
    "zip": to_say("Archives can't be previewed. Download it to unpack it."),
    "program": to_say("This is a program, so there is no preview."),
}
_NO_TEXT = to_say("There is no preview for this kind of file. Download it to open it.")

_UNDRAWN_PDF = to_say("There is no preview of this PDF. Download it to read it.")
_LARGE_PDF = to_say("This PDF is too large to preview. Download it.")

_BOOKS = (".xlsx", ".xlsm")
_LARGE_BOOK = to_say("This spreadsheet is too large to preview. Download it.")

Sort = Literal["text", "picture", "pages", "book", "audio", "video", "none"]


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What a page shows of a file."""

    sort: Sort
    text: str = ""
    """The text itself, or why nothing is shown."""
    is_cut: bool = False
    """There is more of the text."""
    face: Face | None = None
    """How the text may be looked at besides."""
    is_page: bool = False
    """It is called HTML, and may be shown as a page in a frame of the preview origin."""


def glimpse(key: CubicleKey, parts: tuple[bytes, ...], entry: DirEntry) -> Glimpse:
    """What may be seen of the file. Raises NotFound, UnsafePath, Changing, Unavailable."""
    if entry.size_bytes == 0:
        return Glimpse("none", say("The file is empty."))
    head = get_services().workspaces.read_head(key, parts, max_bytes=HEAD_BYTES)
    content = content_of(head)
    if content in PICTURES:
        trouble = refuse_picture(content, head, entry.size_bytes)
        return Glimpse("none", page_speech().retell(trouble)) if trouble else Glimpse("picture")
    if content in PLAYED:
        return Glimpse("video" if PLAYED[content].startswith("video/") else "audio")
    if content == "pdf":
        return _pdf(entry.size_bytes)
    if content == "zip" and entry.name.lower().endswith(_BOOKS) and get_services().sheets.is_there:
        too_large = entry.size_bytes > get_services().sheets.most_bytes
        return Glimpse("none", say(_LARGE_BOOK)) if too_large else Glimpse("book")
    text = read_text(head[:TEXT_BYTES]) if content in ("", "page") else None
    if text is None:
        return Glimpse("none", say(_OF_OWN_PROGRAMS.get(content, _NO_TEXT)))
    is_cut = entry.size_bytes > TEXT_BYTES
    is_page = type_of(entry.name) == "text/html"
    return Glimpse("text", text, is_cut, find_face(entry.name, text, is_cut=is_cut), is_page)


def _pdf(size_bytes: int) -> Glimpse:
    pages = get_services().pdf_pages
    if not pages.is_there:
        return Glimpse("none", say(_UNDRAWN_PDF))
    return Glimpse("none", say(_LARGE_PDF)) if size_bytes > pages.most_bytes else Glimpse("pages")


def pdf_page(key: CubicleKey, digest: str, number: int) -> Response:
    """A page of a PDF that was drawn lately, in a sandbox that loads nothing. Raises NotFound."""
    return _held(get_services().pdf_pages.get_page(key, digest, number), "image/png")


def picture(key: CubicleKey, parts: tuple[bytes, ...]) -> Response:
    """A picture by itself: of the type that its bytes tell, from a private copy, in a sandbox that loads nothing.
    Raises NotFound for whatever is none of the four, TooLarge, UnsafePath, Changing, Unavailable."""
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        with get_services().workspaces.copy_out(key, parts, max_bytes=PICTURE_BYTES) as copy:
            body = copy.file.read()
    finally:
        end()
    return held_picture(body)


def held_picture(body: bytes) -> Response:
    """These bytes as a picture, in a sandbox that loads nothing. Raises NotFound for whatever is none of the four."""
    content = content_of(body[:HEAD_BYTES])
    if content not in PICTURES or refuse_picture(content, body[:HEAD_BYTES], len(body)):
        raise NotFound("There is no picture to show here.")
    return _held(body, PICTURES[content])


def _held(body: bytes, kind: str) -> Response:
    response = Response(body, content_type=kind)
    response.headers["Content-Disposition"] = "inline"
    response.headers["Content-Security-Policy"] = HELD
    return response
