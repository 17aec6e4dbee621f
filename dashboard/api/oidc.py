"""One's own account at the provider: connected, shown, disconnected; and taken away by an operator."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, make_response, request

from dashboard import bodies, cookies, origin
from dashboard.auth import login_digest, operator_only, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.core.errors import Conflict

api = Blueprint("oidc_api", __name__)


@api.get("/api/me/oidc")
def get_account() -> Any:
    """Which provider there is, and the asker's account."""
    logins = get_services().oidc
    account = logins.account_of(require_asker().user.id)
    shown = None
    if account is not None:
        shown = with_iso_times({name: getattr(account, name) for name in ("label", "connected_at", "used_at")})
    provider = {"name": logins.settings.name, "issuer": logins.settings.issuer} if logins.settings.is_on else None
    return {"provider": provider, "account": shown}


@api.post("/api/me/oidc")
def begin() -> Any:
    """Where the browser goes to connect an account; the password is asked for where there is one."""
    who, services = require_asker(), get_services()
    body = bodies.json_body("current") if request.content_length else {}
    if not who.session:
        raise Conflict("An API token has no browser to send to the provider. Open the dashboard, then You.")
    if services.oidc.settings.is_on and origin.own_origin(services.settings.public_url) != services.oidc.origin:
        raise Conflict(f"Open the dashboard at {services.oidc.origin} first: the provider sends you back there.")
    services.users.check_password(who.user.id, bodies.text_field({"current": "", **body}, "current"))
    start = services.oidc.begin_connection(who.user.id, login_digest())
    return cookies.set_oidc_flow(make_response({"url": start.url}, 201), start.cookie)


@api.delete("/api/me/oidc")
def disconnect() -> Any:
    """The asker's account gets nobody in any more."""
    get_services().oidc.disconnect(require_asker().user.id)
    return "", 204


@api.delete("/api/users/<id:user>/oidc")
@operator_only
def unlink(user: int) -> Any:
    """Somebody's account gets nobody in any more."""
    services = get_services()
    services.oidc.unlink(services.users.get(user).id, by=require_asker().user.name)
    return "", 204
