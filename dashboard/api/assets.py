"""Files from the internet that agents asked for: the questions under the ids of their approvals, and what became of
them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.api.approvals import decide_from_request
from dashboard.auth import may_see, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.downloads.messages import as_json
from orchestrator.capabilities.downloads.records import Asset, AssetStatus
from orchestrator.core.errors import BadInput, Conflict, NotFound

api = Blueprint("assets", __name__)

_ALIKE = {"pending": AssetStatus.ASKED}
"""What the same is called among the approvals."""


@api.get("/api/assets")
def list_downloads() -> Any:
    """The newest downloads, of one status where given."""
    who, wanted = require_asker(), request.args.get("status", "")
    if wanted and wanted not in (*AssetStatus, *_ALIKE):
        raise BadInput(f"status: choose one of {', '.join(AssetStatus)}.")
    found = get_services().downloads.list_downloads(
        status=_ALIKE.get(wanted) or AssetStatus(wanted) if wanted else None,
        user=None if who.is_operator else who.user.id,
        limit=bodies.limit_arg(default=200, most=500),
    )
    return {"assets": [_download_json(asset) for asset in found]}


@api.post("/api/assets/<asset>")
def decide_download(asset: str) -> Any:
    """Approve or deny, once."""
    found = _find_visible(asset)
    try:
        decide_from_request(found.id)
    except NotFound:
        raise Conflict("Nobody was asked: this agent may fetch from that host without a question.") from None
    return _download_json(get_services().downloads.get_download(found.id))


def _find_visible(asset: str) -> Asset:
    """The download, when it is the asker's to see; raises NotFound."""
    found = get_services().downloads.get_download(asset)
    if not may_see(found.cubicle):
        raise NotFound("There is no asset with this id. './hermit approvals' shows what is waiting.")
    return found


def _download_json(asset: Asset) -> dict[str, Any]:
    return with_iso_times(as_json(asset))
