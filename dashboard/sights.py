"""What a conversation shows of a file that an agent delivered: a picture, a player, a table, the beginning of a text,
or its name alone; of a PDF, a web page and a spreadsheet, what a container makes of it. Its first bytes decide, never
its name alone, and nothing is decoded here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from dashboard.glimpses import HEAD_BYTES, PICTURES, read_text, refuse_picture
from dashboard.services import get_services
from orchestrator.capabilities.delivery.media_types import size_of_image
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Delivery
from orchestrator.files.magic import content_of

TEXT_BYTES = 64 * 1024
MOST_ROWS, MOST_COLUMNS, MOST_CELL_CHARS = 200, 30, 200
PLAYED = {
    "wav": "audio/wav",
    "m4a": "audio/mp4",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
"""What a browser plays, by what its bytes say, and as what."""
_TABLES = (".csv", ".tsv")
_PAGES = (".html", ".htm")
_BOOKS = (".xlsx", ".xlsm")

Sort = Literal["picture", "audio", "video", "pdf", "book", "page", "table", "text", "none"]


@dataclass(frozen=True, slots=True)
class FileSight:
    """What can be seen of a file."""

    sort: Sort = "none"
    width: int = 0
    height: int = 0
    """Of a picture, in pixels."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table, the first ones."""
    text: str = ""
    """Of a text or a web page, the beginning."""
    is_cut: bool = False
    """There is more of it."""
    is_made: bool = False
    """What a conversation shows of it is made in a container, which can be done here."""


def sight_of(delivery: Delivery) -> FileSight:
    """What can be seen of a delivered file now."""
    try:
        copy = get_services().deliveries.copy_of(delivery)
        sight = _look(copy, _called(delivery.name), delivery.size_bytes)
    except (NotFound, OSError):  # it was removed meanwhile
        return FileSight()
    services = get_services()
    made = {
        "pdf": services.pdf_pages.is_there,
        "book": services.sheets.is_there,
        "page": services.page_pictures.is_there,
    }
    return replace(sight, is_made=made.get(sight.sort, False))


def _called(name: str) -> Sort:
    """What its name says it is, of those that only the name tells apart."""
    sorts: tuple[tuple[Sort, tuple[str, ...]], ...] = (("table", _TABLES), ("page", _PAGES), ("book", _BOOKS))
    return next((sort for sort, ends in sorts if name.lower().endswith(ends)), "none")


@lru_cache(maxsize=512)
def _look(copy: Path, called: Sort, size_bytes: int) -> FileSight:
    """A copy never changes."""
    with copy.open("rb") as file:
        head = file.read(HEAD_BYTES)
    content = content_of(head)
    if content in PICTURES:
        width, height = size_of_image(content, head) or (0, 0)
        return FileSight() if refuse_picture(content, head, size_bytes) else FileSight("picture", width, height)
    if content in PLAYED:
        return FileSight("video" if PLAYED[content].startswith("video/") else "audio")
    if content == "pdf":
        return FileSight("pdf")
    if content == "zip" and called == "book":
        return FileSight("book")
    text = read_text(head[:TEXT_BYTES]) if content in ("", "page") and head else None
    if text is None:
        return FileSight()
    is_cut = size_bytes > TEXT_BYTES
    if called == "page":
        return FileSight("page", text=text, is_cut=is_cut)
    rows = read_rows(text, is_cut=is_cut) if called == "table" else ()
    if rows:
        return FileSight("table", rows=rows[:MOST_ROWS], is_cut=is_cut or len(rows) > MOST_ROWS)
    return FileSight("text", text=text, is_cut=is_cut)


def read_rows(text: str, *, is_cut: bool) -> tuple[tuple[str, ...], ...]:
    """The rows of a table that is written with commas, semicolons or tabs, at most one more than are shown; without the
    last one where the text was cut. Nothing for what is none."""
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    rows: list[tuple[str, ...]] = []
    try:
        for row in csv.reader(text.splitlines(), delimiter=mark):
            if row:
                rows.append(tuple(cell[:MOST_CELL_CHARS] for cell in row[:MOST_COLUMNS]))
            if len(rows) > MOST_ROWS:
                break
    except csv.Error:
        return ()
    if is_cut and len(rows) <= MOST_ROWS:
        rows = rows[:-1]
    width = max(map(len, rows), default=0)
    return tuple(row + ("",) * (width - len(row)) for row in rows)
