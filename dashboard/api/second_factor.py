"""One's own second factor: set up, confirmed, turned off, with recovery codes that are shown once; and taken away by an
operator from somebody who has lost theirs.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from orchestrator.agents import totp
from orchestrator.core.errors import Conflict

api = Blueprint("second_factor", __name__)

ISSUER = "HermitShell"


@api.post("/api/me/totp")
def begin() -> Any:
    """A secret for an app; it counts once a code of it was given."""
    who, services = require_asker().user, get_services()
    body = bodies.json_body("current") if request.content_length else {}
    if not services.users.has_password(who.id):
        raise Conflict("Set a password first: the code is asked for beside it.")
    services.users.check_password(who.id, bodies.text_field({"current": "", **body}, "current"))
    secret = services.second_factors.begin(who.id)
    return {"secret": secret, "uri": totp.make_uri(secret, account=who.name, issuer=ISSUER)}, 201


@api.put("/api/me/totp")
def confirm() -> Any:
    """It counts from now on."""
    return {"recovery_codes": get_services().second_factors.confirm(require_asker().user.id, _code())}


@api.delete("/api/me/totp")
def turn_off() -> Any:
    """The password alone counts again."""
    get_services().second_factors.turn_off(require_asker().user.id, _code())
    return "", 204


@api.post("/api/me/recovery-codes")
def renew_recovery_codes() -> Any:
    """Other recovery codes."""
    return {"recovery_codes": get_services().second_factors.renew_recovery_codes(require_asker().user.id, _code())}, 201


@api.delete("/api/users/<id:user>/totp")
@operator_only
def reset(user: int) -> Any:
    """Somebody who has lost theirs logs in by password alone."""
    services = get_services()
    services.second_factors.reset(services.users.get(user).id, by=require_asker().user.name)
    return "", 204


def _code() -> str:
    return bodies.text_field(bodies.json_body("code"), "code")
