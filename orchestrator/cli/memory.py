"""``memory``: what an agent remembers about you, to look at, search, add to and delete from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line, terminal_safe

_PAGE = 200


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its four verbs."""
    memory = commands.add_parser("memory", help="what an agent remembers about you")
    memory.add_argument("agent", metavar="AGENT")
    verbs = memory.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="every fact, the newest first")
    adding = verbs.add_parser("add", help="have it remember something")
    adding.add_argument("text", metavar="TEXT")
    searching = verbs.add_parser("search", help="the facts that fit a question best")
    searching.add_argument("query", metavar="QUESTION")
    searching.add_argument("--limit", type=int, default=10, help="how many at most (default 10)")
    removing = verbs.add_parser("rm", help="have it forget a fact, by its number")
    removing.add_argument("id", metavar="ID", type=int)
    add_yes(removing)
    for verb, run in ((listing, _list), (adding, _add), (searching, _search), (removing, _remove)):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    add_help(memory, "What an agent remembers of you.", "memory crab list", 'memory crab add "I live in Vienna."')
    add_help(listing, "Every fact with its number, the newest first.", "memory crab list", "memory crab list --json")
    add_help(adding, "Have it remember something.", 'memory crab add "I like green tea."')
    add_help(searching, "The facts that fit a question best.", 'memory crab search "what do I drink?"')
    add_help(removing, "Have it forget a fact, by its number in the list.", "memory crab rm 3")


def _list(context: Context, options: argparse.Namespace) -> int:
    facts: list[dict[str, Any]] = []
    before: int | None = None
    with context.client as client:
        while True:
            page = client.get(agent_path(options.agent, "/memories"), before=before, limit=_PAGE)
            facts += page["memories"]
            before = page["next"]
            if before is None:
                break
    _show(facts, options, nothing=f"{options.agent} remembers nothing about you yet.")
    return 0


def _search(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        found = client.get(agent_path(options.agent, "/memories"), q=options.query, limit=options.limit)
    _show(found["memories"], options, nothing="No memory matches.")
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        fact = client.post(agent_path(options.agent, "/memories"), {"text": options.text})
    print_body(fact, as_json=options.json, lines=[f"Remembered as memory {fact['id']}."])
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    confirm_deed(f"This deletes memory {options.id} of {options.agent}", yes=options.yes)
    with context.client as client:
        client.delete(agent_path(options.agent, f"/memories/{options.id}"))
    print(f"Memory {options.id} is forgotten.")
    return 0


def _show(facts: list[dict[str, Any]], options: argparse.Namespace, *, nothing: str) -> None:
    lines = [line for fact in facts for line in _lines(fact)]
    print_body({"memories": facts}, as_json=options.json, lines=lines or [nothing])


def _lines(fact: Mapping[str, Any]) -> list[str]:
    turn = "" if fact["turn"] is None else f", turn {fact['turn']}"
    head = f"{fact['id']}  {fact['at'][:10]}  {one_line(fact['by'], 40)}{turn}"
    return [head, *(f"    {line}" for line in terminal_safe(fact["text"]).splitlines())]
