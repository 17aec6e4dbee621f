"""The install's own settings, as far as the operator changes them in the dashboard: who answers for agents that name no
provider, where other people find the dashboard, and whether the first-run page is done.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.api.providers import current_actor
from dashboard.auth import operator_only
from dashboard.services import get_services
from orchestrator.agents import public_url as reach
from orchestrator.core.version import VERSION

api = Blueprint("settings_of_the_install", __name__)


@api.get("/api/settings")
@operator_only
def get_settings() -> Any:
    """As they are."""
    return _as_json()


@api.patch("/api/settings")
@operator_only
def change_settings() -> Any:
    """Another default provider, another model of it, another address for links, the first-run page done or open
    again. Address and provider are checked before anything is changed."""
    body = bodies.json_body("default_provider", "default_model", "is_set_up", "address")
    providers, install_settings = get_services().providers, get_services().install_settings
    address = bodies.text_field(body, "address") if "address" in body else None
    provider = bodies.text_field(body, "default_provider") if "default_provider" in body else None
    model = bodies.text_field(body, "default_model") if "default_model" in body else None
    is_set_up = bodies.flag_field(body, "is_set_up")
    if address is not None:
        reach.set_public_url(get_services().settings, install_settings, address, by=current_actor())
    if provider is not None:
        providers.choose_default(provider, by=current_actor())
    if model is not None:
        providers.choose_model(providers.default(), model, by=current_actor())
    if "is_set_up" in body and is_set_up != install_settings.is_set_up:
        (install_settings.finish_set_up if is_set_up else install_settings.begin_set_up)(by=current_actor())
    return _as_json()


def _as_json() -> dict[str, Any]:
    services = get_services()
    newer = services.version_watch.found
    default = services.providers.get_state(services.providers.default())
    return {
        "version": VERSION,
        "new_version": None if newer is None else {"version": newer.version, "url": newer.url},
        "default_provider": default.name,
        "default_model": default.model,
        "is_set_up": services.install_settings.is_set_up,
        "address": reach.get_public_url(services.settings, services.install_settings),
    }
