"""``history``: the conversation with an agent, the newest last, or what was found in it, the best first."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import terminal_safe
from orchestrator.files.attachments import split_prompt
from orchestrator.turns.serialize import came_from

_MOST = 200


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    history = commands.add_parser("history", help="the conversation with an agent, searched with --find")
    history.add_argument("agent", metavar="AGENT")
    history.add_argument("--find", metavar="WORDS", help="only the turns that fit any of these words, the best first")
    history.add_argument(
        "--limit", metavar="N", type=int, default=20, help=f"how many turns (default 20, at most {_MOST})"
    )
    history.add_argument(
        "--conversation",
        metavar="ID",
        type=int,
        help="which one; without it the first, and --find looks in all of them",
    )
    history.add_argument(
        "--before", metavar="TURN", type=int, help="only what came before this turn, or after it in a search"
    )
    history.add_argument("--json", action="store_true", help="print JSON")
    history.set_defaults(run=run)
    add_help(
        history,
        "The conversation with an agent, the newest last; with --find the turns that fit some words, the best first.",
        "history crab",
        'history crab --find "boat name"',
        "history crab --limit 5 --json",
    )


def run(context: Context, options: argparse.Namespace) -> int:
    """Print a page of the conversation."""
    is_search = bool((options.find or "").strip())
    with context.client as client:
        found = client.get(
            agent_path(options.agent, "/history"),
            q=options.find if is_search else None,
            limit=max(1, min(options.limit, _MOST)),
            before=options.before,
            conversation=options.conversation,
        )
    lines = [line for turn in found["turns"] for line in _lines(turn)]
    if found["next"] is not None and is_search:
        lines.append(f"(More: --before {found['next']})")
    elif found["next"] is not None:
        lines.insert(0, f"(Earlier ones: --before {found['next']})\n")
    nothing = "No message matches." if is_search else "No messages yet."
    print_body(found, as_json=options.json, lines=lines or [nothing])
    return 0


def _lines(turn: Mapping[str, Any]) -> list[str]:
    words, files = split_prompt(turn["prompt"])
    head = f"turn {turn['turn']}  {turn['created_at'][:16].replace('T', ' ')} UTC  {came_from(turn['source'])}"
    said = [words] if words else []
    said += [f"[file: {file.path}]" for file in files]
    return [head, *_told("you", "\n".join(said)), *_told(turn["agent"], _answer(turn)), ""]


def _answer(turn: Mapping[str, Any]) -> str:
    """What was said, and why no more was."""
    reply, status = turn["reply"] or "", turn["status"].replace("_", " ")
    end = "" if turn["status"] == "done" and reply else turn["error"] or f"({status})"
    return "\n".join(filter(None, (reply, end)))


def _told(who: str, text: str) -> list[str]:
    first, *rest = terminal_safe(text).splitlines() or [""]
    return [f"  {who}: {first}", *(f"    {line}" for line in rest)]
