"""The page on which an agent tries the ways out of its cubicle while the viewer looks on."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.pages.frame import agent_frame, own_key
from dashboard.proofs import list_attempts, proof_words
from dashboard.services import get_services
from orchestrator.core.models import CubicleKey

pages = Blueprint("proof", __name__)

_EARLIER = 6


@pages.get("/agents/<name>/proof")
def proof(name: str) -> str:
    """The whole page."""
    return render_template("proof.html", **agent_frame(name, "cubicle"), **_seen(own_key(name)))


@pages.get("/parts/proof/<name>")
def proof_now(name: str) -> str:
    """How it stands."""
    key = own_key(name)
    return render_template("parts/proof.html", agent=get_services().agents.get(name), **_seen(key))


def _seen(key: CubicleKey) -> dict[str, Any]:
    found = get_services().proofs
    latest, earlier = found.get_latest(key), found.list_proofs(key, limit=_EARLIER)[1:]
    return {"proof": latest, "proof_words": proof_words, "attempts": list_attempts(latest), "earlier": earlier}
