"""Oneself: every person may look at their own entry, say which clock they live by, set their password, and see and end
where they are logged in.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, make_response

from dashboard import bodies, cookies, origin, qr
from dashboard.auth import Asker, require_asker
from dashboard.services import get_services
from dashboard.shapes import session_facts, user_json
from dashboard.times import with_iso_times
from orchestrator.agents.public_url import get_public_url, is_local
from orchestrator.agents.users import LINK_S
from orchestrator.core.errors import BadInput, Conflict, Forbidden

api = Blueprint("me", __name__)


@api.get("/api/me")
def get_me() -> Any:
    """Who asks."""
    return user_json(get_services(), require_asker().user)


@api.patch("/api/me")
def change_me() -> Any:
    """Another time zone or language. With ``if_unknown`` a zone only where none was ever said: a browser's guess
    overrides nobody."""
    who, body = require_asker().user, bodies.json_body("time_zone", "language", "if_unknown")
    fields: dict[str, Any] = {name: bodies.text_field(body, name) for name in ("time_zone", "language") if name in body}
    if not fields:
        raise BadInput("time_zone: write an IANA name such as Europe/Vienna, or send a language.")
    if bodies.flag_field(body, "if_unknown") and who.time_zone_known:
        fields.pop("time_zone", None)
    return user_json(get_services(), get_services().users.update_user(who.id, fields) if fields else who)


@api.put("/api/me/login")
def set_login() -> Any:
    """A password to log in with, for an operator a name too; a time zone, if given. Every session ends, and this
    browser gets a new one."""
    who, body, users = (
        require_asker(),
        bodies.json_body("name", "password", "current", "time_zone"),
        get_services().users,
    )
    password = bodies.text_field(body, "password")
    current = bodies.text_field(body, "current") if "current" in body else ""
    name = bodies.text_field(body, "name") if "name" in body else who.user.name
    _check_changeable(who, name)
    if "time_zone" in body:
        users.update_user(who.user.id, {"time_zone": bodies.text_field(body, "time_zone")})
    users.change_password(who.user.id, current, password)
    if name != who.user.name:
        users.update_user(who.user.id, {"name": name})
    if not who.session:
        return user_json(get_services(), users.get(who.user.id))
    session = users.new_session(who.user.id, "by a new password", **cookies.session_origin())
    return cookies.set_cookie(make_response(user_json(get_services(), users.get(who.user.id))), session)


@api.post("/api/me/login-link")
def make_login_link() -> Any:
    """A one-time link into another device of the asker's own, for its camera."""
    services, user = get_services(), require_asker().user
    address = get_public_url(
        services.settings, services.install_settings, came_by=origin.own_origin(services.settings.public_url)
    )
    url = f"{address}/login/{services.users.make_link(user.id)}"
    return {"url": url, "valid_for_s": LINK_S, "is_local": is_local(address), "qr": qr.of_login_link(url)}, 201


@api.get("/api/me/sessions")
def list_sessions() -> Any:
    """Where one is logged in."""
    who = require_asker()
    found = get_services().users.list_sessions(who.user.id)
    return {"sessions": [with_iso_times(session_facts(session, who.session)) for session in found]}


@api.delete("/api/me/sessions/<session>")
def end_session(session: str) -> Any:
    """One browser is logged out."""
    get_services().users.end_session(require_asker().user.id, session)
    return "", 204


@api.delete("/api/me/sessions")
def end_sessions() -> Any:
    """Logged out everywhere, here too."""
    get_services().users.log_out_everywhere(require_asker().user.id)
    return "", 204


def _check_changeable(who: Asker, name: str) -> None:
    """What the settings say comes first: it would be as before at the next start."""
    settings, is_first = get_services().settings, who.user.id == get_services().users.get_operator().id
    if name != who.user.name and not who.is_operator:
        raise Forbidden("Only an admin can change a name.")
    if is_first and settings.secrets.get("HERMIT_ADMIN_PASSWORD"):
        raise Conflict("The password is set by HERMIT_ADMIN_PASSWORD, which comes first. Change it there.")
    if is_first and settings.admin_user and name != who.user.name:
        raise Conflict("The name is set by HERMIT_ADMIN_USER, which comes first. Change it there.")
