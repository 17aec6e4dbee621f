"""The settings of the install, for the operator: how its parts are, which models it can use, and what they cost. Of a
key only whether it is set can be seen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.house import services
from dashboard.pages.asking import pending
from dashboard.pages.views import agent_views
from orchestrator.prices import words_of

pages = Blueprint("install", __name__)

KEYS = (
    ("OPENROUTER_API_KEY", "OpenRouter"),
    ("OPENAI_API_KEY", "OpenAI"),
    ("ANTHROPIC_API_KEY", "Anthropic"),
    ("GEMINI_API_KEY", "Google Gemini"),
    ("GROQ_API_KEY", "Groq"),
    ("MISTRAL_API_KEY", "Mistral"),
    ("DEEPSEEK_API_KEY", "DeepSeek"),
    ("XAI_API_KEY", "xAI"),
)
"""The settings that hold providers' keys, in the order in which the default provider is looked for."""


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the house, and how it is."""

    name: str
    trouble: str
    """Empty when it works."""


@dataclass(frozen=True, slots=True)
class PriceView:
    """What a model costs."""

    provider: str
    model: str
    words: str


@pages.get("/settings")
@operator_only
def install() -> str:
    """The whole page."""
    house = services()
    models = house.models()
    return render_template(
        "install.html",
        agents=agent_views(),
        waiting=pending(),
        parts=_parts(),
        providers=models["providers"],
        default=models["default"],
        keys=[(name, label, bool(house.settings.secrets.get(name))) for name, label in KEYS],
        settings=house.settings,
        **_prices(),
    )


@pages.get("/parts/prices")
@operator_only
def prices() -> str:
    """The prices."""
    return render_template("parts/prices.html", **_prices())


def _parts() -> list[PartView]:
    house = services()
    health = house.health()
    said = (("Engine", health.engine), ("Database", health.database), ("Doors of the cubicles", health.doors))
    found = [PartView(name, "" if word == "ok" else word) for name, word in said]
    return [*found, PartView("Web-app previews", house.previews.trouble)]


def _prices() -> dict[str, Any]:
    known = services().prices
    own, table = known.own(), known.table()
    views = [PriceView(row.provider, row.pattern, words_of(row.price)) for row in table.rows]
    return {
        "own": views[: len(own)],
        "ours": views[len(own) :],
        "date": table.date,
        "fallback": words_of(table.fallback),
        "unknown": known.unknown(),
    }
