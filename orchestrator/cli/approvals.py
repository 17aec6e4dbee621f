"""``approvals``, ``approve`` and ``deny``: the questions that wait for a person."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from orchestrator.approvals.sources import describe_sources
from orchestrator.capabilities.table import REGISTRY
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import look_alikes, one_line, terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands."""
    approvals = commands.add_parser("approvals", help="what waits for your approval")
    approvals.add_argument("--all", action="store_true", help="include decided ones")
    approvals.add_argument("--json", action="store_true", help="print JSON")
    approvals.set_defaults(run=_list)
    for name in ("approve", "deny"):
        deciding = commands.add_parser(name, help=f"{name} what waits, by its id")
        deciding.add_argument("id", metavar="ID")
        deciding.set_defaults(run=_decide, decision=name, always=False, scope=None, note="")
        if name == "approve":
            longer = deciding.add_mutually_exclusive_group()
            longer.add_argument(
                "--always", action="store_true", help="let this agent fetch from this host without asking from now on"
            )
            longer.add_argument(
                "--for",
                dest="scope",
                choices=("hour", "conversation"),
                help="don't ask about this kind again for an hour, or in this conversation",
            )
            add_help(
                deciding,
                "Approve what waits, by its id in './hermit approvals'.",
                "approve a7k2",
                "approve a7k2 --for hour",
                "approve a7k2 --always",
            )
        else:
            words = "why, or what to do instead; the agent reads it"
            deciding.add_argument("note", metavar="WORDS", nargs="?", help=words)
            add_help(
                deciding,
                "Deny what waits, by its id in './hermit approvals'.",
                "deny a7k2",
                "deny a7k2 'No, move it to trash instead.'",
            )
    add_help(approvals, "What waits for your approval, word for word.", "approvals", "approvals --all --json")


def describe_request(approval: Mapping[str, Any]) -> str:
    """What is wanted, as the beginning of a question."""
    return REGISTRY.approval_kind(approval["kind"]).request


def exact_lines(approval: Mapping[str, Any]) -> list[str]:
    """Exactly what is asked about, and what else to know, each line for a terminal."""
    lines = [f"    {line}" for line in approval["shown"].splitlines()]
    odd = look_alikes(approval["text"])
    lines += [f"    ! looks like something else: {', '.join(odd)}"] if odd else []
    detail = approval["detail"]
    more = [*REGISTRY.approval_kind(approval["kind"]).terminal(detail), *describe_sources(detail)]
    return [*lines, *(f"    {line}" for line in more)]


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/approvals", status=None if options.all else "pending")
    lines = []
    for approval in body["approvals"]:
        is_open = approval["status"] == "pending"
        status = context.paint(approval["status"], *(("yellow",) if is_open else ()))
        lines.append(f"{context.paint(approval['id'], 'bold')}  {approval['agent']}  {status}  {_reason(approval)}")
        lines += exact_lines(approval)
    print_body(body, as_json=options.json, lines=lines or ["Nothing waits for you."])
    return 0


def _reason(approval: Mapping[str, Any]) -> str:
    return terminal_safe(approval["reason"])


def _decide(context: Context, options: argparse.Namespace) -> int:
    decision: dict[str, Any] = {"decision": options.decision}
    decision |= {"always": True} if options.always else {}
    decision |= {"scope": options.scope} if options.scope else {}
    decision |= {"note": options.note} if options.note else {}
    with context.client as client:
        body = client.post(f"/approvals/{options.id}", decision)
    print(f"{options.id} is {body['status']}.")
    if options.always:
        host, agent = one_line(body["detail"]["host"], 300), body["agent"]
        print(f"{agent} can now download from {host} without asking, until it has read something new.")
        print(f"'./hermit hosts {agent} rm {host}' ends that.")
    if options.scope:
        span = "for an hour" if options.scope == "hour" else "in this conversation"
        print(f"Its kind is not asked about {span}. './hermit grants {body['agent']} list' shows what is allowed.")
    return 0
