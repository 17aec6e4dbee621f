"""``cubicle`` and ``apps``: an agent's container, and the web apps that it serves."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line

_VERBS = {
    "status": ("whether it runs, and what it uses", "Whether your container of an agent runs, and what it uses."),
    "start": ("start it now", "Start it now. The next message would do so, too."),
    "stop": ("stop it; the next message starts it again", "Stop it. Files stay, and the next message starts it again."),
    "restart": (
        "a fresh container over the same files",
        "Replace it by a fresh container. Files stay; what runs in it ends, and /tmp is emptied.",
    ),
}
_ROUTES = {"start": "/start", "stop": "/stop", "restart": "/reset"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    cubicle = commands.add_parser("cubicle", help="an agent's container: status, start, stop, restart")
    add_help(
        cubicle,
        "Each person has a cubicle with each agent: a container without network, over a workspace of its own.",
        "cubicle crab status",
        "cubicle crab restart",
    )
    cubicle.add_argument("agent", metavar="AGENT")
    verbs = cubicle.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (short, text) in _VERBS.items():
        verb = verbs.add_parser(name, help=short)
        add_help(verb, text, f"cubicle crab {name}")
        verb.add_argument("--json", action="store_true", help="print JSON")
        verb.set_defaults(run=partial(_cubicle, name))
    apps = commands.add_parser("apps", help="web apps that agents made, with their addresses")
    add_help(apps, "Web apps that agents made for you, and those that others share with you.", "apps", "apps crab")
    apps.add_argument("agent", metavar="AGENT", nargs="?", help="only this agent's")
    apps.add_argument("--json", action="store_true", help="print JSON")
    apps.set_defaults(run=_apps)


def _cubicle(verb: str, context: Context, options: argparse.Namespace) -> int:
    path = agent_path(options.agent, "/cubicle")
    with context.client as client:
        body = client.get(path) if verb == "status" else client.post(path + _ROUTES[verb])
    print_body(body, as_json=options.json, lines=_lines(body))
    return 0


def _lines(cubicle: Mapping[str, Any]) -> list[str]:
    disk = cubicle["disk"]
    lines = [f"{'state':8} {cubicle['state']}"]
    if cubicle["started_at"]:
        lines.append(f"{'since':8} {cubicle['started_at'][:16].replace('T', ' ')} UTC")
    if cubicle["memory_bytes"] is not None:
        lines.append(f"{'cpu':8} {cubicle['cpu_percent']:.1f} %")
        lines.append(f"{'memory':8} {cubicle['memory_bytes'] / 2**20:,.0f} MB")
        lines.append(f"{'pids':8} {cubicle['pids']}")
    used, limit = disk["used_bytes"] / 2**20, disk["limit_bytes"] / 2**20
    return [*lines, f"{'disk':8} {used:,.1f} of {limit:,.0f} MB"]


def _apps(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/apps" if options.agent is None else agent_path(options.agent, "/apps"))
    rows = [
        (app["agent"], one_line(app["name"], 60), one_line(app["owner"], 64), _day(app["changed_at"]), app["view_url"])
        for app in body["apps"]
    ]
    head = ("AGENT", "APP", "OWNER", "CHANGED (UTC)", "ADDRESS")
    lines = (
        format_table(rows, head=head, paint=context.paint)
        if rows
        else ["There are no apps yet. Ask an agent to make one."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _day(at: str | None) -> str:
    return "-" if at is None else at[:16].replace("T", " ")
