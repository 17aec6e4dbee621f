"""The part of the composition root for logins: what is asked for beside a password, and what gets in without one."""

from __future__ import annotations

from typing import TypedDict

from orchestrator.agents.oidc.logins import OidcLogins
from orchestrator.agents.oidc.provider import OidcProvider
from orchestrator.agents.passkeys import Passkeys
from orchestrator.agents.second_factors import SecondFactors
from orchestrator.app.wiring import AppContext
from orchestrator.core.oidc_settings import SECRET


class LoginServices(TypedDict):
    """Their part of what surfaces may call."""

    second_factors: SecondFactors
    passkeys: Passkeys
    oidc: OidcLogins


def build_logins(context: AppContext) -> LoginServices:
    """Each of them; without a provider in the settings, nobody gets in by one."""
    settings = context.settings
    provider = OidcProvider(settings.oidc, settings.secrets.get(SECRET), context.parts.internet)
    oidc = OidcLogins(
        context.store,
        context.users,
        settings.oidc,
        provider,
        key=context.home.link_key,
        origin=settings.link_url,
    )
    return LoginServices(second_factors=SecondFactors(context.store), passkeys=Passkeys(context.store), oidc=oidc)
