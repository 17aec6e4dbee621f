"""Examines the provider by which people log in too: it answers, as who it should be, and sends people back
encrypted.
"""

from __future__ import annotations

from orchestrator.agents.oidc.logins import PATH
from orchestrator.agents.oidc.provider import OidcProvider
from orchestrator.core.config import Settings
from orchestrator.core.errors import Unavailable
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.oidc_settings import SECRET, may_be_plain
from orchestrator.core.text import one_line
from orchestrator.web.limits import Internet

LOGIN = "login"


def examine_oidc(settings: Settings, internet: Internet) -> list[Finding]:
    """Nothing where there is no provider."""
    oidc = settings.oidc
    if not oidc.is_on:
        return []
    name, back = one_line(oidc.name, 64), settings.link_url + PATH
    try:
        OidcProvider(oidc, settings.secrets.get(SECRET), internet).examine()
    except Unavailable as error:
        fix = f"Check HERMIT_OIDC_ISSUER, and that this machine reaches {one_line(oidc.issuer, 200)}."
        return [fail(LOGIN, error.message, fix)]
    found = [ok(LOGIN, f"{name} answers, as {one_line(oidc.issuer, 200)}. It has to know the address {back}.")]
    if not settings.link_url.startswith("https:") and not may_be_plain(settings.link_url):
        text = f"{name} sends people back to {settings.link_url}, without encryption."
        found.append(warn(LOGIN, text, "Get an https address, and set HERMIT_PUBLIC_URL to it."))
    if oidc.makes_members and not oidc.group:
        text = f"Whoever {name} lets in becomes a member here."
        fix = "That is right if only your own people have accounts there. Otherwise set HERMIT_OIDC_GROUP."
        found.append(warn(LOGIN, text, fix))
    return found
