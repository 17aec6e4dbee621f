"""``status`` and ``logs``: looking at a running install."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from typing import Any

from orchestrator.cli.agent import without_secrets
from orchestrator.cli.client import NOT_RUNNING, ApiClient, agent_path
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import Unavailable
from orchestrator.core.home import running_pid
from orchestrator.core.text import one_line, terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    status = commands.add_parser("status", help="what is running")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(run=_status)
    logs = commands.add_parser("logs", help="an agent's own log")
    logs.add_argument("agent", metavar="AGENT")
    logs.add_argument("-f", "--follow", action="store_true", help="keep printing as it grows")
    logs.add_argument("--json", action="store_true", help="print JSON, of what is there now")
    logs.set_defaults(run=_logs)
    add_help(status, "Whether everything is running, what was spent today, what waits for you, and the disk.", "status")
    add_help(
        logs,
        "What an agent thought, ran and saw for you.",
        "logs crab",
        "logs crab --follow",
    )


def _status(context: Context, options: argparse.Namespace) -> int:
    if running_pid(context.settings.home) is None:
        raise Unavailable(NOT_RUNNING)
    with context.client as client:
        body = _gathered(context, client)
    print_body(body, as_json=options.json, lines=_status_lines(context, body))
    return 0 if all(body[part] == "ok" for part in ("engine", "database", "doors")) else 1


def _gathered(context: Context, client: ApiClient) -> dict[str, Any]:
    """What the API says of the install as a whole, and what one looks up next."""
    body = client.get("/status")
    agents = [without_secrets(agent) for agent in client.get("/agents")["agents"]]
    models = {provider["name"]: provider["default_model"] for provider in client.get("/models")["providers"]}
    disk = shutil.disk_usage(context.settings.home)
    return {
        **body,
        "model": models.get(body["provider"], ""),
        "spent_today_usd": sum(agent["budget"]["spent_usd"] for agent in agents),
        "budget_usd": sum(agent["budget"]["budget_usd"] for agent in agents),
        "approvals_waiting": len(client.get("/approvals", status="pending")["approvals"]),
        "questions_waiting": len(client.get("/questions", status="pending")["questions"]),
        "disk": {"free_bytes": disk.free, "total_bytes": disk.total},
        "agents": agents,
    }


def _status_lines(context: Context, body: dict[str, Any]) -> list[str]:
    paint = context.paint
    parts = [(part, body[part]) for part in ("engine", "database", "doors", "previews")]
    facts = {
        "model": one_line(f"{body['provider']}: {body['model']}".removesuffix(": "), 100),
        "approvals": _waiting(body["approvals_waiting"], "./hermit approvals"),
        "questions": _waiting(body["questions_waiting"], "./hermit questions"),
        "spent": f"{_dollars(body['spent_today_usd'])} of {_dollars(body['budget_usd'])} today",
        "disk": f"{body['disk']['free_bytes'] / 1e9:,.1f} of {body['disk']['total_bytes'] / 1e9:,.1f} GB free",
    }
    lines = [paint(f"HermitShell at {context.settings.url}", "bold")]
    lines += [f"  {part:10} {paint(text, 'green' if text == 'ok' else 'red')}" for part, text in parts]
    is_urgent = {name: body.get(f"{name}_waiting", 0) > 0 for name in facts}
    lines += [f"  {name:10} {paint(text, 'yellow') if is_urgent[name] else text}" for name, text in facts.items()]
    rows = [
        (agent["name"], agent["status"], _spent(agent["budget"]), one_line(agent["model"] or "(default)", 60))
        for agent in body["agents"]
    ]
    head = ("AGENT", "STATUS", "SPENT TODAY", "MODEL")
    return [*lines, "", *(f"  {line}" for line in format_table(rows, head=head, paint=paint))] if rows else lines


def _waiting(count: int, command: str) -> str:
    return f"{count:,} waiting: '{command}' shows {'it' if count == 1 else 'them'}" if count else "none waiting"


def _spent(budget: dict[str, Any]) -> str:
    stopped = ", stopped" if budget["is_stopped"] else ""
    return f"{_dollars(budget['spent_usd'])} of {_dollars(budget['budget_usd'])}{stopped}"


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"


def _logs(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        text = _log(client.get(agent_path(options.agent, "/log")))
        if options.json:
            print_body({"log": text}, as_json=True, lines=[])
            return 0
        print(terminal_safe(text), end="")
        while options.follow:
            sys.stdout.flush()
            time.sleep(0.5)
            longer = _log(client.get(agent_path(options.agent, "/log")))
            print(terminal_safe(_added(text, longer)), end="")
            text = longer
    return 0


def _log(body: Any) -> str:
    return str(body["log"]) if isinstance(body, dict) else str(body)


def _added(before: str, after: str) -> str:
    """What is new at the end; the beginning may have been cut off meanwhile."""
    if after.startswith(before):
        return after[len(before) :]
    last_line = before.rstrip("\n").rpartition("\n")[2]
    _, found, rest = after.rpartition(last_line + "\n") if last_line else ("", "", after)
    return rest if found else after
