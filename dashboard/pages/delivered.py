"""Files that an agent delivered, to be seen: each on a page of its own or beside the conversation, and what a page
needs for that: the picture, a piece of what is played, the pages of a PDF. Downloads are the API's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, render_template, request

from dashboard.auth import own_cubicle, require_asker
from dashboard.headers import HELD
from dashboard.languages import size
from dashboard.pages.frame import agent_frame
from dashboard.pages.glimpse import held_picture
from dashboard.ranges import ByteRange, parse_range
from dashboard.services import get_services
from dashboard.shapes import delivery_json
from dashboard.sights import PLAYED, FileSight, sight_of
from dashboard.transfers import get_transfers
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import NotFound, OrchestratorError, TooLarge
from orchestrator.core.models import Delivery
from orchestrator.files.magic import content_of

pages = Blueprint("delivered", __name__)

DRAWING_S = 10.0
"""How long a browser waits for a PDF's pages before it is told that they are still being drawn."""
_PICTURE_BYTES = 20 << 20
_CHUNK = 1 << 18


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

    @property
    def path(self) -> str:
        """Its page."""
        return f"/agents/{self.delivery.cubicle.agent}/delivered/{self.delivery.id}"


def shown_file(delivery: Delivery) -> ShownFile:
    """The file, as the asker may see it, who was let in before."""
    owner = delivery.cubicle.user
    return ShownFile(
        delivery,
        sight_of(delivery),
        size(format_size(delivery.size_bytes)),
        delivery_json(delivery)["url"] or "",
        "" if owner == require_asker().user.id else f"?user={owner}",
    )


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
