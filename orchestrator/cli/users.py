"""``user``: the people of this install, and how they get in."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from orchestrator.agents.user_fields import BUDGETS
from orchestrator.cli.client import ApiClient
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.text import one_line

FIELDS = ("name", "role", "telegram_id", "time_zone", *BUDGETS)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs."""
    user = commands.add_parser("user", help="people who may talk to your agents")
    verbs = user.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="everybody")
    adding = verbs.add_parser("add", help="add a person, and print their login link")
    setting = verbs.add_parser("set", help="change a person")
    linking = verbs.add_parser("login-link", help="a fresh one-time login link for a person")
    removing = verbs.add_parser("rm", help="delete a person with everything that is theirs")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("--role", choices=("member", "operator"), help="what they may do (default member)")
    adding.add_argument("--telegram-id", metavar="ID", type=int, help="their numeric Telegram id")
    adding.add_argument("--time-zone", metavar="ZONE", help="such as Europe/Vienna (default UTC)")
    resetting = verbs.add_parser("reset-totp", help="take away the second factor of somebody who has lost theirs")
    unlinking = verbs.add_parser("unlink-oidc", help="take away the account by which somebody logs in at a provider")
    for verb in (setting, linking, resetting, unlinking, removing):
        verb.add_argument("user", metavar="USER", help="a name, or a number from the list")
    setting.add_argument("fields", metavar="FIELD=VALUE", nargs="+", help=f"of {', '.join(FIELDS)}")
    add_yes(removing)
    for verb, run in (
        (listing, _list),
        (adding, _add),
        (setting, _set),
        (linking, _link),
        (resetting, _reset_totp),
        (unlinking, _unlink_oidc),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb not in (resetting, unlinking, removing):
            verb.add_argument("--json", action="store_true", help="print JSON")
    _explain(user, verbs.choices)


def _explain(user: argparse.ArgumentParser, verbs: Mapping[str, argparse.ArgumentParser]) -> None:
    add_help(
        user,
        "Everybody who may talk to your agents has files, memories, a calendar and conversations of their own.\n"
        "Members talk to agents; operators also run this install.",
        "user list",
        "user add ben --time-zone Europe/Vienna",
        "user set ben role=operator",
        "user rm ben",
    )
    add_help(
        verbs["list"],
        "Everybody, with role, Telegram id, connected account and time zone.",
        "user list",
        "user list --json",
    )
    add_help(
        verbs["add"],
        "Add a person. The link that is printed logs one of their browsers in.",
        "user add ben",
        "user add ann --role operator --telegram-id 123456789",
    )
    add_help(
        verbs["set"],
        "Change a person. Nothing after = clears.",
        "user set ben name=Benjamin",
        "user set ben daily_budget_usd=2 monthly_budget_usd=20",
        "user set 2 telegram_id=",
    )
    add_help(verbs["login-link"], "Print a link that logs one of their browsers in, once.", "user login-link ben")
    add_help(
        verbs["reset-totp"],
        "Their password alone gets them in again. A login link does so too, without a code.",
        "user reset-totp ben",
    )
    add_help(
        verbs["unlink-oidc"],
        "They can't log in by it any more, until they connect one again. Where they are logged in, they stay so.",
        "user unlink-oidc ben",
    )
    add_help(
        verbs["rm"],
        "Delete a person with their logins, tokens, files, memories, calendar and conversations.",
        "user rm ben",
    )


def find_person(client: ApiClient, named: str) -> dict[str, Any]:
    """Who is meant by a name or a number; a name comes first. Raises NotFound."""
    known: list[dict[str, Any]] = client.get("/users")["users"]
    for field in ("name", "id"):
        for user in known:
            if str(user[field]) == named:
                return user
    names = ", ".join(one_line(user["name"], 64) for user in known)
    raise NotFound(f"There is nobody called {one_line(named, 64)!r}; there are {names}.")


def how_long(link: Mapping[str, Any]) -> str:
    """How long a login link is good, in words."""
    minutes = link["valid_for_s"] // 60
    return f"{minutes // 60} hours" if minutes >= 120 else f"{minutes} minutes"


def say_where(link: Mapping[str, Any]) -> None:
    """Beside standard output: a link that doesn't open where the person is."""
    if link["is_local"]:
        print(
            "It only opens on this machine, or through an SSH tunnel. 'Beyond this machine' in docs/running.md says "
            "how others get here.",
            file=sys.stderr,
        )


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/users")
    rows = [
        (str(user["id"]), one_line(user["name"], 64), user["role"], str(user["telegram_id"] or "-"), user["time_zone"])
        for user in body["users"]
    ]
    head: tuple[str, ...] = ("ID", "NAME", "ROLE", "TELEGRAM", "TIME ZONE")
    lines = format_table(rows, head=head, paint=context.paint)
    accounts = [one_line(user["oidc_account"] or "-", 100) for user in body["users"]]
    if set(accounts) != {"-"}:
        wider = [(*row, account) for row, account in zip(rows, accounts, strict=True)]
        lines = format_table(wider, head=(*head, "ACCOUNT"), paint=context.paint)
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    fields = {name: value for name in FIELDS if (value := getattr(options, name, None)) is not None}
    with context.client as client:
        user = client.post("/users", fields)
        link = client.post("/login-links", {"user": user["id"]})
    name = one_line(user["name"], 64)
    lines = [f"{name} is added. This link logs them in, once, for {how_long(link)}:", link["url"]]
    print_body({**user, "login_url": link["url"]}, as_json=options.json, lines=lines)
    say_where(link)
    return 0


def _set(context: Context, options: argparse.Namespace) -> int:
    fields = dict(_field(pair) for pair in options.fields)
    with context.client as client:
        user = client.patch(f"/users/{find_person(client, options.user)['id']}", fields)
    print_body(user, as_json=options.json, lines=[f"{one_line(user['name'], 64)} is changed."])
    return 0


def _field(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise BadInput(f"{one_line(pair, 60)}: write FIELD=VALUE, such as role=operator.")
    if name == "telegram_id":
        return name, int(value) if value.isascii() and value.isdecimal() else value or None
    if name in BUDGETS:
        return name, _dollars(name, value) if value else None
    return name, value


def _dollars(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise BadInput(f"{name}: write US dollars, such as 2.5; nothing after = for no limit.") from error


def _link(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        user = find_person(client, options.user)
        link = client.post("/login-links", {"user": user["id"]})
    name = one_line(user["name"], 64)
    said = f"This link logs {name} in, once, for {how_long(link)}:"
    print_body(link, as_json=options.json, lines=[said, link["url"]])
    say_where(link)
    return 0


def _reset_totp(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        user = find_person(client, options.user)
        client.delete(f"/users/{user['id']}/totp")
    print(f"{one_line(user['name'], 64)} logs in by password alone now.")
    return 0


def _unlink_oidc(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        user = find_person(client, options.user)
        client.delete(f"/users/{user['id']}/oidc")
    print(f"{one_line(user['name'], 64)} can't log in by that account any more.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        user = find_person(client, options.user)
        name = one_line(user["name"], 64)
        deed = f"This deletes {name} with their logins, tokens, files, memories, calendar and conversations"
        confirm_deed(deed, yes=options.yes, expected=user["name"])
        client.delete(f"/users/{user['id']}")
    print(f"{name} is deleted.")
    return 0
