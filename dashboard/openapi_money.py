"""Budgets and prices, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Schema,
    array_of,
    nullable,
    object_of,
    schema_ref,
)

_PRICE = "/api/prices/{provider}/{model}"
_DOLLARS: dict[str, Schema] = {
    "in": {**NUMBER, "description": "US dollars per million tokens of the prompt"},
    "out": {**NUMBER, "description": "and of the answer"},
    "cached": {**NUMBER, "description": "of the prompt, read from the provider's cache; as `in` where not given"},
    "written": {**NUMBER, "description": "of the prompt, written into it; never below `in`"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", f"{AGENT}/budget", "What the agent has spent, and has left, today", "Budget", fails=(404,)),
    ApiRoute("get", "/api/prices", "What models cost; the first match applies (operator)", "Prices"),
    ApiRoute(
        "put",
        _PRICE,
        "Set a price that overrides all others; `model` may be a pattern such as `gpt-*` (operator)",
        "Price",
        "NewPrice",
        fails=(400, 503),
    ),
    ApiRoute("delete", _PRICE, "Remove your own price (operator)", status=204, fails=(400, 404, 503)),
)
SCHEMAS: dict[str, Schema] = {
    "Budget": object_of(
        {
            "spent_usd": NUMBER,
            "held_usd": {**NUMBER, "description": "for calls under way"},
            "budget_usd": NUMBER,
            "left_usd": NUMBER,
            "tokens": {**INTEGER, "description": "used and held, of models without a known price"},
            "token_budget": INTEGER,
            "resets_at": TIME,
            "is_stopped": {**BOOLEAN, "description": "nothing is left, or not enough for the last call"},
        }
    ),
    "PersonBudget": object_of(
        {
            "today_usd": {
                **NUMBER,
                "description": "spent today over all agents, with what is held for calls under way",
            },
            "month_usd": NUMBER,
            "left_usd": {**nullable(NUMBER), "description": "what another call may cost; null without a limit"},
            "resets_at": TIME,
            "month_resets_at": TIME,
            "is_stopped": {**BOOLEAN, "description": "nothing is left"},
        }
    ),
    "Price": object_of({"provider": STRING, "model": STRING, **_DOLLARS, "is_own": BOOLEAN}),
    "NewPrice": object_of(_DOLLARS, required=("in", "out")),
    "Prices": object_of(
        {
            "date": {**STRING, "description": "of the last change"},
            "fallback": {**object_of(_DOLLARS), "description": "what a model without a price is charged"},
            "prices": array_of(schema_ref("Price")),
            "unknown": array_of(
                object_of({"provider": STRING, "model": STRING, "calls": INTEGER, "tokens": INTEGER, "last_at": TIME})
            ),
        }
    ),
}
