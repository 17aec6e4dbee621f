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

_SHARED = "docker or model or thirdparty"
"""Marks of the tests that share one engine or one model; all others run side by side."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    test = commands.add_parser(
        "test", help="set up for the tests, then run them; arguments go to pytest", usage="hermit test [PYTEST ARGS]"
    )
    test.set_defaults(run=run)


def run(context: Context, options: argparse.Namespace) -> int:
    """The exit code of pytest; of its first round that failed, where there are two."""
    machine, progress = context.machine, context.progress
    client = ensure_engine(machine, progress)
    for target in ("base", "studio"):
        ensure_image(client, target, machine=machine, progress=progress, root=context.root)
    client.close()
    ensure_test_tools(machine, progress, context.root)
    environment = {name: value for name, value in context.environment.items() if not name.startswith("HERMIT_")}
    os.chdir(context.root)
    codes = [
        subprocess.run([sys.executable, "-P", "-m", "pytest", *arguments], env=environment, check=False).returncode
        for arguments in _rounds(options.rest)
    ]
    return next((code for code in codes if code), 0)


def _rounds(given: list[str]) -> list[list[str]]:
    """Without a choice of tests in what was given: first those that only need a processor, a few at a time, since most
    of them wait, then the others, each file's one by one and two files at a time."""
    if not all(argument.startswith("-") for argument in given):
        return [given]
    at_a_time = str((os.cpu_count() or 1) + 1)
    shared = ["-m", _SHARED, "-n", "2", "--dist", "loadfile"]
    return [["-m", f"not ({_SHARED})", "-n", at_a_time, *given], [*shared, *given]]
