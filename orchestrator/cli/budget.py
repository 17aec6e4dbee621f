"""``budget`` and ``prices``: what agents have spent today, and what models cost."""

from __future__ import annotations

import argparse
from typing import Any
from urllib.parse import quote

from orchestrator.agents.user_fields import BUDGETS
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput
from orchestrator.core.home import running_pid
from orchestrator.core.text import one_line
from orchestrator.llm import price_table as prices
from orchestrator.llm.price_table import Prices

_PARTS = ("in", "out", "cached", "written")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    budget = commands.add_parser("budget", help="what agents and people have spent, and have left")
    budget.add_argument("agent", metavar="AGENT", nargs="?")
    budget.set_defaults(run=_budget)
    own = commands.add_parser("prices", help="what models cost, in dollars per million tokens")
    verbs = own.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="your own prices, the models without one, and with --all every price")
    listing.add_argument("--all", action="store_true", help="the whole table")
    setting = verbs.add_parser("set", help="a price of your own, e.g. set custom llama-* in=0 out=0")
    removing = verbs.add_parser("rm", help="remove a price of your own")
    for verb in (setting, removing):
        verb.add_argument("provider", metavar="PROVIDER")
        verb.add_argument("model", metavar="MODEL", help="its name, or a pattern such as 'gpt-*'")
    setting.add_argument("prices", metavar="PART=DOLLARS", nargs="+", help="in=… out=… [cached=…] [written=…]")
    for verb, run in ((listing, _list), (setting, _set), (removing, _remove)):
        verb.set_defaults(run=run)
    for lists in (budget, listing):
        lists.add_argument("--json", action="store_true", help="print JSON")
    add_help(budget, "What agents have spent today, and have left.", "budget", "budget crab")
    add_help(
        own, "What models cost, in dollars per million tokens.", "prices list", "prices set custom 'llama-*' in=0 out=0"
    )
    add_help(listing, "Your own prices, and models without a price; with --all every price.", "prices list --all")
    add_help(
        setting,
        "Set a price of your own. It comes before ours.",
        "prices set custom 'llama-*' in=0 out=0",
        "prices set openai gpt-5 in=1.25 out=10 cached=0.125",
    )
    add_help(removing, "Take a price of your own away; ours counts again.", "prices rm custom 'llama-*'")


def _budget(context: Context, options: argparse.Namespace) -> int:
    people: list[dict[str, Any]] = []
    with context.client as client:
        if options.agent:
            body = client.get(agent_path(options.agent, "/budget"))
            named = [(options.agent, body)]
        else:
            agents = client.get("/agents")["agents"]
            named = [(agent["name"], agent["budget"]) for agent in agents]
            body = {"budgets": [{"agent": name, **standing} for name, standing in named]}
            body["people"] = people = _people(client)
    head = ("AGENT", "SPENT", "HELD", "OF", "LEFT", "TOKENS", "BEGINS ANEW")
    lines = list(format_table([_row(name, standing) for name, standing in named], head=head, paint=context.paint))
    if people:
        columns = ("PERSON", "TODAY", "OF", "THIS MONTH", "OF", "LEFT")
        lines += ["", *format_table([_person_row(person) for person in people], head=columns, paint=context.paint)]
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _people(client: ApiClient) -> list[dict[str, Any]]:
    """Whoever asks, or for operators everybody, with what they spent over all agents."""
    me = client.get("/me")
    known = client.get("/users")["users"] if me["role"] == "operator" else [me]
    return [{"name": user["name"], **{limit: user[limit] for limit in BUDGETS}, **user["budget"]} for user in known]


def _person_row(person: dict[str, Any]) -> tuple[str, ...]:
    left = "no limit" if person["left_usd"] is None else f"${person['left_usd']:.4f}"
    spent_of = ((person["today_usd"], person[BUDGETS[0]]), (person["month_usd"], person[BUDGETS[1]]))
    shown = (f"${value:.4f}" if value is not None else "-" for pair in spent_of for value in pair)
    return (one_line(person["name"], 64), *shown, f"{left}, stopped" if person["is_stopped"] else left)


def _row(name: str, standing: dict[str, Any]) -> tuple[str, ...]:
    dollars = [f"${standing[part]:.4f}" for part in ("spent_usd", "held_usd", "budget_usd", "left_usd")]
    tokens = f"{standing['tokens']:,} of {standing['token_budget']:,}"
    anew = standing["resets_at"][:16].replace("T", " ") + " UTC"
    return (name, *dollars, tokens, f"{anew}, stopped until then" if standing["is_stopped"] else anew)


def _list(context: Context, options: argparse.Namespace) -> int:
    if running_pid(context.settings.home) is None:
        body = prices.as_json(Prices(context.home.prices))
    else:
        with context.client as client:
            body = client.get("/prices")
    shown = [price for price in body["prices"] if price["is_own"] or options.all]
    fallback = body["fallback"]
    lines = format_table(
        [
            *((p["provider"], one_line(p["model"], 60), *_amounts(p), "you" if p["is_own"] else "") for p in shown),
            ("any", "without a price", *_amounts(fallback), ""),
        ],
        head=("PROVIDER", "MODEL", "IN", "OUT", "CACHED", "SET BY"),
    )
    if body["unknown"]:
        lines += ["", "Models that were called without a known price:"]
        lines += [
            f"  {m['provider']} {one_line(m['model'], 60)}  {m['calls']:,} calls, {m['tokens']:,} tokens"
            for m in body["unknown"]
        ]
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _amounts(price: dict[str, float]) -> tuple[str, ...]:
    return tuple(f"${price[part]:g}" for part in ("in", "out", "cached"))


def _set(context: Context, options: argparse.Namespace) -> int:
    given = dict(_part(text) for text in options.prices)
    if not {"in", "out"} <= set(given):
        raise BadInput("Name both prices, such as in=3 out=15.")
    if running_pid(context.settings.home) is None:
        Prices(context.home.prices).set_price(options.provider, options.model, given, by="the command line")
    else:
        with context.client as client:
            client.put(_path(options), given)
    print(f"{options.provider} {options.model} costs ${given['in']:g} in and ${given['out']:g} out per million tokens.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    if running_pid(context.settings.home) is None:
        Prices(context.home.prices).remove_price(options.provider, options.model, by="the command line")
    else:
        with context.client as client:
            client.delete(_path(options))
    print(f"Your price of {options.provider} {options.model} is gone.")
    return 0


def _path(options: argparse.Namespace) -> str:
    return f"/prices/{quote(options.provider, safe='')}/{quote(options.model, safe='/')}"


def _part(text: str) -> tuple[str, float]:
    part, _, value = text.partition("=")
    try:
        dollars = float(value)
    except ValueError:
        dollars = -1.0
    if part not in _PARTS or not 0 <= dollars <= 100_000:
        raise BadInput(f"{one_line(text, 60)}: write {', '.join(f'{p}=DOLLARS' for p in _PARTS)}, 0 or more.")
    return part, dollars
