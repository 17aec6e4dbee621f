"""What models cost: the table in force, and the operator's own rows over it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.llm import price_table as prices

api = Blueprint("prices", __name__)


@api.get("/api/prices")
@operator_only
def list_prices() -> Any:
    """Every price, one's own first, and the models that have none."""
    body = prices.as_json(get_services().prices)
    return {**body, "unknown": [with_iso_times(model) for model in body["unknown"]]}


@api.put("/api/prices/<provider>/<path:model>")
@operator_only
def change_price(provider: str, model: str) -> Any:
    """A price of one's own; it counts from the next call."""
    who, given = require_asker(), bodies.json_body("in", "out", "cached", "written")
    row = get_services().prices.set_price(provider, model, given, by=f"{who.user.name} ({who.surface})")
    return prices.row_json(row, is_own=True)


@api.delete("/api/prices/<provider>/<path:model>")
@operator_only
def remove_price(provider: str, model: str) -> Any:
    """A price of one's own goes; the table's own counts again, where it has one."""
    who = require_asker()
    get_services().prices.remove_price(provider, model, by=f"{who.user.name} ({who.surface})")
    return "", 204
