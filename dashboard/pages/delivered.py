"""Files that an agent delivered, to be seen: each on a page of its own or beside the conversation, and what a page
needs for that: the picture, a piece of what is played, the pages of a PDF, the sheets of a spreadsheet, a web page in a
frame of the preview origin. Downloads are the API's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, render_template, request

from dashboard.apps import dashboard_origin
from dashboard.auth import login_digest, own_cubicle, require_asker
from dashboard.books import view_beginning, view_book
from dashboard.headers import HELD, allow_frame
from dashboard.languages import size
from dashboard.pages.frame import agent_frame
from dashboard.pages.glimpse import held_picture
from dashboard.ranges import ByteRange, parse_range
from dashboard.services import get_services
from dashboard.shapes import delivery_json
from dashboard.sights import PLAYED, FileSight, sight_of
from dashboard.transfers import get_transfers
from orchestrator.apps.previews.csp import SANDBOX
from orchestrator.apps.thumbnails.app_bundle import HEIGHT, WIDTH
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import NotFound, OrchestratorError, TooLarge, TooMany, Unavailable
from orchestrator.core.models import Delivery
from orchestrator.files.magic import content_of

pages = Blueprint("delivered", __name__)

DRAWING_S = 10.0
"""How long a browser waits for a PDF's pages before it is told that they are still being drawn."""
_PICTURE_BYTES = 20 << 20
_MOST_BYTES = 20_000_000
_CHUNK = 1 << 18


GLANCE_S = 0.5
"""The same for what a conversation shows of a file: a browser has few connections, and asks again."""
GLANCE_ROWS = 6


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A delivered file on a page that shows it."""

    delivery: Delivery
    sight: FileSight
    size: str
    url: str
    """Its download."""
    whose: str
    """What a URL needs to say whose it is; empty for the asker's own."""
    frame: str = ""
    """Where a web page is shown in a frame; empty for what is none."""
    why_no_frame: str = ""
    sandbox: str = SANDBOX
    turn: int | None = None
    """The message that it came of, while there is one."""

    @property
    def path(self) -> str:
        """Its page."""
        return f"/agents/{self.delivery.cubicle.agent}/delivered/{self.delivery.id}"


def shown_file(delivery: Delivery) -> ShownFile:
    """The file, as the asker may see it, who was let in before; the page that is being made may hold it in a frame
    where it is a web page."""
    owner, sight = delivery.cubicle.user, sight_of(delivery)
    frame, why_not = _hold_page(delivery) if sight.sort == "page" else ("", "")
    return ShownFile(
        delivery,
        sight,
        size(format_size(delivery.size_bytes)),
        delivery_json(delivery)["url"] or "",
        "" if owner == require_asker().user.id else f"?user={owner}",
        frame,
        why_not,
        turn=_find_turn(delivery),
    )


def _find_turn(delivery: Delivery) -> int | None:
    try:
        gone = delivery.turn is None or get_services().turns.get(delivery.turn).was_deleted
    except NotFound:  # it was old enough to go
        gone = True
    return None if gone else delivery.turn


def _hold_page(delivery: Delivery) -> tuple[str, str]:
    """Where the preview origin has the web page, or why it hasn't."""
    try:
        url = get_services().previews.delivered_url(
            delivery.cubicle, delivery.id, dashboard=dashboard_origin(), login=login_digest()
        )
    except Unavailable as error:
        return "", error.message
    allow_frame(url)
    return url, ""


def find_file(name: str, delivery: int) -> Delivery:
    """A delivery of the asker's, or with ``?user=ID`` one that an operator looks at; raises NotFound."""
    key, found = own_cubicle(name), get_services().deliveries.get_delivery(delivery)
    if found.cubicle != key:
        raise NotFound(f"There is no delivery {delivery}.")
    return found


@pages.get("/agents/<name>/delivered/<id:delivery>")
def one(name: str, delivery: int) -> str:
    """One file."""
    return render_template("delivered.html", **agent_frame(name, ""), shown=shown_file(find_file(name, delivery)))


@pages.get("/agents/<name>/delivered/<id:delivery>/content")
def content(name: str, delivery: int) -> Response:
    """A picture, or what is played, as the type that its bytes tell; nothing of any other kind."""
    found = find_file(name, delivery)
    copy = get_services().deliveries.copy_of(found)
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        with copy.open("rb") as file:
            kind = PLAYED.get(content_of(file.read(1024)))
        if kind is not None:
            return _play(copy, kind, found.size_bytes)
        if found.size_bytes > _PICTURE_BYTES:
            raise NotFound("There is no picture to show here.")
        return held_picture(copy.read_bytes())
    finally:
        end()


@pages.get("/parts/delivered/<name>/<id:delivery>/pages")
def drawn_pages(name: str, delivery: int) -> str:
    """A PDF's pages, or that they are being drawn."""
    found, services = find_file(name, delivery), get_services()
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        if found.size_bytes > services.pdf_pages.most_bytes:
            raise TooLarge("This PDF is too large to preview. Download it.")
        body = services.deliveries.copy_of(found).read_bytes()
        drawn = services.pdf_pages.draw_content(found.cubicle, found.sha256, body, wait_s=DRAWING_S)
        agent = services.agents.get(name)
        return render_template(
            "parts/pages.html", agent=agent, drawn=drawn, trouble="", at=f"/agents/{name}/delivered/{delivery}/page"
        )
    except NotFound:
        raise
    except OrchestratorError as error:
        return render_template("parts/pages.html", drawn=None, trouble=error.message)
    finally:
        end()


