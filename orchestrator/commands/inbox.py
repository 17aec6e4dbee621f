"""``approvals``, ``approve`` and ``deny``: the questions that wait for a person."""

from __future__ import annotations

import argparse

from orchestrator.commands.context import Context, show
from orchestrator.text import terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands."""
    approvals = commands.add_parser("approvals", help="what waits for your approval")
    approvals.add_argument("--all", action="store_true", help="decided ones too")
    approvals.add_argument("--json", action="store_true", help="print JSON")
    approvals.set_defaults(run=_list)
    for name in ("approve", "deny"):
        deciding = commands.add_parser(name, help=f"{name} what waits, by its id")
        deciding.add_argument("id", metavar="ID")
        deciding.set_defaults(run=_decide, decision=name)


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/approvals", status=None if options.all else "pending")
    lines = []
    for approval in body["approvals"]:
        lines.append(
            f"{approval['id']}  {approval['agent']}  {approval['status']}  {terminal_safe(approval['reason'])}"
        )
        lines += [f"    {line}" for line in approval["shown"].splitlines()]
    show(body, as_json=options.json, lines=lines or ["Nothing waits for you."])
    return 0


def _decide(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.post(f"/approvals/{options.id}", {"decision": options.decision})
    print(f"{options.id} is {body['status']}.")
    return 0
