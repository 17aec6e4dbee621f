"""The way for an agent from another product, for the operator: a zip is looked at, then comes or doesn't."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from dashboard.auth import operator_only, require_asker
from dashboard.imports import plan_json
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.agents.looks import look_of

pages = Blueprint("importing", __name__)


@pages.get("/import")
@operator_only
def importing() -> str:
    """First where the zip goes, then what would come of it."""
    number = request.args.get("look", "")
    plan = None
    if number:
        found = get_services().imports.get_plan(number, require_asker().user)
        plan = plan_json(number, found)
    look = None if plan is None else look_of(plan["name"], plan["persona"]["avatar"])
    return render_template("import.html", **shell_frame(), plan=plan, look=look)
