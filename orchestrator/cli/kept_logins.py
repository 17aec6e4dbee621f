"""``logins``: sites that an agent's browser stays logged in to, and an end to that."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line

_PATH = "/browser/logins"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    logins = commands.add_parser("logins", help="sites that an agent's browser stays logged in to")
    logins.add_argument("agent", metavar="AGENT")
    verbs = logins.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="which sites there are")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    keeping = verbs.add_parser("keep", help="stay logged in to this site")
    keeping.add_argument("site", metavar="SITE", help="such as shop.example")
    keeping.set_defaults(run=_keep)
    removing = verbs.add_parser("rm", help="forget the logins of this site")
    removing.add_argument("site", metavar="SITE")
    removing.set_defaults(run=_remove)
    add_help(
        logins,
        "Sites that your browser with an agent stays logged in to, when it is closed and opened again.",
        "logins crab list",
        "logins crab keep shop.example",
        "logins crab rm shop.example",
    )
    add_help(
        listing, "The sites, and the names of the cookies that are kept.", "logins crab list", "logins crab list --json"
    )
    add_help(
        keeping, "Keep cookies and storage of a site from one browser to the next.", "logins crab keep shop.example"
    )
    add_help(removing, "Forget what was kept of a site, in an open browser too.", "logins crab rm shop.example")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.agent, _PATH))
    rows = [
        (
            one_line(one["site"], 260),
            one["saved_at"] or "nothing yet",
            one_line(one["by"]),
            one_line(f"{one['cookies']}: {', '.join(one['names'])}" if one["names"] else "none", 200),
        )
        for one in body["logins"]
    ]
    lines = (
        format_table(rows, head=("site", "last kept", "wanted by", "cookies"), paint=context.paint)
        if rows
        else ["None. Its browser forgets all logins when it is closed."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _keep(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        kept = client.post(agent_path(options.agent, _PATH), {"site": options.site})
    site = one_line(kept["site"], 260)
    print(f"Logins of {site} stay. './hermit logins {options.agent} rm {site}' forgets them.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.delete(agent_path(options.agent, f"{_PATH}/{quote(options.site, safe='')}"))
    print(f"Nothing is kept of {one_line(options.site, 260)} any more.")
    return 0
