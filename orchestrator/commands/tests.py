"""``test``: everything that the tests need, then the whole suite on the real engine."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from orchestrator.commands.context import Context
from orchestrator.host.engine_setup import ensure_engine
from orchestrator.host.image import ensure_image
from orchestrator.host.test_tools import ensure_test_tools


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    test = commands.add_parser(
        "test", help="set up for the tests, then run them; arguments go to pytest", usage="hermit test [PYTEST ARGS]"
    )
    test.set_defaults(run=run)


def run(context: Context, options: argparse.Namespace) -> int:
    """The exit code of pytest."""
    machine, progress = context.machine, context.progress
    client = ensure_engine(machine, progress)
    for target in ("base", "studio"):
        ensure_image(client, target, machine=machine, progress=progress, root=context.root)
    client.close()
    ensure_test_tools(machine, progress, context.root)
    environment = {name: value for name, value in context.environment.items() if not name.startswith("HERMIT_")}
    pytest = [sys.executable, "-P", "-m", "pytest", *options.rest]
    os.chdir(context.root)
    return subprocess.run(pytest, env=environment, check=False).returncode
