"""What a program says of a capability that the documentation's example adds to it: run in a copy of the program, with a
folder for a home; one line of JSON comes out."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from crab.hermit_commands import FILE, read_commands
from crab.hermit_words import parse_words
from crab.prompt import build_system_prompt
from dashboard.api.openapi import build_document
from dashboard.app import create_app
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import run_app
from tests.unit.conftest import logged_in

KEY = CubicleKey("crab", 1)


def main(home: Path) -> None:
    """Ask by every way that there is."""
    home.mkdir()
    with run_app(home) as install:
        calls, caller = install.app._capabilities.calls, Caller(KEY, None)
        install.services.workspaces.prepare_folders(KEY, uid=os.getuid(), gid=os.getgid())
        install.app._capabilities._commands.publish_now(KEY)
        (listed,) = home.rglob(FILE)
        commands = read_commands(listed.read_text(encoding="utf-8"))
        command, _ = commands.find_command(["toss", "7"])
        assert command is not None
        asked = parse_words(command, ["7"])
        operator = install.services.users.get_operator()
        browser = logged_in(install, create_app(install.services), operator).client
        schemas = json.dumps(build_document()["components"]["schemas"])
        told: dict[str, object] = {
            "help": commands.get_overview(frozenset(calls.offered_names(KEY))),
            "page": command.page(),
            "command": dict(calls.run_command(caller, "c1", command.call, asked.fields).result),
            "panel": calls.run_batch(caller, 1, ["TOSS:5", {"name": "toss", "coins": 101}, "TOSS:many"]),
            "settings": browser.get("/agents/crab/settings").get_data(as_text=True),
            "wizard": browser.get("/agents/new").get_data(as_text=True),
            "openapi": [
                found for found in re.findall(r'"pattern": "([^"]*)', schemas) if "packages|questions" in found
            ],
            "prompt": build_system_prompt({"name": "crab", "capabilities": REGISTRY.prompt_text(["chance"])}),
            "without": build_system_prompt({"name": "crab", "capabilities": REGISTRY.prompt_text(["memory"])}),
        }
        install.services.agents.update_agent("crab", {"toolsets": ["memory"]})
        told["off"] = [*calls.run_batch(caller, 2, ["TOSS:5"]), calls.offered_names(KEY)]
        sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