@pages.get("/parts/delivered/<name>/<id:delivery>/sheets")
def sheets(name: str, delivery: int) -> str:
    """A spreadsheet's sheets, or that they are being read."""
    found, services = find_file(name, delivery), get_services()
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        book = services.sheets.read_content(found.cubicle, found.sha256, _read_copy(found), wait_s=DRAWING_S)
        return render_template("parts/sheets.html", sheets=view_book(book) if book else [], book=f"d{delivery}")
    except NotFound:
        raise
    except OrchestratorError as error:
        return render_template("parts/sheets.html", sheets=[], trouble=error.message)
    finally:
        end()


@pages.get("/parts/delivered/<name>/<id:delivery>/glance")
def glance(name: str, delivery: int) -> str:
    """What a conversation shows of a file that has to be drawn or read first; nothing of one that can't be."""
    found = find_file(name, delivery)
    end = get_transfers().begin_transfer(require_asker().user.id)
    try:
        sort = sight_of(found).sort
        told = _glance_at_book(found) if sort == "book" else _glance_at_picture(found, sort)
        return render_template("parts/glance.html", shown=found, sort=sort, is_coming=told is None, **(told or {}))
    except (TooMany, Unavailable):
        return render_template("parts/glance.html", shown=found, sort="none", is_coming=True)
    except OrchestratorError:
        return render_template("parts/glance.html", shown=found, sort="none", is_coming=False)
    finally:
        end()


@pages.get("/agents/<name>/delivered/<id:delivery>/glance")
def glance_picture(name: str, delivery: int) -> Response:
    """The picture of a PDF's first page or of a web page, where one was made lately."""
    found, services = find_file(name, delivery), get_services()
    if services.pdf_pages.find_cover(found.cubicle, found.sha256) is not None:
        body = services.pdf_pages.get_cover(found.cubicle, found.sha256)
    elif path := services.page_pictures.find(found.cubicle, found.sha256):
        body = path.read_bytes()
    else:
        raise NotFound("There is no picture of this file.")
    response = Response(body, content_type="image/png")
    response.headers["Content-Security-Policy"] = HELD
    return response


def _glance_at_book(found: Delivery) -> dict[str, Any] | None:
    book = get_services().sheets.read_content(found.cubicle, found.sha256, _read_copy(found), wait_s=GLANCE_S)
    if book is None:
        return None
    return {"sheet": view_beginning(book, GLANCE_ROWS), "names": [sheet.name for sheet in view_book(book)]}


def _glance_at_picture(found: Delivery, sort: str) -> dict[str, Any] | None:
    services = get_services()
    body = _read_copy(found)
    if sort == "pdf":
        drawn = services.pdf_pages.draw_cover(found.cubicle, found.sha256, body, wait_s=GLANCE_S)
        return None if drawn is None else {"size": drawn.sizes[0], "count": drawn.count}
    if sort == "page":
        taken = services.page_pictures.take(found.cubicle, found.sha256, body, wait_s=GLANCE_S)
        return None if taken is None else {"size": (WIDTH, HEIGHT), "count": 0}
    raise NotFound("There is nothing to see of this file.")


def _read_copy(found: Delivery) -> bytes:
    """All of it. Raises TooLarge for one that nobody draws or reads, NotFound."""
    if found.size_bytes > _MOST_BYTES:
        raise TooLarge("This file is too large to preview. Download it.")
    return get_services().deliveries.copy_of(found).read_bytes()


@pages.get("/agents/<name>/delivered/<id:delivery>/page/<digest>/<id:number>")
def drawn_page(name: str, delivery: int, digest: str, number: int) -> Response:
    """A page of a PDF that was drawn lately."""
    body = get_services().pdf_pages.get_page(find_file(name, delivery).cubicle, digest, number)
    response = Response(body, content_type="image/png")
    response.headers["Content-Security-Policy"] = HELD
    return response


def _play(copy: Path, kind: str, size_bytes: int) -> Response:
    """What is played, or the range of it that was asked for."""
    try:
        part = parse_range(request.headers.get("Range", ""), size_bytes)
    except ValueError:
        return _held(Response(status=416), kind, {"Content-Range": f"bytes */{size_bytes}"})
    if part is None:
        whole = ByteRange(0, size_bytes)
        return _held(Response(_read_pieces(copy, whole)), kind, {"Content-Length": str(size_bytes)})
    told = f"bytes {part.start}-{part.start + part.length - 1}/{size_bytes}"
    answer = Response(_read_pieces(copy, part), status=206)
    return _held(answer, kind, {"Content-Range": told, "Content-Length": str(part.length)})


def _held(response: Response, kind: str, more: dict[str, Any]) -> Response:
    response.headers["Content-Type"] = kind
    response.headers["Content-Security-Policy"] = HELD
    response.headers["Accept-Ranges"] = "bytes"
    response.headers.update(more)
    return response


def _read_pieces(copy: Path, part: ByteRange) -> Iterator[bytes]:
    left = part.length
    with copy.open("rb") as file:
        file.seek(part.start)
        while left and (piece := file.read(min(_CHUNK, left))):
            left -= len(piece)
            yield piece
