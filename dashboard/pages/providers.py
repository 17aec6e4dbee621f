"""The providers of models as people choose among them: in Settings and on the first-run page. Of a key only whether
there is one can be seen, and who gave it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.languages import say
from dashboard.services import get_services
from orchestrator.llm.price_table import price_json
from orchestrator.llm.providers import ProviderState

pages = Blueprint("providers_seen", __name__)

REHEARSAL = "rehearsal"
_OWN_SERVER = "custom"
_KEYS_ARE_MADE_AT = {
    "openrouter": "openrouter.ai/keys",
    "openai": "platform.openai.com/api-keys",
    "anthropic": "console.anthropic.com/settings/keys",
    "gemini": "aistudio.google.com/apikey",
    "groq": "console.groq.com/keys",
    "mistral": "console.mistral.ai/api-keys",
    "deepseek": "platform.deepseek.com/api_keys",
    "xai": "console.x.ai",
}


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model to choose before there is a key."""

    name: str
    reading: str
    """What a million tokens of the prompt cost; empty where nobody has said it, and then so is ``writing``."""
    writing: str
    context: str
    """How much it holds at once, or empty."""


@dataclass(frozen=True, slots=True)
class ProviderView:
    """A provider in the list, and among the choices."""

    state: ProviderState
    models: tuple[ModelView, ...]
    """Those that we suggest, the recommended one first."""
    is_missing: bool
    """It would be a program on this machine, and is not there."""

    @property
    def wants(self) -> str:
        """What has to be typed to use it: a ``key``, the ``server`` with its address, or nothing."""
        if self.state.origin == "settings" or not self.state.setting:
            return ""
        return "server" if self.state.name == _OWN_SERVER else "key"

    @property
    def models_json(self) -> str:
        """The suggested models, for the page's script."""
        return json.dumps([asdict(model) for model in self.models])

    @property
    def where(self) -> str:
        """Where its keys are made, an address without ``https://``."""
        return _KEYS_ARE_MADE_AT.get(self.state.name, "")

    @property
    def words(self) -> str:
        """How it is set up."""
        state = self.state
        if state.name == REHEARSAL:
            return say("free, to try everything out")
        if state.origin == "built-in":
            return say("not running on this machine") if self.is_missing else say("needs no key")
        if state.origin == "settings":
            if state.setting:
                return say("set in the environment (%(setting)s)", setting=state.setting)
            return say("set in the environment")
        return say("at %(address)s", address=state.base_url) if state.base_url else say("key saved here")


def views() -> list[ProviderView]:
    """All of them."""
    known = get_services().providers
    return [ProviderView(state, list_models(state), known.is_missing(state.name)) for state in known.list_providers()]


def list_models(state: ProviderState) -> tuple[ModelView, ...]:
    """The models to choose among before there is a key, with their prices."""
    prices, views = get_services().prices, []
    for model in state.suggestions:
        price = prices.get_price(state.name, model.name)
        usd = price_json(price)
        reading, writing = (_dollars(usd["in"]), _dollars(usd["out"])) if price.known else ("", "")
        views.append(ModelView(model.name, reading, writing, _tokens(model.context_tokens)))
    return tuple(views)


def _dollars(usd: float) -> str:
    return f"${usd:g}" if usd == int(usd) or round(usd, 2) != usd else f"${usd:.2f}"


def _tokens(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / 1e6:.3g}M" if count >= 1_000_000 else f"{count // 1000}k"


@pages.get("/parts/providers")
@operator_only
def rows() -> str:
    """Those that can be asked."""
    return render_template("parts/providers.html", providers=views())
