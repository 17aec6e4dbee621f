"""``secrets``: what agents may type into pages of one host, and nobody sees again."""

from __future__ import annotations

import argparse
import getpass
import sys
from urllib.parse import quote

from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line

_PATH = "/me/page-secrets"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    keeping = commands.add_parser("secrets", help="passwords that agents' browsers may type into pages of one host")
    verbs = keeping.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="which there are, without their values")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    adding = verbs.add_parser("add", help="keep one for pages of a host; its value is asked for")
    adding.add_argument("name", metavar="NAME", help="what agents call it")
    adding.add_argument("host", metavar="HOST", help="such as shop.example")
    adding.add_argument("--agent", default="", metavar="AGENT", help="for this agent alone")
    adding.set_defaults(run=_add)
    removing = verbs.add_parser("rm", help="agents can't use it any more")
    removing.add_argument("id", metavar="ID")
    removing.set_defaults(run=_remove)
    add_help(
        keeping,
        "Passwords and tokens that your agents' browsers may type into pages of one host. No agent sees them.",
        "secrets add shop-password shop.example",
    )
    add_help(listing, "Your secrets for pages: names, hosts, and who may use them.", "secrets list")
    add_help(
        adding,
        "Keep a secret for pages of exactly this host. Its value is asked for, or read from stdin.",
        "secrets add shop-password shop.example",
        "secrets add shop-password shop.example --agent crab",
    )
    add_help(removing, "Remove one, by its id.", "secrets rm a7k2m9xy")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(_PATH)
    rows = [
        (one["id"], one["name"], one_line(one["host"], 260), one["agent"] or "all agents") for one in body["secrets"]
    ]
    lines = format_table(rows, head=("id", "name", "host", "for")) if rows else ["None."]
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    value = getpass.getpass("Value: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    body = {"name": options.name, "host": options.host, "value": value, "agent": options.agent}
    with context.client as client:
        kept = client.post(_PATH, body)
    print(f"Kept as {kept['id']}, for pages of {kept['host']}. './hermit secrets rm {kept['id']}' ends that.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.delete(f"{_PATH}/{quote(options.id, safe='')}")
    print("Agents can't use it any more.")
    return 0
