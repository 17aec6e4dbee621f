"""``agent``: list, create, show, change and delete agents."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from orchestrator.agents.agent_fields import FIELDS
from orchestrator.cli.agent_access import add_access
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.core.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs."""
    agent = commands.add_parser("agent", help="agents and their settings")
    verbs = agent.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="all agents")
    roles = verbs.add_parser("roles", help="roles that a new agent may begin with")
    create = verbs.add_parser("create", help="make an agent")
    showing = verbs.add_parser("show", help="an agent's settings")
    setting = verbs.add_parser("set", help="change settings")
    removing = verbs.add_parser("rm", help="delete an agent with its workspaces")
    for verb in (create, showing, setting, removing):
        verb.add_argument("name", metavar="NAME")
    for verb in (create, setting):
        verb.add_argument(
            "settings", metavar="SETTING=VALUE", nargs="*" if verb is create else "+", help="e.g. approval=all"
        )
    create.add_argument("--role", dest="template", metavar="ROLE", help="begin with a role: 'agent roles' shows all")
    showing.add_argument("--secrets", action="store_true", help="with the secret address of your calendar")
    add_yes(removing)
    add_access(verbs)
    for verb, run in (
        (listing, _list),
        (roles, _list_roles),
        (create, _create),
        (showing, _show),
        (setting, _set),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    known = f"Settings: {', '.join(FIELDS)}."
    add_help(
        agent, "Agents: each has its own settings, files, memories and calendar.", "agent list", "agent create clerk"
    )
    add_help(listing, "All agents with their status.", "agent list", "agent list --json")
    add_help(roles, "Roles that a new agent may begin with, by 'agent create --role'.", "agent roles")
    add_help(
        create,
        "Make an agent. What you don't set has a sensible default.",
        "agent create clerk",
        "agent create professor --role tutor display_name='Professor Owl'",
        'agent create clerk role="You keep my papers in order." image=studio',
        more=known,
    )
    add_help(showing, "An agent's settings, and how much disk your files there take.", "agent show crab")
    add_help(
        setting,
        "Change settings of an agent.",
        "agent set crab approval=all",
        "agent set crab display_name=Juno avatar=owl color=plum",
        "agent set crab daily_budget_usd=2.5 limits.memory_mb=2048",
        more=known,
    )
    add_help(
        removing, "Delete an agent with everybody's files, memories, calendars and conversations.", "agent rm clerk"
    )


def without_secrets(agent: Mapping[str, Any]) -> dict[str, Any]:
    """An agent as it may be pasted into a bug report: whoever has its ``ics_url`` can read its calendar."""
    return {name: value for name, value in agent.items() if name != "ics_url"}


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = {"agents": [without_secrets(agent) for agent in client.get("/agents")["agents"]]}
    rows = [
        (a["name"], one_line(a["display_name"], 40), a["status"], a["approval"], one_line(a["role"], 60))
        for a in body["agents"]
    ]
    print_body(
        body,
        as_json=options.json,
        lines=format_table(rows, head=("NAME", "CALLED", "STATUS", "APPROVAL", "ROLE"), paint=context.paint),
    )
    return 0


def _list_roles(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/roles")
    rows = [(role["id"], role["title"], role["does"]) for role in body["roles"]]
    lines = format_table(rows, head=("ROLE", "TITLE", "WHAT IT DOES"), paint=context.paint)
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _create(context: Context, options: argparse.Namespace) -> int:
    template = {"template": options.template} if options.template else {}
    with context.client as client:
        body = client.post("/agents", {"name": options.name, **template, **_settings(options.settings)})
    shown = without_secrets(body)
    print_body(
        shown, as_json=options.json, lines=[f"Agent {options.name} is there. Talk to it: ./hermit chat {options.name}"]
    )
    return 0


def _show(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.name))
        body = body if options.secrets else without_secrets(body)
        lines = [f"{name:20} {_plain(value)}" for name, value in body.items()]
        if not options.json:
            lines.append(f"{'your disk use':20} {_disk(client, options.name)}")
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _disk(client: ApiClient, name: str) -> str:
    try:
        disk = client.get(agent_path(name, "/cubicle"))["disk"]
    except OrchestratorError as error:  # the settings are worth showing without it
        return error.message
    used, limit = disk["used_bytes"] / 2**20, disk["limit_bytes"] / 2**20
    return f"{used:,.1f} of {limit:,.0f} MB, {disk['inodes']:,} of {disk['inode_limit']:,} files and folders"


def _set(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = without_secrets(client.patch(agent_path(options.name), _settings(options.settings)))
    print_body(body, as_json=options.json, lines=[f"Agent {options.name} is changed."])
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.get(agent_path(options.name))  # one that isn't there is named before anybody confirms
        deed = f"This deletes {options.name} with its files, memories, calendar and conversation"
        confirm_deed(deed, yes=options.yes, expected=options.name)
        client.delete(agent_path(options.name))
    print(f"Agent {options.name} is deleted.")
    return 0


def _settings(pairs: list[str]) -> dict[str, Any]:
    """``approval=all limits.cpus=2`` as a body; a value that reads as JSON is taken as such, all else as text."""
    body: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"{pair}: write SETTING=VALUE, such as approval=all.")
        outer, dot, inner = name.partition(".")
        if dot:
            group = body.setdefault(outer, {})
            if not isinstance(group, dict):
                raise BadInput(f"{pair}: {outer} is given as a whole already. Write one or the other.")
            group[inner] = _value(value)
        else:
            body[name] = _value(value)
    return body


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float, bool, list, dict)) or value is None else text


def _plain(value: Any) -> str:
    return one_line(value, 100) if isinstance(value, str) else json.dumps(value)
