"""One's own secrets for pages: kept, listed without their values, removed."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.browser.page_secret_rows import PageSecret

api = Blueprint("page_secrets", __name__)


@api.get("/api/me/page-secrets")
def list_secrets() -> Any:
    """The asker's."""
    found = get_services().page_secrets.list_secrets(require_asker().user.id)
    return {"secrets": [secret_json(one) for one in found]}


@api.post("/api/me/page-secrets")
def put_secret() -> Any:
    """Keep one, in the place of one of the same name, host and agent."""
    body = bodies.json_body("name", "host", "value", "agent")
    name, host, value = (bodies.text_field(body, field) for field in ("name", "host", "value"))
    agent = bodies.text_field({"agent": "", **body}, "agent") or None
    kept = get_services().page_secrets.put_secret(require_asker().user.id, name, host, value, agent)
    return secret_json(kept), 201


@api.delete("/api/me/page-secrets/<secret>")
def remove(secret: str) -> Any:
    """No agent can use it any more."""
    get_services().page_secrets.remove(require_asker().user.id, secret)
    return "", 204


def secret_json(secret: PageSecret) -> dict[str, Any]:
    """A secret as its person sees it: without its value."""
    shown = {name: getattr(secret, name) for name in ("id", "name", "host", "agent", "created_at", "used_at")}
    return with_iso_times(shown)
