"""``grants``: what an agent may do without asking, and an end to that."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    grants = commands.add_parser("grants", help="what an agent may do without asking")
    grants.add_argument("agent", metavar="AGENT")
    verbs = grants.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="what you allowed in advance")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    adding = verbs.add_parser("add", help="allow a kind of command, a host or a site without being asked")
    adding.add_argument("kind", metavar="KIND", choices=("command", "host", "site"), help="command, host or site")
    adding.add_argument("subject", metavar="SUBJECT", help="such as 'delete below work/build/', or example.com")
    adding.add_argument("--for", dest="scope", choices=("hour", "conversation", "always"), default="conversation")
    adding.set_defaults(run=_add)
    removing = verbs.add_parser("rm", help="ask again from now on")
    removing.add_argument("id", metavar="ID")
    removing.set_defaults(run=_remove)
    add_help(
        grants,
        "What an agent may do without asking: kinds of commands, hosts to download from, sites to browse.",
        "grants crab list",
    )
    add_help(
        listing,
        "What you allowed in advance, for how long, and who did.",
        "grants crab list",
        "grants crab list --json",
    )
    add_help(
        adding,
        "Allow a kind of command, downloads from a host, or a site in its browser. An approval names its kind.",
        "grants crab add command 'delete below work/build/' --for hour",
        "grants crab add host example.org --for always",
        "grants crab add site example.com",
    )
    add_help(removing, "Have it ask again from now on.", "grants crab rm a7k2m9xy")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.agent, "/grants"))
    rows = [
        (grant["id"], grant["kind"], one_line(grant["subject"], 300), grant["scope"], one_line(grant["by"]))
        for grant in body["grants"]
    ]
    lines = (
        format_table(rows, head=("id", "kind", "what", "for", "allowed by"))
        if rows
        else ["Nothing: it asks each time."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    body = {"kind": options.kind, "subject": options.subject, "scope": options.scope}
    with context.client as client:
        given = client.post(agent_path(options.agent, "/grants"), body)
    print(f"Allowed as {given['id']}. './hermit grants {options.agent} rm {given['id']}' ends that.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.delete(agent_path(options.agent, f"/grants/{quote(options.id, safe='')}"))
    print(f"{options.agent} asks again.")
    return 0
