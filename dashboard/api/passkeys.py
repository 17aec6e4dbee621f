"""One's own passkeys: made, listed, removed; and the login by one."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, make_response

from dashboard import bodies, cookies, origin
from dashboard.auth import mark_public, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.agents.passkey_rows import Passkey
from orchestrator.agents.webauthn import Site
from orchestrator.core.errors import BadInput

api = Blueprint("passkeys", __name__)


def own_site() -> Site:
    """Where the browser is."""
    return Site(origin.own_origin(get_services().settings.public_url))


@api.get("/api/me/passkeys")
def list_passkeys() -> Any:
    """The asker's."""
    return {"passkeys": [passkey_json(one) for one in get_services().passkeys.list_passkeys(require_asker().user.id)]}


@api.post("/api/me/passkeys/options")
def begin_new() -> Any:
    """What the browser is to make a passkey from; the password is asked for where there is one."""
    who, services, body = require_asker().user, get_services(), bodies.json_body("current")
    services.users.check_password(who.id, bodies.text_field({"current": "", **body}, "current"))
    ticket, options = services.passkeys.begin_new(who, own_site())
    return {"ticket": ticket, "options": options}, 201


@api.post("/api/me/passkeys")
def finish_new() -> Any:
    """The passkey that the browser has made."""
    body = bodies.json_body("ticket", "name", "credential")
    ticket, name = bodies.text_field(body, "ticket"), bodies.text_field(body, "name")
    made = get_services().passkeys.finish_new(require_asker().user.id, ticket, name, _credential(body))
    return passkey_json(made), 201


@api.delete("/api/me/passkeys/<passkey>")
def remove(passkey: str) -> Any:
    """Nobody gets in by it any more."""
    get_services().passkeys.remove(require_asker().user.id, passkey)
    return "", 204


@api.post("/api/passkey-login/options")
@mark_public
def begin_login() -> Any:
    """What the browser is to sign."""
    ticket, options = get_services().passkeys.begin_login(own_site())
    return {"ticket": ticket, "options": options}, 201


@api.post("/api/passkey-login")
@mark_public
def finish_login() -> Any:
    """In by what was signed: a session, whose cookie comes with the answer."""
    body, services = bodies.json_body("ticket", "credential"), get_services()
    user = services.passkeys.finish_login(bodies.text_field(body, "ticket"), _credential(body))
    session = services.users.new_session(user, "by a passkey", **cookies.session_origin())
    if earlier := cookies.session_token():
        services.users.log_out(earlier)
    return cookies.set_cookie(make_response({"name": services.users.get(user).name}), session)


def passkey_json(passkey: Passkey) -> dict[str, Any]:
    """A passkey as its person sees it."""
    shown = {name: getattr(passkey, name) for name in ("id", "name", "host", "created_at", "used_at")}
    return with_iso_times(shown)


def _credential(body: dict[str, Any]) -> dict[str, Any]:
    found = body.get("credential")
    if not isinstance(found, dict):
        raise BadInput("credential: send what the browser gave.")
    return found
