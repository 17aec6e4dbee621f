"""Proofs: let an agent try the ways out of its cubicle, read what came of it, and fetch it as a page to show others."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from dashboard.auth import own_cubicle, require_asker
from dashboard.exports import TYPES
from dashboard.proofs import FILE_NAME, proof_json, proof_page
from dashboard.services import get_services
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Stage

api = Blueprint("proofs", __name__)


@api.get("/api/agents/<name>/proof")
def get_proof(name: str) -> Any:
    """The one under way, or the last."""
    return proof_json(get_services().proofs.get_latest(own_cubicle(name)))


@api.post("/api/agents/<name>/proof")
def begin_proof(name: str) -> Any:
    """The attempts are made from now on."""
    key = own_cubicle(name)
    return proof_json(get_services().proofs.begin(key, by=require_asker().user.name)), 202


@api.get("/api/agents/<name>/proof/page")
def get_page(name: str) -> Response:
    """The last one as a web page that loads nothing and names nobody."""
    proof = get_services().proofs.get_latest(own_cubicle(name))
    if proof.stage is not Stage.DONE:
        raise NotFound("There is no finished proof. Run one first.")
    response = Response(proof_page(proof), content_type=TYPES["html"])
    response.headers["Content-Disposition"] = f'attachment; filename="{FILE_NAME}"'
    return response
