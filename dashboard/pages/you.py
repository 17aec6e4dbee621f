"""The viewer's own page: who they are here, the clock that they live by, their password and their logins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template
from markupsafe import Markup

from dashboard import qr
from dashboard.api.passkeys import own_site
from dashboard.api.second_factor import ISSUER
from dashboard.auth import require_asker
from dashboard.pages.devices import phone_parts, push_parts
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from dashboard.shapes import session_facts
from orchestrator.agents import totp
from orchestrator.core.time_zones import list_time_zones

pages = Blueprint("you", __name__)


@dataclass(frozen=True, slots=True)
class FactorView:
    """A second factor, as its person sees it."""

    is_on: bool
    secret: str
    """What their app shall take, as long as it doesn't count."""
    picture: Markup
    """The same as a QR code."""
    codes_left: int

    @property
    def spaced(self) -> str:
        """The secret in pieces that can be typed."""
        return " ".join(self.secret[at : at + 4] for at in range(0, len(self.secret), 4))


@pages.get("/you")
def you() -> str:
    """The whole page."""
    services, user = get_services(), require_asker().user
    given = services.settings.secrets.get("HERMIT_ADMIN_PASSWORD")
    return render_template(
        "you.html",
        **shell_frame(),
        zones=zones(),
        sessions=_sessions(),
        budget=services.budget.get_person_standing(user.id),
        has_password=services.users.has_password(user.id),
        factor=_factor(),
        passkeys=services.passkeys.list_passkeys(user.id),
        page_secrets=services.page_secrets.list_secrets(user.id),
        may_have_passkeys=own_site().may_have_passkeys,
        **_oidc(),
        **push_parts(),
        **phone_parts(),
        password_setting=bool(given) and user.id == services.users.get_operator().id,
    )


@pages.get("/parts/second-factor")
def second_factor() -> str:
    """How the second factor stands."""
    has_password = get_services().users.has_password(require_asker().user.id)
    return render_template("parts/second_factor.html", factor=_factor(), has_password=has_password)


@pages.get("/parts/passkeys")
def passkeys() -> str:
    """The passkeys."""
    return render_template(
        "parts/passkeys.html", passkeys=get_services().passkeys.list_passkeys(require_asker().user.id)
    )


@pages.get("/parts/page-secrets")
def page_secrets() -> str:
    """The secrets for pages."""
    found = get_services().page_secrets.list_secrets(require_asker().user.id)
    return render_template("parts/page_secrets.html", page_secrets=found)


@pages.get("/parts/oidc")
def oidc() -> str:
    """The account at the provider."""
    has_password = get_services().users.has_password(require_asker().user.id)
    return render_template("parts/oidc.html", **_oidc(), has_password=has_password)


@pages.get("/parts/push")
def push() -> str:
    """Where one gets notifications."""
    return render_template("parts/push.html", **push_parts())


@pages.get("/parts/sessions")
def sessions() -> str:
    """Where one is logged in."""
    return render_template("parts/sessions.html", sessions=_sessions())


def _factor() -> FactorView:
    user, factors = require_asker().user, get_services().second_factors
    secret = factors.get_begun(user.id) or ""
    uri = totp.make_uri(secret, account=user.name, issuer=ISSUER)
    return FactorView(
        factors.is_on(user.id),
        secret,
        qr.of_totp(uri) if secret else Markup(""),
        factors.count_recovery_codes(user.id),
    )


def _oidc() -> dict[str, Any]:
    logins = get_services().oidc
    return {"oidc": logins.settings, "oidc_account": logins.account_of(require_asker().user.id)}


def _sessions() -> list[dict[str, Any]]:
    who = require_asker()
    return [session_facts(session, who.session) for session in get_services().users.list_sessions(who.user.id)]


def zones() -> tuple[str, ...]:
    """The clocks that there are to choose from."""
    return tuple(sorted(zone for zone in list_time_zones() if "/" in zone or zone == "UTC"))
