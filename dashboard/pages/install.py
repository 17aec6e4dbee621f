"""The settings of the install, for the operator: how its parts are, which models it can use and what they cost, and the
ways in. Of a key only whether it is set can be seen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.languages import say, speech
from dashboard.pages import providers
from dashboard.pages.frame import shell_frame
from dashboard.pages.upkeep import upkeep_context
from dashboard.services import get_services
from orchestrator.agents.user_rows import ApiToken
from orchestrator.core.version import VERSION
from orchestrator.languages.numbers import write_dollars
from orchestrator.llm.price_table import words_of
from orchestrator.llm.pricing import Price

pages = Blueprint("install", __name__)


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the install, and how it is."""

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
    services = get_services()
    known = providers.views()
    return render_template(
        "install.html",
        **shell_frame(),
        parts=_parts(),
        providers=known,
        engines=services.search_engines.list_engines(),
        prices_date=services.prices.get_table().date,
        chosen=next(view.state.name for view in known if view.state.is_default),
        tokens=_tokens(),
        version=VERSION,
        newer=services.version_watch.found,
        settings=services.settings,
        **_prices(),
        **upkeep_context(),
    )


@pages.get("/parts/search-engines")
@operator_only
def search_engines() -> str:
    """Those that agents search with."""
    return render_template("parts/search_engines.html", engines=get_services().search_engines.list_engines())


@pages.get("/parts/prices")
@operator_only
def prices() -> str:
    """The prices."""
    return render_template("parts/prices.html", **_prices())


@pages.get("/parts/tokens")
@operator_only
def tokens() -> str:
    """The API tokens."""
    return render_template("parts/tokens.html", tokens=_tokens())


def _tokens() -> list[tuple[ApiToken, str]]:
    """Each with whose it is."""
    users = get_services().users
    names = {user.id: user.name for user in users.list_users()}
    return [(token, names.get(token.user, say("nobody"))) for token in users.list_tokens()]


def _parts() -> list[PartView]:
    services = get_services()
    health = services.health()
    said = (
        ("Docker", health.engine),
        (say("Database"), health.database),
        (say("Connection to containers"), health.doors),
    )
    found = [PartView(name, "" if word == "ok" else word) for name, word in said]
    return [*found, PartView(say("Web apps"), services.previews.trouble)]


def _price_words(price: Price) -> str:
    """``$3 in, $15 out, $0.30 cached`` in the language of the page."""
    amounts = [write_dollars(part.partition(" ")[0], speech().language) for part in words_of(price).split(", ")]
    if len(amounts) == 2:
        return say("%(input)s in, %(output)s out", input=amounts[0], output=amounts[1])
    return say(
        "%(input)s in, %(output)s out, %(cached)s cached", input=amounts[0], output=amounts[1], cached=amounts[2]
    )


def _prices() -> dict[str, Any]:
    known = get_services().prices
    own, table = known.list_own(), known.get_table()
    views = [PriceView(row.provider, row.pattern, _price_words(row.price)) for row in table.rows]
    return {
        "own": views[: len(own)],
        "ours": views[len(own) :],
        "date": table.date,
        "fallback": _price_words(table.fallback),
        "unknown": known.list_unknown(),
    }
