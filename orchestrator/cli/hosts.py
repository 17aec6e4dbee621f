"""``hosts``: from which hosts an agent may fetch without a question, and an end to that."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    hosts = commands.add_parser("hosts", help="hosts that an agent can download from without asking")
    hosts.add_argument("agent", metavar="AGENT")
    verbs = hosts.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the hosts that are always allowed")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    removing = verbs.add_parser("rm", help="ask about this host again")
    removing.add_argument("host", metavar="HOST")
    removing.set_defaults(run=_remove)
    add_help(
        hosts, "From which hosts an agent may fetch without asking.", "hosts crab list", "hosts crab rm example.org"
    )
    add_help(listing, "The hosts that you allowed for good, and who did.", "hosts crab list", "hosts crab list --json")
    add_help(removing, "Have it ask before each download from this host again.", "hosts crab rm example.org")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.agent, "/hosts"))
    rows = [(one_line(host["host"], 300), one_line(host["by"]), host["at"]) for host in body["hosts"]]
    lines = (
        format_table(rows, head=("host", "allowed by", "at"), paint=context.paint)
        if rows
        else ["It asks before each download."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.delete(agent_path(options.agent, f"/hosts/{quote(options.host, safe='')}"))
    print(f"{options.agent} asks before each download from {one_line(options.host, 300)} again.")
    return 0
