"""``agent``: list, create, show, change and delete agents."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from orchestrator.agents import FIELDS
from orchestrator.commands.client import Client, agent_path
from orchestrator.commands.context import Context, show, table
from orchestrator.errors import BadInput, OrchestratorError
from orchestrator.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its five verbs."""
    agent = commands.add_parser("agent", help="agents and their settings")
    verbs = agent.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="all agents")
    create = verbs.add_parser("create", help="make an agent", epilog=f"Settings: {', '.join(FIELDS)}.")
    showing = verbs.add_parser("show", help="an agent's settings")
    setting = verbs.add_parser("set", help="change settings", epilog=f"Settings: {', '.join(FIELDS)}.")
    removing = verbs.add_parser("rm", help="delete an agent with its workspaces")
    for verb in (create, showing, setting, removing):
        verb.add_argument("name", metavar="NAME")
    for verb in (create, setting):
        verb.add_argument(
            "settings", metavar="SETTING=VALUE", nargs="*" if verb is create else "+", help="e.g. approval=all"
        )
    removing.add_argument("--yes", action="store_true", help="do not ask")
    for verb, run in (
        (listing, _list),
        (create, _create),
        (showing, _show),
        (setting, _set),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/agents")
    rows = [(a["name"], a["status"], a["approval"], one_line(a["role"], 60)) for a in body["agents"]]
    show(body, as_json=options.json, lines=table(rows, head=("NAME", "STATUS", "APPROVAL", "ROLE")))
    return 0


def _create(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.post("/agents", {"name": options.name, **_settings(options.settings)})
    show(body, as_json=options.json, lines=[f"Agent {options.name} is there. Talk to it: ./hermit chat {options.name}"])
    return 0


def _show(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.name))
        lines = [f"{name:20} {_plain(value)}" for name, value in body.items()]
        if not options.json:
            lines.append(f"{'your disk use':20} {_disk(client, options.name)}")
    show(body, as_json=options.json, lines=lines)
    return 0


def _disk(client: Client, name: str) -> str:
    try:
        disk = client.get(agent_path(name, "/cubicle"))["disk"]
    except OrchestratorError as error:  # the settings are worth showing without it
        return error.message
    used, limit = disk["used_bytes"] / 2**20, disk["limit_bytes"] / 2**20
    return f"{used:,.1f} of {limit:,.0f} MB, {disk['inodes']:,} of {disk['inode_limit']:,} files and folders"


def _set(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.patch(agent_path(options.name), _settings(options.settings))
    show(body, as_json=options.json, lines=[f"Agent {options.name} is changed."])
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    if not (options.yes or _is_meant(options.name)):
        print("hermit: Nothing was deleted. Type the name to confirm, or add --yes.", file=sys.stderr)
        return 1
    with context.client as client:
        client.delete(agent_path(options.name))
    print(f"Agent {options.name} is deleted.")
    return 0


def _is_meant(name: str) -> bool:
    """A person at a terminal types the name. Where nobody sits there, the command itself was the decision, unless what
    is piped in says otherwise."""
    if sys.stdin.isatty():
        print(f"This deletes {name}, its workspaces and its history. Type its name to go on: ", end="", flush=True)
        return sys.stdin.readline().strip() == name
    return sys.stdin.readline().strip().lower() in ("", name, "y", "yes")


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
