"""The providers of models, for the operator: their keys go in, are replaced and forgotten, and never come out; each can
be tried by a tiny real call.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from orchestrator.core.errors import BadInput, UpstreamFailed
from orchestrator.llm.provider_check import Trial
from orchestrator.llm.providers import ProviderState

api = Blueprint("providers", __name__)


@api.get("/api/providers")
@operator_only
def list_providers() -> Any:
    """All that we know, set up or not."""
    return {"providers": [provider_json(state) for state in get_services().providers.list_providers()]}


@api.get("/api/providers/<provider>")
@operator_only
def get_provider(provider: str) -> Any:
    """How one is set up."""
    return provider_json(get_services().providers.get_state(provider))


@api.put("/api/providers/<provider>")
@operator_only
def set_key(provider: str) -> Any:
    """A key for it; it holds from the next call on."""
    body = bodies.json_body("key", "base_url", "model")
    model = body.get("model")
    state = get_services().providers.set_key(
        provider, _text_field(body, "key"), _text_field(body, "base_url"), by=current_actor()
    )
    if model is not None:
        get_services().providers.choose_model(provider, bodies.text_field(body, "model"), by=current_actor())
        state = get_services().providers.get_state(provider)
    return provider_json(state)


@api.patch("/api/providers/<provider>")
@operator_only
def change_model(provider: str) -> Any:
    """Another model of it for agents that name none."""
    get_services().providers.choose_model(
        provider, bodies.text_field(bodies.json_body("model"), "model"), by=current_actor()
    )
    return provider_json(get_services().providers.get_state(provider))


@api.delete("/api/providers/<provider>")
@operator_only
def remove_key(provider: str) -> Any:
    """The key that was given here is forgotten."""
    get_services().providers.remove_key(provider, by=current_actor())
    return "", 204


@api.get("/api/providers/<provider>/models")
@operator_only
def list_models(provider: str) -> Any:
    """What the provider says that it offers; nothing and why, when it says nothing."""
    try:
        return {"models": list(get_services().provider_check.list_models(provider)), "trouble": None}
    except UpstreamFailed as error:
        return {"models": [], "trouble": error.message}


@api.post("/api/providers/<provider>/test")
@operator_only
def test_provider(provider: str) -> Any:
    """A tiny real call: as it is set up, or with a key that is not kept for that."""
    body, provider_check, user = (
        bodies.json_body("key", "base_url", "model"),
        get_services().provider_check,
        require_asker().user.id,
    )
    key, base_url, model = (_text_field(body, field) for field in ("key", "base_url", "model"))
    if len(model) > 200:
        raise BadInput("model: write its name as the provider does.")
    if "key" in body or "base_url" in body:
        return trial_json(provider_check.check_new(provider, key, base_url, model, user=user))
    return trial_json(provider_check.check_known(provider, model, user=user))


def provider_json(state: ProviderState) -> dict[str, Any]:
    """A provider as the API shows it; never its key."""
    return {**asdict(state), "is_usable": state.is_usable}


def trial_json(trial: Trial) -> dict[str, Any]:
    """How a try went."""
    return {**asdict(trial), "models": list(trial.models)}


def current_actor() -> str:
    """Who does this, for the audit log."""
    who = require_asker()
    return f"{who.user.name} ({who.surface})"


def _text_field(body: dict[str, Any], field: str) -> str:
    return bodies.text_field(body, field) if field in body else ""
