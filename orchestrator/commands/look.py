"""``status`` and ``logs``: looking at a running install."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from orchestrator.commands.agent import without_secrets
from orchestrator.commands.client import NOT_RUNNING, agent_path
from orchestrator.commands.context import Context, show
from orchestrator.errors import Unavailable
from orchestrator.home import running_pid
from orchestrator.text import terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    status = commands.add_parser("status", help="what runs")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(run=_status)
    logs = commands.add_parser("logs", help="an agent's own log")
    logs.add_argument("agent", metavar="AGENT")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    logs.add_argument("--json", action="store_true", help="print JSON, of what is there now")
    logs.set_defaults(run=_logs)


def _status(context: Context, options: argparse.Namespace) -> int:
    if running_pid(context.settings.home) is None:
        raise Unavailable(NOT_RUNNING)
    with context.client as client:
        body = client.get("/status")
        agents = [without_secrets(agent) for agent in client.get("/agents")["agents"]]
    lines = [f"HermitShell at {context.settings.url}"]
    lines += [f"  {part:10} {body[part]}" for part in ("engine", "database", "doors", "previews")]
    lines += [f"  {agent['name']:10} {agent['status']}" for agent in agents]
    show({**body, "agents": agents}, as_json=options.json, lines=lines)
    return 0 if all(body[part] == "ok" for part in ("engine", "database", "doors")) else 1


def _logs(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        text = _log(client.get(agent_path(options.agent, "/log")))
        if options.json:
            show({"log": text}, as_json=True, lines=[])
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
