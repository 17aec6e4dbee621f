"""``agent access``: whom an agent is for."""

from __future__ import annotations

import argparse
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.cli.users import find_person
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line


def add_access(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb."""
    access = verbs.add_parser("access", help="who can use an agent")
    access.add_argument("name", metavar="NAME")
    access.add_argument("users", metavar="USER", nargs="*", help="a name, or a number from './hermit user list'")
    how = access.add_mutually_exclusive_group()
    how.add_argument("--everyone", action="store_true", help="everybody, also people who are added later")
    how.add_argument("--only", action="store_true", help="these people alone, or nobody, beside operators")
    how.add_argument("--add", action="store_true", help="these people too")
    how.add_argument("--remove", action="store_true", help="these people no longer")
    access.add_argument("--json", action="store_true", help="print JSON")
    access.set_defaults(run=_access)
    add_help(
        access,
        "Show or change who can use an agent. Operators always can. For everybody else it is as if it didn't exist:\n"
        "what it does for them stops, and their files are kept.",
        "agent access clerk",
        "agent access clerk --only ann ben",
        "agent access clerk --remove ben",
        "agent access clerk --everyone",
    )


def _access(context: Context, options: argparse.Namespace) -> int:
    is_change = options.everyone or options.only or options.add or options.remove
    if options.users and options.everyone:
        raise BadInput("--everyone: name nobody beside it.")
    if options.users and not is_change:
        raise BadInput("Say what to do with these people: --only, --add or --remove.")
    with context.client as client:
        agent = client.get(agent_path(options.name))
        if is_change:
            named = [int(find_person(client, user)["id"]) for user in options.users]
            agent = client.patch(agent_path(options.name), {"people": _wanted(options, agent["people"], named)})
        names = {user["id"]: one_line(user["name"], 64) for user in client.get("/users")["users"]}
    people = agent["people"]
    print_body(
        {"agent": agent["name"], "people": people},
        as_json=options.json,
        lines=[f"{agent['name']} is for {_told(people, names)}."],
    )
    return 0


def _wanted(options: argparse.Namespace, before: list[int] | None, named: list[int]) -> list[int] | None:
    if options.everyone:
        return None
    if options.only:
        return named
    if before is None:
        raise BadInput(f"{options.name} is for everyone now. Say with --only whom it shall be for.")
    return [*before, *named] if options.add else [user for user in before if user not in named]


def _told(people: list[int] | None, names: dict[int, Any]) -> str:
    if people is None:
        return "everyone"
    return ", ".join(str(names.get(user, user)) for user in people) + " and operators" if people else "operators alone"
