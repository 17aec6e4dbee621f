"""Files from the internet that agents asked for: the questions under the ids of their approvals, and what became of
them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.api.approvals import decided
from dashboard.auth import asker
from dashboard.house import services
from dashboard.times import with_iso_times
from orchestrator.capabilities.downloads.messages import as_json
from orchestrator.capabilities.downloads.records import Asset, AssetStatus
from orchestrator.core.errors import BadInput, Conflict, NotFound

api = Blueprint("assets", __name__)

_ALIKE = {"pending": AssetStatus.ASKED}
"""What the same is called among the approvals."""


@api.get("/api/assets")
def every() -> Any:
    """The newest assets, of one status where given."""
    who, wanted = asker(), request.args.get("status", "")
    if wanted and wanted not in (*AssetStatus, *_ALIKE):
        raise BadInput(f"status: choose one of {', '.join(AssetStatus)}.")
    found = services().assets.list_downloads(
        status=_ALIKE.get(wanted) or AssetStatus(wanted) if wanted else None,
        user=None if who.is_operator else who.user.id,
        limit=bodies.limit_arg(default=200, most=500),
    )
    return {"assets": [_shown(asset) for asset in found]}


@api.post("/api/assets/<asset>")
def decide(asset: str) -> Any:
    """Approve or deny, once."""
    found = _visible(asset)
    try:
        decided(found.id)
    except NotFound:
        raise Conflict("Nobody was asked: this agent may fetch from that host without a question.") from None
    return _shown(services().assets.get_download(found.id))


def _visible(asset: str) -> Asset:
    """The asset, when it is the asker's to see; raises NotFound."""
    who, found = asker(), services().assets.get_download(asset)
    if not who.is_operator and found.cubicle.user != who.user.id:
        raise NotFound("There is no asset with this id. './hermit approvals' shows what is waiting.")
    return found


def _shown(asset: Asset) -> dict[str, Any]:
    return with_iso_times(as_json(asset))
