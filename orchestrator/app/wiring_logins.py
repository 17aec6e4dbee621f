"""The part of the composition root for logins by a provider."""

from __future__ import annotations

from orchestrator.agents.oidc.logins import OidcLogins
from orchestrator.agents.oidc.provider import OidcProvider
from orchestrator.app.wiring import AppContext
from orchestrator.core.oidc_settings import SECRET


def build_oidc(context: AppContext) -> OidcLogins:
    """Who gets in by the provider of the settings; without one, nobody."""
    settings = context.settings
    provider = OidcProvider(settings.oidc, settings.secrets.get(SECRET), context.parts.internet)
    return OidcLogins(
        context.store,
        context.users,
        settings.oidc,
        provider,
        key=context.home.link_key,
        origin=settings.link_url,
    )
