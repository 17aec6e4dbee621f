"""How an agent's day stands, in money and tokens."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard.services import get_services
from dashboard.shapes import budget_json

api = Blueprint("budgets", __name__)


@api.get("/api/agents/<name>/budget")
def get_budget(name: str) -> Any:
    """What is spent, held and left today."""
    return budget_json(get_services().budget.get_standing(name))
