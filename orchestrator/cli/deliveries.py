"""Says which files a turn delivered, on standard error, so that a reply can be piped on without them."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Any

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.core.text import terminal_safe

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.1
_PATIENCE_S = 4.0
"""A file that is still being written by then is told of by the dashboard alone."""


def show_delivered(client: ApiClient, agent: str, turn: int) -> None:
    """A line for each file, once nothing more is on its way."""
    deadline, pause_s = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
    while True:
        found = client.get(agent_path(agent, "/deliveries"), turn=turn)
        if not found["settling"] or time.monotonic() > deadline:
            break
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
    for delivery in found["deliveries"]:
        print(terminal_safe(_line(agent, delivery)), file=sys.stderr)


def _line(agent: str, delivery: dict[str, Any]) -> str:
    if delivery["url"] is None:
        return f"  {delivery['why'] or delivery['file']}"
    what = f"  {delivery['file']} ({format_size(delivery['size'])})"
    if delivery["caption"]:
        what += f" {delivery['caption']}"
    if delivery["path"].endswith(f"/{delivery['file']}"):  # a folder's zip, or a tamed name, is not fetched by its path
        return f"{what}: ./hermit files get {shlex.quote(agent)} {shlex.quote(delivery['path'])}"
    return f"{what}: {delivery['url']}"
