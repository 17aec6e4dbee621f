"""The providers of models as people choose among them: in Settings and on the first-run page. Of a key only whether
there is one can be seen, and who gave it.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.house import services
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
class ProviderView:
    """A provider in the list, and among the choices."""

    state: ProviderState
    is_missing: bool
    """It would be a program on this machine, and is not there."""

    @property
    def wants(self) -> str:
        """What has to be typed to use it: a ``key``, the ``server`` with its address, or nothing."""
        if self.state.origin == "settings" or not self.state.setting:
            return ""
        return "server" if self.state.name == _OWN_SERVER else "key"

    @property
    def where(self) -> str:
        """Where its keys are made."""
        return _KEYS_ARE_MADE_AT.get(self.state.name, "")

    @property
    def words(self) -> str:
        """How it is set up."""
        state = self.state
        if state.name == REHEARSAL:
            return "a script that answers for nothing, to try everything out"
        if state.origin == "built-in":
            return "not found: it does not run here" if self.is_missing else "needs no key"
        if state.origin == "settings":
            return f"set by environment ({state.setting})" if state.setting else "set by environment"
        return f"at {state.base_url}" if state.base_url else "its key was given here"


def views() -> list[ProviderView]:
    """All of them."""
    known = services().providers
    return [ProviderView(state, known.is_missing(state.name)) for state in known.every()]


@pages.get("/parts/providers")
@operator_only
def rows() -> str:
    """Those that can be asked."""
    return render_template("parts/providers.html", providers=views())
