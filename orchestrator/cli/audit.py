"""``audit``: everything that happened, searched, followed, or all of it for other programs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.client import ApiClient
from orchestrator.cli.colors import Paint
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line

_MOST = 499
_EVERY_S = 1.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    audit = commands.add_parser("audit", help="everything that happened: who did what, when")
    audit.add_argument("--find", metavar="WORDS", help="only what holds all of these words")
    audit.add_argument("--agent", metavar="AGENT", help="only what concerns this agent")
    audit.add_argument("--kind", metavar="KIND", help="only this kind, such as approval.decided")
    audit.add_argument("--limit", metavar="N", type=int, default=50, help=f"how many (default 50, at most {_MOST})")
    audit.add_argument("--before", metavar="ID", type=int, help="only what came before this entry")
    how = audit.add_mutually_exclusive_group()
    how.add_argument("-f", "--follow", action="store_true", help="go on as things happen; with --json a line each")
    how.add_argument("--export", choices=("csv", "jsonl"), help="print all that fits, not only the newest")
    audit.add_argument("--json", action="store_true", help="print JSON")
    add_help(
        audit,
        "The audit log, the newest last: messages, commands, approvals, logins, settings.",
        "audit --agent crab --limit 20",
        'audit --find "rm -rf"',
        "audit --follow",
        "audit --export csv > audit.csv",
    )
    audit.set_defaults(run=run)


def run(context: Context, options: argparse.Namespace) -> int:
    """Print the newest entries that fit; with ``--follow`` until Ctrl-C."""
    wanted = {"q": options.find, "agent": options.agent, "kind": options.kind}
    with context.client as client:
        if options.export:
            return _export(client, {**wanted, "before": options.before, "format": options.export})
        limit = max(1, min(options.limit, _MOST))
        body = client.get("/audit", **wanted, before=options.before, limit=limit)
        rows = body["rows"][::-1]
        if options.follow:
            return _follow(client, wanted, rows, paint=None if options.json else context.paint)
    lines = [_line(row, context.paint) for row in rows]
    if body["next"] is not None:
        lines.insert(0, f"(Earlier ones: --before {body['next']})")
    print_body(body, as_json=options.json, lines=lines or ["Nothing that fits has happened."])
    return 0


def _export(client: ApiClient, wanted: dict[str, Any]) -> int:
    with client.download("/audit", **wanted) as answer:
        for piece in client.read_pieces(answer):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    return 0


def _follow(client: ApiClient, wanted: dict[str, Any], rows: list[dict[str, Any]], *, paint: Paint | None) -> int:
    """Without colours to paint them in, as JSON lines."""
    last = 0
    while True:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False) if paint is None else _line(row, paint))
            last = row["id"]
        sys.stdout.flush()
        time.sleep(_EVERY_S)
        rows = _since(client, wanted, last)


def _since(client: ApiClient, wanted: dict[str, Any], last: int) -> list[dict[str, Any]]:
    """What came after an entry, the oldest first."""
    found: list[dict[str, Any]] = []
    before: int | None = None
    while True:
        body = client.get("/audit", **wanted, before=before, limit=_MOST)
        new = [row for row in body["rows"] if row["id"] > last]
        found += new
        before = body["next"]
        if before is None or len(new) < len(body["rows"]):
            return found[::-1]


def _line(row: Mapping[str, Any], paint: Paint) -> str:
    agent = f"  {row['agent']}" if row["agent"] else ""
    at = paint(row["at"][:19].replace("T", " "), "faint")
    kind = paint(row["kind"].ljust(20), "blue")
    return f"{at}  {kind}{agent}  {one_line(row['text'], 200)}"
