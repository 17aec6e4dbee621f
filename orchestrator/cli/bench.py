"""``bench``: sets up what the measurements need, then measures HermitShell against floors of the same run."""

from __future__ import annotations

import argparse
import subprocess
import sys

from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.engine.setup.cubicle_image import ensure_image
from orchestrator.engine.setup.docker_setup import ensure_engine


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    bench = commands.add_parser("bench", help="measure speed and size here, against floors of the same run")
    bench.add_argument("--write", action="store_true", help="keep tables and pictures in docs/performance.md")
    bench.add_argument("--only", nargs="+", metavar="NAME", default=[], help="these parts; a wrong name lists them")
    bench.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    bench.add_argument("--peers", action="store_true", help="other agents and proxies too, each in a venv of its own")
    bench.set_defaults(run=run)
    add_help(
        bench,
        "Measure speed and size on this machine, beside floors that are measured in the same run.",
        "bench --quick",
        "bench --only turn memory",
    )


def run(context: Context, options: argparse.Namespace) -> int:
    """0 when every part could be measured."""
    machine, progress = context.machine, context.progress
    client = ensure_engine(machine, progress)
    ensure_image(client, "base", machine=machine, progress=progress, root=context.root)
    client.close()
    chosen = [*(["--only", *options.only] if options.only else [])]
    chosen += [f"--{name}" for name in ("write", "quick", "peers") if getattr(options, name)]
    environment = {name: value for name, value in context.environment.items() if not name.startswith("HERMIT_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "bench", *chosen],
        env={**environment, "PYTHONPATH": str(context.root)},
        cwd=context.root,
        check=False,
    ).returncode
