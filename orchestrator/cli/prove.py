"""``prove``: lets an agent try twelve ways out of its cubicle, and shows each as it ends."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.colors import Paint
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.text import one_line

_LOOK_S, _PATIENCE_S = 0.3, 300.0
_SIGNS: Mapping[str, tuple[str, Literal["green", "red", "yellow"]]] = {
    "held": ("held", "green"),
    "not_held": ("NOT HELD", "red"),
    "unclear": ("unclear", "yellow"),
}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    prove = commands.add_parser("prove", help="let an agent try twelve ways out of its cubicle")
    add_help(
        prove,
        "Let a program of HermitShell's try twelve ways out of an agent's cubicle, as the agent, and see each being\n"
        "stopped. Takes a few seconds and changes nothing. The exit code is 1 unless all are held.",
        "prove",
        "prove crab --json",
    )
    prove.add_argument("agent", metavar="AGENT", nargs="?", help="which one; left out, your first")
    prove.add_argument("--json", action="store_true", help="print JSON")
    prove.set_defaults(run=_prove)


def _prove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        path = agent_path(options.agent or _first_agent(client), "/proof")
        body: dict[str, Any] = client.post(path)
        shown = 0
        for now in _follow(client, path, body):
            body = now
            done = [attempt for attempt in body["attempts"] if attempt["verdict"] is not None]
            if not options.json:
                sys.stdout.writelines(f"{line}\n" for one in done[shown:] for line in _lines(one, context.paint))
                sys.stdout.flush()
            shown = len(done)
    print_body(body, as_json=options.json, lines=_sum_up(body, context.paint))
    return 0 if body["stage"] == "done" and body["held"] == body["of"] else 1


def _first_agent(client: ApiClient) -> str:
    agents = client.get("/agents")["agents"]
    if not agents:
        raise NotFound("There is no agent yet. Make one with './hermit agent create NAME'.")
    return str(agents[0]["name"])


def _follow(client: ApiClient, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """It as it stands, until it has ended."""
    deadline = time.monotonic() + _PATIENCE_S
    while body["stage"] == "running":
        yield body
        if time.monotonic() > deadline:
            raise Unavailable("The proof does not come to an end. Look at './hermit status'.")
        time.sleep(_LOOK_S)
        body = client.get(path)
    yield body


def _lines(attempt: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    word, color = _SIGNS[attempt["verdict"]]
    yield f"{paint(f'{word:9}', color, 'bold')} {one_line(attempt['title'], 60)}: {one_line(attempt['answered'], 200)}"
    if attempt["fix"]:
        yield f"{'':9} {one_line(attempt['fix'], 300)}"


def _sum_up(body: Mapping[str, Any], paint: Paint) -> list[str]:
    if body["stage"] != "done":
        return [one_line(body["problem"], 300)]
    is_held = body["held"] == body["of"]
    said = paint(f"{body['held']} of {body['of']} held.", "green" if is_held else "red", "bold")
    return [
        f"{said} HermitShell {body['version']}, {one_line(body['engine'], 80)}, Linux {one_line(body['kernel'], 80)}"
    ]
