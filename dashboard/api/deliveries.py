"""Deliveries: what left an agent's ``out/``, each with its download; and the signed links for those who hold them.

What is sent is the private copy, as bytes of no type, under a name that hides nothing. A link opens one file for some
days without a login; every other link is refused with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response, request

from dashboard import bodies
from dashboard.auth import mark_public, own_cubicle, require_asker
from dashboard.headers import HELD
from dashboard.services import get_services
from dashboard.shapes import delivery_json
from dashboard.transfers import get_transfers
from orchestrator.capabilities.delivery.messages import NO_LINK
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Delivery
from orchestrator.files.mime_types import UNKNOWN

api = Blueprint("deliveries", __name__)

_CHUNK = 1 << 18
_BY_LINK = 0
"""Whoever comes by a link counts as one person, whom nobody else is."""


@api.get("/api/agents/<name>/deliveries")
def list_deliveries(name: str) -> Any:
    """The newest deliveries, newest first; with ``?turn=`` those of one turn, in order."""
    key, services = own_cubicle(name), get_services()
    limit, turn = bodies.limit_arg(default=50, most=200), bodies.whole_arg("turn")
    is_settling = services.is_settling(key)
    if turn is None:
        found = services.deliveries.list_deliveries(key, limit=limit + 1, before=bodies.whole_arg("before"))
    else:
        found = [delivery for delivery in services.deliveries.of_turns([turn]) if delivery.cubicle == key]
    page = found[:limit]
    return {
        "deliveries": [delivery_json(delivery) for delivery in page],
        "next": page[-1].id if len(found) > limit else None,
        "settling": is_settling,
    }


@api.get("/api/agents/<name>/deliveries/<id:delivery>/file")
def download_delivery(name: str, delivery: int) -> Response:
    """One delivered file."""
    key = own_cubicle(name)
    found = get_services().deliveries.get_delivery(delivery)
    if found.cubicle != key:
        raise NotFound(f"There is no delivery {delivery}.")
    return _send_copy(found, get_services().deliveries.copy_of(found), require_asker().user.id)


@api.get("/d/<token>")
@mark_public
def by_link(token: str) -> Response:
    """One delivered file, for whoever holds its link."""
    deliveries = get_services().deliveries
    found = deliveries.of_link(token)
    if not get_services().access.is_open(found.cubicle):
        raise NotFound(NO_LINK)
    try:
        copy = deliveries.copy_of(found)
    except NotFound as error:
        raise NotFound(NO_LINK) from error
    return _send_copy(found, copy, _BY_LINK)


def _send_copy(delivery: Delivery, copy: Path, person: int) -> Response:
    is_asked_about = request.method == "HEAD"
    response = Response(iter(()) if is_asked_about else _read_pieces(copy), content_type=UNKNOWN)
    if not is_asked_about:
        response.call_on_close(get_transfers().begin_transfer(person))
    response.content_length = delivery.size_bytes
    response.headers["Content-Disposition"] = _content_disposition(delivery.name)
    response.headers["Content-Security-Policy"] = HELD
    response.headers["Accept-Ranges"] = "none"
    return response


def _read_pieces(copy: Path) -> Iterator[bytes]:
    with copy.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _content_disposition(name: str) -> str:
    """RFC 6266: a plain name for old clients, the whole one for all others."""
    plain = "".join(char if " " <= char <= "~" and char not in '%\\"' else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
