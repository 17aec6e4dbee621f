"""Where Prometheus reads the install's numbers, with the API token of an operator."""

from __future__ import annotations

from flask import Blueprint, Response

from dashboard.auth import operator_only
from dashboard.services import get_services

metrics = Blueprint("metrics", __name__)

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@metrics.get("/metrics")
@operator_only
def read() -> Response:
    """All numbers, in Prometheus's text format."""
    return Response(get_services().metrics.render_text(), content_type=_TYPE)
